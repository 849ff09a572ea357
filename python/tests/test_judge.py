"""Results from elsewhere, accuracy and tolerances; functions of jax where there is one."""

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ulpgate

MATMUL = """HloModule matmul
ENTRY main {
  x = f32[8,96] parameter(0)
  y = f32[96,16] parameter(1)
  ROOT z = f32[8,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
RANDOM = np.random.default_rng(0)
X, Y = (RANDOM.standard_normal(dims).astype(np.float32) for dims in ((8, 96), (96, 16)))
MODE = "v5e/highest/off"


def in_order(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sums from left to right, in f32."""
    total = np.zeros((x.shape[0], y.shape[1]), np.float32)
    for k in range(x.shape[1]):
        total += x[:, k : k + 1] * y[k : k + 1]
    return total


def wrong() -> np.ndarray:
    """One product of K is missing."""
    return in_order(X, Y) - X[:, 21:22] * Y[21:22]


def test_honest_results_are_permitted_and_name_a_mode() -> None:
    own = ulpgate.evaluate(MATMUL, X, Y, mode=MODE)
    judged = ulpgate.judge(own, MATMUL, X, Y, mode=MODE)
    assert judged.verdict == "bits" and judged.is_permitted and judged[0].mode == MODE
    assert judged["out0"] is judged[0] and judged[0].shape == "f32[8,16]" and "BITS" in str(judged)
    assert "<table>" in judged._repr_html_()
    for results in (in_order(X, Y), [in_order(X, Y)], {"out0": in_order(X, Y)}, {"z": in_order(X, Y)}):
        ulpgate.assert_permitted(results, MATMUL, X, Y, mode=MODE)
    ulpgate.assert_permitted({"mine": in_order(X, Y)}, MATMUL, X, Y, map={"mine": "out0"}, chips=["v5e", "cpu"])
    # One pass is below what is named, and what is not named permits it.
    one_pass = ulpgate.evaluate(MATMUL, X, Y, mode="v5e/default/off")
    assert ulpgate.judge(one_pass, MATMUL, X, Y, chips="v5e").verdict == "bits"
    assert ulpgate.judge(one_pass, MATMUL, X, Y, mode=MODE)[0].verdict == "outside"
    # One result that is outside is enough.
    two = MATMUL.replace("ROOT z", "z").replace("}\n}\n", "}\n  n = f32[8,96] negate(x)\n  ROOT t = (f32[8,16], f32[8,96]) tuple(z, n)\n}\n")
    several = ulpgate.judge([wrong(), -X], two, X, Y, mode=MODE)
    assert [result.verdict for result in several.results] == ["outside", "bits"] and not several.is_permitted


def test_a_failure_says_how_much_differs_and_where_and_why() -> None:
    found = wrong()
    with pytest.raises(AssertionError) as raised:
        ulpgate.assert_permitted(found, MATMUL, X, Y, mode=MODE)
    said = str(raised.value)
    assert said.startswith(f"hlo: out0 f32[8,16] is outside of what {MODE} permits\n")
    assert "Mismatched elements: 128 / 128 (100%)" in said
    own = ulpgate.evaluate(MATMUL, X, Y, mode=MODE)["out0"].astype(np.float64)
    place = np.unravel_index(np.abs(found - own).argmax(), own.shape)
    at = tuple(int(one) for one in place)
    assert f"Greatest absolute difference: {np.abs(found - own).max():.3f}" in said and f"at index {at}" in said
    assert "Greatest relative difference: " in said and "term 21 of the 96 of z is dropped" in said and "Nearest mode: " in said
    judged = ulpgate.judge(found, MATMUL, X, Y, mode=MODE)
    assert judged[0].pattern[0]["kind"] == "dropped" and judged.verdict == "outside"


def test_a_place_explains_nothing() -> None:
    found = ulpgate.evaluate(MATMUL, X, Y, mode=MODE)["out0"].copy()
    found[2, 5] += 7
    with pytest.raises(AssertionError) as raised:
        ulpgate.assert_permitted(found, MATMUL, X, Y, mode=MODE)
    said = str(raised.value)
    assert "\nWhere: one element alone, " in said and "Explained by: element" not in said


def test_tokens_are_held_to_their_scores() -> None:
    hlo = """HloModule head
larger { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT eq = pred[] compare(a, b), direction=EQ lt = pred[] compare(i, j), direction=LT
  first = pred[] and(eq, lt) keep = pred[] or(gt, first)
  v = f32[] select(keep, a, b) w = s32[] select(keep, i, j) ROOT t = (f32[], s32[]) tuple(v, w) }
ENTRY main { x = f32[3,5] parameter(0) i = s32[3,5] iota(), iota_dimension=1 low = f32[] constant(-inf) none = s32[] constant(0)
  r = (f32[3], s32[3]) reduce(x, i, low, none), dimensions={1}, to_apply=larger ROOT y = s32[3] get-tuple-element(r), index=1 }
"""
    x = RANDOM.standard_normal((3, 5)).astype(np.float32)
    ulpgate.assert_permitted(x.argmax(1), hlo, x, tokens=0)
    with pytest.raises(AssertionError, match=r"Token \[1\]: "):
        ulpgate.assert_permitted(x.argmax(1) ^ np.array([0, 1, 0]), hlo, x)
    with pytest.raises(ulpgate.Error, match="no recorded result is called `out3`"):
        ulpgate.judge(x.argmax(1), hlo, x, tokens=3)


def test_files_and_other_types_are_taken(tmp_path: Path) -> None:
    program, inputs, results = tmp_path / "matmul.hlo", tmp_path / "in.npz", tmp_path / "out.npz"
    program.write_text(MATMUL)
    np.savez(inputs, arg0=X, arg1=Y)
    np.savez(results, out0=in_order(X, Y).astype(np.float64))
    ulpgate.assert_permitted(str(results), str(program), str(inputs), mode=MODE)
    ulpgate.assert_permitted(results, program, {"arg0": X, "arg1": Y}, mode=MODE)
    assert ulpgate.evaluate(str(program), X, Y)["out0"].shape == (8, 16)
    with pytest.raises(ulpgate.Error, match="failed to read it"):
        ulpgate.evaluate(str(tmp_path / "none.hlo"), X, Y)
    with pytest.raises(ulpgate.Error, match="out0 is f32.4., but the program has f32.8,16."):
        ulpgate.judge(np.zeros(4, np.float32), program, X, Y)
    with pytest.raises(ulpgate.Error, match="there is no chip v99"):
        ulpgate.judge(in_order(X, Y), program, X, Y, chips="v99")
    with pytest.raises(ulpgate.Error, match="is no program"):
        ulpgate.judge(in_order(X, Y), 3, X, Y)


def test_tensors_of_pytorch_are_taken() -> None:
    torch = pytest.importorskip("torch")
    ulpgate.assert_permitted(torch.from_numpy(in_order(X, Y)), MATMUL, torch.from_numpy(X), torch.from_numpy(Y), mode=MODE)
    hlo = "HloModule f\nENTRY main { x = bf16[3] parameter(0) ROOT y = bf16[3] add(x, x) }"
    x = torch.tensor([1.0, 2.5, 3.0], dtype=torch.bfloat16, requires_grad=True)
    ulpgate.assert_permitted(x + x, hlo, x)
    assert ulpgate.evaluate(hlo, x)["out0"].dtype == ml_dtypes.bfloat16


def test_accuracy_has_limits_by_rms_and_by_ulps() -> None:
    ulpgate.assert_accurate(MATMUL, X, Y, mode=MODE, max_relative_rms=1e-6)
    ulpgate.assert_accurate(MATMUL, X, Y, chips=["v5e", "v6e"], max_relative_rms=1e-2)
    with pytest.raises(AssertionError) as raised:
        ulpgate.assert_accurate(MATMUL, X, Y, chips="v5e", max_relative_rms=1e-5, max_ulp=100)
    said = str(raised.value)
    got = ulpgate.evaluate(MATMUL, X, Y, mode="v5e/default/off")["out0"].astype(np.float64)
    truth = X.astype(np.float64) @ Y.astype(np.float64)
    rms = np.sqrt(((got - truth) ** 2).sum() / (truth**2).sum())
    assert f"hlo in v5e/default/off: out0 f32[8,16]: a relative rms of {rms:.3g} from the truth, and 1e-05 is allowed" in said
    far = int((np.abs(got - truth) > 100 * np.spacing(np.abs(truth).astype(np.float32))).sum())
    assert f"Mismatched elements: {far} / 128" in said and "ulp, and 100 is allowed" in said
    at = tuple(int(one) for one in np.unravel_index(np.abs(got - truth).argmax(), got.shape))
    assert f"Greatest absolute difference: {np.abs(got - truth).max():.6g} at index {at}" in said
    for bad, why in (
        ({}, "nothing is asked"),
        ({"max_ulp": 1, "mode": MODE, "chips": "v5e"}, "names a chip already"),
        ({"max_ulp": 1, "chips": []}, "no chip was asked"),
    ):
        with pytest.raises(ulpgate.Error, match=why):
            ulpgate.assert_accurate(MATMUL, X, Y, **bad)
    open_truth = "HloModule f\nENTRY main { x = f32[] parameter(0) e = f32[] exponential(x) l = f32[] log(e) d = f32[] subtract(l, x) o = f32[] constant(1) ROOT y = f32[] divide(o, d) }"
    with pytest.raises(AssertionError, match="the truth of 1 of 1 elements is open"):
        ulpgate.assert_accurate(open_truth, np.float32(0.3), mode=MODE, max_relative_rms=1)


def test_tolerances_are_judged_by_what_is_given() -> None:
    assert ulpgate.tolerance(atol=0.06, dtype=ml_dtypes.bfloat16, magnitude=32).verdict == "unsatisfiable"
    assert ulpgate.tolerance(atol=1e-4, rtol=1e-4, k=128, runs=4).is_fine
    on = ulpgate.tolerance(MATMUL, X, Y, atol=1e-4)
    assert on.is_fine and on.runs is not None and on.runs > 3 and on.failed == 0 and on.proposal
    assert ulpgate.tolerance(MATMUL, X, Y, atol=1e-9).verdict == "unsatisfiable"
    assert ulpgate.tolerance("softmax[rows=4]", n=32, atol=0.5, rtol=0.2, runs=3).verdict == "blind"
    assert "0 of 2 honest runs fail" in str(ulpgate.tolerance(MATMUL, atol=1e-3, runs=2))
    for bad, why in (
        ({}, "one of these must be given"),
        ({"atol": 1, "ulp": 1}, "one of these must be given"),
        ({"atol": 1}, "nothing to judge by"),
        ({"atol": -1, "k": 8}, "not below 0"),
        ({"atol": 1, "failed": 1}, "both must be given"),
        ({"atol": 1, "magnitude": 1, "dtype": "int32"}, "there is no float type s32"),
    ):
        with pytest.raises(ulpgate.Error, match=why):
            ulpgate.tolerance(**bad)  # type: ignore[arg-type]


def test_numpys_names_of_types_are_known() -> None:
    assert ulpgate.array([1], "bfloat16").dtype == ulpgate.array([1], "bf16").dtype == ml_dtypes.bfloat16
    assert ulpgate.exact(MATMUL, X, Y, round_to="float32")["out0"].dtype == np.float32
    near, rounded = (ulpgate.exact(MATMUL, X, Y, round_to=name)["out0"] for name in ("near", "f64"))
    assert near.dtype == np.float64 and np.abs(near - rounded).max() <= np.spacing(np.float32(np.abs(rounded).max())) / 1024


def test_functions_and_what_jax_makes_of_them() -> None:
    jax = pytest.importorskip("jax")
    f = lambda tree, unused: {"z": tree["x"] @ tree["y"], "s": tree["x"].sum()}  # noqa: E731
    args = ({"x": X, "y": Y}, np.float32(1))
    results = f(*args)
    ulpgate.assert_permitted(results, f, *args)
    jitted = jax.jit(f)
    # jit drops the argument that is not used.
    lowered = jitted.lower(*args)
    for program in (jitted, lowered, lowered.compile()):
        ulpgate.assert_permitted(results, program, *args)
    judged = ulpgate.judge(jitted(*args), lowered.compile(), *args, chips="xla-cpu")
    assert judged.verdict in ("bits", "conforming") and [one.name for one in judged.results] == ["out0", "out1"]
    with pytest.raises(AssertionError, match="is outside of what any mode permits"):
        ulpgate.assert_permitted({**results, "z": wrong()}, f, *args)
    with pytest.raises(ulpgate.Error, match="it was lowered for"):
        ulpgate.judge(results, lowered, X)
    with pytest.raises(ulpgate.Error, match="jax does not lower it"):
        ulpgate.judge(results, lambda x: x + np.ones(3), X)
    ulpgate.assert_accurate(f, *args, chips="cpu", max_relative_rms=1e-5)
    ulpgate.assert_accurate(lowered, *args, mode=MODE, max_relative_rms=1e-5)
    with pytest.raises(AssertionError, match=r"<lambda> in cpu/excess_on \(xla-cpu/default/as-compiled\): out"):
        ulpgate.assert_accurate(f, *args, chips="cpu", max_ulp=0.5)
    assert ulpgate.tolerance(f, *args, atol=1e-2, rtol=1e-2).runs


def test_a_program_is_found_in_its_own_process(tmp_path: Path) -> None:
    """A million outputs are judged by a sample and all elements."""
    code = (
        "import numpy as np, ulpgate\n"
        "hlo = 'HloModule m\\nENTRY e { x = f32[160,800] parameter(0) y = f32[800,800] parameter(1) ROOT z = f32[160,800] dot(x, y), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0} }'\n"
        "x, y = (np.random.default_rng(1).standard_normal(d).astype(np.float32) for d in ((160, 800), (800, 800)))\n"
        "own = ulpgate.evaluate(hlo, x, y, mode='v5e/highest/off')\n"
        "print(*ulpgate.judge(own, hlo, x, y, mode='v5e/highest/off')[0].because)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "64 rows and 64 columns were judged" in told.stdout and "all 128000 elements have the bits of" in told.stdout, told


def test_stablehlo_is_judged_as_text_bytes_and_path(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    shapes = [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in (X, Y)]
    lowered = jax.jit(lambda x, y: x @ y).lower(*shapes)
    text, path = lowered.as_text(), tmp_path / "matmul.mlir"
    path.write_text(text)
    from jax import export

    artifact = export.export(jax.jit(lambda x, y: x @ y))(*shapes).mlir_module_serialized
    for program in (text, text.encode(), bytes(artifact), path, str(path)):
        assert ulpgate.judge(in_order(X, Y), program, X, Y, mode=MODE).is_permitted
        assert ulpgate.judge(wrong(), program, X, Y, mode=MODE).verdict == "outside"
    with pytest.raises(ulpgate.Error, match="it is no StableHLO"):
        ulpgate.judge(in_order(X, Y), b"module @jit_f", X, Y)
