"""A decoder in JAX that gives its intermediate values, for `ulpgate layers` (docs/layers.md).

    python model_jax.py ../../tests/data/language_model --out port --type f32

RMSNorm, rope, grouped-query attention, SwiGLU, and the embedding as the head: the model of tests/data/language_model, layer by
layer. `record` gives a name to a value that is compared. Written to the folder: the program (model.TYPE.hlo), which of its results
each name is (names.json), its tokens (tokens.npz), and what JAX computes on this machine (jax.TYPE.npz).
"""

import argparse
import inspect
import json
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.flax import load_file

WEIGHTS = ("embedding", "norm", "attention_norm", "query", "key", "value", "output", "mlp_norm", "gate", "up", "down")
HEAD = 16  # elements of an attention head
THETA = 10000.0
EPSILON = 1e-5


def rms_norm(x, gain):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + EPSILON)).astype(gain.dtype) * gain


def rope(x):
    """Turns x [T, heads, HEAD] by its positions; the first half of a head is paired with the second."""
    angles = np.arange(len(x))[:, None] * THETA ** (-np.arange(0, HEAD, 2) / HEAD)
    cos, sin = (jnp.asarray(table[:, None], jnp.float32) for table in (np.cos(angles), np.sin(angles)))
    a, b = jnp.split(x.astype(jnp.float32), 2, -1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1).astype(x.dtype)


def attention(x, weights, record):
    """What the heads read, of x [T,D]."""
    query, key, value = (jnp.reshape(x @ weights[name], (len(x), -1, HEAD)) for name in ("query", "key", "value"))
    query, key = record("query", rope(query)), record("key", rope(key))
    query = query.reshape(len(x), key.shape[1], -1, HEAD)
    scores = jnp.einsum("tkge,ske->kgts", query, key, preferred_element_type=jnp.float32) / math.sqrt(HEAD)
    mask = np.tril(np.ones((len(x), len(x)), bool))
    shares = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1).astype(value.dtype)
    return jnp.einsum("kgts,ske->tkge", shares, value).reshape(len(x), -1)


def model(weights, tokens, layers):
    """All values by name, of tokens s32[T]."""
    values = {}
    x = weights["embedding"][tokens]
    for layer in range(layers):
        own = {name: weight[layer] for name, weight in weights.items() if name not in ("embedding", "norm")}

        def record(name, value, layer=layer):
            return values.setdefault(f"layer{layer}.{name}", value)

        normed = record("attention_norm", rms_norm(x, own["attention_norm"]))
        x = record("attention", x + attention(normed, own, record) @ own["output"])
        normed = record("mlp_norm", rms_norm(x, own["mlp_norm"]))
        x = record("mlp", x + (jax.nn.silu(normed @ own["gate"]) * (normed @ own["up"])) @ own["down"])
    values["logits"] = rms_norm(x, weights["norm"]) @ weights["embedding"].T
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="a folder with decoder.safetensors and tokens.safetensors")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--type", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--positions", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    arguments = parser.parse_args()
    stored = load_file(arguments.folder / "decoder.safetensors")
    tokens = np.asarray(load_file(arguments.folder / "tokens.safetensors")["held_out"])[: arguments.positions, 0]

    def run(tokens, *weights):
        wide = [weight.astype(jnp.float32) if arguments.type == "f32" else weight for weight in weights]
        return model(dict(zip(WEIGHTS, wide)), tokens, arguments.layers)

    # The program's arguments have the names of the weights.
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    run.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in ("tokens", *WEIGHTS)])
    given = (tokens, *(stored[name] for name in WEIGHTS))
    lowered = jax.jit(run).lower(*given)
    values = lowered.compile()(*given)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / f"model.{arguments.type}.hlo").write_text(lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True))
    # JAX gives the values of a dict in the order of their names.
    names = {name: f"out{place}" for place, name in enumerate(sorted(values))}
    (arguments.out / "names.json").write_text(json.dumps(names, indent=1) + "\n")
    np.savez_compressed(arguments.out / "tokens.npz", tokens=tokens)
    np.savez_compressed(arguments.out / f"jax.{arguments.type}.npz", **{name: np.asarray(value) for name, value in values.items()})


if __name__ == "__main__":
    main()
