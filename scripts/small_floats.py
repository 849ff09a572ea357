#!/usr/bin/env python3
"""Writes tests/data/small_floats.txt: what ml_dtypes makes of the floats of eight bits and fewer.

    venv/bin/python scripts/small_floats.py > tests/data/small_floats.txt

One line a format: its name, then hashes (FNV-1a of 64 bits) of
- the numbers of all codes, as f32;
- the codes of all 2^16 bf16 numbers, then of all 2^16 f16 numbers;
- the codes of f32 numbers at every midpoint of two neighbours, one step below and above it, and about the end of the range;
- the codes in every format, in this order of formats, of the numbers of all codes.
A NaN operand stands for 0, and a NaN result for 0x7fc00000: what becomes of its sign and payload is another matter.
"""

import ml_dtypes
import numpy as np

NAMES = ["f4e2m1fn", "f8e3m4", "f8e4m3", "f8e4m3b11fnuz", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"]


def dtype(name):
    return getattr(ml_dtypes, name.replace("f8", "float8_").replace("f4", "float4_"))


def fnv(data):
    state = 0xCBF29CE484222325
    for byte in data.tobytes():
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{state:016x}"


def numbers(name):
    """The numbers of all codes."""
    return np.arange(16 if name == "f4e2m1fn" else 256, dtype=np.uint8).view(dtype(name)).astype(np.float32)


def codes(name, values):
    """The codes of values, by way of f32, which holds them."""
    values = values.astype(np.float32)
    return np.where(np.isnan(values), np.float32(0), values).astype(dtype(name)).view(np.uint8)


def edges(name):
    """Midpoints and their neighbours, from the lowest pair of numbers on, and then with the other sign."""
    ascending = np.unique(np.abs(numbers(name)[np.isfinite(numbers(name))])).astype(np.float64)
    last = ascending[-1] + (ascending[-1] - ascending[-2]) / 2
    middle = np.append((ascending[1:] + ascending[:-1]) / 2, last).astype(np.float32)
    near = np.stack([np.nextafter(middle, np.float32(0)), middle, np.nextafter(middle, np.float32(np.inf))], axis=1)
    return np.concatenate([near.ravel(), -near.ravel()])


def main():
    all_codes = np.arange(65536, dtype=np.uint16)
    for name in NAMES:
        own = numbers(name)
        own_bits = np.where(np.isnan(own), np.uint32(0x7FC00000), own.view(np.uint32))
        with np.errstate(all="ignore"):
            halves = [codes(name, all_codes.view(half)) for half in (ml_dtypes.bfloat16, np.float16)]
            others = np.concatenate([codes(other, own) for other in NAMES])
            print(name, fnv(own_bits), *map(fnv, halves), fnv(codes(name, edges(name))), fnv(others))


if __name__ == "__main__":
    main()
