"""Decoders of the families that examples/llama_config.py knows, in JAX: Llama's shape, and the parts that each family adds to it.

A part is there where the weights have it (biases, norms of queries and keys, norms at the end of a block, a router), or
where llama_config.Config says it (windows, layers without rope, soft caps, multipliers). Without any of them the functions are
those of scripts/decoder.py. Weights are arguments, layers are stacked and run in a scan. Layers of several kinds (windows and
ropes) take the tables of their kind by its number.

The names of the weights beside decoder.WEIGHTS. L layers, D width, H hidden, E head size, X experts:
    {query,key,value,output,gate,up,down}_bias [L,...], query_norm and key_norm [L,E], attention_end_norm and mlp_end_norm [L,D],
    router [L,D,X]; with it gate and up are [L,X,D,H], and down [L,X,H,D]
"""

import math

import decoder
import jax
import jax.numpy as jnp
import numpy as np
from decoder import rope, wide

OF_MODEL = "embedding", "norm", decoder.HEAD
ACTIVATIONS = {"silu": jax.nn.silu, "gelu_pytorch_tanh": lambda x: jax.nn.gelu(x, approximate=True)}


def ramp(dim, bounds):
    """The share of each pair of dims, from 0 below the first bound to 1 above the second."""
    low, high = bounds
    return np.clip((np.arange(dim // 2) - low) / ((high - low) or 0.001), 0, 1)


def yarn_bounds(given, theta, dim):
    """The pairs of dims between which YaRN's frequencies go from their own to the slowed ones."""

    def pair(turns):
        return dim * math.log(given["original_max_position_embeddings"] / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = pair(given["beta_fast"]), pair(given["beta_slow"])
    if given["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, dim - 1)


def frequencies(given, dim):
    """Rope's frequencies f64[dim/2], and the factor of its cosines and sines."""
    own = given.theta ** (-np.arange(0, dim, 2) / dim)
    numbers = dict(given.numbers)
    if given.kind == "linear":
        return own / numbers["factor"], 1.0
    if given.kind == "llama3":
        turns = numbers["original_max_position_embeddings"] * own / (2 * math.pi)
        # Slow ones are slowed by the factor, fast ones stay, and between the two bounds the share changes linearly.
        low, high = numbers["low_freq_factor"], numbers["high_freq_factor"]
        share = np.clip((turns - low) / (high - low), 0, 1)
        return own * (share + (1 - share) / numbers["factor"]), 1.0
    if given.kind == "yarn":
        slowed = ramp(dim, yarn_bounds(numbers, given.theta, dim))
        return own * (slowed / numbers["factor"] + (1 - slowed)), numbers["attention_factor"]
    return own, 1.0


def rope_tables(config, length):
    """Cosines and sines f32[kinds, length, E/2], rounded once from f64. A layer without rope turns by nothing."""
    cosines, sines = [], []
    for kind in config.kinds:
        turned, factor = frequencies(kind.rope, config.head_size) if kind.rope else (np.zeros(config.head_size // 2), 1.0)
        angles = np.arange(length)[:, None] * turned
        cosines.append(np.cos(angles) * factor)
        sines.append(np.sin(angles) * factor)
    return np.stack(cosines).astype(np.float32), np.stack(sines).astype(np.float32)


def windows(config, length):
    """Of each kind the number of positions that a query sees, its own among them: s32[kinds]."""
    return np.array([min(kind.window or length, length) for kind in config.kinds], np.int32)


def by_kind(config, table):
    """A table [kinds, ...] for of_kind: of a model of one kind its only entry."""
    return table[0] if len(config.kinds) == 1 else table


def of_kind(table, kind):
    """The entry of a kind; a model of one kind has no numbers of kinds."""
    return table if kind is None else jnp.asarray(table)[kind]


def scaled(x, factor):
    """The product in f32, rounded once: a factor need not be a number of x's type."""
    return x if factor == 1 else (wide(x) * np.float32(factor)).astype(x.dtype)


def capped(x, cap):
    return x if cap is None else jnp.tanh(x / cap) * cap


def rms_norm(config, x, gain):
    y = wide(x)
    y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + config.epsilon)
    return (y * (1 + wide(gain))).astype(gain.dtype) if config.gain_from_one else y.astype(gain.dtype) * gain


def ended(config, x, weights, name):
    """What a block adds, after its own norm where the family has one."""
    return scaled(rms_norm(config, x, weights[name]) if name in weights else x, config.residual_scale)


def projected(x, weights, name):
    y = x @ weights[name]
    return y + weights[f"{name}_bias"] if f"{name}_bias" in weights else y


def attention(config, x, weights, tables, mask, caches, position):
    """Attention over x [B,T,D], and the caches."""
    batch, length, _ = x.shape
    query, key, value = (projected(x, weights, name).reshape(batch, length, -1, config.head_size) for name in ("query", "key", "value"))
    if "query_norm" in weights:
        query, key = rms_norm(config, query, weights["query_norm"]), rms_norm(config, key, weights["key_norm"])
    query, key = rope(query, *tables), rope(key, *tables)
    if caches is not None:
        caches = tuple(jax.lax.dynamic_update_slice(old, new, (0, position, 0, 0)) for old, new in zip(caches, (key, value)))
        key, value = caches
    query = query.reshape(batch, length, key.shape[2], -1, config.head_size)
    scores = jnp.einsum("btkge,bske->bkgts", query, key, preferred_element_type=jnp.float32)
    if config.score_scale is None:
        scores = scores / math.sqrt(config.head_size)
    else:
        scores = scores * np.float32(config.score_scale)
    scores = capped(scores, config.score_cap)
    shares = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1).astype(value.dtype)
    mixed = jnp.einsum("bkgts,bske->btkge", shares, value).reshape(batch, length, -1)
    return projected(mixed, weights, "output"), caches


def perceptron(config, x, weights):
    active = ACTIVATIONS[config.activation]
    return projected(active(projected(x, weights, "gate")) * projected(x, weights, "up"), weights, "down")


def experts(config, x, weights):
    """What the chosen experts make of x [B,T,D], and their numbers s32[B,T,k] in ascending order.

    All experts are computed, and those that are not chosen have the share 0, as in MaxText's dense form.
    """
    shares, chosen = jax.lax.top_k(jax.nn.softmax(wide(x @ weights["router"]), -1), config.chosen_experts)
    if config.shares_sum_to_one:
        shares = shares / jnp.sum(shares, -1, keepdims=True)
    of_all = jnp.sum(jax.nn.one_hot(chosen, config.experts, dtype=jnp.float32) * shares[..., None], -2).astype(x.dtype)
    gate, up = (jnp.einsum("btd,xdh->btxh", x, weights[name]) for name in ("gate", "up"))
    each = jnp.einsum("btxh,xhd->btxd", ACTIVATIONS[config.activation](gate) * up, weights["down"])
    return jnp.einsum("btx,btxd->btd", of_all, each), jnp.sort(chosen, -1).astype(jnp.int32)


def layer(config, x, weights, tables, mask, caches, position):
    """One layer over x [B,T,D]: its result, the caches, and the experts that it chose or None."""
    mixed, caches = attention(config, rms_norm(config, x, weights["attention_norm"]), weights, tables, mask, caches, position)
    x = x + ended(config, mixed, weights, "attention_end_norm")
    normed = rms_norm(config, x, weights["mlp_norm"])
    hidden, chosen = experts(config, normed, weights) if "router" in weights else (perceptron(config, normed, weights), None)
    return x + ended(config, hidden, weights, "mlp_end_norm"), caches, chosen


def head(config, weights, x):
    """Logits [..., V] of the last layer's x [..., D]."""
    table = weights[decoder.HEAD] if decoder.HEAD in weights else weights["embedding"].T
    rows = rms_norm(config, x, weights["norm"]) @ table
    if config.logits_divisor != 1:
        rows = (wide(rows) / np.float32(config.logits_divisor)).astype(rows.dtype)
    return capped(rows, config.logits_cap)


def stacked(config, weights):
    """The scan's inputs: the weights of the layers, and the numbers of their kinds where there are several."""
    kinds = None if len(config.kinds) == 1 else jnp.array(config.kind_of_layer, jnp.int32)
    return {name: weight for name, weight in weights.items() if name not in OF_MODEL}, kinds


def logits(config, weights, tokens):
    """Logits [B,T,V] of sequences s32[B,T], and the experts chosen s32[L,B,T,k] or None."""
    length = tokens.shape[1]
    cosines, sines = (by_kind(config, table) for table in rope_tables(config, length))
    back = np.arange(length)[:, None] - np.arange(length)
    masks = by_kind(config, (back >= 0) & (back < windows(config, length)[:, None, None]))

    def one(x, own):
        of_layer, kind = own
        tables = of_kind(cosines, kind), of_kind(sines, kind)
        x, _, chosen = layer(config, x, of_layer, tables, of_kind(masks, kind), None, 0)
        return x, chosen

    x, chosen = jax.lax.scan(one, scaled(weights["embedding"][tokens], config.embedding_scale), stacked(config, weights))
    return head(config, weights, x), chosen


def prefill(config, weights, tokens):
    """Teacher-forced: of s32[T,1], one token a row, the logits [T,V] after each, the token they name s32[T], and f32 softmax;
    of a mixture of experts also the ones chosen, s32[T,L*k], layer by layer."""
    rows, chosen = logits(config, weights, tokens.T)
    rows = rows[0]
    results = rows, jnp.argmax(rows, -1).astype(jnp.int32), jax.nn.softmax(wide(rows), -1)
    return results if chosen is None else (*results, chosen[:, 0].swapaxes(0, 1).reshape(len(rows), -1))


def generate(config, weights, prompts):
    """Greedy decoding through a cache, token by token: of prompts s32[B,T] the N new tokens that follow, s32[B,N]."""
    batch, given = prompts.shape
    length = given + config.new_tokens - 1
    cosines, sines = (jnp.asarray(by_kind(config, table)) for table in rope_tables(config, length))
    narrow, seen = windows(config, length).min() < length, by_kind(config, windows(config, length))

    def step(token, position, caches):
        turned = [jax.lax.dynamic_slice_in_dim(table, position, 1, -2) for table in (cosines, sines)]
        masks = (jnp.arange(length) <= position)[None]
        if narrow:
            masks = masks & (jnp.arange(length) > position - seen[..., None, None])

        def one(x, own):
            (of_layer, kind), cached = own
            tables = [of_kind(table, kind) for table in turned]
            mask = of_kind(masks, kind if narrow else None)
            x, cached, _ = layer(config, x, of_layer, tables, mask, cached, position)
            return x, cached

        x = scaled(weights["embedding"][token], config.embedding_scale)[:, None]
        x, caches = jax.lax.scan(one, x, (stacked(config, weights), caches))
        return head(config, weights, x)[:, 0], caches

    def one(carry, position):
        token, caches = carry
        scores, caches = step(token, position, caches)
        chosen = jnp.argmax(scores, -1).astype(jnp.int32)
        asked = jax.lax.dynamic_index_in_dim(prompts, jnp.minimum(position + 1, given - 1), 1, keepdims=False)
        return (jnp.where(position + 1 < given, asked, chosen), caches), chosen

    first = (prompts[:, 0], decoder.empty_caches(config, weights, batch, length))
    _, chosen = jax.lax.scan(one, first, jnp.arange(length, dtype=jnp.int32))
    return chosen[given - 1 :].T


# What is dumped: each with what its first argument is called.
ENTRIES = {"prefill": (prefill, "tokens"), "generate": (generate, "prompts")}
ENTRIES |= {f"{name}_f32": (decoder.f32(function), first) for name, (function, first) in ENTRIES.items()}
