"""Scaled formats: rules are named, and quantised arrays are those of the libraries."""

import ml_dtypes
import numpy as np
import pytest

import ulpgate

X = (np.random.default_rng(0).standard_normal((16, 128)) * 2.0 ** np.random.default_rng(1).integers(-6, 7, (16, 1))).astype(
    np.float32
)


@pytest.mark.parametrize("x", [X, X.astype(ml_dtypes.bfloat16)], ids=["f32", "bf16"])
@pytest.mark.parametrize("rule", ["FLOOR", "CEIL", "EVEN", "RCEIL", "NEAREST-LOG2", "NEAREST-VALUE"])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_rule_is_named_from_its_bytes(x, rule, axis):
    made = ulpgate.quantize(x, f"mxfp8/{rule}", axis)
    assert made.elements.dtype == ml_dtypes.float8_e4m3fn and made.elements.shape == x.shape
    found = ulpgate.scales(made.elements, made.scales, like=x)
    assert found.agrees and rule in found.rules, str(found)
    assert found.data["axis"] == axis % 2 and found.data["block"] in (16, 32)


def test_scales_of_a_cast_are_those_of_ml_dtypes():
    made = ulpgate.quantize(X, "mxfp8/NEAREST-VALUE")
    largest = np.abs(X.reshape(16, 4, 32)).max(-1)
    cast = (largest / np.float32(448)).astype(ml_dtypes.float8_e8m0fnu)
    assert made.scales.view(np.uint8).tolist() == cast.view(np.uint8).tolist()
    scaled = X.reshape(16, 4, 32) / cast.astype(np.float32)[..., None]
    elements = np.clip(scaled, -448, 448).astype(ml_dtypes.float8_e4m3fn).reshape(X.shape)
    assert made.elements.view(np.uint8).tolist() == elements.view(np.uint8).tolist()


def test_elements_of_an_int8_row_are_numpys():
    made = ulpgate.quantize(X, "int8/AMAX-127.5")
    scale = np.abs(X).max(-1, keepdims=True) / np.float32(127.5)
    assert (made.scales == scale).all()
    assert (made.elements == np.clip(np.rint(X / scale), -128, 127)).all()
    found = ulpgate.scales(made.elements, made.scales, like=X)
    assert found.rules == ["AMAX-127.5"]


def test_a_fault_is_found():
    made = ulpgate.quantize(X, "nvfp4/NVFP4/torchao")
    assert ulpgate.scales(made.elements, made.scales, like=X, per_tensor=made.per_tensor).agrees
    missing = ulpgate.scales(made.elements, made.scales, like=X)
    assert not missing.agrees and "per-tensor scale is missing" in missing.faults[0]
    assert "FAULT" in str(missing)


def test_bad_input_raises():
    with pytest.raises(ulpgate.Error, match="there is no rule `mxfp8/NONE`"):
        ulpgate.quantize(X, "mxfp8/NONE")
    with pytest.raises(ulpgate.Error, match="the input is f64"):
        ulpgate.quantize(X.astype(np.float64), "FLOOR")
    with pytest.raises(ulpgate.Error, match="do not fit"):
        ulpgate.scales(X.astype(ml_dtypes.float8_e4m3fn), np.zeros((3, 5), np.uint8), like=X)


def test_scales_are_those_of_jax():
    """The optional part: needs jax."""
    module = pytest.importorskip("jax._src.cudnn.scaled_matmul_stablehlo")
    largest = np.abs(X.reshape(16, 4, 32)).max(-1) / np.float32(448)
    made = ulpgate.quantize(X, "mxfp8/RCEIL/jax")
    assert made.scales.view(np.uint8).tolist() == np.asarray(module.cast_to_e8m0_with_rounding_up(largest)).tolist()


def test_zero_points_are_those_of_numpy():
    x = X + np.float32(1)
    made = ulpgate.quantize(x, "int8/MINMAX/torchao")
    low, high = np.minimum(x.min(-1, keepdims=True), 0), np.maximum(x.max(-1, keepdims=True), 0)
    scale = (high - low) / np.float32(255)
    zero = -128 - np.rint(low / scale)
    assert (made.scales == scale).all() and (made.zero_points == zero).all()
    assert (made.elements == np.clip(np.rint(x * (np.float32(1) / scale)) + zero, -128, 127)).all()
    found = ulpgate.scales(made.elements, made.scales, like=x, zero_points=made.zero_points)
    assert found.agrees and found.rules == ["MINMAX"], str(found)
    missing = ulpgate.scales(made.elements, made.scales, like=x)
    assert not missing.agrees and "the zero points are missing" in missing.faults[0]


def test_zero_points_are_those_of_qwix():
    """The optional part: needs google/qwix."""
    qarray = pytest.importorskip("qwix._src.core.qarray")
    jnp = pytest.importorskip("jax.numpy")
    for x in [X + np.float32(1), (X + np.float32(1)).astype(ml_dtypes.bfloat16)]:
        theirs = qarray.quantize_api(jnp.asarray(x), jnp.int8, channelwise_axes=(0,), calibration_method="minmax")
        made = ulpgate.quantize(x, "int8/MINMAX/qwix" if x.dtype == np.float32 else "int8_bf16/MINMAX/qwix")
        assert (made.scales == np.asarray(theirs.scale)).all()
        assert (made.zero_points == np.asarray(theirs.zero_point)).all()
        assert (made.elements == np.asarray(theirs.qvalue)).all()


def test_zero_points_are_those_of_torchao():
    """The optional part: needs torch and torchao."""
    torch = pytest.importorskip("torch")
    quant = pytest.importorskip("torchao.quantization.quant_primitives")
    x = X + np.float32(1)
    block = [1, 32]
    scale, zero = quant._choose_qparams_affine(torch.tensor(x), "ASYMMETRIC", block, torch.uint8)
    elements = quant._quantize_affine(torch.tensor(x), block, scale, zero, torch.uint8)
    made = ulpgate.quantize(x, "uint8/MINMAX/torchao", block=32)
    assert (made.scales == scale.reshape(16, 4).numpy()).all() and (made.zero_points == zero.reshape(16, 4).numpy()).all()
    assert (made.elements == elements.numpy()).all()
