#!/usr/bin/env python3
"""Compiles programs of two or three operations and says which of them compilers rewrite.

    venv/bin/python scripts/simplifier_rules.py [--flag off] [RULE...]

Each rule is one that XLA's algebraic simplifier has, or might have. Its program is compiled for the CPU and, ahead of time,
for one topology of each TPU generation, as scripts/dump_hlo.py does. Prints a table in Markdown: of each rule and target the
operations that compute and the constants that are left, or "as written". Needs what scripts/dump_hlo.py needs.
"""

import argparse
import collections
import importlib.metadata
import math
import re

from ahead_of_time import lowering

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

TARGETS = ["cpu", "v4", "v5e", "v5p", "v6e", "tpu7x"]
# Names of arguments by shape: full arrays, a row to be broadcast, a scalar, operands of a dot.
SHAPES = {
    "x": (8, 128), "y": (8, 128), "z": (8, 128), "w": (8, 128), "r": (8, 1), "s": (), "t": (),
    "a": (256, 128), "b": (128, 256), "c": (256, 8),
}  # fmt: skip
# Constants whose elements differ.
V, W = np.linspace(0.1, 0.9, 128, dtype=np.float32), np.linspace(0.3, 0.7, 128, dtype=np.float32)
V8, W8 = np.tile(V, (8, 1)), np.tile(W, (8, 1))
# A constant operand of a dot, and a constant of which a slice is taken; the type and the dimension numbers of some rules.
K = np.linspace(0.1, 0.9, 256 * 8, dtype=np.float32).reshape(256, 8)
L = np.linspace(0.3, 0.7, 64 * 64, dtype=np.float32).reshape(64, 64)
BF16 = jnp.bfloat16
NHWC = ("NHWC", "HWIO", "NHWC")
RULES = {
    "(x*c)*d": lambda x: (x * 0.1) * 0.7,
    "c*(d*x)": lambda x: 0.7 * (0.1 * x),
    "((x*c)*d)*e": lambda x: ((x * 0.1) * 0.7) * 0.3,
    "(x*c)*(y*d)": lambda x, y: (x * 0.1) * (y * 0.7),
    "(x*c)*r": lambda x, r: (x * 0.1) * r,
    "(x*r)*c": lambda x, r: (x * r) * 0.1,
    "(x*c)*s": lambda x, s: (x * 0.1) * s,
    "(x*s)*c": lambda x, s: (x * s) * 0.1,
    "(x*c)*y": lambda x, y: (x * 0.1) * y,
    "(x*y)*c": lambda x, y: (x * y) * 0.1,
    "((x*c)*y)*d": lambda x, y: ((x * 0.1) * y) * 0.7,
    "(r*c)*x": lambda x, r: (r * 0.1) * x,
    "((r*c)*x)*d": lambda x, r: ((r * 0.1) * x) * 0.7,
    "x/c": lambda x: x / 0.7,
    "(x/c)*d": lambda x: (x / 0.7) * 0.3,
    "(x*c)/d": lambda x: (x * 0.1) / 0.1,
    "(x/c)/d": lambda x: (x / 0.7) / 0.3,
    "c/x": lambda x: 0.7 / x,
    "(c/x)*d": lambda x: (0.7 / x) * 0.3,
    "d/(c*x)": lambda x: 0.7 / (0.3 * x),
    "d/(c/x)": lambda x: 0.7 / (0.3 / x),
    "x/r": lambda x, r: x / r,
    "(x/r)*c": lambda x, r: (x / r) * 0.3,
    "(x*c)/r": lambda x, r: (x * 0.3) / r,
    "x/s": lambda x, s: x / s,
    "(x/y)*c": lambda x, y: (x / y) * 0.3,
    "x/(y*c)": lambda x, y: x / (y * 0.3),
    "(x*c)/(y*d)": lambda x, y: (x * 0.1) / (y * 0.3),
    "(x/y)/z": lambda x, y, z: (x / y) / z,
    "x/(y/z)": lambda x, y, z: x / (y / z),
    "(x/y)/(z/w)": lambda x, y, z, w: (x / y) / (z / w),
    "(x/y)*(z/w)": lambda x, y, z, w: (x / y) * (z / w),
    "(x*y)/y": lambda x, y: (x * y) / y,
    "(x/y)*y": lambda x, y: (x / y) * y,
    "x/x": lambda x: x / x,
    "x*(1/y)": lambda x, y: x * (1 / y),
    "1/(1/x)": lambda x: 1 / (1 / x),
    "(x+c)+d": lambda x: (x + 0.1) + 0.7,
    "(x-c)+c": lambda x: (x - 0.7) + 0.7,
    "(x+c)-d": lambda x: (x + 0.7) - 0.3,
    "(c-x)+d": lambda x: (0.7 - x) + 0.3,
    "c-(d-x)": lambda x: 0.7 - (0.3 - x),
    "c-(x+d)": lambda x: 0.7 - (x + 0.3),
    "(x+c)+(y+d)": lambda x, y: (x + 0.1) + (y + 0.7),
    "(x+c)+y": lambda x, y: (x + 0.1) + y,
    "(x+s)+c": lambda x, s: (x + s) + 0.7,
    "((x+c)+y)+d": lambda x, y: ((x + 0.1) + y) + 0.7,
    "x+(y-x)": lambda x, y: x + (y - x),
    "(x+y)-x": lambda x, y: (x + y) - x,
    "x-(x-y)": lambda x, y: x - (x - y),
    "x-(x+y)": lambda x, y: x - (x + y),
    "x-x": lambda x: x - x,
    "x+0": lambda x: lax.add(x, jnp.zeros((8, 128))),
    "x-0": lambda x: lax.sub(x, jnp.zeros((8, 128))),
    "0-x": lambda x: lax.sub(jnp.zeros((8, 128)), x),
    "x*0": lambda x: x * 0.0,
    "x*1": lambda x: lax.mul(x, jnp.ones((8, 128))),
    "x*-1": lambda x: x * -1.0,
    "x*c+y*c": lambda x, y: x * 0.3 + y * 0.3,
    "x*2+y*2": lambda x, y: x * 2.0 + y * 2.0,
    "x*z+y*z": lambda x, y, z: x * z + y * z,
    "x+x": lambda x: x + x,
    "(x+y)*c": lambda x, y: (x + y) * 0.3,
    "pred*x": lambda x, y: (y > 0).astype(jnp.float32) * x,
    "|x|*|x|": lambda x: jnp.abs(x) * jnp.abs(x),
    "-x*-y": lambda x, y: (-x) * (-y),
    "sqrt(x)*sqrt(x)": lambda x: jnp.sqrt(jnp.abs(x)) * jnp.sqrt(jnp.abs(x)),
    "rsqrt(x)*rsqrt(x)": lambda x: lax.rsqrt(jnp.abs(x)) * lax.rsqrt(jnp.abs(x)),
    "sqrt(x*x)": lambda x: jnp.sqrt(x * x),
    "sqrt(x)*sqrt(y)": lambda x, y: jnp.sqrt(x) * jnp.sqrt(y),
    "y/sqrt(x)": lambda x, y: y / jnp.sqrt(x),
    "sqrt(y)/sqrt(x)": lambda x, y: jnp.sqrt(y) / jnp.sqrt(x),
    "sqrt(y/x)": lambda x, y: jnp.sqrt(y / x),
    "1/sqrt(x)": lambda x: 1 / jnp.sqrt(x),
    "sqrt(1/x)": lambda x: jnp.sqrt(1 / x),
    "rsqrt(1/x)": lambda x: lax.rsqrt(1 / x),
    "y/rsqrt(x)": lambda x, y: y / lax.rsqrt(x),
    "x*rsqrt(x)": lambda x: x * lax.rsqrt(x),
    "x/sqrt(x)": lambda x: x / jnp.sqrt(x),
    "sqrt(sqrt(x))": lambda x: jnp.sqrt(jnp.sqrt(x)),
    "x/sqrt(r)": lambda x, r: x / jnp.sqrt(r),
    "x/cbrt(y)": lambda x, y: x / jnp.cbrt(y),
    "cbrt(x)^3": lambda x: jnp.cbrt(x) * jnp.cbrt(x) * jnp.cbrt(x),
    "exp(x)*exp(y)": lambda x, y: jnp.exp(x) * jnp.exp(y),
    "exp(x)/exp(y)": lambda x, y: jnp.exp(x) / jnp.exp(y),
    "x/exp(y)": lambda x, y: x / jnp.exp(y),
    "x/exp(r)": lambda x, r: x / jnp.exp(r),
    "exp(-x)*y": lambda x, y: jnp.exp(-x) * y,
    "exp(log(x))": lambda x: jnp.exp(jnp.log(x)),
    "exp(x)-1": lambda x: jnp.exp(x) - 1,
    "exp(log(x)*y)": lambda x, y: jnp.exp(jnp.log(x) * y),
    "log(exp(x))": lambda x: jnp.log(jnp.exp(x)),
    "log(x*y)": lambda x, y: jnp.log(x * y),
    "log(x)+log(y)": lambda x, y: jnp.log(x) + jnp.log(y),
    "log(x/y)": lambda x, y: jnp.log(x / y),
    "log(x^y)": lambda x, y: jnp.log(lax.pow(x, y)),
    "log(sqrt(x))": lambda x: jnp.log(jnp.sqrt(x)),
    "log(rsqrt(x))": lambda x: jnp.log(lax.rsqrt(x)),
    "log(1+x)": lambda x: jnp.log(1 + x),
    "1/(1+exp(-x))": lambda x: 1 / (1 + jnp.exp(-x)),
    "logistic(x)": lambda x: lax.logistic(x),
    "sin(x)/cos(x)": lambda x: jnp.sin(x) / jnp.cos(x),
    "tanh(-x)": lambda x: jnp.tanh(-x),
    "max(tanh(x),tanh(y))": lambda x, y: jnp.maximum(jnp.tanh(x), jnp.tanh(y)),
    "x^0": lambda x: lax.pow(x, jnp.full((8, 128), 0.0)),
    "x^1": lambda x: lax.pow(x, jnp.full((8, 128), 1.0)),
    "x^2": lambda x: lax.pow(x, jnp.full((8, 128), 2.0)),
    "x^3": lambda x: lax.pow(x, jnp.full((8, 128), 3.0)),
    "x^4": lambda x: lax.pow(x, jnp.full((8, 128), 4.0)),
    "x^-1": lambda x: lax.pow(x, jnp.full((8, 128), -1.0)),
    "x^-2": lambda x: lax.pow(x, jnp.full((8, 128), -2.0)),
    "x^0.5": lambda x: lax.pow(x, jnp.full((8, 128), 0.5)),
    "|x|^0.5": lambda x: lax.pow(jnp.abs(x), jnp.full((8, 128), 0.5)),
    "x^-0.5": lambda x: lax.pow(x, jnp.full((8, 128), -0.5)),
    "x^y": lambda x, y: lax.pow(x, y),
    "c^x": lambda x: lax.pow(jnp.full((8, 128), 0.7), x),
    "(x^y)^z": lambda x, y, z: lax.pow(lax.pow(x, y), z),
    "exp(x)^y": lambda x, y: lax.pow(jnp.exp(x), y),
    "x/(y^z)": lambda x, y, z: x / lax.pow(y, z),
    "x^y*x^z": lambda x, y, z: lax.pow(x, y) * lax.pow(x, z),
    "sum(r over n)": lambda r: jnp.sum(jnp.broadcast_to(r, (8, 128)), 1),
    "sum(c over n)": lambda x: x + jnp.sum(jnp.full((8, 128), 0.1), 1, keepdims=True),
    "sum(sum(x))": lambda x: jnp.sum(jnp.sum(x, 1)),
    "sum(x*c)": lambda x: jnp.sum(x * 0.1, 1),
    "sum(x*r)": lambda x, r: jnp.sum(x * r, 1),
    "sum(x)*c": lambda x: jnp.sum(x, 1) * 0.1,
    "sum(x*c)*d": lambda x: jnp.sum(x * 0.1, 1) * 0.7,
    "sum(-x)": lambda x: jnp.sum(-x, 1),
    "sum(x|y)": lambda x, y: jnp.sum(jnp.concatenate([x, y], 1), 1),
    "sum(x)+sum(y)": lambda x, y: jnp.sum(x, 1) + jnp.sum(y, 1),
    "mean(x)": lambda x: jnp.mean(x, 1),
    "mean(x)*c": lambda x: jnp.mean(x, 1) * 0.7,
    "cumsum(c)": lambda x: x + jnp.cumsum(jnp.full((8, 128), 0.1), 1),
    "dot(a*c,b)": lambda a, b: (a * 0.1) @ b,
    "dot(a,b*c)": lambda a, b: a @ (b * 0.1),
    "dot(a,b)*c": lambda a, b: (a @ b) * 0.1,
    "dot(a*c,b*d)": lambda a, b: (a * 0.1) @ (b * 0.7),
    "dot(a*c,b)*d": lambda a, b: ((a * 0.1) @ b) * 0.7,
    "dot(a*c,[256,8])": lambda b, c: (b * 0.1) @ c,
    "dot(b,c)*d small": lambda b, c: ((b * 0.1) @ c) * 0.7,
    "dot(dot(a,b),c)": lambda a, b, c: (a @ b) @ c,
    "sum(dot)": lambda a, b: jnp.sum(a @ b, 1),
    "dot(a,ones)": lambda a: a @ jnp.ones((128, 256)),
    "dot(a,full)": lambda a: a @ jnp.full((128, 256), 0.1),
    "dot(a,bcast)": lambda a, s: a @ jnp.broadcast_to(s, (128, 256)),
    "dot(a|a2,V)": lambda a: jnp.concatenate([a, a * 2 + 1], 1) @ K,
    "dot(transpose(a),V)": lambda a: a.reshape(256, 8, 16).transpose(0, 2, 1).reshape(256, 128) @ K[:128],
    "dot(V,slice(W,s))": lambda s: K[:64].T @ lax.dynamic_slice(L, (0, s.astype(jnp.int32)), (64, 8)),
    "sum_b(dot)": lambda a, b: lax.dot_general(a.reshape(4, 64, 128), b.reshape(4, 128, 64), (((2,), (1,)), ((0,), (0,)))).sum(0),
    "bf16 dot(a|a2,V)": lambda a: jnp.concatenate([a.astype(BF16), a.astype(BF16) * 2 + 1], 1) @ K.astype(BF16),
    "bf16 sum_b(dot)": lambda a, b: lax.reduce(
        lax.dot_general(a.astype(BF16).reshape(4, 64, 128), b.astype(BF16).reshape(4, 128, 64), (((2,), (1,)), ((0,), (0,)))),
        BF16(0), lax.add, (0,)),
    "conv 1x1": lambda a: lax.conv_general_dilated(a.reshape(2, 16, 8, 128), K[:128].reshape(1, 1, 128, 8), (1, 1), "VALID", dimension_numbers=NHWC),
    "conv depthwise 1x1": lambda a: lax.conv_general_dilated(
        a.reshape(2, 16, 8, 128), V.reshape(1, 1, 1, 128), (1, 1), "VALID", dimension_numbers=NHWC, feature_group_count=128),
    "conv depthwise whole": lambda a: lax.conv_general_dilated(
        a.reshape(2, 16, 8, 128), jnp.broadcast_to(V, (16, 8, 1, 128)), (1, 1), "VALID", dimension_numbers=NHWC, feature_group_count=128),
    "conv(x*c)": lambda a: lax.conv_general_dilated(
        a.reshape(2, 16, 8, 128) * 0.1, jnp.broadcast_to(V[:, None], (3, 3, 128, 8)), (1, 1), "VALID", dimension_numbers=NHWC),
    "conv(x)*c": lambda a: 0.1 * lax.conv_general_dilated(
        a.reshape(2, 16, 8, 128), jnp.broadcast_to(V[:, None], (3, 3, 128, 8)), (1, 1), "VALID", dimension_numbers=NHWC),
    "conv(pad(x))": lambda a: lax.conv_general_dilated(
        jnp.pad(a.reshape(2, 16, 8, 128), ((0, 0), (1, 1), (1, 1), (0, 0))), jnp.broadcast_to(V[:, None], (3, 3, 128, 8)), (1, 1),
        "VALID", dimension_numbers=NHWC),
    "rsqrt(1/|x|)": lambda x: lax.rsqrt(1 / abs(x)),
    "rsqrt(x^-2)": lambda x: lax.rsqrt(lax.pow(x, -2.0)),
    "rsqrt(|x|^-2)": lambda x: lax.rsqrt(lax.pow(abs(x), -2.0)),
    "rsqrt(x*x)": lambda x: lax.rsqrt(x * x),
    "rsqrt(sqrt(x))": lambda x: lax.rsqrt(lax.sqrt(x)),
    "dot(a|a2,b)": lambda a, b: jnp.concatenate([a[:, :64], a[:, 64:] * 2], 1) @ b,
    "bf16 (x*c)*d": lambda x: (x.astype(jnp.bfloat16) * 0.1) * 0.7,
    "bf16 (x/c)*d": lambda x: (x.astype(jnp.bfloat16) / 0.7) * 0.3,
    "bf16 x*c/d": lambda x: (x.astype(jnp.bfloat16) * 0.1) / 0.7,
    "bf16 x/c/d": lambda x: (x.astype(jnp.bfloat16) / 0.1) / 0.7,
    "bf16 x/c": lambda x: x.astype(jnp.bfloat16) / 0.7,
    "bf16 (x+c)+d": lambda x: (x.astype(jnp.bfloat16) + 0.1) + 0.7,
    "bf16 (x/y)/z": lambda x, y, z: (x.astype(jnp.bfloat16) / y.astype(jnp.bfloat16)) / z.astype(jnp.bfloat16),
    "bf16 x*z+y*z": lambda x, y, z: x.astype(jnp.bfloat16) * z.astype(jnp.bfloat16)
    + y.astype(jnp.bfloat16) * z.astype(jnp.bfloat16),
    "bf16 sum(r over n)": lambda r: jnp.sum(jnp.broadcast_to(r.astype(jnp.bfloat16), (8, 128)), 1),
    "bf16 x^3": lambda x: x.astype(jnp.bfloat16) ** 3,
    "bf16 log(exp(x))": lambda x: jnp.log(jnp.exp(x.astype(jnp.bfloat16))),
    "bf16 sqrt(x*x)": lambda x: jnp.sqrt(x.astype(jnp.bfloat16) * x.astype(jnp.bfloat16)),
    "bf16 x*c then f32 *d": lambda x: (x.astype(jnp.bfloat16) * 0.1).astype(jnp.float32) * 0.7,
    "f32 x*c then bf16 *d": lambda x: (x * 0.1).astype(jnp.bfloat16) * 0.7,
    "reshape between": lambda x: ((x * 0.1).reshape(128, 8)) * 0.7,
    "slice between": lambda x: ((x * 0.1)[:, :64]) * 0.7,
    "transpose between": lambda x: (x * 0.1).T * 0.7,
    "concat between": lambda x, y: jnp.concatenate([x * 0.1, y], 1) * 0.7,
    "select between": lambda x, y: jnp.where(y > 0, x * 0.1, 0.0) * 0.7,
    "negate between": lambda x: -(x * 0.1) * 0.7,
    "maximum between": lambda x: jnp.maximum(x * 0.1, 0.0) * 0.7,
    "gather between": lambda x: (x * 0.1)[jnp.array([1, 5, 2])] * 0.7,
    "reduce_precision between": lambda x: lax.reduce_precision(x * 0.1, 8, 7) * 0.7,
    "barrier between": lambda x: lax.optimization_barrier(x * 0.1) * 0.7,
    "bcast(r*c)*d": lambda x, r: x + jnp.broadcast_to(r * 0.1, (8, 128)) * 0.7,
    "bcast(r)+c": lambda x, r: x * (jnp.broadcast_to(r + 0.1, (8, 128)) + 0.7),
    "x*v1*v2 (vectors)": lambda x: (x * V) * W,
    "x*v1*c": lambda x: (x * V) * 0.7,
    "x+v1+v2 (vectors)": lambda x: (x + V) + W,
    "x*V*W (arrays)": lambda x: (x * V8) * W8,
    "x/V*W (arrays)": lambda x: (x / V8) * W8,
    "x+V+W (arrays)": lambda x: (x + V8) + W8,
    "x-V+V (arrays)": lambda x: (x - V8) + V8,
    "(x*V)*(y*W) (arrays)": lambda x, y: (x * V8) * (y * W8),
    "(x*V)*c (array)": lambda x: (x * V8) * 0.7,
    "(x*V)*s (array)": lambda x, s: (x * V8) * s,
    "s*c*d (scalar)": lambda x, s: x + (s * 0.1) * 0.7,
    "(s*c)*(t*d) (scalars)": lambda x, s, t: x + (s * 0.1) * (t * 0.7),
    "((s*c)*t)*d (scalars)": lambda x, s, t: x + ((s * 0.1) * t) * 0.7,
    "(s+c)+d (scalar)": lambda x, s: x + ((s + 0.1) + 0.7),
    "x*(s*c)*d": lambda x, s: (x * (s * 0.1)) * 0.7,
    "(x*c)*(s*d)": lambda x, s: (x * 0.1) * (s * 0.7),
    "x/(s*c)": lambda x, s: x / (s * 0.7),
    "x*(1-s)/(1-s)": lambda x, s: (x * (1 - s)) / (1 - s),
    "x/(1-s)/(1-t)": lambda x, s, t: (x / (1 - s)) / (1 - t),
    "x*c + (x*d)": lambda x: x * 0.1 + x * 0.7,
    "x*c - y*c": lambda x, y: x * 0.3 - y * 0.3,
    "x/c + y/c": lambda x, y: x / 0.3 + y / 0.3,
    "x*s + y*s": lambda x, y, s: x * s + y * s,
    "x*c + y*c + z*c": lambda x, y, z: x * 0.3 + y * 0.3 + z * 0.3,
    "x*c + y*c, x*c used": lambda x, y: (x * 0.3 + y * 0.3, x * 0.3),
    "x*2+y*2 used": lambda x, y: (x * 2.0 + y * 2.0, x * 2.0),
    "x*z+z": lambda x, z: x * z + z,
    "dot(x,b)+dot(y,b)": lambda a, b: a @ b + (a * 2 + 1) @ b,
    "sum(x*z)+sum(y*z)": lambda x, y, z: jnp.sum(x * z, 1) + jnp.sum(y * z, 1),
    "x/v1*v2 (vectors)": lambda x: (x / V) * W,
}
# Fewer elements than an array argument has.
SMALL = 1024
MOVES = {
    "parameter", "fusion", "broadcast", "tuple", "get-tuple-element", "bitcast", "copy", "copy-start", "copy-done",
    "reshape", "transpose", "call", "constant", "iota", "slice", "custom-call", "async-start", "async-done", "pad", "concatenate",
    "dynamic-slice", "dynamic-update-slice", "slice-start", "slice-done", "reduce-precision", "opt-barrier", "gather", "convert",
    "select", "compare",
}  # fmt: skip


def lowered_for(target, function, names):
    shapes = [jax.ShapeDtypeStruct(SHAPES[name], jnp.float32) for name in names]
    if target == "cpu":
        return lowering.lower_for_cpu(function, *[jnp.zeros(s.shape) for s in shapes])
    return lowering.lower_for_topology(function, lowering.TOPOLOGIES[target], *shapes)


def computed(text):
    """The operations on floats that a text has, with how often, and its float constants; small ones give fewer elements than
    an argument has: what is done before a broadcast, or behind a reduction."""
    found = collections.Counter()
    constants = []
    for line in text.splitlines():
        match = re.search(r"= \(?(f32|bf16|f16)\[([\d,]*)\][^=]*?\)? ([a-z][a-z0-9-]*)\((.*)", line)
        if not match:
            continue
        dtype, dims, opcode, rest = match.groups()
        if opcode == "constant":
            value = re.match(r"(-?[0-9.eE+-]+|-?inf|nan)\)", rest)
            if value and value.group(1) not in ("0", "-0", "-inf", "inf"):
                constants.append(("" if dtype == "f32" else "bf16 ") + value.group(1))
        elif opcode not in MOVES:
            size = math.prod(int(extent) for extent in dims.split(",") if extent)
            found[("small " if size < SMALL else "") + opcode] += 1
    return found, sorted(set(constants))


def described(text):
    found, constants = computed(text)
    operations = ", ".join(f"{count} {name}" if count > 1 else name for name, count in sorted(found.items()))
    return (operations or "nothing") + (f" ({', '.join(constants)})" if constants else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flag", choices=["on", "off"], default="off", help="xla_allow_excess_precision")
    parser.add_argument("--targets", default=",".join(TARGETS), help="by commas")
    parser.add_argument("rules", nargs="*", help="names of rules [default: all]")
    arguments = parser.parse_args()
    targets = arguments.targets.split(",")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("jax", "jaxlib", "libtpu"))
    print(f"{versions}, xla_allow_excess_precision={arguments.flag}\n")
    print("| written | " + " | ".join(targets) + " |")
    print("|---" * (len(targets) + 1) + "|")
    for rule in arguments.rules or RULES:
        function = RULES[rule]
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        cells = []
        for target in targets:
            try:
                lowered = lowered_for(target, function, names)
                before = described(lowering.text_before(lowered))
                compiled = lowered.compile(compiler_options={"xla_allow_excess_precision": arguments.flag == "on"})
                after = described(lowering.text_of(compiled))
            except Exception as error:
                before, after = "", "error: " + lowering.first_line(error)[:60]
            cells.append("as written" if after == before else after)
        if len(set(cells)) == 1:
            cells = [cells[0]] + ["same"] * (len(cells) - 1)
        print(f"| `{rule}`: {before} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
