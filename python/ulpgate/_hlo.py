"""Programs as HLO text: what changed, what they compute, where they round, which tokens they flip."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from . import _ulpgate
from ._arrays import Array, complex_joined, decode, encode, encode_arguments, hlo_name
from ._html import paragraph, table
from ._programs import is_exchanged, is_mlir, is_path, text_before

# The machine that programs run on, as chip/precision/excess[+key=value...]; as-compiled runs a text as it stands.
MODE = "v5e/default/as-compiled"

# A program as HLO text or StableHLO, or the path of its file.
Text = str | os.PathLike[str]


def printable_lines(lines: Sequence[str]) -> str:
    """Lines of which a terminal obeys nothing, as one text."""
    return "\n".join(_ulpgate.printable(line) for line in lines)


def text_of(hlo: Text) -> str:
    """A program's HLO text; that of a file where a path is given, also as a string. StableHLO (a text, or a file .mlir, .mlirbc or .pb)
    becomes HLO by the jaxlib that is installed."""
    if isinstance(hlo, str) and not is_path(hlo):
        return text_before(hlo) if is_mlir(hlo) else hlo
    if is_exchanged(hlo):
        return text_before(hlo)
    try:
        return Path(hlo).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _ulpgate.Error(f"{os.fspath(hlo)}: failed to read it: {error}") from error


@dataclass(frozen=True)
class Change:
    """A change of precision: what reads a value, or adds it up, in more or fewer bits than before."""

    kind: str
    """Kind of the change: ``rounding-removed``, ``rounding-added``, ``narrowed``, ``widened``, ``reordered``, ``precision-changed``,
    ``operation-changed``, ``plan-changed``, ``topk-changed`` or ``attribute-changed``; ``ulpgate explain KIND`` explains it."""
    name: str
    """The value's name in the first program."""
    op_name: str | None
    """JAX's name of the operation, such as ``jit(f)/div``; None where the file has none."""
    before: str
    """State in the first program, in words: ``bf16 for ge.0``."""
    after: str
    """State in the second program, in words."""

    def __str__(self) -> str:
        origin = f" ({self.op_name})" if self.op_name else ""
        return _ulpgate.printable(f"{self.kind} {self.name}{origin}: {self.before} -> {self.after}")


@dataclass(frozen=True)
class Diff:
    """What changed from one program to another."""

    changes: list[Change]
    """Changes of precision, in the first program's order."""
    results: list[dict[str, Any]]
    """Results that differ, where both programs were run: result, shape, elements, differing, rows, rows_differing, truth_unknown,
    verdict and maximum, as ``ulpgate hlo diff --json`` has them."""
    unmatched: tuple[list[str], list[str]]
    """Names of float values that only the first program computes, and of those that only the second does."""
    not_understood: tuple[list[str], list[str]]
    """Instructions without a meaning here that are not the same in both: of the first program, of the second."""
    lines: list[str] = field(repr=False)
    """All of it as the command line prints it."""

    @property
    def is_same(self) -> bool:
        """Whether nothing changed, and nothing is left that could not be compared."""
        return not (self.changes or self.results or any(self.unmatched) or any(self.not_understood))

    def __str__(self) -> str:
        return "\n".join(self.lines) or "no change of precision"

    def _repr_html_(self) -> str:
        if not self.changes and not self.results:
            return paragraph(str(self))
        html = changes_table({"": self.changes}) if self.changes else ""
        return html + "".join(f"<pre>{escape(line)}</pre>" for line in self.lines[len(self.changes) :])


def changes_table(changes: Mapping[str, Sequence[Change]]) -> str:
    """Changes by the compiler's target."""
    rows = [
        (target, change.kind, change.op_name or change.name, change.before, change.after)
        for target, several in changes.items()
        for change in several
    ]
    return table(("target", "change", "value", "before", "after"), rows)


class Results(Mapping[str, Array]):
    """Named results of a program: ``results["out0"]``, ``results[0]``, or ``p, keep = results.values()``."""

    def __init__(
        self, arrays: Mapping[str, Array], order_sensitive: Mapping[str, int], undecided: Mapping[str, Array]
    ) -> None:
        self._arrays = dict(arrays)
        self.order_sensitive = dict(order_sensitive)
        """Number of elements of a bf16 result, or of one that picks by floats, that another permitted order of a sum would change."""
        self.undecided = dict(undecided)
        """Flat positions of elements that stayed open over the real numbers; the array has NaN or 0 there."""

    def __getitem__(self, name: str | int) -> Array:
        return list(self._arrays.values())[name] if isinstance(name, int) else self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def _lines(self) -> list[tuple[str, str, str]]:
        lines = []
        for name, value in self.items():
            notes = []
            if self.order_sensitive.get(name):
                notes.append(f"{self.order_sensitive[name]} elements change with the order of a sum")
            if len(self.undecided.get(name, ())):
                notes.append(f"{len(self.undecided[name])} elements are undecided")
            lines.append((name, f"{value.dtype}{list(value.shape)}", "; ".join(notes)))
        return lines

    def __repr__(self) -> str:
        return "\n".join(" ".join(part for part in line if part) for line in self._lines())

    def _repr_html_(self) -> str:
        return table(("result", "type", ""), self._lines())


def _results(computed: Sequence[tuple[str, str, list[int], bytes, int, list[int]]]) -> Results:
    arrays = {name: decode(dtype, dims, data) for name, dtype, dims, data, _, _ in computed}
    sensitive = {name: count for name, _, _, _, count, _ in computed if count}
    undecided = {name: np.asarray(places, np.int64) for name, _, _, _, _, places in computed if places}
    return Results(complex_joined(arrays), sensitive, undecided)


def evaluate(hlo: Text, *arguments: Any, mode: str = MODE, results: Sequence[str] = ()) -> Results:
    """Runs a program on an emulated machine.

    ``hlo`` is its text, before or after compilation, or a path of it. ``arguments`` are arrays of the program's types in
    order, or one mapping of their names (``arg0``; what differs between devices as ``arg0@0``, ``arg0@1``). ``mode`` is
    chip/precision/excess[+key=value...]; ``results`` names those to give, by default all.

    Raises ``Error`` if the text is no HLO, an operation is not supported, or an argument does not fit.

    >>> hlo = '''HloModule double
    ... ENTRY main { x = f32[2] parameter(0) ROOT y = f32[2] add(x, x) }'''
    >>> evaluate(hlo, np.float32([1, 2]), mode="cpu/highest/off")["out0"]
    array([2., 4.], dtype=float32)
    """
    return evaluate_encoded(text_of(hlo), encode_arguments(arguments), mode, list(results))


def evaluate_encoded(text: str, arguments: Any, mode: str, results: Sequence[str] = ()) -> Results:
    """As ``evaluate``, of a text and of arguments that are encoded already."""
    return _results(_ulpgate.evaluate(text, arguments, mode, list(results)))


def exact(hlo: Text, *arguments: Any, round_to: str = "f64", results: Sequence[str] = ()) -> Results:
    """Evaluates a program over the real numbers; floats are correctly rounded once.

    ``round_to`` is a float type, by HLO's name or NumPy's, or ``stored``: that of each result, which deep networks give up much
    sooner; or ``near``: float64 within 2^-10 of an ulp of each result's own type, enough to measure errors. Elements that stay open are in ``undecided`` of what is returned. Otherwise as ``evaluate``.

    >>> hlo = '''HloModule third
    ... ENTRY main { x = f32[] parameter(0) y = f32[] constant(3) ROOT z = f32[] divide(x, y) }'''
    >>> exact(hlo, np.float32(1))["out0"]
    array(0.33333333)
    >>> exact(hlo, np.float32(1), round_to="bf16")["out0"]
    array(0.333984, dtype=bfloat16)
    """
    return exact_encoded(text_of(hlo), encode_arguments(arguments), hlo_name(round_to), list(results))


def exact_encoded(text: str, arguments: Any, round_to: str, results: Sequence[str] = ()) -> Results:
    """As ``exact``, of a text and of arguments that are encoded already."""
    return _results(_ulpgate.exact(text, arguments, round_to, list(results)))


def diff(before: Text, after: Text, *arguments: Any, mode: str = MODE, scores: str | None = None) -> Diff:
    """Tells what a compiler or a flag changed in a program's precision.

    A program is HLO text or StableHLO, or a path: ``Path("model.mlir")``, which jaxlib turns into HLO before compilation.

    With ``arguments``, as in ``evaluate``, both programs are run in ``mode`` as well, and results that differ are judged by
    what the first program means over the real numbers; where ``scores`` names a result of the first program or an argument
    (``arg0``, ...), rows that lost the most probable token are told.

    >>> wide = '''HloModule f
    ... ENTRY main { x = f32[2] parameter(0) y = f32[2] negate(x) ROOT z = f32[2] exponential(y) }'''
    >>> narrow = '''HloModule f
    ... ENTRY main { x = f32[2] parameter(0) y = f32[2] negate(x) r = bf16[2] convert(y) w = f32[2] convert(r)
    ...   ROOT z = f32[2] exponential(w) }'''
    >>> print(diff(wide, narrow))
    rounding-added x: f32 for z -> bf16 for z
    """
    given = encode_arguments(arguments) if arguments else None
    found, lines = _ulpgate.diff(text_of(before), text_of(after), given, mode, scores)
    value = json.loads(found)
    changes = [Change(**change) for change in value["changes"]]
    sides = [(value[what]["before"], value[what]["after"]) for what in ("unmatched", "not_understood")]
    return Diff(changes, value.get("results", []), sides[0], sides[1], lines)


class Flow:
    """The precision flow of a program: where each value is rounded, who sees it before and who after."""

    def __init__(self, hlo: str, mode: str | None, every: bool) -> None:
        self._arguments = (hlo, mode, every)
        # Made here, so that a bad text is refused at once.
        self.text = self._form("text")
        """The listing of the command line."""

    def _form(self, form: str) -> str:
        hlo, mode, every = self._arguments
        return _ulpgate.show(hlo, mode, form, every)

    @cached_property
    def data(self) -> dict[str, Any]:
        """All of it, as `ulpgate hlo show --json` has it."""
        return dict(json.loads(self._form("json")))

    @cached_property
    def dot(self) -> str:
        """A drawing for Graphviz, coloured by precision."""
        return self._form("dot")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"


def show(hlo: Text, *, mode: str | None = None, every: bool = False) -> Flow:
    """Tells each value's precision, who sees it rounded and who does not, and what a compiler may still elide.

    ``mode`` names the compiler to ask; without it, of a program that is not compiled yet, all. ``every`` lists values that
    only move or convert as well.

    >>> flow = show('''HloModule f
    ... ENTRY main { x = bf16[2] parameter(0) ROOT y = bf16[2] add(x, x) }''')
    >>> flow.data["counts"]["computing"]
    1
    """
    return Flow(text_of(hlo), mode, every)


@dataclass(frozen=True)
class WrongRow:
    """A row that says another token than the truth."""

    row: int
    """The row's number, from 0."""
    exact: int
    """The token in truth; of a kept set the number of tokens that are kept."""
    emitted: int
    """The same of the result."""


@dataclass(frozen=True)
class TokenRows:
    """What the truth says of one result."""

    result: str
    """The result's name."""
    kind: str
    """Kind of the result: ``tokens`` (integers), ``kept`` (a set of predicates) or ``scores`` (floats, the largest of a row is its
    token)."""
    rows: int
    """Number of rows."""
    wrong: list[WrongRow]
    """Rows with another token than the truth."""
    undecided: list[int]
    """Rows of which the truth is open."""
    lost: list[int] | None
    """Of a kept set with its scores beside it: rows that keep none of the most probable tokens; else None."""

    def __str__(self) -> str:
        said = f"{self.result} ({self.kind}): {len(self.wrong)} of {self.rows} rows are not those of the truth"
        few = [f"{wrong.row} ({wrong.emitted}, in truth {wrong.exact})" for wrong in self.wrong[:4]]
        said += f": {', '.join(few)}{', ...' if len(self.wrong) > len(few) else ''}" if few else ""
        said += f"; {len(self.lost)} lose the most probable token" if self.lost else ""
        return said + (f"; {len(self.undecided)} are undecided" if self.undecided else "")


@dataclass(frozen=True)
class WorstElement:
    """The element of a result that is farthest from the truth."""

    index: tuple[int, ...]
    """Index of the element, an integer for each dim."""
    computed: float
    """The element as computed."""
    exact: float
    """The element in truth."""
    error: float
    """Error in ulps of the result's type at the truth; of integers and predicates the difference."""


@dataclass(frozen=True)
class Distance:
    """An element's distance from the truth."""

    element: int
    """The element's flat position, row-major."""
    value: float
    """The distance: a difference, or of a relative one its share of the true magnitude."""


@dataclass(frozen=True)
class ResultError:
    """How far a result is from the truth."""

    result: str
    """The result's name."""
    shape: str
    """Type and dims, such as ``bf16[8,1024]``."""
    elements: int
    """Number of elements."""
    undecided: int
    """Number of elements of which the truth is open: they are not judged."""
    differing: int
    """Number of elements farther from the truth than half an ulp, or than the limit; of integers and predicates, of other ones."""
    worst: WorstElement | None
    """The element farthest from the truth; None where none is judged."""
    relative_rms: float | None
    """Root mean square of the error over that of the truth; None where none is judged, only the truth is zero, or elements are no
    floats."""
    absolute: Distance | None
    """The largest absolute difference, or None."""
    relative: Distance | None
    """The largest difference over the truth's magnitude, or None."""

    @property
    def is_float(self) -> bool:
        """Whether its elements are floats."""
        return not self.shape.startswith(("s", "u", "pred"))

    @property
    def error(self) -> float | None:
        """The largest error; None where nothing is judged."""
        return None if self.worst is None else self.worst.error

    def __str__(self) -> str:
        said = f"{self.result} ({self.shape})"
        if self.worst is None:
            return f"{said}: not judged: {self.undecided} of {self.elements} elements are undecided"
        if not self.worst.error:
            return f"{said}: as in truth" + (f"; {self.undecided} are undecided" if self.undecided else "")
        unit = " ulp" if self.is_float else ""
        at = ",".join(map(str, self.worst.index))
        said += f": error {self.worst.error:.6g}{unit} at most, at [{at}] ({self.worst.computed:.6g}, in truth {self.worst.exact:.6g})"
        said += "" if self.relative_rms is None else f", relative rms {self.relative_rms:.3g}"
        said += f"; {self.differing} of {self.elements} elements are not the nearest"
        return said + (f"; {self.undecided} are undecided" if self.undecided else "")


def result_errors(results: Mapping[str, Array], truth: Results, allowed: float = 0.5) -> list[ResultError]:
    """Subtracts the truth, as ``exact`` gives it, from results, as ``evaluate`` gives them. Elements whose error is above ``allowed``
    ulps of their type are counted.

    >>> hlo = '''HloModule third
    ... ENTRY main { x = f32[] parameter(0) y = f32[] constant(3) ROOT z = f32[] divide(x, y) }'''
    >>> truth = exact(hlo, np.float32(1))
    >>> print(*result_errors(evaluate(hlo, np.float32(1), mode="v5e/default/off"), truth))
    out0 (f32[]): error 0.333333 ulp at most, at [] (0.333333, in truth 0.333333), relative rms 2.98e-08; 0 of 1 elements are not the nearest
    """
    places = [(name, [int(place) for place in several]) for name, several in truth.undecided.items()]
    found = json.loads(_ulpgate.errors(encode(results), encode(truth), places, allowed))
    dims = {name: np.shape(value) for name, value in results.items()}
    # The parts of a complex result have its dims.
    dims |= {f"{name}.{part}": shape for name, shape in dims.items() for part in ("real", "imag")}

    def worst(name: str, value: dict[str, Any]) -> WorstElement:
        index = tuple(int(at) for at in np.unravel_index(value["element"], dims[name])) if dims[name] else ()
        numbers = [float("nan" if value[key] is None else value[key]) for key in ("computed", "exact")]
        return WorstElement(index, numbers[0], numbers[1], float("inf") if value["error"] is None else value["error"])

    def error(value: dict[str, Any]) -> ResultError:
        distances = {key: value[key] and Distance(**value[key]) for key in ("absolute", "relative")}
        found_worst = None if value["worst"] is None else worst(value["result"], value["worst"])
        return ResultError(**{**value, **distances, "worst": found_worst})

    return [error(value) for value in found]


def token_rows(
    hlo: Text, arguments: Sequence[Any] | Mapping[str, Any], sets: Sequence[Mapping[str, Array]], tokens: Sequence[str] | None = None
) -> list[list[TokenRows]]:
    """Compares sets of results with the tokens that a program names over the real numbers.

    ``hlo`` and ``arguments`` give the truth; each of ``sets`` has all results of the program, or of another form of it, as
    ``evaluate`` gives them. ``tokens`` names results to judge: integers, predicates, or floats whose largest in a row is a
    token; by default those by which the program picks, and what it picks. Returns a list for each set.

    >>> from ulpgate import array
    >>> hlo = '''HloModule scores
    ... ENTRY main { x = bf16[1,2] parameter(0) one = bf16[] constant(1) ones = bf16[1,2] broadcast(one), dimensions={}
    ...   ROOT scores = bf16[1,2] add(x, ones) }'''
    >>> x = array([[2**-9, 2**-8]], "bf16")             # 1 + 2^-8 rounds to 1
    >>> ((rows,),) = token_rows(hlo, [x], [evaluate(hlo, x)], ["out0"])
    >>> print(rows)
    out0 (scores): 1 of 1 rows are not those of the truth: 0 (0, in truth 1)
    """
    given = encode(arguments) if isinstance(arguments, Mapping) else encode_arguments(tuple(arguments))
    found = _ulpgate.tokens(text_of(hlo), given, [encode(results) for results in sets], None if tokens is None else list(tokens))

    def rows(value: dict[str, Any]) -> TokenRows:
        return TokenRows(**{**value, "wrong": [WrongRow(**wrong) for wrong in value["wrong"]]})

    return [[rows(value) for value in several] for several in json.loads(found)]
