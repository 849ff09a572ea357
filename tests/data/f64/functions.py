"""Functions of f64, which the TPU compiler computes with pairs of f32 (FACTS 9.3)."""

import jax
import jax.numpy as jnp


def multiply(x, y):
    return x * y


def add(x, y):
    return x + y


def divide(x, y):
    return x / y


def exponential(x):
    return jnp.exp(x)


def twice_exponential(x):
    """Reactant.jl PR #2497."""
    return 2.0 * jnp.exp(x)


def logistic(x):
    return jax.nn.sigmoid(x)


def total(x):
    return jnp.sum(x, axis=-1)


def dot(x, y):
    return x @ y


def moved(x):
    """What a TPU hands back of numbers that it only moves."""
    return x.T[::-1]


def narrowed(x):
    return x.astype(jnp.float32)


def of_integers(n, like):
    return n.astype(like.dtype)


def picked(mask, x, y):
    return jnp.where(mask, x, y)
