"""Functions of bf16 whose largest errors on chips JAX's docs/accuracy.md has (FACTS 3.3)."""

import jax.numpy as jnp
from jax import lax


def exp2(x):
    return jnp.exp2(x)


def logistic(x):
    return lax.logistic(x)


def reciprocal(x):
    return jnp.reciprocal(x)
