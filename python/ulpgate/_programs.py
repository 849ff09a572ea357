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
    """The program of a file (a path, also as a string), of StableHLO as text, or of its bytecode.

    Raises ``Error`` if jax is missing, or there is no program in it.
    """
    reads = stablehlo()
    try:
        if isinstance(program, bytes):
            return reads.parse(program, kind=".mlirbc")
        if isinstance(program, str) and not is_path(program):
            return reads.parse(program.encode(), kind=".mlir" if is_mlir(program) else ".hlo")
        return reads.read(program)
    except reads.ProgramError as error:
        raise Error(str(error)) from error


def text_before(program: str | bytes | os.PathLike[str]) -> str:
    """The HLO text of a program before compilation."""
    reads = stablehlo()
    return str(reads.without_folders(reads.text_before(program_of(program))))


def is_exchanged(path: str | os.PathLike[str]) -> bool:
    """Whether a file ends as those that jaxlib reads."""
    return Path(path).suffix in EXCHANGED


def is_path(text: str) -> bool:
    """Whether a string is a path rather than a program: a line without braces that names a file, or looks like one."""
    if not text.strip() or "\n" in text or "{" in text:
        return False
    return os.path.exists(text) or os.sep in text or Path(text).suffix in (".hlo", ".txt") or is_exchanged(text)
