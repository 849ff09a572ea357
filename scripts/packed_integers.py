"""Weights of four and eight bits as GPTQ, AWQ and compressed-tensors pack them, by their public formulas in NumPy.

    venv/bin/pip install numpy ml_dtypes safetensors
    venv/bin/python scripts/packed_integers.py tests/data/scaled

Weights [N,K] are rounded to the nearest, group by group, without the compensation of errors that GPTQ and AWQ add. Sources: AutoGPTQ
`quantization/quantizer.py` and `nn_modules/qlinear/qlinear_cuda.py`; AutoAWQ `quantize/quantizer.py` (`pseudo_quantize_tensor`) and
`modules/linear/gemm.py`; compressed-tensors `quantization/utils/helpers.py` (`calculate_qparams`) and
`compressors/quantized_compressors/pack_quantized.py`; vLLM `model_executor/layers/quantization/utils/quant_utils.py`.
"""

import pathlib
import sys

import ml_dtypes
import numpy as np
import safetensors.numpy

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def packed(codes, axis, bits, order=None):
    """int32 words along an axis; slot i of a word holds the code at place order[i]."""
    per_word = 32 // bits
    codes = np.moveaxis(codes.astype(np.uint32), axis, -1)
    parts = codes.reshape(*codes.shape[:-1], codes.shape[-1] // per_word, per_word)
    words = np.zeros(parts.shape[:-1], np.uint32)
    for slot, place in enumerate(order or range(per_word)):
        words |= parts[..., place] << np.uint32(bits * slot)
    return np.ascontiguousarray(np.moveaxis(words, -1, axis)).view(np.int32)


def grouped(weight, group):
    return weight.reshape(weight.shape[0], -1, group)


def gptq(weight, group, bits=4, symmetric=False, version=1, order=None):
    """`Quantizer.find_params` and `pack`: f32 arithmetic, scales kept as f16."""
    if order is not None:
        weight = weight[:, order]
    x, most = grouped(weight.astype(np.float32), group), np.float32(2**bits - 1)
    low, high = np.minimum(x.min(-1), 0), np.maximum(x.max(-1), 0)
    if symmetric:
        high = np.maximum(np.abs(low), high)
        low = np.where(low < 0, -high, low)
    scale = (high - low) / most
    zero = np.full_like(scale, (most + 1) / 2) if symmetric else np.round(-low / scale)
    codes = np.clip(np.round(x / scale[..., None]) + zero[..., None], 0, most).reshape(weight.shape)
    groups = np.arange(weight.shape[1]) // group
    if order is not None:
        back = np.argsort(order)
        codes, groups = codes[:, back], groups[back]
    return {
        "qweight": packed(codes.T, 0, bits),
        "qzeros": packed(zero.T - (version == 1), 1, bits),
        "scales": np.ascontiguousarray(scale.T.astype(np.float16)),
        "g_idx": groups.astype(np.int32),
    }


def awq(weight, group, interleaved=True):
    """`pseudo_quantize_tensor` with zero points, in f16, and `WQLinear_GEMM.from_linear`."""
    x, most = grouped(weight.astype(np.float16), group), np.float16(15)
    low, high = x.min(-1), x.max(-1)
    scale = np.maximum(high - low, np.float16(1e-5)) / most
    zero = np.clip(-np.round(low / scale), 0, most)
    codes = np.clip(np.round(x / scale[..., None]) + zero[..., None], 0, most).reshape(weight.shape)
    order = AWQ_ORDER if interleaved else None
    return {"qweight": packed(codes.T, 1, 4, order), "qzeros": packed(zero.T, 1, 4, order), "scales": np.ascontiguousarray(scale.T)}


def compressed(weight, group, symmetric=True):
    """`calculate_qparams` and `pack_to_int32` in f32, scales kept as bf16: integers above their least one."""
    x = grouped(weight.astype(np.float32), group)
    low, high = np.minimum(x.min(-1), 0), np.maximum(x.max(-1), 0)
    if symmetric:
        scale = np.maximum(np.abs(low), np.abs(high)) / np.float32(7.5)
        zero = np.zeros_like(scale)
    else:
        scale = (high - low) / np.float32(15)
        zero = np.clip(np.round(-8 - low / scale), -8, 7)
    scale = scale.astype(ml_dtypes.bfloat16)
    wide = scale.astype(np.float32)[..., None]
    codes = np.clip(np.round(x / wide + zero[..., None]), -8, 7).reshape(weight.shape)
    tensors = {"weight_packed": packed(codes + 8, 1, 4), "weight_scale": scale}
    return tensors if symmetric else tensors | {"weight_zero_point": packed(zero + 8, 0, 4)}


def main():
    out = pathlib.Path(sys.argv[1])
    random = np.random.default_rng(364)
    octaves = 2.0 ** random.integers(-5, 3, (32, 4, 1))
    weight = (random.standard_normal((32, 4, 64)) * octaves + octaves / 4).reshape(32, 256)
    single, half = weight.astype(np.float32), weight.astype(np.float16)
    order = random.permutation(256)
    files = {
        "gptq_asymmetric": gptq(single, 64) | {"input": single},
        "gptq_symmetric": gptq(single, 128, symmetric=True) | {"input": single},
        "gptq_v2": gptq(single, 64, version=2) | {"input": single},
        "gptq_in_order_of_activations": gptq(single, 64, order=order) | {"input": single},
        "gptq_8_bits": gptq(single, 64, bits=8) | {"input": single},
        "awq": awq(half, 64) | {"input": half},
        "awq_not_interleaved": awq(half, 64, interleaved=False) | {"input": half},
        "compressed_symmetric": compressed(single, 64) | {"input": single},
        "compressed_asymmetric": compressed(single, 64, symmetric=False) | {"input": single},
    }
    tensors = {}
    for name, parts in files.items():
        shared = "f16" if parts["input"].dtype == np.float16 else "f32"
        tensors[f"input.{shared}"] = parts.pop("input")
        tensors |= {f"{name}.{part}": np.ascontiguousarray(array) for part, array in parts.items()}
    safetensors.numpy.save_file(tensors, out / "packed_integers.safetensors")


if __name__ == "__main__":
    main()
