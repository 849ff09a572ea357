#!/usr/bin/env python3
"""Writes HLO that quantises by each rule of scaled formats: one tensor, and the weights or the cache of scripts/decoder.py.

    venv/bin/python scripts/scaled_rules.py tests/data/scaled_rules

FORMAT.RULE.hlo takes x f32[8,1024] and factor f32[8,32], one for each 32 elements, and gives x * factor in the format, back in f32;
`exact.hlo` gives x * factor itself, the truth. clamped.FORMAT.RULE.hlo counts the elements of each row that were clamped, f32[8], of which
`clamped.none.hlo` has none.
weights.FORMAT.RULE.hlo and cache.FORMAT.RULE.hlo are `prefill` in f32 with weights or keys and values through the format;
`model.hlo` is the same without, and the truth. Blocks of weights lie along the sum, those of a cache along a head.
`inputs.safetensors` has the factors, and what the hidden layers of the model make of the first held-out tokens.
"""

import dataclasses
import functools
import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import decoder

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
# Elements, largest number, its exponent, bits of the fraction, block.
ELEMENTS = {"mxfp8": (jnp.float8_e4m3fn, 448, 8, 3, 32), "mxfp4": (jnp.float4_e2m1fn, 6, 2, 1, 32)}
MX_RULES = ("floor", "ceil", "even", "rceil", "nearest_log2", "nearest_value")
NVFP4_RULES = ("two_level", "one_level")
INT4_RULES = ("amax_7", "amax_7.5", "amax_8")
RULES = [(name, rule) for name in ELEMENTS for rule in MX_RULES]
RULES += [("nvfp4", rule) for rule in NVFP4_RULES] + [("int4", rule) for rule in INT4_RULES]


def bits(x):
    return jax.lax.bitcast_convert_type(x, jnp.int32)


def power(rule, a, element):
    """The scale 2^e of blocks with the largest magnitudes a, f32, by a rule of MX formats; e is held to -126..127."""
    _, largest, emax, fraction, _ = ELEMENTS[element]
    quotient = a / largest
    up = (bits(quotient) & 0x7FFFFF) > 0
    exponent = {
        "floor": lambda: (bits(a) >> 23) - emax,
        "ceil": lambda: (bits(a) >> 23) + ((bits(a) & 0x7FFFFF) > 0) - emax,
        "even": lambda: ((bits(a) + (1 << (22 - fraction))) >> 23) - emax,
        "rceil": lambda: (bits(quotient) >> 23) + up,
        "nearest_log2": lambda: jnp.round(jnp.log2(quotient)).astype(jnp.int32) + 127,
        "nearest_value": lambda: (bits(quotient) + (1 << 22)) >> 23,
    }[rule]()
    return jax.lax.bitcast_convert_type(jnp.clip(exponent.astype(jnp.int32), 1, 254) << 23, jnp.float32)


def through(element, rule, x, tensor=None):
    """f32 blocks [..., B] as the format holds them, and which elements were clamped. `tensor`: the whole one, for a second scale."""
    a = jnp.max(jnp.abs(x), -1, keepdims=True)
    if element in ELEMENTS:
        dtype, largest = ELEMENTS[element][:2]
        scale = power(rule, a, element)
    elif element == "nvfp4":
        dtype, largest = jnp.float4_e2m1fn, 6
        whole = jnp.max(jnp.abs(x if tensor is None else tensor)) / 2688 if rule == "two_level" else jnp.float32(1)
        scale = jnp.clip(a / 6 / whole, 2.0**-9, 448).astype(jnp.float8_e4m3fn).astype(jnp.float32) * whole
    else:
        largest, dtype = 7, None
        scale = jnp.maximum(a / float(rule.split("_")[1]), jnp.float32(2.0**-126))
    quotient = x / scale
    if dtype is None:
        quotient = jnp.round(quotient)
    kept = jnp.clip(quotient, -8 if dtype is None else -largest, largest)
    is_clamped = kept != quotient
    if dtype is not None:
        kept = kept.astype(dtype).astype(jnp.float32)
    return kept * scale, is_clamped


def block_of(element):
    return 16 if element == "nvfp4" else 32


def blocks_of(element, x, factor):
    return (x * jnp.repeat(factor, 32, 1)).reshape(8, -1, block_of(element))


def held(element, rule, x, factor):
    return through(element, rule, blocks_of(element, x, factor))[0].reshape(x.shape)


def clamped(element, rule, x, factor):
    return jnp.sum(through(element, rule, blocks_of(element, x, factor))[1], (1, 2)).astype(jnp.float32)


def exact(x, factor):
    return x * jnp.repeat(factor, 32, 1)


def none_clamped(x, factor):
    return jnp.zeros(8, jnp.float32)


MATRICES = ("query", "key", "value", "output", "gate", "up", "down")


def narrow_weights(element, rule, weights):
    """The matrices [L,K,N] of all layers through a format: blocks along K, all in one list."""
    block = block_of(element)
    lists = [weights[name].transpose(0, 2, 1).reshape(-1, block) for name in MATRICES]
    if element == "nvfp4" and rule == "two_level":
        parts = [through(element, rule, part)[0] for part in lists]
    else:
        both = through(element, rule, jnp.concatenate(lists))[0]
        parts = jnp.split(both, np.cumsum([len(part) for part in lists])[:-1])
    given = dict(weights)
    for name, part in zip(MATRICES, parts):
        layers, k, n = weights[name].shape
        given[name] = part.reshape(layers, n, k).transpose(0, 2, 1)
    return given


def logits(weights, tokens, config):
    """As `decoder.logits`, with a mask that is computed: the text of a constant is long."""
    length = tokens.shape[1]
    cos, sin = (jnp.asarray(table) for table in decoder.rope_tables(config, length))
    mask = jnp.arange(length)[:, None] >= jnp.arange(length)[None]
    x = decoder.embed(config, weights, tokens)
    own = {name: weights[name] for name in decoder.LAYER}
    x, _ = jax.lax.scan(lambda x, own: (decoder.layer(config, x, own, cos, sin, mask, None, 0)[0], None), x, own)
    return decoder.head(config, weights, x)


def model(config, weights, tokens, narrowed=lambda weights: weights):
    """Teacher-forced: of s32[T,1], one token a row, f32 logits [T,V] and the token that they name, s32[T]."""
    weights = narrowed({name: weight.astype(jnp.float32) for name, weight in weights.items()})
    rows = logits(weights, tokens.T, config)[0]
    return rows, jnp.argmax(rows, -1).astype(jnp.int32)


def hidden_values():
    """What the hidden layers of the model hold of the first 64 held-out tokens, f32[8,1024]: two rows a layer."""
    weights = {k: jnp.asarray(v).astype(jnp.float32) for k, v in load_weights().items()}
    tokens = jnp.asarray(load_file(DATA / "language_model" / "tokens.safetensors")["held_out"][:64]).T
    seen, silu = [], jax.nn.silu
    config = decoder.SMALL
    cos, sin = decoder.rope_tables(config, 64)
    mask = np.tril(np.ones((64, 64), bool))
    x = decoder.embed(config, weights, tokens)
    for at in range(4):
        own = {name: weights[name][at] for name in decoder.LAYER}
        y = decoder.layer(config, x, {**own, "down": jnp.zeros_like(own["down"])}, cos, sin, mask, None, 0)[0]
        normed = decoder.rms_norm(config, y, own["mlp_norm"])
        seen.append(silu(normed @ own["gate"]) * (normed @ own["up"]))
        x = y + seen[-1] @ own["down"]
    return np.concatenate([np.asarray(part).reshape(-1)[:2048].reshape(2, 1024) for part in seen])


def load_weights():
    import safetensors

    with safetensors.safe_open(DATA / "language_model" / "decoder.safetensors", "flax") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def dump(out, name, function, *shapes):
    text = jax.jit(function, keep_unused=True).lower(*shapes).compiler_ir("hlo").as_hlo_text(print_large_constants=True)
    (out / f"{name}.hlo").write_text(text)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    shape = jax.ShapeDtypeStruct
    x, factor = shape((8, 1024), jnp.float32), shape((8, 32), jnp.float32)
    dump(out, "exact", exact, x, factor)
    dump(out, "clamped.none", none_clamped, x, factor)
    given = [shape(array.shape, jnp.bfloat16) for array in (load_weights()[name] for name in decoder.WEIGHTS)]
    tokens = shape((64, 1), jnp.int32)

    def whole(config, narrowed=lambda weights: weights):
        first = functools.partial(model, narrowed=narrowed)
        first.__name__, first.__doc__ = "model", model.__doc__
        return decoder.of_arrays(first, "tokens", config)

    dump(out, "model", whole(decoder.SMALL), tokens, *given)
    for element, rule in RULES:
        for function, prefix in ((held, ""), (clamped, "clamped.")):
            called = functools.partial(function, element, rule)
            called.__name__ = function.__name__
            dump(out, f"{prefix}{element}.{rule}", called, x, factor)
        narrowed = functools.partial(narrow_weights, element, rule)
        dump(out, f"weights.{element}.{rule}", whole(decoder.SMALL, narrowed), tokens, *given)
        cached = lambda values, element=element, rule=rule: through(element, rule, values)[0]
        dump(out, f"cache.{element}.{rule}", whole(dataclasses.replace(decoder.SMALL, cached=cached)), tokens, *given)
    octaves = 2.0 ** (np.arange(256).reshape(8, 32) * 5 % 13 - 6)
    steps = np.arange(256).reshape(8, 32) * 7 % 32
    inputs = {
        "octaves": octaves, "one": np.ones((8, 32)), "tiny": octaves * 2.0**-60, "huge": octaves * 2.0**60,
        "spread": 2.0 ** (steps - 16), "activations": hidden_values(),
    }  # fmt: skip
    save_file({name: array.astype(np.float32) for name, array in inputs.items()}, out / "inputs.safetensors")


if __name__ == "__main__":
    main()
