"""A sampler's filter: the tokens whose probability reaches the largest one.

Dumped by ulpgate's scripts/dump_hlo.py: python dump_hlo.py keep_max.py:keep_max 'bf16[8,1024]' --out dumps
"""

import jax
import jax.numpy as jnp


def keep_max(logits):
    p = jax.nn.softmax(logits)
    return p, p.astype(jnp.float32) >= p.max(-1, keepdims=True).astype(jnp.float32)
