from collections.abc import Sequence

__version__: str

class Error(ValueError): ...

# Name, HLO's name of the element type, dims, elements: little-endian in whole bytes, row-major.
_Array = tuple[str, str, Sequence[int], bytes]
# The same of a result, with the number of elements that depend on the order of a sum, and the flat positions of undecided ones.
_Computed = tuple[str, str, list[int], bytes, int, list[int]]

def main(arguments: Sequence[str]) -> int: ...
def evaluate(hlo: str, arguments: Sequence[_Array], machine: str, results: Sequence[str]) -> list[_Computed]: ...
def exact(hlo: str, arguments: Sequence[_Array], round_to: str, results: Sequence[str]) -> list[_Computed]: ...
def diff(
    before: str, after: str, arguments: Sequence[_Array] | None, machine: str, scores: str | None
) -> tuple[str, list[str]]: ...
def show(hlo: str, machine: str | None, form: str, all: bool) -> str: ...
def printable(text: str) -> str: ...
def line_key(line: str) -> str: ...
def judge_results(
    hlo: str,
    compiled: str | None,
    arguments: str | Sequence[_Array],
    results: str | Sequence[_Array],
    *,
    name: str,
    mapping: Sequence[tuple[str, str]],
    machine: str | None,
    chips: Sequence[str],
    tokens: str | None,
    scores: str | None,
    whole: bool,
) -> tuple[str, list[str]]: ...
def tolerance(
    kind: str,
    parts: Sequence[float],
    *,
    dtype: str,
    magnitude: float | None,
    counts: Sequence[int] | None,
    program: tuple[str, bool, str | Sequence[_Array] | None] | None,
    n: int,
    distribution: str,
    runs: int,
    machine: str,
    reference: str,
) -> tuple[str, list[str]]: ...
def errors(
    results: Sequence[_Array], truth: Sequence[_Array], undecided: Sequence[tuple[str, Sequence[int]]], allowed: float
) -> str: ...
def tokens(
    hlo: str, arguments: Sequence[_Array], sets: Sequence[Sequence[_Array]], asked: Sequence[str] | None
) -> str: ...
_Stored = tuple[str, list[int], bytes]

def scales(
    elements: _Array, scales: _Array, per_tensor: float | None, input: _Array | None, zero_points: _Array | None
) -> tuple[str, str]: ...
def quantize(
    input: _Array, rule: str, axis: int, block: int | None
) -> tuple[str, _Stored, _Stored, float | None, _Stored | None]: ...
