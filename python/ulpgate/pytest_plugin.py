"""The pytest plugin: the option ``--ulpgate-bless``, and where what is accepted of a test lies."""

from collections.abc import Generator
from typing import Any

import pytest

from . import testing


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("ulpgate").addoption(
        "--ulpgate-bless",
        action="store_true",
        help="accept what assert_conforms and assert_same_tokens find: written beside each test file, to be reviewed",
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    # Within the file, by class and parameters: test_a, TestB::test_c[2].
    test = item.nodeid.split("::", 1)[-1]
    path = item.path.with_name(f"{item.path.stem}.ulpgate.json")
    testing.current = testing.Accepted(path, test, item.config.getoption("--ulpgate-bless"))
    yield
    testing.current = None
