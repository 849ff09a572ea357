"""The pytest plugin: the option ``--ulpgate-bless``, where what is accepted of a test lies, and what of it is stale."""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from . import testing
from ._ulpgate import Error

# What is accepted of test_sampler.py lies in test_sampler.ulpgate.json.
SUFFIX = ".ulpgate.json"


class _Session:
    """What a run has seen: the tests of each file, and entries of calls that a test no longer makes."""

    def __init__(self) -> None:
        self.tests: dict[Path, set[str]] = {}
        self.unused: dict[Path, list[str]] = {}
        self.told: list[str] = []


_SESSION = pytest.StashKey[_Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("ulpgate").addoption(
        "--ulpgate-bless",
        action="store_true",
        help="accept what assert_conforms and assert_same_tokens find: written beside each test file, to be reviewed",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SESSION] = _Session()


def _name(item: pytest.Item) -> str:
    """Within the file, by class and parameters: test_a, TestB::test_c[2]."""
    return str(item.nodeid.split("::", 1)[-1])


def pytest_itemcollected(item: pytest.Item) -> None:
    # Before -k and -m take any away.
    item.config.stash[_SESSION].tests.setdefault(item.path, set()).add(_name(item))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    accepted = testing.Accepted(item.path.with_name(item.path.stem + SUFFIX), _name(item), item.config.getoption("--ulpgate-bless"))
    testing.current = accepted
    outcome = yield
    testing.current = None
    if outcome.excinfo is None:
        try:
            unused = accepted.stale()
        except Error:
            # A test that asks for the list says what is wrong with it.
            return
        if unused:
            item.config.stash[_SESSION].unused.setdefault(accepted.path, []).extend(unused)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Finds what is accepted of tests that are no more, and removes it where findings are accepted."""
    config = session.config
    seen, is_blessing = config.stash[_SESSION], bool(config.getoption("--ulpgate-bless"))
    stale = {path: list(keys) for path, keys in seen.unused.items()}
    # Where single tests are named, the others of a file are not collected.
    is_whole = not any("::" in str(argument) for argument in config.args)
    for path, tests in seen.tests.items() if is_whole else ():
        accepted = path.with_name(path.stem + SUFFIX)
        try:
            known = testing.Accepted(accepted, "", False).read()
        except Error:
            continue
        gone = [key for key in known if key not in tests and re.sub("#[0-9]+$", "", key) not in tests]
        if gone:
            stale.setdefault(accepted, []).extend(gone)
    for accepted, keys in sorted(stale.items()):
        names = ", ".join(keys)
        if is_blessing:
            testing.Accepted(accepted, "", True).remove(keys)
            seen.told.append(f"{accepted.name}: removed what it accepted of {names}")
        else:
            seen.told.append(f"{accepted.name}: stale: {names}; pytest --ulpgate-bless removes it")
    for folder in {path.parent for path in seen.tests}:
        for orphan in sorted(folder.glob("*" + SUFFIX)):
            if not orphan.with_name(orphan.name.removesuffix(SUFFIX) + ".py").exists():
                if is_blessing:
                    orphan.unlink()
                seen.told.append(f"{orphan.name}: {'removed' if is_blessing else 'stale'}: its test file is not there")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    told = config.stash[_SESSION].told
    if told:
        terminalreporter.section("accepted findings")
        for line in told:
            terminalreporter.write_line(line)
