"""Results from elsewhere: the verdict on each, the mode that explains it, and what is wrong."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from . import _ulpgate
from ._arrays import hlo_name
from ._given import encoded_results, program_of
from ._hlo import Text, printable_lines, text_of
from ._html import table


@dataclass(frozen=True)
class JudgedResult:
    """The verdict on one result. Its parts are those of ``ulpgate judge --json``, whose schema is docs/schema/judge.json."""

    name: str
    """The result's name in the program."""
    recorded_as: str
    """Its name in the results that were given."""
    shape: str
    """Type and dims, such as ``bf16[8,1024]``."""
    verdict: str
    """The verdict: ``bits``, ``conforming``, ``outside`` or ``unknown``."""
    because: list[str]
    """Reasons of the verdict, a sentence each."""
    modes: list[str]
    """Modes that give the same bits."""
    nearest: dict[str, Any] | None
    """Of floats the nearest mode: mode, relative_rms, orders, differences."""
    error: dict[str, Any] | None
    """Distance from the truth: relative_rms, quantiles, largest, largest_at, elements; None of integers."""
    ratio: float | None
    """The rms error over that of the mode: about 1 is the mode's own arithmetic, 9 a fault."""
    detectable: str | None
    """The smallest faults that would show, in words, where the result is a matmul of arguments."""
    outside: dict[str, Any]
    """Elements outside of what is permitted: elements, unknown."""
    tokens: list[dict[str, Any]] | None
    """Tokens that differ: element, recorded, declared, margin_ulp, is_explained, because; None of floats."""
    pattern: list[dict[str, Any]]
    """Faults that explain the difference, and where it is: kind, is_place, says, explained (a share), places, factor."""

    @property
    def is_permitted(self) -> bool:
        """Whether a permitted mode gives its bits, or what is permitted explains it."""
        return self.verdict in ("bits", "conforming")

    @property
    def mode(self) -> str | None:
        """The mode that explains it: one with its bits, else the nearest one."""
        return self.modes[0] if self.modes else self.nearest["mode"] if self.nearest else None

    def differences(self) -> list[str]:
        """The share of elements that differ from the mode's, and the largest differences with their places, a line each."""
        if not self.nearest:
            return []
        found = self.nearest["differences"]
        lines = [mismatched(found["elements"], found["of"])]
        for kind in ("absolute", "relative"):
            if found[kind]:
                lines.append(greatest(kind, found[kind]["value"], place(self.shape, found[kind]["at"])))
        return lines


def mismatched(count: int, of: int) -> str:
    """The share of elements that differ, as numpy.testing says it."""
    return f"Mismatched elements: {count} / {of} ({100 * count / max(of, 1):.3g}%)"


def greatest(kind: str, value: float, at: tuple[int, ...]) -> str:
    """The largest difference and its place, as torch.testing says it."""
    return f"Greatest {kind} difference: {value:.6g} at index {at}"


def place(shape: str, at: int) -> tuple[int, ...]:
    """The place of a flat position in ``bf16[8,1024]``.

    >>> place("bf16[8,1024]", 1025)
    (1, 1)
    """
    inner = re.search(r"\[([0-9,]*)\]", shape)
    dims = [int(extent) for extent in inner.group(1).split(",") if extent] if inner else []
    return tuple(int(one) for one in np.unravel_index(at, dims)) if dims else ()


@dataclass(frozen=True)
class Judgement:
    """The verdicts on results: ``judgement["out0"].verdict``."""

    verdict: str
    """The worst of the results' verdicts: ``outside`` before ``unknown``, ``conforming`` and ``bits``."""
    results: list[JudgedResult]
    """One a result, in the program's order."""
    notes: list[str]
    """Work that was left out, with the reason."""
    lines: list[str] = field(repr=False)
    """All of it as the command line prints it."""
    data: dict[str, Any] = field(repr=False)
    """All of it as ``ulpgate judge --json`` prints it."""

    @property
    def is_permitted(self) -> bool:
        """Whether every result is."""
        return all(result.is_permitted for result in self.results)

    def __getitem__(self, name: str | int) -> JudgedResult:
        if isinstance(name, int):
            return self.results[name]
        for result in self.results:
            if name in (result.name, result.recorded_as):
                return result
        raise KeyError(name)

    def __str__(self) -> str:
        return printable_lines(self.lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = [(result.name, result.shape, result.verdict, result.mode or "") for result in self.results]
        return table(("result", "type", "verdict", "mode"), rows) + f"<pre>{escape(str(self))}</pre>"


def judge(
    results: Any,
    f: Any,
    *args: Any,
    chips: str | Iterable[str] | None = None,
    mode: str | None = None,
    tokens: str | int | None = None,
    scores: str | None = None,
    map: Mapping[str, str] | None = None,
    compiled: Text | None = None,
    static_argnums: Sequence[int] = (),
    whole: bool = False,
) -> Judgement:
    """Says of results from elsewhere whether they are right: a TPU's, a GPU's, another framework's, a kernel's of your own.

    ``results`` are one array, a sequence or mapping of arrays, the structure that ``f`` returns, or the path of a ``.npz``, ``.npy``
    or ``.safetensors`` file; arrays of NumPy, jax and PyTorch. Some of the program's results are enough. ``f`` is a function that jax
    lowers, a ``Lowered`` or ``Compiled`` object, HLO text, StableHLO as text or bytes (jaxlib reads it), or the path of either, and
    ``args`` are its arguments. ``mode`` is the mode that the results are said to be of: less accurate precisions are then outside. ``chips`` are those whose modes are tried, by default all.
    ``tokens`` names the result that holds tokens, ``scores`` the array in ``results`` that they must be the largest of, ``map`` results
    by the names that arrays have here; ``compiled`` is what the compiler made of the program. Of a large matmul a block of rows and
    columns is judged in every mode, and all elements are compared with the mode that explains it; ``whole=True`` judges all of it.

    Each verdict is ``bits`` (a permitted mode gives the same bits), ``conforming`` (what is permitted explains it), ``outside`` or
    ``unknown``. Raises ``Error`` where nothing can be judged.

    >>> hlo = '''HloModule third
    ... ENTRY main { x = f32[4] parameter(0) y = f32[4] parameter(1) ROOT z = f32[4] divide(x, y) }'''
    >>> x, y = np.float32([1, 2, 3, 4]), np.float32([3, 3, 3, 3])
    >>> judge(x / y, hlo, x, y, mode="v5e/default/off").verdict
    'bits'
    >>> judge(x / y * np.float32(1.5), hlo, x, y)["out0"].verdict
    'outside'
    """
    program = program_of(f, args, static_argnums)
    asked = [chips] if isinstance(chips, str) else list(chips or ())
    if program.is_compiled and compiled is None:
        compiled = program.text
    page, lines = _ulpgate.judge_results(
        program.text,
        None if compiled is None else text_of(compiled),
        program.arguments,
        encoded_results(results, program),
        name=program.name,
        mapping=[(name, result) for name, result in (map or {}).items()],
        machine=mode,
        chips=asked,
        tokens=f"out{tokens}" if isinstance(tokens, int) else tokens,
        scores=scores,
        whole=whole,
    )
    data = json.loads(page)
    found = [JudgedResult(**result) for result in data["results"]]
    return Judgement(data["verdict"], found, data["notes"], lines, data)


def assert_permitted(
    results: Any,
    f: Any,
    *args: Any,
    chips: str | Iterable[str] | None = None,
    mode: str | None = None,
    tokens: str | int | None = None,
    scores: str | None = None,
    map: Mapping[str, str] | None = None,
    compiled: Text | None = None,
    static_argnums: Sequence[int] = (),
    whole: bool = False,
) -> None:
    """Asserts that results are such as a permitted mode gives; the arguments are those of ``judge``.

    Fails on each result that is outside of what is permitted, and on each of which neither is proven. The message has the share of
    elements that differ, the largest differences and their places, the mode that is nearest, and the fault that explains them.

    >>> hlo = '''HloModule double
    ... ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] add(x, x) }'''
    >>> x = np.float32([1, 2])
    >>> assert_permitted(x * 2, hlo, x)
    >>> assert_permitted(np.float32([2, 5]), hlo, x)
    Traceback (most recent call last):
        ...
    AssertionError: hlo: out0 f32[2] is outside of what any mode permits
    ...
    """
    __tracebackhide__ = True
    judged = judge(
        results, f, *args, chips=chips, mode=mode, tokens=tokens, scores=scores, map=map, compiled=compiled,
        static_argnums=static_argnums, whole=whole,
    )  # fmt: skip
    wrong = [result for result in judged.results if not result.is_permitted]
    if wrong:
        name = judged.data["program"]
        raise AssertionError(printable_lines([line for result in wrong for line in _fault(name, result, mode)] + judged.notes))


def _fault(name: str, result: JudgedResult, mode: str | None) -> list[str]:
    permits = mode or "any mode"
    if result.verdict == "outside":
        lines = [f"{name}: {result.name} {result.shape} is outside of what {permits} permits"]
    else:
        lines = [f"{name}: {result.name} {result.shape}: it is not known whether {permits} permits it"]
    lines += ["", *result.differences()]
    for pattern in result.pattern:
        lines.append(f"Where: {pattern['says']}" if pattern["is_place"] else f"Explained by: {pattern['kind']}: {pattern['says']}")
    if result.mode:
        lines.append(f"{'Bits of' if result.modes else 'Nearest'} mode: {result.mode}")
    if result.error:
        ratio = f", {result.ratio:.3g} times that of the mode" if result.ratio is not None else ""
        lines.append(f"Error against the truth: relative rms {result.error['relative_rms']:.3g}{ratio}")
    for token in (result.tokens or [])[:8]:
        at = ",".join(str(one) for one in place(result.shape, token["element"]))
        lines.append(f"Token [{at}]: {token['recorded']} instead of {token['declared']}: {token['because']}")
    return lines + [f"Because {why}" for why in result.because]


@dataclass(frozen=True)
class ToleranceVerdict:
    """Whether a test's tolerance can be kept by honest results, and what it lets pass."""

    tolerance: str
    """The tolerance in words."""
    verdict: str
    """The verdict: ``fine``, ``flaky``, ``blind`` or ``unsatisfiable``."""
    why: str
    """The reasons in one sentence."""
    mode: str | None
    """The mode of the honest runs; None where the verdict is not by runs."""
    failed: int | None
    """Number of honest runs that fail; None where the verdict is not by runs."""
    runs: int | None
    """Number of honest runs; None where the verdict is not by runs."""
    largest: float | None
    """The largest error of an honest run over the allowed one; None as well where nothing is allowed."""
    unseen: list[str]
    """Smaller faults that pass in most runs."""
    proposal: str | None
    """A tolerance of the same kind that honest runs keep to, or None."""
    derivation: str | None
    """The derivation of the proposal, or None."""
    lines: list[str] = field(repr=False)
    """All of it as the command line prints it."""

    @property
    def is_fine(self) -> bool:
        """Whether honest runs keep to it, and nothing else that was tried does."""
        return self.verdict == "fine"

    def __str__(self) -> str:
        return printable_lines(self.lines)


# A built-in program with its parameters: softmax[rows=4].
_BUILT_IN = re.compile(r"[a-z][a-z0-9_]*(\[[^\n{}]*\])?")


def tolerance(
    f: Any = None,
    *args: Any,
    atol: float | None = None,
    rtol: float | None = None,
    ulp: float | None = None,
    nmse: float | None = None,
    dtype: Any = "float32",
    k: int | None = None,
    magnitude: float | None = None,
    failed: int | None = None,
    of: int | None = None,
    mode: str = "v5e/highest/off",
    reference: str = "truth",
    n: int = 128,
    input: str = "normal",
    runs: int = 40,
) -> ToleranceVerdict:
    """Says of a test's tolerance whether honest results keep to it, and which faults it lets pass.

    The tolerance is ``atol`` and ``rtol`` as in ``numpy.testing.assert_allclose``, ``ulp``, or ``nmse``. It is judged by what is given:
    ``magnitude``, the largest of the results, with their ``dtype``; ``failed`` of ``of`` runs that you have seen; ``k``, products of a
    matmul of ``dtype``; or a program: a function that jax lowers, a ``Lowered`` object, HLO text or its path, or a built-in one such as
    ``softmax[rows=4]`` of size ``n``. With ``args`` the program runs on these in each order of sums, without them on ``runs`` draws of
    ``input``; a function needs them. ``mode`` is the machine whose results are honest, ``reference`` what the test expects: ``truth``,
    ``rounded``, or another mode.

    >>> str(tolerance(atol=0.06, dtype="bfloat16", magnitude=32))
    'atol=0.06 rtol=0.0: unsatisfiable: half an ulp of bf16 at 16.0 is 0.0625, and 0.06 is allowed: one rounding misses it'
    >>> tolerance(rtol=1e-2, failed=43, of=100).verdict
    'flaky'
    """
    given = {"close": (atol, rtol), "ulp": (ulp,), "nmse": (nmse,)}
    kinds = [kind for kind, parts in given.items() if any(part is not None for part in parts)]
    if len(kinds) != 1:
        raise _ulpgate.Error("a tolerance is atol and rtol, or ulp, or nmse: one of these must be given")
    parts = [float(part or 0.0) for part in given[kinds[0]]]
    counts = None
    if failed is not None or of is not None:
        if failed is None or of is None:
            raise _ulpgate.Error("failed=... is the number of runs that failed, of=... that of all runs: both must be given")
        counts = [failed, of]
    name = hlo_name(dtype)
    program: tuple[str, bool, Any] | None = None
    if f is None and k is not None:
        program, n = (f"matmul[dtype={name},lhs=16xn,out={name},rhs=nx16]", True, None), k
    elif isinstance(f, str) and _BUILT_IN.fullmatch(f) and not os.path.exists(f):
        program = (f, True, None)
        if args:
            raise _ulpgate.Error(f"{f} is built in, and takes arguments that are drawn: give HLO text or a function with arguments")
    elif isinstance(f, (str, os.PathLike)) and not args:
        program = (text_of(f), False, None)
    elif f is not None:
        taken = program_of(f, args)
        program = (taken.text, False, taken.arguments)
    page, lines = _ulpgate.tolerance(
        kinds[0], (parts + [0.0])[:2], dtype=name, magnitude=magnitude, counts=counts, program=program, n=n, distribution=input,
        runs=runs, machine=mode, reference=reference,
    )  # fmt: skip
    data = json.loads(page)
    nothing = dict.fromkeys(("mode", "failed", "runs", "largest", "proposal", "derivation"))
    drawn = data["drawn"] or {**nothing, "unseen": []}
    return ToleranceVerdict(data["tolerance"], data["verdict"], data["why"], lines=lines, **drawn)
