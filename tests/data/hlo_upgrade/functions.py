"""A function that two releases of jaxlib compile to other bits."""

import jax
import jax.numpy as jnp


def attention(x, wq, wk, wv, wo):
    heads = 4
    batch, tokens, width = x.shape

    def split(a):
        return a.reshape(batch, tokens, heads, width // heads).transpose(0, 2, 1, 3)

    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(width // heads).astype(x.dtype)
    seen = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)
    return seen.transpose(0, 2, 1, 3).reshape(batch, tokens, width) @ wo
