"""The lowering of a checkout, python/ulpgate/lowering.py, without its package: that has an extension, which a checkout has not built."""

import importlib.metadata
import importlib.util
import os
import pathlib

# Before jax is imported: compute on the CPU.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

_PLACE = pathlib.Path(__file__).resolve().parent.parent / "python" / "ulpgate" / "lowering.py"
_SPEC = importlib.util.spec_from_file_location("lowering", _PLACE)
lowering = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(lowering)


def versions():
    """The compiler, for the head of a table: jax and libtpu with their versions."""
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("jax", "libtpu"))
