"""Computations of MaxText tests that fail on TPU7x alone, as formulas, for scripts/dump_hlo.py.

    soft_cap      #4439 and #4455: one head of attention over two keys, scores capped by tanh, under a mask
    index_scores  #5268: relu of a query's and a block's product, weighed over 16 heads
"""

import jax
import jax.numpy as jnp


def soft_cap(query, key, value):
    """Attention of f32[1,1,2,1] queries, keys and values under the mask ((1, 1), (1, 0)), scores capped at 1."""
    scores = jnp.tanh(jnp.einsum("bhqd,bhkd->bhqk", query, key))
    scores = jnp.where(jnp.array([[True, True], [True, False]]), scores, -1.0e9)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), value)


def index_scores(query, blocks, weights):
    """Scores f32[B,S,W] of queries bf16[B,H,S,D] and blocks bf16[B,W,D] by weights f32[B,S,H]."""
    products = jnp.einsum("bhsd,bwd->bhsw", query.astype(jnp.float32), blocks.astype(jnp.float32))
    products = jax.nn.relu(products) * query.shape[-1] ** -0.5
    return jnp.einsum("bhsw,bsh->bsw", products, weights)
