#!/usr/bin/env python3
"""Writes the error bounds that the TPU compiler states for its functions, chip by chip, for chips that need not be there.

    python -m venv venv && venv/bin/pip install "jax[tpu]"
    venv/bin/python scripts/function_accuracy.py > src/machine/vector/function_accuracy.csv

A function is compiled with `accuracy=lax.Tolerance(atol, rtol)`. The compiler refuses ("No implementation found") what no
implementation of it meets, takes the default one where that meets the tolerance, and another one elsewhere; the size of the
generated code tells them apart. Least tolerances are found by bisection, in eighths of a binade: the least atol without rtol, the
least rtol with the least atol that it needs, and the least atol for rtol at each binade between. An implementation meets all of
its rows: by each the error is at most atol or at most rtol of the exact value, whichever is larger (docs/FACTS.md 3.3). An atol
without rtol is taken where it is greater than the bound, other tolerances where they are no less.

One line for each chip, function, implementation and pair. Tolerances are base-2 logarithms; an empty one is 0. `single` is the
implementation of a function that has one. Where the compiler states nothing, the line has no tolerances and says why:
`unchecked` (any tolerance is taken), `unanalysed` (any is refused, with that reason), `refused` (any is refused).
"""

import csv
import sys

from ahead_of_time import lowering, versions

import jax
import jax.numpy as jnp
from jax import lax

FUNCTIONS = {
    "exponential": lax.exp,
    "exponential-2": lax.exp2,
    "exponential-minus-one": lax.expm1,
    "log": lax.log,
    "log-plus-one": lax.log1p,
    "tanh": lax.tanh,
    "sine": lax.sin,
    "cosine": lax.cos,
    "tan": lax.tan,
    "sqrt": lax.sqrt,
    "rsqrt": lax.rsqrt,
    "cbrt": lax.cbrt,
    "logistic": lax.logistic,
}
# Steps in a binade.
STEPS = 8
# Tolerances lie so much above the bound that is asked for: an atol that stands alone has to be greater than the bound.
HAIR = 1.0 + 2.0**-20
# Bounds that are asked for lie between these, in steps; results that are flushed need an atol from FLUSHED on.
LOOSE, TIGHT, FLUSHED = -4 * STEPS, -28 * STEPS, -140 * STEPS


class Compiler:
    """Compiles one function for one chip, and remembers the size of its code."""

    def __init__(self, topology, function):
        self.topology = topology
        self.function = function
        self.known = {}
        self.reason = ""

    def size(self, **how):
        """The size of the code in bytes; None where the compiler refuses."""
        argument = jax.ShapeDtypeStruct((8, 128), jnp.float32)
        lowered = lowering.lower_for_topology(lambda a: self.function(a, **how), self.topology, argument)
        try:
            compiled = lowered.compile()
        except jax.errors.JaxRuntimeError as error:
            self.reason = str(error)
            return None
        return compiled.memory_analysis().generated_code_size_in_bytes

    def meets(self, size, atol, rtol):
        """Whether an implementation of this size, or of any where it is None, is taken for tolerances in steps."""
        if atol is None and rtol is None:
            return False
        if (atol, rtol) not in self.known:
            tolerances = [0.0 if steps is None else 2.0 ** (steps / STEPS) * HAIR for steps in (atol, rtol)]
            self.known[atol, rtol] = self.size(accuracy=lax.Tolerance(*tolerances, 0))
        taken = self.known[atol, rtol]
        return taken is not None and (size is None or taken == size)


def least(meets, tight, loose):
    """The least number from tight to loose that meets; None where loose does not."""
    if not meets(loose):
        return None
    while loose > tight:
        middle = (loose + tight) // 2
        if meets(middle):
            loose = middle
        else:
            tight = middle + 1
    return loose


def frontier(compiler, size):
    """Pairs of least tolerances in steps, each less in one and more in the other than the next; None is 0."""
    absolute = least(lambda a: compiler.meets(size, a, None), TIGHT, LOOSE)
    # Whether the relative tolerance alone will do.
    floor = None
    if not compiler.meets(size, None, LOOSE):
        floor = least(lambda a: compiler.meets(size, a, LOOSE), FLUSHED, LOOSE)
    relative = least(lambda r: compiler.meets(size, floor, r), TIGHT, LOOSE)
    pairs = [] if relative is None else [(floor, relative)]
    at = relative
    while at is not None and at > TIGHT:
        at = (at - 1) // STEPS * STEPS
        low = TIGHT if pairs[-1][0] is None else pairs[-1][0]
        high = LOOSE if absolute is None else absolute
        atol = least(lambda a: compiler.meets(size, a, at), min(low, high), high)
        if atol is None or atol == absolute:
            break
        rtol = least(lambda r: compiler.meets(size, atol, r), TIGHT, at)
        pairs.append((atol, rtol))
        at = rtol
    return pairs + ([] if absolute is None else [(absolute, None)])


def lines(compiler):
    """The implementations of a function: name, size of the code and tolerances of each."""
    default, highest = compiler.size(), compiler.size(accuracy=lax.AccuracyMode.HIGHEST)
    if highest is None:
        return [("unanalysed" if "not implemented" in compiler.reason else "refused", default, [(None, None)])]
    if not compiler.meets(None, LOOSE, LOOSE):
        return [("refused", default, [(None, None)])]
    if compiler.meets(None, None, -60 * STEPS):
        return [("unchecked", default, [(None, None)])]
    if default == highest:
        return [("single", default, frontier(compiler, default))]
    return [("default", default, frontier(compiler, default)), ("highest", highest, frontier(compiler, None))]


def main():
    print(f"# {versions()}: f32[8,128]; scripts/function_accuracy.py", flush=True)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("chip function implementation code_bytes log2_atol log2_rtol".split())
    for chip, topology in lowering.TOPOLOGIES.items():
        for name, function in FUNCTIONS.items():
            for implementation, size, pairs in lines(Compiler(topology, function)):
                for pair in pairs:
                    logarithms = ["" if steps is None else steps / STEPS for steps in pair]
                    out.writerow([chip, name, implementation, size, *logarithms])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
