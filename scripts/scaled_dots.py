"""Dots of scaled blocks in TorchTPU's public order and with scales within the matrix unit, step by step in NumPy.

    venv/bin/pip install numpy ml_dtypes safetensors
    venv/bin/python scripts/scaled_dots.py tests/data/scaled/dot_sets.safetensors

Each set SET holds SET.a [3,K], SET.b [K,4], SET.scale_a [3,blocks] and SET.scale_b [blocks,4], as codes where a type has eight bits or
fewer, and its results f32[3,4]: SET.tiles.T, SET.flat and SET.in_unit.T.DEPTH, and bf16 of the first as SET.tiles.T.bf16. Every block's dot is an
f32, so that each result is one definite number. The order is that of TorchTPU 0.2.0,
`_internal/ops/scaled_mm/kernels/blockwise_scaled_mm_kernel.py` (FACTS 11.5).
"""

import fractions
import sys

import ml_dtypes
import numpy as np
import safetensors.numpy

ROWS, COLUMNS = 3, 4
# Products that matrix units add at once: v5e, tpu7x.
DEPTHS = [128, 256]
# Name, elements, scales, K, block, tiles, and what the blocks at the end are.
SETS = [
    ("e4m3_e8m0", "float8_e4m3fn", "float8_e8m0fnu", 1024, 32, [512, 256], "usual"),
    ("e5m2_e8m0", "float8_e5m2", "float8_e8m0fnu", 2048, 32, [512, 256], "usual"),
    ("e2m1_e8m0", "float4_e2m1fn", "float8_e8m0fnu", 4096, 32, [512, 256], "usual"),
    ("e2m1_e4m3", "float4_e2m1fn", "float8_e4m3fn", 2048, 16, [512, 256], "usual"),
    ("e4m3_f32", "float8_e4m3fn", "float32", 8192, 32, [512, 256], "usual"),
    ("e4m3_bf16", "float8_e4m3fn", "bfloat16", 1500, 32, [512, 256], "usual"),
    ("e4m3_ragged", "float8_e4m3fn", "float8_e8m0fnu", 3000, 32, [512, 256], "usual"),
    ("s8_f32", "int8", "float32", 4096, 128, [512, 256], "usual"),
    ("zeros", "float8_e4m3fn", "float8_e8m0fnu", 1024, 32, [512, 256], "zeros"),
    ("nan_scale", "float8_e4m3fn", "float8_e8m0fnu", 1024, 32, [512, 256], "nan"),
    ("nan_element", "float8_e4m3fn", "float32", 1024, 32, [512, 256], "nan element"),
    ("infinite_scale", "float8_e4m3fn", "float32", 1024, 32, [512, 256], "inf"),
]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name) if not hasattr(np, name) else name)


def elements(random, name, shape):
    """Numbers whose products are multiples of a power of two with few bits between: dots of 128 are f32."""
    if name == "int8":
        return random.integers(-128, 128, shape).astype(np.int8)
    if name == "float4_e2m1fn":
        return random.integers(0, 16, shape).astype(np.uint8).view(ml_dtypes.float4_e2m1fn)
    steps = 4 if name == "float8_e5m2" else 8
    magnitude = (1 + random.integers(0, steps, shape) / steps) * 2.0 ** random.integers(-1, 3, shape)
    return (magnitude * random.choice([-1.0, 1.0], shape)).astype(dtype_of(name))


def scales(random, name, shape):
    if name == "float8_e8m0fnu":
        return (2.0 ** random.integers(-9, 10, shape)).astype(dtype_of(name))
    if name == "float8_e4m3fn":
        return (2.0 ** random.uniform(-5, 8, shape)).astype(dtype_of(name))
    return (2.0 ** random.uniform(-6, 6, shape)).astype(dtype_of(name))


def rounded(exact):
    """A fraction to the nearest f32, ties to even, without a step between."""
    if exact == 0:
        return np.float32(0)
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < fractions.Fraction(2) ** exponent:
        exponent -= 1
    unit = fractions.Fraction(2) ** (exponent - 23)
    # Python rounds a fraction's ties to even.
    return np.float32(float(round(exact / unit) * unit))


def block_dots(a, b, block):
    """f32[blocks, 3, 4]; the sums in f64 are exact, and so is their rounding."""
    blocks = -(-a.shape[1] // block)
    dots = np.empty((blocks, ROWS, COLUMNS), np.float32)
    for at in range(blocks):
        part = slice(at * block, (at + 1) * block)
        dot = a[:, part] @ b[part, :]
        dots[at] = dot.astype(np.float32)
        assert np.array_equal(dots[at].astype(np.float64), dot, equal_nan=True)
    return dots


def by_tiles(dots, scale_a, scale_b, per_tile):
    total = np.zeros((ROWS, COLUMNS), np.float32)
    for first in range(0, len(dots), per_tile):
        sums = np.zeros((ROWS, COLUMNS), np.float32)
        for at in range(first, min(first + per_tile, len(dots))):
            sums = sums + (dots[at] * scale_a[:, at, None]) * scale_b[None, at, :]
        total = total + sums
    return total


def one_sum(row, column):
    """The exact sum of products, rounded to f32 once."""
    if not np.isfinite([row, column]).all():
        return np.float32((row * column).sum())
    return rounded(sum((fractions.Fraction(x) * fractions.Fraction(y) for x, y in zip(row, column)), fractions.Fraction(0)))


def in_unit(a, b, scale_a, scale_b, block, tile, depth):
    """The unit adds `depth` products of scaled elements exactly and rounds once; these sums are added in each tile, then the tiles."""
    total = np.zeros((ROWS, COLUMNS), np.float32)
    wide_a = a * np.repeat(scale_a, block, 1)[:, : a.shape[1]].astype(np.float64)
    wide_b = b * np.repeat(scale_b, block, 0)[: b.shape[0]].astype(np.float64)
    for first in range(0, a.shape[1], tile):
        sums = np.zeros((ROWS, COLUMNS), np.float32)
        for start in range(first, min(first + tile, a.shape[1]), depth):
            part = slice(start, min(start + depth, first + tile))
            sums = sums + np.array([[one_sum(row, column) for column in wide_b[part].T] for row in wide_a[:, part]])
        total = total + sums
    return total


def stored(array):
    """As a file holds it: bytes of codes, and bf16 by its bits' own type."""
    small = {"float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "float8_e8m0fnu"}
    return np.ascontiguousarray(array.view(np.uint8) if array.dtype.name in small else array)


def main():
    out, tensors = sys.argv[1], {}
    np.seterr(invalid="ignore", over="ignore")
    for number, (name, element, scale, k, block, tiles, edge) in enumerate(SETS):
        random = np.random.default_rng(36 + number)
        blocks = -(-k // block)
        a, b = elements(random, element, (ROWS, k)), elements(random, element, (k, COLUMNS))
        scale_a, scale_b = scales(random, scale, (ROWS, blocks)), scales(random, scale, (blocks, COLUMNS))
        if edge == "zeros":
            a[0, 64:96], b[320:352, 1], a[1, :] = 0, 0, 0
        elif edge == "nan":
            scale_a[0, 3], scale_b[20, 1] = np.nan, np.nan
        elif edge == "nan element":
            a[0, 100], a[1, 64:96] = np.nan, 0
        elif edge == "inf":
            scale_a[0, 3], scale_b[20, 1], b[640:672, 1] = np.inf, np.inf, 0
        for part, array in [("a", a), ("b", b), ("scale_a", scale_a), ("scale_b", scale_b)]:
            tensors[f"{name}.{part}"] = stored(array)
        numbers = [array.astype(np.float64) for array in (a, b)]
        dots = block_dots(*numbers, block)
        wide = [array.astype(np.float32) for array in (scale_a, scale_b)]
        results = {f"tiles.{tile}": by_tiles(dots, *wide, tile // block) for tile in tiles}
        results["flat"] = by_tiles(dots, *wide, blocks)
        # A bf16 holds these elements times their scales.
        if scale.startswith("float8"):
            for tile in tiles:
                for depth in DEPTHS:
                    results[f"in_unit.{tile}.{depth}"] = in_unit(*numbers, *wide, block, tile, depth)
        results["tiles.512.bf16"] = results["tiles.512"].astype(ml_dtypes.bfloat16)
        if edge == "usual":
            bits = {key: value.view(np.uint32).tobytes() for key, value in results.items() if value.dtype == np.float32}
            assert len(set(bits.values())) == len(bits), f"{name}: two orders give the same bits"
        tensors |= {f"{name}.{key}": value for key, value in results.items()}
    safetensors.numpy.save_file(tensors, out)


if __name__ == "__main__":
    main()
