"""Quantisers of scaled formats as JAX's libraries write them, for scripts/dump_hlo.py, and dots of scaled blocks for a GPU.

    venv/bin/pip install qwix==0.1.8 safetensors
    for name in qwix_mxfp8 jax_mxfp8 jax_nvfp4; do
        venv/bin/python scripts/dump_hlo.py scripts/scaled_libraries.py:$name 'bf16[64,1024]' \\
            --out tests/data/scaled_libraries --topology v5e:2x2 --topology tpu7x:2x2x1
    done
    venv/bin/python scripts/scaled_libraries.py tests/data/scaled_libraries

`normal.safetensors` is the draw that the suite `scales` puts to qwix's quantiser. Each quantiser gives elements [64,1024], scales [64,K] and the numbers that both stand for, in blocks along the last axis.
"""

import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy
import safetensors.numpy


def qwix_mxfp8(x):
    """google/qwix 0.1.8, which keeps scales in the type of the input."""
    from qwix._src.core import qarray

    how = qarray.HowToQuantize(qtype="mxfp8", channelwise_axes=(0,), tiled_axes={1: 32}, calibration_method="absmax")
    held = qarray.quantize(x, how)
    return held.qvalue, held.scale, qarray.dequantize(held)


def of_jax(mode, x):
    from jax._src.cudnn.scaled_matmul_stablehlo import quantize

    config = jax.nn.get_scaled_dot_general_config(mode)
    elements, scales = quantize(x[None], config)
    wide = jnp.repeat(scales[0].astype(jnp.float32), config.block_size, 1)
    # No file format that XLA:CPU's results go into has e2m1.
    given = elements[0].astype(jnp.float8_e4m3fn) if mode == "nvfp4" else elements[0]
    return given, scales[0], elements[0].astype(jnp.float32) * wide


def jax_mxfp8(x):
    """The quantiser of `jax.nn.scaled_dot_general`."""
    return of_jax("mxfp8", x)


def jax_nvfp4(x):
    """The same for NVFP4, under a per-tensor scale of 1."""
    return of_jax("nvfp4", x)


def scaled_dot(a, b, scale_a, scale_b):
    """The composite `xla.scaled_dot`."""
    dims = (((2,), (2,)), ((0,), (0,)))
    return jax.lax.scaled_dot(a, b, lhs_scale=scale_a, rhs_scale=scale_b, dimension_numbers=dims, preferred_element_type=jnp.float32)


def scaled_matmul(a, b, scale_a, scale_b):
    """The custom call `__op$block_scaled_dot`."""
    return jax.nn.scaled_matmul(a, b, scale_a, scale_b, preferred_element_type=jnp.float32)


def scaled_dot_general(a, b):
    """Two quantisers and `__op$block_scaled_dot`."""
    config = jax.nn.get_scaled_dot_general_config("mxfp8")
    return jax.nn.scaled_dot_general(a, b, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32, configs=[config] * 3)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    shape = jax.ShapeDtypeStruct
    blocks = [shape((1, rows, 64), jnp.float8_e4m3fn) for rows in (4, 8)]
    blocks += [shape((1, rows, 2), jnp.float8_e8m0fnu) for rows in (4, 8)]
    numbers = [shape((rows, 64), jnp.float32) for rows in (4, 8)]
    for function, given in ((scaled_dot, blocks), (scaled_matmul, blocks), (scaled_dot_general, numbers)):
        lowered = jax.jit(function).trace(*given).lower(lowering_platforms=("cuda",))
        text = lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True)
        (out / f"{function.__name__}.hlo").write_text(text)
    draw = jax.random.normal(jax.random.key(0), (64, 1024)).astype(jnp.bfloat16)
    safetensors.numpy.save_file({"x": numpy.asarray(draw)}, out / "normal.safetensors")


if __name__ == "__main__":
    main()
