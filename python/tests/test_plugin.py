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


def test_numbers_of_instructions_count_for_nothing(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    """An operation more elsewhere in the function gives every value another number."""
    line = "cpu: rounding-removed fusion.{0}/exp.{0} (jit(f)/exp): bf16 for reduce_sum.{1} -> f32 for reduce_sum.{1}"
    run([line.format(3, 4), "a"], "--ulpgate-bless").assert_outcomes(passed=2)
    before = accepted(pytester).read_text()
    run([line.format(7, 9), "a"]).assert_outcomes(passed=2)
    run([line.format(7, 9), "a"], "--ulpgate-bless").assert_outcomes(passed=2)
    assert accepted(pytester).read_text() == before
    # Two alike are two: one that is accepted does not stand for both; another number of bits is another finding.
    result = run([line.format(7, 9), line.format(8, 9), "a"])
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*1 findings are new, 0 that*"])
    run([line.format(7, 9).replace("bf16 for", "f16 for"), "a"]).assert_outcomes(failed=2)
    # Two that are accepted stand for two.
    run([line.format(7, 9), line.format(8, 9), "a"], "--ulpgate-bless").assert_outcomes(passed=2)
    run([line.format(1, 2), line.format(3, 4), "a"]).assert_outcomes(passed=2)


def test_stale_entries_are_reported_and_removed(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    run(["a"], "--ulpgate-bless").assert_outcomes(passed=2)
    whole = json.loads(accepted(pytester).read_text())
    whole["tests"] |= {"test_gone": ["b"], "TestB::test_gone#2": ["c"], "test_a#2": ["d"]}
    accepted(pytester).write_text(json.dumps(whole))
    orphan = pytester.path / "test_nowhere.ulpgate.json"
    orphan.write_text(json.dumps({"format": whole["format"], "tests": {"test_x": ["e"]}}))
    result = run(["a"])
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*test_it.ulpgate.json: stale: test_a#2, *test_gone*--ulpgate-bless removes it*",
            "*test_nowhere.ulpgate.json: stale: its test file is not there*",
        ]
    )
    # Of a part of the tests nothing is known of the others.
    assert "test_gone" not in run(["a"], "test_it.py::test_a").stdout.str()
    assert "test_gone" in run(["a"], "-k", "TestB").stdout.str()
    run(["a"], "--ulpgate-bless").stdout.fnmatch_lines(["*removed what it accepted of test_a#2*"])
    assert found_in(pytester) == {"test_a": ["a"], "TestB::test_a#2": ["a"]} and not orphan.exists()
    assert "accepted findings" not in run(["a"]).stdout.str()


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
