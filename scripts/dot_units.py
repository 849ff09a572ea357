#!/usr/bin/env python3
"""Writes which unit of a TPU takes a dot, by chip, types of the operands and class of shapes, as its compiler decides ahead of time.

    python -m venv venv && venv/bin/pip install "jax[tpu]" numpy
    venv/bin/python scripts/dot_units.py > src/machine/dot_units.csv

For each chip and types a dot [b,m,k] x [b,k,n] of each shape below is compiled, of some without m or without n as a dim, at
precision default and, where an operand is f32, at highest as well. A file that still holds a convolution or a dot has it on the matrix unit (`matrix`); otherwise
products and sum stand there as multiply and reduce, on the vector unit (`vector`). One line for each chip, types and class:
its unit and the shapes that were compiled, as bxmxkxn, with - for a dim that is not there. Shapes of one class on two units are an error: then the classes are
too coarse, and nothing is written of them.
"""

import csv
import sys

from ahead_of_time import lowering, versions

import jax
import jax.numpy as jnp
import ml_dtypes

# Shapes by class: (b, m, k, n), with None for m or n where an operand has no free dim. A class is what m, n and k say of 1, more
# than one dim of an operand counted as their product. Of a vector and a matrix two things matter beside it, each on some chips:
# - no-free-dim: the vector has batch and contracting dims alone and no dim is 1; k and n are 64 or more;
# - wide-batch: a batch dim fills 128 lanes to a larger part than k and n do (129 of two times 128 are about half).
SHAPES = {
    "one-product": [(1, 1, 1, 1), (1, 1, 1, 4), (1, 2, 1, 2), (1, 64, 1, 64), (4, 16, 1, 16)],
    "vector-vector": [(1, 1, 2, 1), (1, 1, 128, 1), (1, 1, 4096, 1), (4, 1, 64, 1), (32, 1, 128, 1)],
    "vector-matrix": [(1, 1, 2, 2), (1, 1, 128, 128), (1, 1, 4096, 256), (4, 1, 64, 16), (4, None, 64, 63),
                      (4, None, 63, 64)],
    "matrix-vector": [(1, 2, 2, 1), (1, 128, 128, 1), (1, 512, 512, 1), (1, 8, 4096, 1), (4, 16, 64, 1), (4, 63, 64, None)],
    "no-free-dim": [(4, None, 64, 64), (3, 64, 128, None)],
    "wide-batch": [(128, 1, 64, 127)],
    "wide-batch-no-free-dim": [(65, None, 64, 64)],
    "matrix-matrix": [(1, 2, 2, 2), (1, 8, 128, 8), (2, 2, 2, 2), (4, 8, 64, 8)],
}  # fmt: skip

FLOATS = {
    "f32": jnp.float32,
    "bf16": jnp.bfloat16,
    "f16": jnp.float16,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e3m4": ml_dtypes.float8_e3m4,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}
INTEGERS = {"s32": jnp.int32, "s8": jnp.int8, "u8": jnp.uint8, "s4": jnp.int4}
MIXED = [
    ("f32", "bf16"),
    ("f32", "f8e4m3fn"),
    ("bf16", "f8e4m3fn"),
    ("f8e4m3fn", "bf16"),
    ("f8e5m2", "f8e4m3fn"),
    ("bf16", "f4e2m1fn"),
    ("f4e2m1fn", "f8e5m2"),
]


def unit(topology, types, precision, shape):
    """Where the one dot of these types and this shape is computed."""
    batch, m, k, n = shape
    batched = int(batch > 1)
    result = jnp.int32 if types[0] in INTEGERS else jnp.float32
    dtypes = [(FLOATS | INTEGERS)[name] for name in types]
    sides = [(m, k), (k,)] if n is None else [(k,), (k, n)] if m is None else [(m, k), (k, n)]
    dims = [(batch,) * batched + side for side in sides]
    contracting = [len(dims[0]) - 1, batched]
    arguments = [jax.ShapeDtypeStruct(d, dtype) for d, dtype in zip(dims, dtypes)]
    batches = (tuple(range(batched)),) * 2

    def dot(x, y):
        numbers = (tuple((dim,) for dim in contracting), batches)
        return jax.lax.dot_general(x, y, numbers, precision=precision, preferred_element_type=result)

    text = lowering.lower_for_topology(dot, topology, *arguments).compile().as_text()
    return "matrix" if " convolution(" in text or " dot(" in text else "vector"


def main():
    print(f"# The unit of a dot [b,m,k] x [b,k,n] in files compiled ahead of time: {versions()}, by scripts/dot_units.py")
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["chip", "lhs", "rhs", "class", "unit", "shapes"])
    pairs = [(name, name) for name in FLOATS | INTEGERS] + MIXED
    for chip, topology in lowering.TOPOLOGIES.items():
        for types in pairs:
            for name, shapes in SHAPES.items():
                asked = ["default", "highest"] if "f32" in types else ["default"]
                found = {(shape, precision): unit(topology, types, precision, shape) for shape in shapes for precision in asked}
                if len(set(found.values())) != 1:
                    sys.exit(f"{chip}: dots {name} of {types} are on two units: {found}")
                compiled = " ".join("x".join("-" if size is None else str(size) for size in shape) for shape in shapes)
                out.writerow([chip, *types, name, next(iter(found.values())), compiled])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
