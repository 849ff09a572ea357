"""What the pytest plugin accepts, and what it does not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

# Findings as text: what makes them is tested in test_audit.py.
TEST = """
from ulpgate import testing

FINDINGS = {findings}

def test_a():
    testing._settle(FINDINGS)

class TestB:
    def test_a(self):
        testing._settle([])
        testing._settle(FINDINGS[:1])
"""


@pytest.fixture
def run(pytester: pytest.Pytester):  # type: ignore[no-untyped-def]
    def run(findings: list[str], *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=TEST.replace("{findings}", repr(findings)))
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)

    return run


def accepted(pytester: pytest.Pytester) -> Path:
    return pytester.path / "test_it.ulpgate.json"


def found_in(pytester: pytest.Pytester) -> dict[str, list[str]]:
    found = json.loads(accepted(pytester).read_text())
    assert list(found) == ["format", "tests"]
    assert found["format"] == "ulpgate accepted findings 1"
    tests: dict[str, list[str]] = found["tests"]
    return tests


def test_findings_fail_until_they_are_accepted(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    found = ["v5e: rounding-removed a", "v5e: rounding-removed b"]
    result = run(found)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*2 findings are new, 0 that*", "*new: v5e: rounding-removed a", "*--ulpgate-bless*"])
    assert not accepted(pytester).exists()
    run(found, "--ulpgate-bless").assert_outcomes(passed=2)
    assert found_in(pytester) == {"test_a": found, "TestB::test_a#2": found[:1]}
    run(found).assert_outcomes(passed=2)


def test_new_and_vanished_findings_fail(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    run(["a", "b"], "--ulpgate-bless").assert_outcomes(passed=2)
    result = run(["a", "c"])
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*1 findings are new, 1 that*", "*new: c", "*vanished: b"])
    run([]).assert_outcomes(failed=2)
    run([], "--ulpgate-bless").assert_outcomes(passed=2)
    assert not accepted(pytester).exists()


def test_blessing_leaves_other_tests_alone(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    run(["a"], "--ulpgate-bless").assert_outcomes(passed=2)
    run(["b"], "--ulpgate-bless", "-k", "TestB").assert_outcomes(passed=1, deselected=1)
    assert found_in(pytester) == {"test_a": ["a"], "TestB::test_a#2": ["b"]}


def test_tests_that_run_side_by_side_lose_no_findings(pytester: pytest.Pytester) -> None:
    path = accepted(pytester)
    accept = "import sys, pathlib; from ulpgate.testing import Accepted; path = pathlib.Path(sys.argv[1])\n"
    accept += "for i in range(20): Accepted(path, f'{sys.argv[2]}-{i}', True).settle(['a'])"
    running = [subprocess.Popen([sys.executable, "-c", accept, str(path), str(name)]) for name in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert len(found_in(pytester)) == 80


def test_a_broken_list_says_what_to_do(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    # Text of another kind is no empty list, and is not written over.
    broken = ['{"test_a": 3}', "{}", "[]", '{"format": "ulpgate accepted findings 1", "tests": {"test_a": 3}}', "no JSON"]
    for text in broken:
        accepted(pytester).write_text(text)
        for options in ([], ["--ulpgate-bless"]):
            result = run([], *options)
            result.assert_outcomes(failed=2)
        assert accepted(pytester).read_text() == text
    accepted(pytester).write_text("{}")
    run([]).stdout.fnmatch_lines(["*write it with pytest --ulpgate-bless*"])
