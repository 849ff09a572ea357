"""log p of each token of a text, as training and as serving compute it, with the model of decoder.py.

Written for scripts/dump_hlo.py. All functions take sequences s32[B,T+1] and the weights, in the order of decoder.WEIGHTS, and
give first log p [B,T] of each token but the first, in f32, after those before it:

    prompt      all positions at once, as a server scores a prompt
    decode      token by token through a cache, as a server generates; decode_alone is the same, to be dumped for one sequence
    train       a forward with its backward: also the loss, and its gradient by each weight

Without a suffix weights, activations and logits are bf16, and norms, rope, softmax and log-softmax compute in f32. The suffix
names one change to that: `_head`, f32 logits; `_stream`, an f32 residual stream; `_pinned`, roundings that no compiler leaves
out; `_f32`, everything in f32; `_stored_f16` and `_stored_bf16`, log p rounded to that type at the end; `_log_f16` and
`_log_bf16`, log-softmax computed in it as well.
"""

import jax
import jax.numpy as jnp

import decoder
from decoder import Config


def of_targets(config, scores, targets):
    """log p [..] of targets s32[..] by logits [..,V]."""
    shares = jax.nn.log_softmax(scores.astype(config.log_type), -1).astype(config.log_stored)
    return jnp.take_along_axis(shares, targets[..., None], -1)[..., 0]


def all_at_once(config, weights, sequences):
    return of_targets(config, decoder.logits(weights, sequences[:, :-1], config), sequences[:, 1:])


def one_by_one(config, weights, sequences):
    batch, length = sequences.shape[0], sequences.shape[1] - 1
    tables = tuple(jnp.asarray(table) for table in decoder.rope_tables(config, length))

    def one(caches, position):
        token, target = (jax.lax.dynamic_index_in_dim(sequences, position + by, 1, keepdims=False) for by in (0, 1))
        scores, caches = decoder.step(config, weights, token, position, caches, tables)
        return caches, of_targets(config, scores, target)

    positions = jnp.arange(length, dtype=jnp.int32)
    return jax.lax.scan(one, decoder.empty_caches(config, weights, batch, length), positions)[1].T


def with_backward(config, weights, sequences):
    def loss(weights):
        found = all_at_once(config, weights, sequences)
        return -jnp.mean(found), found

    (mean, found), gradient = jax.value_and_grad(loss, has_aux=True)(weights)
    return found, mean, *(gradient[name] for name in decoder.WEIGHTS)


def function(way, config, dtype=None):
    """A function of arrays alone, whose parameters have the weights' names."""

    def prompt(sequences, embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down):
        weights = embedding, norm, attention_norm, query, key, value, output, mlp_norm, gate, up, down
        weights = [weight.astype(dtype or weight.dtype) for weight in weights]
        return way(config, dict(zip(decoder.WEIGHTS, weights)), sequences)

    return prompt


for way, name in ((all_at_once, "prompt"), (one_by_one, "decode"), (one_by_one, "decode_alone"), (with_backward, "train")):
    for suffix, config, dtype in (
        ("", Config(), None),
        ("_head", Config(f32_logits=True), None),
        ("_stream", Config(f32_stream=True), None),
        ("_pinned", Config(pinned=True), None),
        ("_f32", Config(), jnp.float32),
        ("_stored_f16", Config(log_stored="float16"), None),
        ("_stored_bf16", Config(log_stored="bfloat16"), None),
        ("_log_f16", Config(log_type="float16", log_stored="float16"), None),
        ("_log_bf16", Config(log_type="bfloat16", log_stored="bfloat16"), None),
    ):
        made = function(way, config, dtype)
        made.__name__ = made.__qualname__ = name + suffix
        globals()[name + suffix] = made
