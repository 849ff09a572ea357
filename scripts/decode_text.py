#!/usr/bin/env python3
"""Writes what XLA:CPU computes with the weights of scripts/train_decoder.py: tokens, with excess precision on and off.

    venv/bin/python scripts/decode_text.py

Reads tests/data/language_model/{decoder,tokens}.safetensors, and writes to cpu/ beside them

    prefill.excess_{on,off}.tokens.safetensors      token: s32[1536], after each position of the first 24 windows of 64 tokens
                                                    of the held-out text
    generate.excess_{on,off}.tokens.safetensors     generated: s32[64,32], what follows the 64 prompts

    {train,decode,prompt}.excess_{on,off}.log_p.safetensors
                                                    log_p: f32[32,64], of the tokens of the first 32 sequences (scripts/likelihood.py)

and prints how many tokens differ between the two, and from f32 throughout, and how far log p of training and serving are apart,
also with one change to both. The programs are those of the dumps there (scripts/dump_hlo.py), in the same shapes.
"""

import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np
from safetensors.numpy import load_file, save_file

import decoder
import likelihood

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "language_model"
WINDOWS, LENGTH, BATCH = 24, 64, 8
SEQUENCES, TOGETHER = 32, 4


def compiled(function, first, weights, excess):
    return jax.jit(function).lower(first, *weights).compile(compiler_options={"xla_allow_excess_precision": excess})


def apart(ours, theirs):
    difference = np.abs(ours.astype(np.float64) - theirs)
    ratio = np.abs(np.exp(ours.astype(np.float64) - theirs) - 1)
    shares = [100 * np.mean(ratio > most) for most in (0.001, 0.01)]
    return f"mean |difference of log p| {difference.mean():.2e}, ratios outside 1 +- 0.001 {shares[0]:.2f} %, 1 +- 0.01 {shares[1]:.2f} %"


def training_against_serving(weights, tokens):
    parts = tokens["sequences"][:SEQUENCES].reshape(-1, TOGETHER, tokens["sequences"].shape[1])

    def log_p(name, excess):
        run = compiled(getattr(likelihood, name), parts[0], weights, excess)
        results = [run(part, *weights) for part in parts]
        return np.concatenate([np.asarray(found[0] if isinstance(found, tuple) else found) for found in results])

    found = {}
    for setting, excess in (("excess_on", True), ("excess_off", False)):
        for name in ("train", "decode", "prompt"):
            found[name, setting] = log_p(name, excess)
            save_file({"log_p": found[name, setting]}, FOLDER / "cpu" / f"{name}.{setting}.log_p.safetensors")
        for server in ("decode", "prompt"):
            print(f"train against {server}, {setting}: {apart(found['train', setting], found[server, setting])}")
    for server in ("decode", "prompt"):
        print(f"train, excess_on, against {server}, excess_off: {apart(found['train', 'excess_on'], found[server, 'excess_off'])}")
    for change in ("head", "stream", "pinned", "f32"):
        ours, theirs = (log_p(f"{name}_{change}", True) for name in ("train", "decode"))
        print(f"train against decode, excess_on, {change}: {apart(ours, theirs)}")


def main():
    stored, tokens = load_file(FOLDER / "decoder.safetensors"), load_file(FOLDER / "tokens.safetensors")
    weights = [stored[name] for name in decoder.WEIGHTS]
    training_against_serving(weights, tokens)
    windows = tokens["held_out"][: WINDOWS * LENGTH].reshape(WINDOWS, LENGTH, 1)
    prompts = tokens["prompts"].reshape(-1, BATCH, tokens["prompts"].shape[1])
    (FOLDER / "cpu").mkdir(exist_ok=True)
    found = {}
    for name, function, inputs, take, result in (
        ("prefill", decoder.prefill, windows, lambda out: out[1], "token"),
        ("generate", decoder.generate, prompts, lambda out: out, "generated"),
    ):
        for setting, excess in (("excess_on", True), ("excess_off", False)):
            run = compiled(function, inputs[0], weights, excess)
            found[name, setting] = np.concatenate([np.asarray(take(run(part, *weights))) for part in inputs])
            save_file({result: found[name, setting]}, FOLDER / "cpu" / f"{name}.{setting}.tokens.safetensors")
        wide = [weight.astype(np.float32) for weight in weights]
        run = compiled(function, inputs[0], wide, True)
        found[name, "f32"] = np.concatenate([np.asarray(take(run(part, *wide))) for part in inputs])
    for name in ("prefill", "generate"):
        for a, b in (("excess_on", "excess_off"), ("excess_on", "f32"), ("excess_off", "f32")):
            differs = found[name, a] != found[name, b]
            rows = differs if differs.ndim == 1 else differs.any(-1)
            print(f"{name}: {a} against {b}: {rows.sum()} of {len(rows)} differ")


if __name__ == "__main__":
    main()
