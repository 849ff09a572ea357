"""A decoder of Llama's shape in JAX: RMSNorm, rope, grouped-query attention, SwiGLU, a head of its own or the embedding. Weights are arguments.

Written for scripts/dump_hlo.py, which wants functions of arrays alone: `prefill` and `generate` take the weights one by one, in
the order of WEIGHTS. Layers are stacked along the first dimension and run in a scan, as in MaxText: the compiled text has one of them. The weights' type is that of activations and logits;
norms, rope and softmax are computed in f32 where that is wider, as models usually are.
"""

import dataclasses
import functools
import inspect
import math
import typing

import jax
import jax.numpy as jnp
import numpy as np

# The names of the weights, here and in the file. L layers, D width, H hidden, E head size, Q and K query and key heads:
#   embedding [V,D], norm [D], attention_norm and mlp_norm [L,D], query [L,D,Q*E], key and value [L,D,K*E],
#   output [L,Q*E,D], gate and up [L,D,H], down [L,H,D]; and, where the embedding is not the head too, head [D,V]
WEIGHTS = ("embedding", "norm", "attention_norm", "query", "key", "value", "output", "mlp_norm", "gate", "up", "down")
LAYER = WEIGHTS[2:]
HEAD = "head"


@dataclasses.dataclass(frozen=True)
class Config:
    """What the weights' shapes do not tell. The defaults are those of tests/data/language_model."""

    head_size: int = 16
    theta: float = 10000.0
    epsilon: float = 1e-5
    # How many tokens `generate` adds to the prompts.
    new_tokens: int = 32
    # Llama 3.1's scaling of rope's frequencies: factor, low_freq_factor, high_freq_factor, original_max_position_embeddings.
    rope_scaling: tuple = ()
    # What is computed otherwise than in the type of the weights: the head's sums are not rounded to it, what layers add to is
    # f32, and what is rounded to bf16 goes through `reduce-precision`, which no compiler leaves out.
    f32_logits: bool = False
    f32_stream: bool = False
    pinned: bool = False
    # What scripts/likelihood.py computes log-softmax in, and what it keeps of it.
    log_type: str = "float32"
    log_stored: str = "float32"
    # What the cache makes of keys and values [B,S,K,E]; None: they stay as they are.
    cached: typing.Callable | None = None

    def kept(self, x):
        return jax.lax.reduce_precision(x, 8, 7) if self.pinned and x.dtype == jnp.bfloat16 else x


SMALL = Config()


def wide(x):
    return x.astype(jnp.float32)


def rms_norm(config, x, gain):
    y = wide(x)
    y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + config.epsilon)
    return config.kept(config.kept(y.astype(gain.dtype)) * gain)


def rope_tables(config, length):
    """Cosines and sines [length, E/2] as f32 constants, rounded once from f64."""
    frequencies = config.theta ** (-np.arange(0, config.head_size, 2) / config.head_size)
    if config.rope_scaling:
        factor, low, high, original = config.rope_scaling
        turns = original * frequencies / (2 * math.pi)
        # Slow ones are slowed by the factor, fast ones stay, and between the two bounds the share changes linearly.
        share = np.clip((turns - low) / (high - low), 0, 1)
        frequencies = frequencies * (share + (1 - share) / factor)
    angles = np.arange(length)[:, None] * frequencies
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def rope(x, cos, sin):
    """Turns x [..., T, heads, E]; the first half of a head is paired with the second."""
    a, b = jnp.split(wide(x), 2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1).astype(x.dtype)


def layer(config, x, weights, cos, sin, mask, caches, position):
    """One layer over x [B,T,D]. caches: None, or keys and values [B,S,K,E] that take the new ones at `position`."""
    batch, length, _ = x.shape
    kept = config.kept

    def projected(x, name):
        return kept(x @ weights[name])

    normed = rms_norm(config, x, weights["attention_norm"])
    query, key, value = (projected(normed, name).reshape(batch, length, -1, config.head_size) for name in ("query", "key", "value"))
    query, key = kept(rope(query, cos, sin)), kept(rope(key, cos, sin))
    if caches is not None:
        caches = tuple(jax.lax.dynamic_update_slice(old, new, (0, position, 0, 0)) for old, new in zip(caches, (key, value)))
        key, value = caches
    if config.cached is not None:
        key, value = config.cached(key), config.cached(value)
    heads = key.shape[2]
    query = query.reshape(batch, length, heads, -1, config.head_size)
    scores = jnp.einsum("btkge,bske->bkgts", query, key, preferred_element_type=jnp.float32) / math.sqrt(config.head_size)
    shares = kept(jax.nn.softmax(jnp.where(mask, scores, -1e30), -1).astype(value.dtype))
    mixed = kept(jnp.einsum("bkgts,bske->btkge", shares, value)).reshape(batch, length, -1)
    x = kept(x + projected(mixed, "output"))
    normed = rms_norm(config, x, weights["mlp_norm"])
    hidden = kept(kept(jax.nn.silu(projected(normed, "gate"))) * projected(normed, "up"))
    return kept(x + projected(hidden, "down")), caches


def embed(config, weights, tokens):
    x = weights["embedding"][tokens]
    return wide(x) if config.f32_stream else x


def head(config, weights, x):
    """Logits [..., V] of the last layer's x [..., D]."""
    normed, table = rms_norm(config, x, weights["norm"]), weights[HEAD] if HEAD in weights else weights["embedding"].T
    return jnp.matmul(normed, table, preferred_element_type=jnp.float32) if config.f32_logits else config.kept(normed @ table)


def layers(config, weights, tokens, each):
    """What all layers make of sequences s32[B,T], [B,T,D], and `each` of the result of every one, stacked."""
    length = tokens.shape[1]
    cos, sin = rope_tables(config, length)
    mask = np.tril(np.ones((length, length), bool))
    x = embed(config, weights, tokens)

    def one(x, own):
        x = layer(config, x, own, cos, sin, mask, None, 0)[0]
        return x, each(x)

    return jax.lax.scan(one, x, {name: weights[name] for name in LAYER})


def logits(weights, tokens, config=SMALL):
    """Logits [B,T,V] of sequences s32[B,T]."""
    x, _ = layers(config, weights, tokens, lambda x: None)
    return head(config, weights, x)


def step(config, weights, token, position, caches, tables):
    """Logits [B,V] after one token s32[B] at `position`, and the caches [L,B,S,K,E] of keys and values."""
    cos, sin = (jax.lax.dynamic_slice_in_dim(table, position, 1) for table in tables)
    mask = (jnp.arange(caches[0].shape[2]) <= position)[None]
    x = embed(config, weights, token)[:, None]

    def one(x, own):
        return layer(config, x, own[0], cos, sin, mask, own[1], position)

    x, caches = jax.lax.scan(one, x, ({name: weights[name] for name in LAYER}, caches))
    return head(config, weights, x)[:, 0], caches


def empty_caches(config, weights, batch, length):
    layers, _, columns = weights["key"].shape
    zeros = jnp.zeros((layers, batch, length, columns // config.head_size, config.head_size), weights["key"].dtype)
    return zeros, zeros


def prefill(config, weights, tokens):
    """Teacher-forced: of s32[T,1], one token a row, the logits [T,V] after each, the token they name s32[T], and f32 softmax."""
    rows = logits(weights, tokens.T, config)[0]
    return rows, jnp.argmax(rows, -1).astype(jnp.int32), jax.nn.softmax(wide(rows), -1)


def depths(config, weights, tokens):
    """What the head makes of each layer's result: of s32[T,1], one token a row, f32 logits [L,V] after the last of them."""
    config = dataclasses.replace(config, f32_logits=True)
    _, ends = layers(config, weights, tokens.T, lambda x: x[0, -1])
    return head(config, weights, ends)


def generate(config, weights, prompts):
    """Greedy decoding through a cache, token by token: of prompts s32[B,T] the N new tokens that follow, s32[B,N]."""
    batch, given = prompts.shape
    length = given + config.new_tokens - 1
    tables = tuple(jnp.asarray(table) for table in rope_tables(config, length))

    def one(carry, position):
        token, caches = carry
        scores, caches = step(config, weights, token, position, caches, tables)
        chosen = jnp.argmax(scores, -1).astype(jnp.int32)
        at = jnp.minimum(position + 1, given - 1)
        asked = jax.lax.dynamic_index_in_dim(prompts, at, 1, keepdims=False)
        return (jnp.where(position + 1 < given, asked, chosen), caches), chosen

    first = (prompts[:, 0], empty_caches(config, weights, batch, length))
    _, chosen = jax.lax.scan(one, first, jnp.arange(length, dtype=jnp.int32))
    return chosen[given - 1 :].T


def f32(function):
    """The function in f32 throughout, from the same weights."""

    @functools.wraps(function)
    def run(config, weights, first):
        return function(config, {name: wide(weight) for name, weight in weights.items()}, first)

    run.__name__ += "_f32"
    return run


def of_arrays(function, first, config=SMALL, names=WEIGHTS):
    """The function of arrays alone. Arguments have the weights' names, by which a suite binds them to the tensors of a file."""

    def run(given, *weights):
        return function(config, dict(zip(names, weights)), given)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    run.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in (first, *names)])
    return run


# What is dumped: each with what its first argument is called.
ENTRIES = {"prefill": (prefill, "tokens"), "generate": (generate, "prompts")}
ENTRIES |= {f"{name}_f32": (f32(function), first) for name, (function, first) in ENTRIES.items()}
prefill, generate, prefill_f32, generate_f32 = (of_arrays(*ENTRIES[name]) for name in ("prefill", "generate", "prefill_f32", "generate_f32"))
depths = of_arrays(depths, "tokens")


def state(x):
    """What a recurrent layer without decay keeps: the sums of x [T,D] up to each position, in x's own type."""

    def one(kept, new):
        kept = kept + new
        return kept, kept

    return jax.lax.scan(one, jnp.zeros_like(x[0]), x)[1]
