"""Functions of the jax that is installed; nothing where none is."""

import functools

import ml_dtypes
import numpy as np
import pytest

import ulpgate
from ulpgate import testing

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def has_libtpu() -> bool:
    import importlib.util

    return importlib.util.find_spec("libtpu") is not None


def keep_max(x):  # type: ignore[no-untyped-def]
    p = jax.nn.softmax(x)
    return p, p.astype(jnp.float32) >= p.max(-1, keepdims=True).astype(jnp.float32)


X = np.random.default_rng(0).standard_normal((8, 1024)).astype(ml_dtypes.bfloat16)


def test_a_sampler_is_audited_on_the_cpu() -> None:
    found = ulpgate.audit(keep_max, X, topologies=[])
    assert list(found.targets) == ["cpu"] and found.name == "keep_max"
    assert {change.kind for change in found.changes["cpu"]} == {"rounding-removed"}
    assert {"exact", "cpu/excess_on", "cpu/excess_off", "cpu/excess_on/xla"} <= found.arrays.keys()
    on = found.tokens["cpu/excess_on"]
    assert [rows.kind for rows in on] == ["scores", "kept"] and on[1].lost
    assert not found.tokens["cpu/excess_off"][1].lost
    assert "keep_max for cpu" in repr(found) and "<table>" in found._repr_html_()


SEVERAL_DEVICES = """
import numpy as np, jax, ulpgate
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("i",))
shard_map = getattr(jax, "shard_map", None) or __import__("jax.experimental.shard_map", fromlist=["shard_map"]).shard_map
rows = lambda out: shard_map(lambda x, w: jax.lax.psum(x @ w, "i") if out == P() else jax.lax.psum_scatter(x @ w, "i", tiled=True),
                             mesh=mesh, in_specs=(P(None, "i"), P("i", None)), out_specs=out)
x = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
w = np.random.default_rng(1).standard_normal((16, 8)).astype(np.float32)
for out in (P(), P("i")):
    text = jax.jit(rows(out)).lower(x, w).as_text()
    found = ulpgate.audit_stablehlo(text, x, w, topologies=[])
    print(sorted(found.arrays["cpu/excess_on"]), [str(error.result) for error in found.errors.get("cpu/excess_on", [])], found.notes)
    print(ulpgate.diff(text, found.targets["cpu"].before))
"""


def test_stablehlo_of_several_devices_is_audited_on_each() -> None:
    import os
    import subprocess
    import sys

    flags = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    told = subprocess.run([sys.executable, "-c", SEVERAL_DEVICES], env=flags, capture_output=True, text=True, timeout=300)
    assert told.returncode == 0, told.stderr
    whole, same, parts, other = told.stdout.splitlines()
    assert whole == "['out0'] ['out0'] []", "all devices have all of the sum, which is XLA:CPU's own"
    assert parts.startswith("['out0@0', 'out0@1', 'out0@2', 'out0@3'] [] [\"cpu: devices have parts of out0:")
    assert same == other == "no change of precision"


def test_stablehlo_of_more_devices_than_there_are_is_refused() -> None:
    text = "module attributes {mhlo.num_%s = 64 : i32} { func.func @main(%%x: tensor<64xf32>) -> tensor<64xf32> { return %%x : tensor<64xf32> } }"
    with pytest.raises(ulpgate.Error, match="it is for 64 devices, and this process has .* set XLA_FLAGS=--xla_force_host"):
        ulpgate.audit_stablehlo(text % "partitions", np.zeros(64, np.float32), topologies=[])
    with pytest.raises(ulpgate.Error, match="mhlo.num_replicas is 64: give a program of one replica"):
        ulpgate.audit_stablehlo(text % "replicas", np.zeros(64, np.float32), topologies=[])


def test_stablehlo_is_audited_as_the_function_that_it_was(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from pathlib import Path

    lowered = jax.jit(keep_max).lower(X)
    text, path = lowered.as_text(), Path(tmp_path) / "keep.mlir"
    path.write_text(text)
    own = ulpgate.audit(keep_max, X, topologies=[])
    for program in (text, path, str(path)):
        found = ulpgate.audit_stablehlo(program, X, topologies=[])
        assert [str(rows) for rows in found.tokens["cpu/excess_on"]] == [str(rows) for rows in own.tokens["cpu/excess_on"]]
        assert {change.kind for change in found.changes["cpu"]} == {"rounding-removed"} and not found.notes
    assert found.name == "keep"
    # Before compilation nothing is rounded otherwise, in whatever form the program is.
    assert ulpgate.diff(text, lowered.as_text(dialect="hlo")).is_same
    assert ulpgate.diff(path, found.targets["cpu"].excess_on).changes
    with pytest.raises(ulpgate.Error, match=r"argument 0 is float32\[2\], and the program takes bfloat16\[8, 1024\]"):
        ulpgate.audit_stablehlo(text, np.float32([1, 2]), topologies=[])
    with pytest.raises(ulpgate.Error, match="takes 1 arguments, and 0 are given"):
        ulpgate.audit_stablehlo(text, topologies=[])
    with pytest.raises(ulpgate.Error, match="it is no StableHLO"):
        ulpgate.audit_stablehlo("module {", topologies=[])


@pytest.mark.skipif(not has_libtpu(), reason="libtpu is not installed")
def test_a_sampler_is_audited_on_a_tpu_that_is_not_there() -> None:
    found = ulpgate.audit(keep_max, X, topologies="v5e", cpu=False)
    assert list(found.targets) == ["v5e"] and found.targets["v5e"].mode == "v5e/default/as-compiled"
    assert not found.notes and found.arrays["v5e/excess_on"]["out1"].shape == (8, 1024)


@pytest.mark.skipif(has_libtpu(), reason="libtpu is installed")
def test_libtpu_is_asked_for_where_it_is_needed() -> None:
    with pytest.raises(ulpgate.Error, match="pip install"):
        ulpgate.audit(keep_max, X, topologies=["v5e"])


def layer_norm(x, gain):  # type: ignore[no-untyped-def]
    """Computed in bf16 throughout: the mean of the squares less the square of the mean cancels."""
    mean = x.mean(-1, keepdims=True)
    variance = (x * x).mean(-1, keepdims=True) - mean * mean
    return (x - mean) * jax.lax.rsqrt(variance + jnp.bfloat16(1e-5)) * gain


OFFSET = (np.random.default_rng(1).standard_normal((8, 256)) + 12).astype(ml_dtypes.bfloat16)
GAIN = np.ones(256, ml_dtypes.bfloat16)


def test_results_that_say_no_token_are_held_to_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ulpgate.audit(layer_norm, OFFSET, GAIN, topologies=[])
    assert not found.notes or "other bits" in found.notes[0]
    for setting in ("excess_on", "excess_off"):
        (error,) = found.errors[f"cpu/{setting}"]
        assert error.result == "out0" and error.elements == 8 * 256 and not error.undecided
        worst = error.worst
        assert worst is not None and worst.error > 1
        got, truth = (np.asarray(found.arrays[name]["out0"], np.float64) for name in (f"cpu/{setting}", "exact"))
        ulps = np.abs(got - truth) / 2.0 ** (np.floor(np.log2(np.abs(truth))) - 7)
        assert np.isclose(ulps.max(), worst.error) and ulps[worst.index] == ulps.max()
        assert error.differing == (ulps > 0.5).sum()
    assert "0 of 0" not in repr(found) and "no row of tokens" in repr(found) and f"{worst.error:.6g} ulp at most" in repr(found)
    assert "largest error in ulp" in found._repr_html_()
    monkeypatch.setattr(testing, "current", None)
    with pytest.raises(AssertionError, match="out0 .*: error .* ulp at most"):
        ulpgate.assert_conforms(layer_norm, OFFSET, GAIN, chips="cpu")
    # In f32 the flag changes nothing, and the error alone is judged.
    spread = lambda x: (x * x).sum(-1) - x.sum(-1) * x.sum(-1) / 16  # noqa: E731
    wide = OFFSET.astype(np.float32)[:, :16] + np.float32(1e-3)
    widest = max(error.error or 0 for several in ulpgate.audit(spread, wide, topologies=[]).errors.values() for error in several)
    assert widest > 4
    with pytest.raises(AssertionError, match="ulp at most"):
        ulpgate.assert_conforms(spread, wide, chips="cpu", max_ulp=widest / 2)
    ulpgate.assert_conforms(spread, wide, chips="cpu", max_ulp=widest + 1)
    # The summary names the largest error of several results.
    found = ulpgate.audit(lambda x: (x + 1, spread(x), x * 3), wide, topologies=[])
    assert f"{widest:.6g} ulp at most (out1, " in repr(found).splitlines()[0]
    # An integer that is another one is so by any tolerance, signed or not: 0.7f32 * 10 is 7 in f32 and less in truth.
    for dtype in (jnp.int8, jnp.uint8):
        with pytest.raises(AssertionError, match="error 1 at most"):
            ulpgate.assert_conforms(lambda x: jnp.floor(x * 10).astype(dtype), np.float32([0.7]), chips="cpu", max_ulp=1000)  # noqa: B023


def test_nothing_judged_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testing, "current", None)
    empty = np.zeros((0, 4), np.float32)
    assert "NOTHING was judged" in repr(ulpgate.audit(lambda x: x * 2, empty, topologies=[]))
    with pytest.raises(ulpgate.Error, match="nothing was judged"):
        ulpgate.assert_conforms(lambda x: x * 2, empty, chips="cpu")
    with pytest.raises(ulpgate.Error, match="nothing was judged"):
        ulpgate.assert_conforms(lambda x: x * 2, np.float32([1]), chips=[])
    with pytest.raises(ulpgate.Error, match="nothing was judged"):
        ulpgate.assert_same_tokens(lambda x: jnp.argmax(x, -1), lambda x: jnp.argmax(x, -1), X, chips=[])
    # All that the truth leaves open: an element, and a token.
    is_open = lambda x: 1 / (jnp.exp(x) * jnp.exp(-x) - 1)  # noqa: E731
    with pytest.raises(AssertionError, match="not judged: 1 of 1 elements are undecided"):
        ulpgate.assert_conforms(is_open, np.float32([0.3]), chips="cpu")
    for f in [is_open, lambda x: jnp.argmax(jnp.stack([is_open(x), x]), 0)]:
        found = ulpgate.audit(f, np.float32([0.3]), topologies=[])
        assert not found.notes and found.judged() == 0 and "NOTHING was judged" in repr(found)


def test_structures_numbers_keys_and_static_arguments_are_taken() -> None:
    def f(tree, scale, key, axis):  # type: ignore[no-untyped-def]
        noise = jax.random.uniform(key, tree["a"].shape)
        return jnp.argmax(tree["a"] * scale + tree["b"][0] * noise.astype(tree["a"].dtype), axis)

    tree = {"a": X[:, :64], "b": [X[0, :64]]}
    found = ulpgate.audit(functools.partial(f, tree), 2.0, jax.random.key(0), 1, topologies=[], static_argnums=[2])
    assert found.name == "f" and found.tokens["cpu/excess_on"][0].kind == "tokens"
    found = ulpgate.audit(f, tree, 2.0, jax.random.key(0), 1, topologies=[], static_argnums=[3])
    assert not found.notes and found.arrays["cpu/excess_on"]["out0"].shape == (8,)


def test_what_jax_refuses_is_one_line() -> None:
    with pytest.raises(ulpgate.Error, match="jax does not compile it") as raised:
        ulpgate.audit(lambda x: x + jnp.ones(3), np.ones(2, np.float32), topologies=[])
    assert "\n" not in str(raised.value)
    with pytest.raises(ulpgate.Error, match="there is no chip v99|pip install"):
        ulpgate.audit(keep_max, X, topologies=["v99"])


def test_assertions_fail_on_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testing, "current", None)
    with pytest.raises(AssertionError, match="rounding-removed"):
        ulpgate.assert_conforms(keep_max, X, chips=["cpu"])
    ulpgate.assert_conforms(lambda x: x * 2, np.float32([1, 2]), chips="cpu")


def test_functions_with_other_tokens_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testing, "current", None)
    f = lambda x: jnp.argmax(x, -1)  # noqa: E731
    ulpgate.assert_same_tokens(f, lambda x: jnp.argmax(x * 2, -1), X, chips="cpu")
    with pytest.raises(AssertionError, match="of 8 rows differ .*the truth is with the first in"):
        ulpgate.assert_same_tokens(f, lambda x: jnp.argmax(x.astype(jnp.float8_e4m3fn).astype(x.dtype), -1), X, chips="cpu")
    with pytest.raises(AssertionError, match="give other results"):
        ulpgate.assert_same_tokens(f, lambda x: jnp.argmax(x), X, chips="cpu")
    # One token of a set of many is another set; the truth is with the function that says what it does over the real numbers.
    keep = lambda x: x >= jnp.max(x, -1, keepdims=True)  # noqa: E731
    and_first = lambda x: keep(x) | (jnp.arange(x.shape[-1]) == 0)  # noqa: E731
    rows = sum(int(row.argmax()) != 0 for row in np.asarray(X))
    assert rows > 1
    for ones, others, truth in [(keep, and_first, (rows, 0)), (and_first, keep, (rows, 0))]:
        told = rf"{rows} of 8 rows differ \(.*the truth is with the first in {truth[0]}, with the second in {truth[1]}"
        with pytest.raises(AssertionError, match=told):
            ulpgate.assert_same_tokens(ones, others, X, chips="cpu")
