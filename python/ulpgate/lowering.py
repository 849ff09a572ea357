"""Lowers and compiles JAX functions for CPU, and ahead of time for TPUs that need not be there.

scripts/dump_hlo.py loads this file from a checkout: it needs jax alone, and nothing of its package.
"""

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any

# Before libtpu is loaded: let it neither look for a TPU nor ask a metadata server about one.
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
os.environ.setdefault("TPU_WORKER_HOSTNAMES", "localhost")
os.environ.setdefault("TPU_ACCELERATOR_TYPE", "v5litepod-4")
# No TPU is taken, so that there is nothing to lock: several processes may compile at once.
os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")

import jax
from jax.experimental import topologies

# jaxlib keeps the class in another module from time to time.
for _place in ("_hlo", "_jax", "xla_extension"):
    try:
        HloPrintOptions = importlib.import_module(f"jaxlib.{_place}").HloPrintOptions
        break
    except (ImportError, AttributeError):
        continue

# Settings of xla_allow_excess_precision, as file names have them.
EXCESS = {"excess_on": True, "excess_off": False}
# A topology of each generation that jax 0.10.2 with libtpu 0.0.42.1 knows.
TOPOLOGIES = {
    "v2": "v2:2x2", "v3": "v3:2x2", "v4": "v4:2x2x1", "v5e": "v5e:2x2", "v5p": "v5p:2x2x1", "v6e": "v6e:2x2",
    "tpu7x": "tpu7x:2x2x1",
}  # fmt: skip


class LoweringError(Exception):
    """A function cannot be lowered or compiled: one line that says why."""


def first_line(error: BaseException) -> str:
    """What an error says, without what follows on further lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def lower_for_cpu(f: Callable[..., Any], *arguments: Any, static_argnums: Sequence[int] = ()) -> Any:
    """The function, lowered for the CPU; arguments are arrays, or structures of them."""
    with jax.default_device(jax.devices("cpu")[0]):
        return jax.jit(f, keep_unused=True, static_argnums=tuple(static_argnums)).lower(*arguments)


def lower_for_topology(
    f: Callable[..., Any], topology: str, *arguments: Any, static_argnums: Sequence[int] = ()
) -> Any:
    """The function, lowered for one chip of a TPU topology, such as v5e:2x2. Arguments need only have a shape and a dtype."""
    try:
        device = topologies.get_topology_desc(topology_name=topology, platform="tpu").devices[0]
    except Exception as error:
        raise LoweringError(f"topology {topology}: {first_line(error)}") from error
    placed = jax.sharding.SingleDeviceSharding(device)

    def abstract(leaf: Any) -> Any:
        # A number of Python's takes the type of what it meets.
        if isinstance(leaf, (bool, int, float, complex)):
            value = jax.numpy.asarray(leaf)
            return jax.ShapeDtypeStruct((), value.dtype, sharding=placed, weak_type=not isinstance(leaf, bool))
        return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype, allow_extended_dtype=True), sharding=placed)

    abstracts = [a if i in static_argnums else jax.tree.map(abstract, a) for i, a in enumerate(arguments)]
    jitted = jax.jit(f, keep_unused=True, static_argnums=tuple(static_argnums))
    return jitted.trace(*abstracts).lower(lowering_platforms=("tpu",))


def compile_both(lowered: Any) -> dict[str, Any]:
    """What the compiler makes of a lowered function in both settings of the flag."""
    return {
        setting: lowered.compile(compiler_options={"xla_allow_excess_precision": flag})
        for setting, flag in EXCESS.items()
    }


def text_before(lowered: Any) -> str:
    """The HLO text that JAX hands to the compiler."""
    return str(lowered.as_text(dialect="hlo"))


def text_of(executable: Any) -> str:
    """The compiled text, with constants in full that `as_text` would leave out for their size."""
    text = str(executable.as_text())
    if "{...}" not in text:
        return text
    options = HloPrintOptions()
    options.print_large_constants = True
    return str(executable.runtime_executable().hlo_modules()[0].to_string(options))
