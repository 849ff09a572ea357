#!/usr/bin/env python3
"""Writes a small folder as Hugging Face has them, with random weights, a head of its own and rope scaled as in Llama 3.1.

    venv/bin/python scripts/untied_decoder.py untied
    venv/bin/python examples/llama.py untied untied/tokens.json --out judged --length 32 --prompt 8 --new 8

tests/data/untied_decoder has of `judged` what tests read.
"""

import json
import pathlib
import sys

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

WIDTH, HIDDEN, LAYERS, HEADS, GROUPS, HEAD_SIZE, VOCABULARY = 32, 48, 2, 4, 2, 8, 96
CONFIG = {
    "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "head_dim": HEAD_SIZE,
    "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": False, "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
    "rope_scaling": {
        "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16, "rope_type": "llama3",
    },
}

random = np.random.default_rng(1)


def matrix(*dims):
    return (random.standard_normal(dims) * (1 / np.sqrt(dims[-1]))).astype(ml_dtypes.bfloat16)


def gain():
    return (1 + 0.1 * random.standard_normal(WIDTH)).astype(ml_dtypes.bfloat16)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    weights = {
        "model.embed_tokens.weight": random.standard_normal((VOCABULARY, WIDTH)).astype(ml_dtypes.bfloat16),
        "model.norm.weight": gain(), "lm_head.weight": matrix(VOCABULARY, WIDTH),
    }
    for layer in range(LAYERS):
        weights |= {
            f"model.layers.{layer}.{name}.weight": made for name, made in (
                ("input_layernorm", gain()), ("post_attention_layernorm", gain()),
                ("self_attn.q_proj", matrix(HEADS * HEAD_SIZE, WIDTH)), ("self_attn.k_proj", matrix(GROUPS * HEAD_SIZE, WIDTH)),
                ("self_attn.v_proj", matrix(GROUPS * HEAD_SIZE, WIDTH)), ("self_attn.o_proj", matrix(WIDTH, HEADS * HEAD_SIZE)),
                ("mlp.gate_proj", matrix(HIDDEN, WIDTH)), ("mlp.up_proj", matrix(HIDDEN, WIDTH)), ("mlp.down_proj", matrix(WIDTH, HIDDEN)),
            )
        }
    # In two files, as large models are.
    names = sorted(weights)
    for at, part in enumerate((names[: len(names) // 2], names[len(names) // 2 :]), 1):
        save_file({name: weights[name] for name in part}, out / f"model-{at:05}-of-00002.safetensors")
    (out / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    (out / "tokens.json").write_text(json.dumps([int(token) for token in random.integers(0, VOCABULARY, 64)]) + "\n")


if __name__ == "__main__":
    main()
