"""Assertions for tests. Under pytest, ``--ulpgate-bless`` accepts what they find.

What is accepted stands beside the test, ``test_sampler.py`` has ``test_sampler.ulpgate.json``: the name of the format, and for
each test the findings, a line each, to be reviewed and committed. A finding that is not there fails the test, and so does one that is there and vanished.
As for ``ulpgate hlo diff --accept``, the numbers behind instructions' names count for nothing: an operation more elsewhere changes them. What
is accepted of tests or calls that are no more is stale: the plugin reports it, and ``--ulpgate-bless`` removes it.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ._audit import audit, function_name, lower, result_names, targets
from ._hlo import Results, TokenRows, evaluate, token_rows
from ._ulpgate import Error, line_key


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keeps other processes from accepting findings in a folder, so that tests that run side by side lose none of them."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _without(lines: Sequence[str], taken: Sequence[str]) -> list[str]:
    """The lines that have none alike among ``taken``, each of which stands for one."""
    left: dict[str, int] = {}
    for line in taken:
        left[line_key(line)] = left.get(line_key(line), 0) + 1
    found = []
    for line in lines:
        key = line_key(line)
        if left.get(key, 0):
            left[key] -= 1
        else:
            found.append(line)
    return found


# The first member of a list of accepted findings: a file without it is none.
FORMAT = "ulpgate accepted findings 1"


class Accepted:
    """The findings that are accepted of one test."""

    def __init__(self, path: Path, test: str, bless: bool) -> None:
        self.path, self.test, self.bless = path, test, bless
        self._calls = 0

    def stale(self) -> list[str]:
        """Entries of the test for calls that it did not make: known once it has passed."""
        numbered = re.compile(re.escape(self.test) + r"#([0-9]+)")

        def is_beyond(key: str) -> bool:
            number = numbered.fullmatch(key)
            return key == self.test and not self._calls or number is not None and int(number[1]) > self._calls

        return [key for key in self.read() if is_beyond(key)] if self.path.exists() else []

    def remove(self, keys: Iterable[str]) -> None:
        """Takes entries out of the file."""
        gone = set(keys)
        with _alone_in(self.path.parent):
            known = self.read()
            left = {key: lines for key, lines in known.items() if key not in gone}
            if left != known:
                self._write(left)

    def read(self) -> dict[str, list[str]]:
        """All that the file accepts, by test."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise Error(f"{self.path}: failed to read what is accepted: {error}") from error
        is_lines = lambda lines: isinstance(lines, list) and all(isinstance(line, str) for line in lines)  # noqa: E731
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise Error(
                f'{self.path}: it is no list of accepted findings, which begins with "format": "{FORMAT}"; remove it, and write '
                "it with pytest --ulpgate-bless"
            )
        tests = found.get("tests")
        if found.keys() != {"format", "tests"} or not isinstance(tests, dict) or not all(map(is_lines, tests.values())):
            raise Error(f'{self.path}: "tests" is no object of lists of findings; write it with pytest --ulpgate-bless')
        return tests

    def settle(self, findings: list[str]) -> None:
        """Fails where findings are not those that are accepted; accepts them instead if that is asked for."""
        __tracebackhide__ = True
        self._calls += 1
        key = self.test if self._calls == 1 else f"{self.test}#{self._calls}"
        known = self.read()
        if self.bless:
            with _alone_in(self.path.parent):
                known = self.read()
                accepted = known.get(key, [])
                is_alike = not _without(findings, accepted) and not _without(accepted, findings)
                changed = {test: lines for test, lines in known.items() if test != key or is_alike}
                changed.update({key: findings} if findings and not is_alike else {})
                if changed != known:
                    self._write(changed)
            return
        accepted = known.get(key, [])
        new, gone = _without(findings, accepted), _without(accepted, findings)
        if new or gone:
            lines = [f"new: {line}" for line in new] + [f"vanished: {line}" for line in gone]
            told = f"{len(new)} findings are new, {len(gone)} that {self.path.name} accepts vanished"
            raise AssertionError("\n".join([told, *lines, "pytest --ulpgate-bless accepts this; review what it writes"]))

    def _write(self, accepted: dict[str, list[str]]) -> None:
        if not accepted:
            self.path.unlink(missing_ok=True)
            return
        # Whole or not at all: tests may run side by side.
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        whole = {"format": FORMAT, "tests": dict(sorted(accepted.items()))}
        fresh.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        fresh.replace(self.path)


# What is accepted of the test that runs; set by the plugin.
current: Accepted | None = None


def _settle(findings: list[str]) -> None:
    __tracebackhide__ = True
    if current is not None:
        current.settle(findings)
    elif findings:
        raise AssertionError("\n".join([f"{len(findings)} findings", *findings]))


def assert_conforms(
    f: Callable[..., Any],
    *args: Any,
    chips: Iterable[str] | None = None,
    tokens: str | int | Iterable[str | int] | None = None,
    static_argnums: Sequence[int] = (),
    max_ulp: float | None = None,
) -> None:
    """Asserts that compilers change no precision in a JAX function, and that it gives the truth: its tokens, or its numbers.

    Fails on each change that ``xla_allow_excess_precision`` makes, on each result with a row that says another token than the
    function does over the real numbers, on each result that says no token and is farther than ``max_ulp`` from the number of
    its type that is nearest to the truth, with the flag or without, and on whatever could not be judged; unless it is accepted. Without ``max_ulp``
    it must be that number; where ``tokens`` names results, other ones are not asked for.

    Raises ``Error`` where nothing was judged: no result says a token or has an error, or no compiler is asked.

    ``chips`` are ``cpu`` and TPU generations such as ``v5e``; by default the CPU, and v5e, v6e and tpu7x where libtpu is
    installed. The other arguments are as for ``audit``.

    >>> import jax.numpy as jnp
    >>> x = np.float32([[1, 3, 2]])
    >>> assert_conforms(lambda x: jnp.argmax(x, -1), x, chips=["cpu"])
    >>> assert_conforms(lambda x: 1 / (1 + jnp.exp(-x)), x, chips=["cpu"])
    Traceback (most recent call last):
        ...
    AssertionError: 2 findings
    cpu/excess_on: out0 (f32[1,3]): error 1 ulp at most, ...
    >>> assert_conforms(lambda x: 1 / (1 + jnp.exp(-x)), x, chips=["cpu"], max_ulp=2)
    """
    __tracebackhide__ = True
    chips = None if chips is None else [chips] if isinstance(chips, str) else list(chips)
    cpu = chips is None or "cpu" in chips
    found = audit(f, *args, topologies=chips, cpu=cpu, tokens=tokens, static_argnums=static_argnums, round_to="stored")
    limit = 0.5 if max_ulp is None and tokens is None else max_ulp
    lines = found.lines(limit)
    if not lines and not found.judged(limit):
        raise Error(f"nothing was judged of {found.name}: it has no element or row whose truth is known, or no compiler was asked")
    _settle(lines)


def assert_same_tokens(
    f: Callable[..., Any],
    g: Callable[..., Any],
    *args: Any,
    chips: Iterable[str] | None = None,
    tokens: str | int | Iterable[str | int] | None = None,
    static_argnums: Sequence[int] = (),
) -> None:
    """Asserts that two JAX functions say the same tokens for the same arguments, as compiled by default.

    A row that differs is a finding, with what ``f`` says over the real numbers. Other arguments are as for
    ``assert_conforms``.

    >>> import jax.numpy as jnp
    >>> x = np.float32([[1, 3, 2], [5, 4, 3]])
    >>> greedy = lambda x: jnp.argmax(x, -1)
    >>> assert_same_tokens(greedy, lambda x: jnp.argmax(2 * x, -1), x, chips=["cpu"])
    >>> assert_same_tokens(greedy, lambda x: jnp.argmin(x, -1), x, chips=["cpu"])
    Traceback (most recent call last):
        ...
    AssertionError: 1 findings
    cpu: out0 (tokens): 2 of 2 rows differ (0, 1); the truth is with the first in 2, with the second in 0
    """
    __tracebackhide__ = True
    chips = None if chips is None else [chips] if isinstance(chips, str) else list(chips)
    wanted = targets(chips, chips is None or "cpu" in chips)
    if not wanted:
        raise Error("nothing was judged: no compiler was asked; name one with chips=[...]")
    (ones, arguments), (others, _) = (lower(function, args, wanted, static_argnums) for function in (f, g))
    findings = []
    for one, other in zip(ones, others, strict=True):
        results = [evaluate(target.excess_on, *arguments, mode=one.mode) for target in (one, other)]
        names = [[(name, value.dtype, value.shape) for name, value in several.items()] for several in results]
        if names[0] != names[1]:
            raise AssertionError(f"{function_name(f)} and {function_name(g)} give other results: {names[0]} and {names[1]}")
        judged = token_rows(one.before, arguments, results, result_names(tokens))
        if not judged[0]:
            raise Error(f"{function_name(f)} has no result that says a token: name one with tokens=...")
        if not any(rows.rows for rows in judged[0]):
            raise Error(f"nothing was judged of {function_name(f)}: its results have no row")
        for rows, other_rows in zip(*judged, strict=True):
            line = _differing(rows, other_rows, *results)
            if line:
                findings.append(f"{one.name}: {line}")
    _settle(findings)


def _differing(rows: TokenRows, other_rows: TokenRows, one: Results, other: Results) -> str | None:
    """What is told of rows in which two programs say other tokens."""
    says = [_said(rows.kind, results[rows.result]) for results in (one, other)]
    differing = np.flatnonzero((says[0] != says[1]).any(axis=1))
    if not len(differing):
        return None
    wrong = [{row.row for row in several.wrong} for several in (rows, other_rows)]
    truth = [sum(int(row) not in several for row in differing) for several in wrong]
    few = ", ".join(str(row) for row in differing[:8]) + (", ..." if len(differing) > 8 else "")
    count = f"{len(differing)} of {rows.rows} rows differ ({few})"
    return f"{rows.result} ({rows.kind}): {count}; the truth is with the first in {truth[0]}, with the second in {truth[1]}"


def _said(kind: str, result: Any) -> Any:
    """What each row says: ``[rows, elements]``."""
    if kind == "scores":
        # As float64, in which all types have an order. A NaN stands before all numbers, as in jax.numpy.argmax.
        return np.argmax(np.asarray(result, np.float64).reshape(-1, result.shape[-1]), axis=1)[:, None]
    return np.asarray(result).reshape((-1, result.shape[-1]) if result.ndim > 1 else (-1, 1))
