"""The lowering of a checkout, python/ulpgate/lowering.py, without its package: that has an extension, which a checkout has not built."""

import importlib.metadata
import importlib.util
import os
import pathlib

# Before jax is imported: compute on the CPU.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

_FOLDER = pathlib.Path(__file__).resolve().parent.parent / "python" / "ulpgate"


def load(name):
    """A module of the package that needs nothing else of it."""
    spec = importlib.util.spec_from_file_location(name, _FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lowering = load("lowering")


def versions():
    """The compiler, for the head of a table: jax and libtpu with their versions."""
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("jax", "libtpu"))
