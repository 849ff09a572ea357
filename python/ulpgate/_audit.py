"""What a compiler makes of a JAX function, and which tokens that flips."""

import importlib.util
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from . import _ulpgate
from ._arrays import Array
from ._hlo import Change, Diff, ResultError, Results, TokenRows, changes_table, diff, evaluate, exact, result_errors, token_rows
from ._html import paragraph, table
from ._programs import program_of, stablehlo
from ._ulpgate import Error

# The generations that are asked where libtpu is there and nothing is said.
DEFAULT_CHIPS = ("v5e", "v6e", "tpu7x")


def jax_lowering() -> ModuleType:
    """The module that lowers, which needs jax."""
    if importlib.util.find_spec("jax") is None:
        raise Error('lowering a function needs jax, which is not installed: pip install jax, or "jax[tpu]" for TPU compilers')
    from . import lowering

    return lowering


def targets(topologies: Iterable[str] | None, cpu: bool) -> dict[str, str | None]:
    """The topology of each target's name; ``cpu`` has none. A generation such as ``v5e`` stands for one of its topologies."""
    lowering = jax_lowering()
    has_libtpu = importlib.util.find_spec("libtpu") is not None
    if topologies is None:
        topologies = DEFAULT_CHIPS if has_libtpu else ()
    asked = [topologies] if isinstance(topologies, str) else list(topologies)
    found: dict[str, str | None] = {"cpu": None} if cpu or "cpu" in asked else {}
    for name in asked:
        if name == "cpu":
            continue
        if not has_libtpu:
            raise Error(f'{name}: compiling for a TPU needs libtpu, which is not installed: pip install "jax[tpu]"')
        generation, _, extent = name.partition(":")
        if generation not in lowering.TOPOLOGIES:
            raise Error(f"there is no chip {generation}; known: cpu, {', '.join(lowering.TOPOLOGIES)}")
        found[generation] = name if extent else lowering.TOPOLOGIES[generation]
    return found


def result_names(tokens: str | int | Iterable[str | int] | None) -> list[str] | None:
    """Names of results, which may be given by their positions."""
    if tokens is None:
        return None
    several = [tokens] if isinstance(tokens, (str, int)) else list(tokens)
    return [f"out{name}" if isinstance(name, int) else name for name in several]


@dataclass(frozen=True)
class Target:
    """What one compiler makes of a function."""

    name: str
    """Name of the target: ``cpu``, or a generation of TPUs such as ``v5e``."""
    mode: str
    """The machine that runs its programs, as chip/precision/excess."""
    before: str = field(repr=False)
    """HLO text that JAX hands to the compiler."""
    excess_on: str = field(repr=False)
    """HLO text that the compiler makes of it with ``xla_allow_excess_precision``, as by default."""
    excess_off: str = field(repr=False)
    """HLO text that the compiler makes of it without that flag."""
    measured: dict[str, Results] = field(default_factory=dict, repr=False)
    """Results that XLA itself computed, by setting (``excess_on``); of the CPU alone."""
    cut: dict[str, Array] | None = field(default=None, repr=False)
    """The arguments that each of several devices takes, by name (``arg0@0``); none where all take what the program takes."""


def lower(
    f: Callable[..., Any], arguments: Sequence[Any], wanted: dict[str, str | None], static_argnums: Sequence[int] = ()
) -> tuple[list[Target], list[Array]]:
    """The function as compiled for each target, and its arguments as flat arrays."""
    lowering = jax_lowering()
    import jax

    dynamic = [argument for i, argument in enumerate(arguments) if i not in static_argnums]

    def flat(leaf: Any) -> Array:
        if hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        value = np.asarray(leaf)
        return value.astype(jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf)))

    def for_target(topology: str | None) -> Any:
        if topology is None:
            return lowering.lower_for_cpu(f, *arguments, static_argnums=static_argnums)
        return lowering.lower_for_topology(f, topology, *arguments, static_argnums=static_argnums)

    return compile_targets(for_target, dynamic, wanted), [flat(leaf) for leaf in jax.tree.leaves(dynamic)]


def compile_targets(for_target: Callable[[str | None], Any], dynamic: Sequence[Any], wanted: dict[str, str | None]) -> list[Target]:
    """A program as each compiler makes it: ``for_target`` lowers it for a topology, or for the CPU."""
    lowering = jax_lowering()
    import jax

    found = []
    for name, topology in wanted.items():
        try:
            lowered = for_target(topology)
            compiled = lowering.compile_both(lowered)
            before = lowering.text_before(lowered)
        except Error:
            raise
        except lowering.LoweringError as error:
            raise Error(str(error)) from error
        except Exception as error:
            raise Error(f"{name}: jax does not compile it: {lowering.first_line(error)}") from error
        texts = {setting: lowering.text_of(executable) for setting, executable in compiled.items()}
        measured = {}
        if topology is None:
            for setting, executable in compiled.items():
                measured[setting] = Results(stablehlo().named_results(executable, dynamic), {}, {})
        mode = f"{'xla-cpu' if topology is None else name}/default/as-compiled"
        cut = stablehlo().cut_arguments(compiled["excess_on"], dynamic)
        found.append(Target(name, mode, before, texts["excess_on"], texts["excess_off"], measured, cut))
    return found


@dataclass(frozen=True)
class Audit:
    """What compilers make of a function: by target (``cpu``, ``v5e``), or by target and setting (``v5e/excess_on``)."""

    name: str
    """The function's name."""
    changes: dict[str, list[Change]]
    """Changes that the flag ``xla_allow_excess_precision`` makes, from off to on, by target."""
    tokens: dict[str, list[TokenRows]]
    """Rows of each result that says a token, by target and setting; ``wrong`` has those with another token than the truth."""
    errors: dict[str, list[ResultError]]
    """Error of each result against the truth, by target and setting."""
    arrays: dict[str, Results]
    """Results of each program by target and setting, over the real numbers (``exact``), and as XLA:CPU itself computed them
    (``cpu/excess_on/xla``)."""
    targets: dict[str, Target] = field(repr=False)
    """Each target's programs as text."""
    diffs: dict[str, Diff] = field(repr=False)
    """Comparison of the flag's two settings, with its results, by target."""
    notes: list[str]
    """A line for each thing that could not be judged, with the reason."""

    def lines(self, max_ulp: float | None = 0.5) -> list[str]:
        """The findings, one a line: changes, rows that say another token or of which the truth is open, results that say no
        token and are farther from the truth than ``max_ulp`` (None: any may be), and what could not be judged."""
        found = [f"{target}: {change}" for target, changes in self.changes.items() for change in changes]
        found += [
            f"{at}: {rows}" for at, several in self.tokens.items() for rows in several if rows.wrong or rows.lost or rows.undecided
        ]
        for at, errors in self.untold().items():
            for error in errors:
                limit = 0.0 if error.shape.startswith(("s", "u", "pred")) else max_ulp
                is_beyond = error.error is not None and limit is not None and error.error > limit
                if max_ulp is not None and (is_beyond or error.undecided):
                    found.append(f"{at}: {error}")
        return found + [_ulpgate.printable(note) for note in self.notes]

    def untold(self) -> dict[str, list[ResultError]]:
        """The errors of results that say no token, so that nothing but the error judges them."""
        told = {at: {rows.result for rows in several} for at, several in self.tokens.items()}
        return {at: [error for error in errors if error.result not in told.get(at, ())] for at, errors in self.errors.items()}

    def judged(self, max_ulp: float | None = 0.5) -> int:
        """How many rows of tokens, and elements of results that say no token, were held to the truth."""
        rows = sum(rows.rows - len(rows.undecided) for several in self.tokens.values() for rows in several)
        errors = [] if max_ulp is None else [error for several in self.untold().values() for error in several]
        return rows + sum(error.elements - error.undecided for error in errors)

    def __repr__(self) -> str:
        lines = self.lines()
        # Of every target and result, the error against the truth.
        errors = [f"{at}: {error}" for at, errors in self.errors.items() for error in errors]
        return "\n".join([self._summary(), *(f"  {line}" for line in [*lines, *(line for line in errors if line not in lines)])])

    def _summary(self) -> str:
        changes = sum(map(len, self.changes.values()))
        wrong = sum(len(rows.wrong) for several in self.tokens.values() for rows in several)
        rows = sum(rows.rows for several in self.tokens.values() for rows in several)
        said = f"{self.name} for {', '.join(self.targets) or 'no compiler'}: {changes} changes by the flag"
        said += f", {wrong} of {rows} rows not those of the truth" if rows else ", no row of tokens"
        errors = [(at, error) for at, several in self.untold().items() for error in several]
        judged = [(error.error, error.result, at) for at, error in errors if error.error is not None]
        if judged:
            # Of equal errors the first.
            largest, result, at = max(judged, key=lambda one: one[0])
            said += f", {len({result for _, result, _ in judged})} other results with an error of {largest:.6g} ulp at most ({result}, {at})"
        return said if self.judged() else f"{said}; NOTHING was judged"

    def _repr_html_(self) -> str:
        html = paragraph(self._summary())
        if any(self.changes.values()):
            html += changes_table(self.changes)
        rows = [
            (at, rows.result, rows.kind, f"{len(rows.wrong)} of {rows.rows}", "" if rows.lost is None else len(rows.lost), len(rows.undecided))
            for at, several in self.tokens.items()
            for rows in several
        ]
        if rows:
            html += table(("program", "result", "says", "rows not those of the truth", "lost", "undecided"), rows)
        errors = [
            (at, error.result, error.shape, "" if error.error is None else f"{error.error:.6g}",
             "" if error.relative_rms is None else f"{error.relative_rms:.3g}", error.differing, error.undecided)
            for at, several in self.errors.items()
            for error in several
        ]
        if errors:
            html += table(("program", "result", "type", "largest error in ulp", "relative rms", "not the nearest", "undecided"), errors)
        return html + "".join(map(paragraph, self.notes))


def audit(
    f: Callable[..., Any],
    *args: Any,
    topologies: Iterable[str] | None = None,
    cpu: bool = True,
    tokens: str | int | Iterable[str | int] | None = None,
    static_argnums: Sequence[int] = (),
    round_to: str = "f64",
) -> Audit:
    """Says what compilers change in a JAX function, which tokens are not those of the truth, and how far results are from it.

    The function is lowered with the jax that is installed and compiled with ``xla_allow_excess_precision`` on and off: for the
    CPU, and for each of ``topologies``, generations (``v5e``) or topologies (``v5e:2x2``); by default v5e, v6e and tpu7x where
    libtpu is installed. No TPU is used: the programs are run on emulated machines, and judged by the same function over the
    real numbers, whose results are rounded to ``round_to`` (``f64``, ``stored``, ...). That is subtracted from every result: of
    those that say no token the error is what judges them.

    ``args`` are arrays, or structures of them; those at ``static_argnums`` are passed on as they are. ``tokens`` names the
    results that are tokens, kept sets or scores, by position or as ``out0``; by default those by which the function picks,
    and what it picks.

    Raises ``Error`` if jax, or libtpu for topologies that are asked for, is missing, or jax does not compile the function.
    What compiles and cannot be judged is a line of ``notes``.

    >>> import jax, jax.numpy as jnp
    >>> from ulpgate import array
    >>> def keep_max(x):
    ...     p = jax.nn.softmax(x)
    ...     return p, p.astype(jnp.float32) >= p.max(-1, keepdims=True).astype(jnp.float32)
    >>> x = array(np.random.default_rng(0).standard_normal((8, 1024)), "bf16")
    >>> found = audit(keep_max, x, topologies=[])
    >>> sorted({change.kind for change in found.changes["cpu"]})
    ['rounding-removed']
    >>> print(found.tokens["cpu/excess_off"][1])
    out1 (kept): 0 of 8 rows are not those of the truth
    >>> print(found.tokens["cpu/excess_on"][1])
    out1 (kept): 6 of 8 rows are not those of the truth: 0 (0, in truth 1), ...; 6 lose the most probable token
    """
    wanted = targets(topologies, cpu)
    compiled, arguments = lower(f, args, wanted, static_argnums)
    return _judge_all(function_name(f), compiled, arguments, tokens, round_to)


def audit_stablehlo(
    program: str | bytes | os.PathLike[str],
    *args: Any,
    topologies: Iterable[str] | None = None,
    cpu: bool = True,
    tokens: str | int | Iterable[str | int] | None = None,
    round_to: str = "f64",
) -> Audit:
    """``audit`` of a program of any framework: StableHLO, which jaxlib compiles as it compiles JAX's.

    ``program`` is a path (``Path("model.mlir")``, ``.mlirbc``, or ``.pb``: a serialised HloModuleProto; also as a string),
    StableHLO as text, or its bytecode. ``args`` are arrays of the program's types, in its order; all else is as of ``audit``.

    Raises ``Error`` if jax, or libtpu for topologies that are asked for, is missing, the process has fewer CPU devices than the program, or
    the arguments are of other types. Of a program for several devices each device's results are given (``out0@0``).

    >>> import jax
    >>> text = jax.jit(lambda x: x * 0.1).lower(np.float32([1, 2])).as_text()        # or any framework's
    >>> audit_stablehlo(text, np.float32([1, 2]), topologies=[]).errors["cpu/excess_on"][0].worst.error
    0.0
    """
    wanted = targets(topologies, cpu)
    reads = stablehlo()
    read = program_of(program)
    try:
        arguments = reads.arrays(read, args)
    except reads.ProgramError as error:
        raise Error(str(error)) from error

    def for_target(topology: str | None) -> Any:
        try:
            return reads.lower_for_cpu(read) if topology is None else reads.lower_for_topology(read, topology)
        except reads.ProgramError as error:
            raise Error(str(error)) from error

    return _judge_all(read.name, compile_targets(for_target, arguments, wanted), arguments, tokens, round_to)


def _judge_all(
    name: str,
    compiled: list[Target],
    arguments: list[Array],
    tokens: str | int | Iterable[str | int] | None,
    round_to: str,
) -> Audit:
    """The audit of a program that is compiled for each target."""
    asked = result_names(tokens)
    found = Audit(name, {}, {}, {}, {}, {target.name: target for target in compiled}, {}, [])
    truths: list[str] = []
    for target in compiled:
        try:
            _judge(found, target, arguments, asked, round_to, truths)
        except Error as error:
            found.notes.append(f"{target.name}: not judged: {error}")
            if target.name not in found.diffs:
                try:
                    _record(found, target.name, diff(target.excess_off, target.excess_on))
                except Error as error:
                    found.notes.append(f"{target.name}: not compared: {error}")
    return found


def _record(found: Audit, name: str, difference: Diff) -> None:
    found.diffs[name], found.changes[name] = difference, difference.changes
    left = [what for side in (*difference.unmatched, *difference.not_understood) for what in side]
    if left:
        found.notes.append(f"{name}: not compared, for lack of a meaning or a counterpart: {', '.join(left)}")


def _judge(
    found: Audit, target: Target, arguments: list[Array], asked: list[str] | None, round_to: str, truths: list[str]
) -> None:
    name, texts = target.name, {"excess_on": target.excess_on, "excess_off": target.excess_off}
    given = arguments if target.cut is None else [target.cut]
    _record(found, name, diff(target.excess_off, target.excess_on, *given, mode=target.mode))
    for setting, text in texts.items():
        results = evaluate(text, *given, mode=target.mode)
        found.arrays[f"{name}/{setting}"] = results
        measured = target.measured.get(setting)
        if measured is not None:
            found.arrays[f"{name}/{setting}/xla"] = measured
            other = [at for at, value in measured.items() if at not in results or value.tobytes() != results[at].tobytes()]
            if other:
                found.notes.append(f"{name}/{setting}: XLA:CPU computes other bits here than its emulation: {', '.join(other)}")
    if not truths:
        found.arrays["exact"] = exact(target.before, *arguments, round_to=round_to)
        truths.append(target.before)
    sets = [found.arrays[f"{name}/{setting}"] for setting in texts]
    parts = sorted({at.partition("@")[0] for results in sets for at in results if "@" in at})
    if parts:
        told = "errors and tokens are not judged; `arrays` has each device's part"
        found.notes.append(f"{name}: devices have parts of {', '.join(parts)}: {told}")
        return
    for setting in texts:
        found.errors[f"{name}/{setting}"] = result_errors(found.arrays[f"{name}/{setting}"], found.arrays["exact"])
    for setting, rows in zip(texts, token_rows(target.before, arguments, sets, asked), strict=True):
        found.tokens[f"{name}/{setting}"] = rows


def function_name(f: Callable[..., Any]) -> str:
    """A function's name; of a partial application that of what it applies."""
    return str(getattr(f, "__name__", None) or getattr(getattr(f, "func", None), "__name__", type(f).__name__))
