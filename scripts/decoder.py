"""A decoder of Llama's shape in JAX: RMSNorm, rope, grouped-query attention, SwiGLU, tied head. Weights are arguments.

Written for scripts/dump_hlo.py, which wants functions of arrays alone: `prefill` and `generate` take the weights one by one, in
the order of WEIGHTS. Layers are stacked along the first dimension and run in a scan, as in MaxText: the compiled text has one of them. The weights' type is that of activations and logits;
norms, rope and softmax are computed in f32 where that is wider, as models usually are.
"""

import math
import typing

import jax
import jax.numpy as jnp
import numpy as np

# The names of the weights, here and in the file. L layers, D width, H hidden, E head size, Q and K query and key heads:
#   embedding [V,D], norm [D], attention_norm and mlp_norm [L,D], query [L,D,Q*E], key and value [L,D,K*E],
#   output [L,Q*E,D], gate and up [L,D,H], down [L,H,D]
WEIGHTS = ("embedding", "norm", "attention_norm", "query", "key", "value", "output", "mlp_norm", "gate", "up", "down")
LAYER = WEIGHTS[2:]
HEAD_SIZE = 16
THETA = 10000.0
EPSILON = 1e-5
# How many tokens `generate` adds to the prompts.
NEW_TOKENS = 32


class Choices(typing.NamedTuple):
    """What is computed otherwise than in the type of the weights."""

    # The logits are f32: the head's sums are not rounded to the weights' type.
    head: bool = False
    # What layers add to is f32.
    stream: bool = False
    # What is rounded to bf16 goes through `reduce-precision`, which no compiler leaves out.
    pinned: bool = False

    def kept(self, x):
        return jax.lax.reduce_precision(x, 8, 7) if self.pinned and x.dtype == jnp.bfloat16 else x


def wide(x):
    return x.astype(jnp.float32)


def rms_norm(x, gain, choices):
    y = wide(x)
    y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + EPSILON)
    return choices.kept(choices.kept(y.astype(gain.dtype)) * gain)


def rope_tables(length):
    """Cosines and sines [length, E/2] as f32 constants, rounded once from f64."""
    frequencies = THETA ** (-np.arange(0, HEAD_SIZE, 2) / HEAD_SIZE)
    angles = np.arange(length)[:, None] * frequencies
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def rope(x, cos, sin):
    """Turns x [..., T, heads, E]; the first half of a head is paired with the second."""
    a, b = jnp.split(wide(x), 2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1).astype(x.dtype)


def layer(x, weights, cos, sin, mask, caches, position, choices):
    """One layer over x [B,T,D]. caches: None, or keys and values [B,S,K,E] that take the new ones at `position`."""
    batch, length, width = x.shape
    kept = choices.kept

    def projected(x, name):
        return kept(x @ weights[name])

    normed = rms_norm(x, weights["attention_norm"], choices)
    query, key, value = (projected(normed, name).reshape(batch, length, -1, HEAD_SIZE) for name in ("query", "key", "value"))
    query, key = kept(rope(query, cos, sin)), kept(rope(key, cos, sin))
    if caches is not None:
        caches = tuple(jax.lax.dynamic_update_slice(old, new, (0, position, 0, 0)) for old, new in zip(caches, (key, value)))
        key, value = caches
    heads = key.shape[2]
    query = query.reshape(batch, length, heads, -1, HEAD_SIZE)
    scores = jnp.einsum("btkge,bske->bkgts", query, key, preferred_element_type=jnp.float32) / math.sqrt(HEAD_SIZE)
    shares = kept(jax.nn.softmax(jnp.where(mask, scores, -1e30), -1).astype(value.dtype))
    mixed = kept(jnp.einsum("bkgts,bske->btkge", shares, value)).reshape(batch, length, width)
    x = kept(x + projected(mixed, "output"))
    normed = rms_norm(x, weights["mlp_norm"], choices)
    hidden = kept(kept(jax.nn.silu(projected(normed, "gate"))) * projected(normed, "up"))
    return kept(x + projected(hidden, "down")), caches


def embed(weights, tokens, choices):
    x = weights["embedding"][tokens]
    return wide(x) if choices.stream else x


def head(weights, x, choices):
    normed, table = rms_norm(x, weights["norm"], choices), weights["embedding"].T
    return jnp.matmul(normed, table, preferred_element_type=jnp.float32) if choices.head else choices.kept(normed @ table)


def layers(weights, tokens, choices, each):
    """What all layers make of sequences s32[B,T], [B,T,D], and `each` of the result of every one, stacked."""
    length = tokens.shape[1]
    cos, sin = rope_tables(length)
    mask = np.tril(np.ones((length, length), bool))
    x = embed(weights, tokens, choices)

    def one(x, own):
        x = layer(x, own, cos, sin, mask, None, 0, choices)[0]
        return x, each(x)

    return jax.lax.scan(one, x, {name: weights[name] for name in LAYER})


def logits(weights, tokens, choices=Choices()):
    """Logits [B,T,V] of sequences s32[B,T]."""
    x, _ = layers(weights, tokens, choices, lambda x: None)
    return head(weights, x, choices)


def step(weights, token, position, caches, tables, choices=Choices()):
    """Logits [B,V] after one token s32[B] at `position`, and the caches [L,B,S,K,E] of keys and values."""
    cos, sin = (jax.lax.dynamic_slice_in_dim(table, position, 1) for table in tables)
    mask = (jnp.arange(caches[0].shape[2]) <= position)[None]
    x = embed(weights, token, choices)[:, None]

    def one(x, own):
        return layer(x, own[0], cos, sin, mask, own[1], position, choices)

    x, caches = jax.lax.scan(one, x, ({name: weights[name] for name in LAYER}, caches))
    return head(weights, x, choices)[:, 0], caches


def empty_caches(weights, batch, length):
    layers, _, columns = weights["key"].shape
    zeros = jnp.zeros((layers, batch, length, columns // HEAD_SIZE, HEAD_SIZE), weights["key"].dtype)
    return zeros, zeros


# The arguments have the weights' names, by which a suite binds them to the tensors of a file.


def prefill(tokens, embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down):
    """Teacher-forced: of s32[T,1], one token a row, the logits [T,V] after each, the token they name s32[T], and f32 softmax."""
    weights = embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down
    rows = logits(dict(zip(WEIGHTS, weights)), tokens.T)[0]
    return rows, jnp.argmax(rows, -1).astype(jnp.int32), jax.nn.softmax(wide(rows), -1)


def prefill_f32(tokens, embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down):
    """`prefill` in f32 throughout, from the same weights."""
    weights = embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down
    return prefill(tokens, *(wide(weight) for weight in weights))


def depths(tokens, embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down):
    """What the head makes of each layer's result: of s32[T,1], one token a row, f32 logits [L,V] after the last of them."""
    weights = embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down
    weights, choices = dict(zip(WEIGHTS, weights)), Choices(head=True)
    _, ends = layers(weights, tokens.T, choices, lambda x: x[0, -1])
    return head(weights, ends, choices)


def generate(prompts, embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down):
    """Greedy decoding through a cache, token by token: of prompts s32[B,T] the NEW_TOKENS that follow, s32[B,NEW_TOKENS]."""
    weights = embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down
    weights = dict(zip(WEIGHTS, weights))
    batch, given = prompts.shape
    length = given + NEW_TOKENS - 1
    tables = tuple(jnp.asarray(table) for table in rope_tables(length))

    def one(carry, position):
        token, caches = carry
        scores, caches = step(weights, token, position, caches, tables)
        chosen = jnp.argmax(scores, -1).astype(jnp.int32)
        at = jnp.minimum(position + 1, given - 1)
        asked = jax.lax.dynamic_index_in_dim(prompts, at, 1, keepdims=False)
        return (jnp.where(position + 1 < given, asked, chosen), caches), chosen

    first = (prompts[:, 0], empty_caches(weights, batch, length))
    _, chosen = jax.lax.scan(one, first, jnp.arange(length, dtype=jnp.int32))
    return chosen[given - 1 :].T


def generate_f32(prompts, embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down):
    """`generate` in f32 throughout, from the same weights."""
    weights = embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down
    return generate(prompts, *(wide(weight) for weight in weights))


def state(x):
    """What a recurrent layer without decay keeps: the sums of x [T,D] up to each position, in x's own type."""

    def one(kept, new):
        kept = kept + new
        return kept, kept

    return jax.lax.scan(one, jnp.zeros_like(x[0]), x)[1]
