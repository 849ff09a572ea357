"""Programs in the forms that frameworks exchange: StableHLO, and serialised HLO."""

import importlib.util
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from ._ulpgate import Error

# The ends of files that jaxlib reads, and not this package.
EXCHANGED = (".mlir", ".mlirbc", ".pb")
_MLIR = re.compile(r"\s*(//[^\n]*\n\s*)*(#[\w.]+\s*=|module\b|builtin\.module\b|func\.func\b)")


def is_mlir(text: str) -> bool:
    """Whether a text is MLIR's, as StableHLO is, and not HLO's."""
    return _MLIR.match(text) is not None


def stablehlo() -> ModuleType:
    """The module that reads StableHLO, which needs jax."""
    if importlib.util.find_spec("jax") is None:
        raise Error('reading StableHLO needs jaxlib, which is not installed: pip install jax, or "jax[tpu]" for TPU compilers')
    from . import stablehlo

    return stablehlo


def program_of(program: str | bytes | os.PathLike[str]) -> Any:
    """The program of a file, of StableHLO as text, or of its bytecode.

    Raises ``Error`` if jax is missing, or there is no program of one device.
    """
    reads = stablehlo()
    try:
        if isinstance(program, bytes):
            return reads.parse(program, kind=".mlirbc")
        if isinstance(program, str):
            return reads.parse(program.encode(), kind=".mlir" if is_mlir(program) else ".hlo")
        return reads.read(program)
    except reads.ProgramError as error:
        raise Error(str(error)) from error


def text_before(program: str | bytes | os.PathLike[str]) -> str:
    """The HLO text of a program before compilation."""
    reads = stablehlo()
    return str(reads.without_folders(reads.lower_for_cpu(program_of(program)).as_text()))


def is_exchanged(path: str | os.PathLike[str]) -> bool:
    """Whether a file ends as those that jaxlib reads."""
    return Path(path).suffix in EXCHANGED
