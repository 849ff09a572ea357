"""Programs as text, without jax."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ulpgate
from ulpgate._arrays import _FROM_HLO, _ML_DTYPES, array, decode, dtype, encode

DUMPS = Path(__file__).resolve().parents[2] / "tests" / "data" / "hlo"
# Row 0's token is lost in bf16: 1 + 2^-8 rounds to even, which is 1.
SUM = """HloModule sum, is_scheduled=true
ENTRY main {
  x = bf16[2,3] parameter(0)
  one = bf16[] constant(1)
  ones = bf16[2,3] broadcast(one), dimensions={}
  scores = bf16[2,3] add(x, ones)
  kept = pred[2,3] compare(scores, ones), direction=GT
  ROOT out = (bf16[2,3], pred[2,3]) tuple(scores, kept)
}"""
X = np.array([[0, 2**-9, 2**-8], [1, 2, 0.5]], ml_dtypes.bfloat16)


def identity(hlo: str, dims: str = "3") -> str:
    return f"HloModule f\nENTRY main {{ x = {hlo}[{dims}] parameter(0) ROOT y = {hlo}[{dims}] copy(x) }}"


@pytest.mark.parametrize("hlo", [name for name, own in _FROM_HLO.items() if own not in _ML_DTYPES or hasattr(ml_dtypes, own)])
def test_elements_of_every_type_come_back_bit_for_bit(hlo: str) -> None:
    if hlo in ("pred", "s1", "u1"):
        value = np.array([0, 1, 1]).astype(bool).astype(dtype(hlo))
    else:
        value = np.array([1, 0.5, 2] if hlo.startswith(("f", "bf")) else [0, 1, 2 if hlo.startswith("u") else -2]).astype(dtype(hlo))
    ((_, name, dims, data),) = encode({"x": value})
    assert (name, dims) == (hlo, (3,))
    assert decode(name, dims, data).tobytes() == value.tobytes()
    result = ulpgate.evaluate(identity(hlo), value)["out0"]
    assert result.dtype == value.dtype and result.tobytes() == value.tobytes()


def test_big_endian_strided_and_scalar_arrays_are_taken() -> None:
    expected = np.float32([1, 2, 3])
    for given in (expected.astype(">f4"), np.float32([1, 0, 2, 0, 3, 0])[::2], [np.float32(1), np.float32(2), np.float32(3)]):
        assert (ulpgate.evaluate(identity("f32"), given)["out0"] == expected).all()
    assert ulpgate.evaluate(identity("f32", ""), np.float32(2))["out0"].shape == ()


def test_results_have_names_and_places() -> None:
    results = ulpgate.evaluate(SUM, X)
    scores, kept = results.values()
    assert list(results) == ["out0", "out1"] and results[1] is kept
    assert scores.dtype == ml_dtypes.bfloat16 and kept.tolist() == [[False] * 3, [True] * 3]
    assert "out1 bool[2, 3]" in repr(results) and "<td" in results._repr_html_()
    assert list(ulpgate.evaluate(SUM, X, results=["out1"])) == ["out1"]
    assert list(ulpgate.evaluate(SUM, {"arg0": X})) == ["out0", "out1"]


def test_exact_rounds_once() -> None:
    assert ulpgate.exact(SUM, X)["out0"].tolist() == [[1, 1 + 2**-9, 1 + 2**-8], [2, 3, 1.5]]
    stored = ulpgate.exact(SUM, X, round_to="stored")["out0"]
    assert stored.dtype == ml_dtypes.bfloat16 and stored[0].astype(float).tolist() == [1, 1, 1]


def test_rows_that_say_another_token_are_told() -> None:
    results = ulpgate.evaluate(SUM, X)
    ((scores, kept),) = ulpgate.token_rows(SUM, [X], [results], ["out0", "out1"])
    assert scores.wrong == [ulpgate.WrongRow(0, 2, 0)] and scores.lost is None
    assert kept.wrong == [ulpgate.WrongRow(0, 2, 0)] and kept.lost == [0]
    assert str(scores) == "out0 (scores): 1 of 2 rows are not those of the truth: 0 (0, in truth 2)"
    assert [rows.result for rows in ulpgate.token_rows(SUM, [X], [results])[0]] == ["out0", "out1"]


def inputs_of(name: str) -> dict[str, np.ndarray]:
    """Arguments of a dump, from a file of the safetensors format."""
    data = (DUMPS / "cpu" / f"{name}.inputs.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = json.loads(data[8:start])
    slices = {key: (own, data[start:][slice(*own["data_offsets"])]) for key, own in tensors.items() if key != "__metadata__"}
    return {key: decode(own["dtype"].lower(), own["shape"], held) for key, (own, held) in slices.items()}


def test_what_a_flag_changed_is_told_with_its_tokens() -> None:
    off, on = (DUMPS / "cpu" / f"top_p.excess_{setting}.hlo" for setting in ("off", "on"))
    found = ulpgate.diff(off, on, inputs_of("top_p"), mode="xla-cpu/default/as-compiled")
    assert "rounding-removed" in {change.kind for change in found.changes} and not found.is_same
    assert [str(change) for change in found.changes] == found.lines[: len(found.changes)]
    assert "<table>" in found._repr_html_()
    assert ulpgate.diff(on, on).is_same and str(ulpgate.diff(on, on)) == "no change of precision"


def test_flow_is_told_as_text_data_and_drawing() -> None:
    flow = ulpgate.show(SUM)
    assert "sum (compiled)" in str(flow) and flow.data["module"] == "sum" and flow.dot.startswith("digraph")
    assert flow._repr_html_().startswith("<pre>")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ulpgate.evaluate("nonsense", X), "hlo: "),
        (lambda: ulpgate.evaluate("module @jit_f { }", X), "StableHLO"),
        (lambda: ulpgate.evaluate(SUM), "arg0 is missing, which must be bf16[2,3]"),
        (lambda: ulpgate.evaluate(SUM, X.astype(np.float32)), "arg0 is f32[2,3], but the program takes bf16[2,3]"),
        (lambda: ulpgate.evaluate(SUM, X, X), "arg1 is more than the program takes"),
        (lambda: ulpgate.evaluate(SUM, X, mode="v99/default/off"), "v99"),
        (lambda: ulpgate.evaluate(SUM, X, results=["out7"]), "there is no result `out7`"),
        (lambda: ulpgate.evaluate(SUM, np.array(["a"])), "which HLO does not have"),
        (lambda: ulpgate.exact(SUM, X, round_to="f12"), "no float type"),
        (lambda: ulpgate.diff(SUM, "nonsense"), "after: "),
        (lambda: ulpgate.show(Path("no such file")), "failed to read it"),
        (lambda: ulpgate.token_rows(SUM, [X], [{"out0": X}]), "has a result out1, which is not given"),
        (lambda: array([1], "f7"), "there is no element type f7"),
    ],
)
def test_what_cannot_be_judged_is_one_line(call: object, says: str) -> None:
    with pytest.raises(ulpgate.Error) as raised:
        call()  # type: ignore[operator]
    assert says in str(raised.value) and "\n" not in str(raised.value)


def test_other_threads_go_on() -> None:
    results: list[ulpgate.Results] = []
    threads = [threading.Thread(target=lambda: results.append(ulpgate.evaluate(SUM, X))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({result["out0"].tobytes() for result in results}) == 1 and len(results) == 8


def test_complex_arrays_are_one() -> None:
    hlo = "HloModule f\nENTRY main { x = c64[2] parameter(0) ROOT y = c64[2] add(x, x) }"
    result = ulpgate.evaluate(hlo, np.complex64([1 + 2j, complex(float("inf"), 1)]), mode="cpu/highest/off")["out0"]
    assert result.dtype == np.complex64 and result.tolist() == [2 + 4j, complex(float("inf"), 2)]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ulpgate", *arguments], capture_output=True, text=True, check=False)


def test_the_command_line_has_the_exit_codes_of_the_binary(tmp_path: Path) -> None:
    version = run("-V")
    assert (version.returncode, version.stdout) == (0, f"ulpgate {ulpgate.__version__}\n")
    before, after = tmp_path / "before.hlo", tmp_path / "after.hlo"
    before.write_text(SUM)
    after.write_text(SUM.replace("add(", "subtract("))
    assert run("hlo", "diff", str(before), str(before)).returncode == 0
    assert run("hlo", "diff", str(before), str(after)).returncode == 1
    missing = run("hlo", "show", str(tmp_path / "none"))
    assert missing.returncode == 2 and missing.stderr.startswith("ulpgate: ") and missing.stderr.count("\n") == 1


def test_jax_is_asked_for_where_it_is_needed() -> None:
    try:
        import jax  # noqa: F401
    except ImportError:
        with pytest.raises(ulpgate.Error, match="pip install jax"):
            ulpgate.audit(lambda x: x, np.float32(1))


def test_nothing_of_a_text_is_obeyed_by_a_terminal() -> None:
    before = """HloModule m
ENTRY e {
  x = bf16[4] parameter(0)
  ROOT y = bf16[4] add(x, x), metadata={op_name="a\x1b[31m\x9b"}
}
"""
    found = ulpgate.diff(before, before.replace("add(", "multiply("))
    for told in (str(found), str(found.changes[0]), str(ulpgate.show(before))):
        assert not any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 for c in told), told
    assert "a\\u001b[31m\\u009b" in str(found)
    with pytest.raises(ulpgate.Error) as raised:
        ulpgate.evaluate(before, np.zeros(4, ml_dtypes.bfloat16), mode="a\x1b[31m" + "x" * 100_000)
    assert "\x1b" not in str(raised.value) and len(str(raised.value)) < 4200 and "more characters" in str(raised.value)
