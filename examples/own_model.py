#!/usr/bin/env python3
"""Dumps a model that is a JAX function of yours and a folder of safetensors, and writes a suite that judges its tokens.

    python -m venv venv && venv/bin/pip install "jax[tpu]" safetensors numpy
    venv/bin/python examples/own_model.py my_model.py:logits MODEL TOKENS.json --out OUT --topology v5e
    cd OUT && ulpgate run

`my_model.py:logits` (or `package.module:logits`) is a function of the tokens of one sequence, s32[T], and of the weights, a dict
by the names of the tensors in MODEL/*.safetensors. It gives the logits [T,V] after each token:

    def logits(tokens, weights):
        x = weights["model.embed_tokens.weight"][tokens]
        ...
        return x @ weights["lm_head.weight"].T

TOKENS.json is a list of token ids. Written to OUT: decoder.safetensors (the weights; a name has _ for what no Python name has),
tokens.safetensors, prefill{,_f32}.before.hlo, cpu/ and tpu/GENERATION/ as scripts/dump_hlo.py writes them, and suites/llama.toml:
tokens that flip in each mode against the proven ones. prefill_f32 is the function of the same weights in f32.
"""

import argparse
import inspect
import pathlib
import re

# Before jax: sets its environment.
import llama

import jax
import jax.numpy as jnp
import numpy as np
from dump_hlo import function as function_of
from safetensors import safe_open


def refuse(why):
    raise SystemExit(f"own_model: {why}")


def weights_of(folder):
    """All tensors of a folder, by name."""
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        refuse(f"{folder} has no *.safetensors")
    weights = {}
    for path in paths:
        file = safe_open(path, "numpy")
        for name in file.keys():
            if name in weights:
                refuse(f"{path} has the tensor {name} a second time")
            weights[name] = file.get_tensor(name)
    return weights


def arguments_of(names):
    """Each tensor's name as that of an argument, by which the suite binds it."""
    found = {}
    for name in names:
        argument = re.sub(r"\W", "_", name, flags=re.A)
        argument = f"_{argument}" if argument[:1].isdigit() or argument == "tokens" else argument
        if argument in found:
            refuse(f"the tensors {found[argument]} and {name} would both be the argument {argument}: rename one")
        found[argument] = name
    return found


def prefill_of(logits, arguments, wide):
    """A function of arrays: of s32[T,1] and the weights the logits, the token that they name and f32 softmax."""

    def prefill(tokens, *given):
        weights = dict(zip(arguments.values(), given))
        if wide:
            weights = {name: w.astype(jnp.float32) if jnp.issubdtype(w.dtype, jnp.floating) else w for name, w in weights.items()}
        rows = logits(tokens[:, 0], weights)
        if getattr(rows, "ndim", None) != 2 or rows.shape[0] != tokens.shape[0]:
            refuse(f"the function gives {getattr(rows, 'shape', type(rows).__name__)} of {tokens.shape[0]} tokens, and not logits [T,V]")
        return rows, jnp.argmax(rows, -1).astype(jnp.int32), jax.nn.softmax(rows.astype(jnp.float32), -1)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    prefill.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in ("tokens", *arguments)])
    return prefill


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", type=function_of, help="module:function or path.py:function")
    parser.add_argument("model", type=pathlib.Path, help="folder with *.safetensors")
    options = llama.options_of(parser, arguments)
    logits, _, spelled = options.function

    topologies = llama.topologies_of(options.topology)
    weights = weights_of(options.model)
    named = arguments_of(weights)
    by_argument = {argument: np.ascontiguousarray(weights[name]) for argument, name in named.items()}
    of_window = jax.ShapeDtypeStruct((options.length, 1), np.int32)
    rows, *_ = jax.eval_shape(prefill_of(logits, named, False), of_window, *by_argument.values())
    windows, prompts = llama.tokens_of(options.tokens, rows.shape[1], options.length, 1)
    llama.write_tensors(options.out, by_argument, windows, prompts)
    functions = {"prefill": (prefill_of(logits, named, False), "tokens"), "prefill_f32": (prefill_of(logits, named, True), "tokens")}
    results = ["logits", "token", "p"]
    llama.dump(options.out, spelled, functions, by_argument, {"tokens": windows[0][:, None]}, results, topologies)
    llama.suite(options.out, windows.size, results)
    print(f"cd {options.out} && ulpgate run")


if __name__ == "__main__":
    main()
