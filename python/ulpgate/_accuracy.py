"""Errors of a function's results against the truth, held to limits."""

from collections.abc import Iterable, Sequence
from typing import Any

from . import _ulpgate
from ._audit import lower, targets
from ._given import Program, program_of
from ._hlo import ResultError, Results, evaluate_encoded, exact_encoded, printable_lines, result_errors
from ._judge import greatest, mismatched, place


def assert_accurate(
    f: Any,
    *args: Any,
    chips: str | Iterable[str] | None = None,
    mode: str | None = None,
    max_relative_rms: float | None = None,
    max_ulp: float | None = None,
    static_argnums: Sequence[int] = (),
) -> None:
    """Asserts that a program's results are as near to the truth as is asked, on each chip.

    ``f`` is a function that jax lowers, a ``Lowered`` or ``Compiled`` object, HLO text or its path. Every float result must have a
    relative root mean square of the error of at most ``max_relative_rms``, every element an error of at most ``max_ulp`` units in the last
    place of its type. Integers and predicates must be those of the truth.

    A function is compiled for each of ``chips``: ``cpu`` and TPU generations such as ``v5e``, by default as for ``audit``; with the flag
    ``xla_allow_excess_precision`` and without. With ``mode``, and of texts and lowered programs, it is run in ``mode``, or in the default
    precision of each of ``chips`` (by default v5e), as the compiler may leave it. No TPU is used.

    The message has the share of elements that miss the limit, the largest differences from the truth and their places, and the mode.
    Raises ``Error`` where nothing can be judged.

    >>> import numpy as np
    >>> hlo = '''HloModule dot
    ... ENTRY main { x = f32[2,3] parameter(0) y = f32[3,2] parameter(1)
    ...   ROOT z = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }'''
    >>> x, y = np.full((2, 3), 1 / 3, np.float32), np.ones((3, 2), np.float32)
    >>> assert_accurate(hlo, x, y, mode="v5e/highest/off", max_ulp=1)
    >>> assert_accurate(hlo, x, y, mode="v5e/default/off", max_relative_rms=1e-5)
    Traceback (most recent call last):
        ...
    AssertionError: hlo in v5e/default/off: out0 f32[2,2]: a relative rms of 0.00195 from the truth, and 1e-05 is allowed
    ...
    """
    __tracebackhide__ = True
    if max_relative_rms is None and max_ulp is None:
        raise _ulpgate.Error("nothing is asked: give max_relative_rms=... or max_ulp=...")
    asked = None if chips is None else [chips] if isinstance(chips, str) else list(chips)
    program = program_of(f, args, static_argnums)
    if callable(f) and mode is None and not hasattr(f, "as_text"):
        compiled, _ = lower(f, args, targets(asked, asked is None or "cpu" in asked), static_argnums)
        runs = [
            (f"{target.name}/{setting} ({target.mode})", text, target.mode)
            for target in compiled
            for setting, text in (("excess_on", target.excess_on), ("excess_off", target.excess_off))
        ]
    else:
        runs = [(name, program.text, name) for name in _modes(program, asked, mode)]
    if not runs:
        raise _ulpgate.Error(f"nothing was judged of {program.name}: no chip was asked")
    if isinstance(program.arguments, str):
        raise _ulpgate.Error("arguments of assert_accurate are arrays")
    truth = exact_encoded(program.text, program.arguments, "near")
    lines: list[str] = []
    for label, text, machine in runs:
        results = evaluate_encoded(text, program.arguments, machine)
        lines += _misses(program.name, label, results, truth, max_relative_rms, max_ulp)
    if lines:
        raise AssertionError(printable_lines(lines))


def _modes(program: Program, chips: list[str] | None, mode: str | None) -> list[str]:
    if mode is not None:
        if chips is not None:
            raise _ulpgate.Error("mode=... names a chip already: give either chips=... or mode=...")
        return [mode]
    policy = "as-compiled" if program.is_compiled else "off"
    default = ["xla-cpu"] if program.is_compiled else ["v5e"]
    return [f"{chip}/default/{policy}" for chip in (default if chips is None else chips)]


def _misses(
    name: str, label: str, results: Results, truth: Results, max_relative_rms: float | None, max_ulp: float | None
) -> list[str]:
    lines: list[str] = []
    limit = 0.5 if max_ulp is None else max_ulp
    for error in result_errors(results, truth, limit):
        faults = _faults(error, max_relative_rms, max_ulp)
        if not faults:
            continue
        lines += [f"{name} in {label}: {error.result} {error.shape}: {fault}" for fault in faults]
        said = f", farther than {limit:g} ulp from the truth" if error.is_float else ""
        lines += ["", mismatched(error.differing, error.elements) + said]
        for kind, distance in (("absolute", error.absolute), ("relative", error.relative)):
            if distance is not None:
                lines.append(greatest(kind, distance.value, place(error.shape, distance.element)))
        if error.worst is not None and error.is_float:
            lines.append(
                f"Greatest error: {error.worst.error:.6g} ulp at index {error.worst.index}: "
                f"{error.worst.computed:.9g}, in truth {error.worst.exact:.9g}"
            )
        lines.append("")
    return lines


def _faults(error: ResultError, max_relative_rms: float | None, max_ulp: float | None) -> list[str]:
    faults = []
    if error.undecided:
        faults.append(f"the truth of {error.undecided} of {error.elements} elements is open")
    if not error.is_float:
        return faults + ([f"{error.differing} of {error.elements} elements are not those of the truth"] if error.differing else [])
    if max_relative_rms is not None and error.worst is not None:
        rms = error.relative_rms
        if rms is None or not rms <= max_relative_rms or error.error == float("inf"):
            said = "no finite relative rms" if rms is None or error.error == float("inf") else f"a relative rms of {rms:.3g}"
            faults.append(f"{said} from the truth, and {max_relative_rms:g} is allowed")
    if max_ulp is not None and error.error is not None and not error.error <= max_ulp:
        faults.append(f"an error of {error.error:.6g} ulp, and {max_ulp:g} is allowed")
    return faults
