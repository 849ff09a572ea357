#!/usr/bin/env python3
"""Dumps prefill and greedy decoding of any decoder of Llama's shape, and writes a suite that judges them.

    python -m venv venv && venv/bin/pip install "jax[tpu]" safetensors numpy
    venv/bin/python examples/llama.py MODEL TOKENS.json --out OUT
    cd OUT && ulpgate run               # --slow: greedy decoding as well

MODEL is a folder as Hugging Face has them: config.json, and *.safetensors with tensors such as
model.layers.0.self_attn.q_proj.weight. TOKENS.json is a list of token ids, which the model's own tokenizer makes of a text.
RMSNorm, rope (plain, or scaled as in Llama 3.1), grouped queries, SwiGLU, a head of its own or the embedding: models of type
llama or mistral. Whatever else config.json (examples/llama_config.py) or the tensors ask for is refused by name. Written to OUT, in the form of tests/data/language_model:

    decoder.safetensors     the weights in the form of scripts/decoder.py: layers stacked
    tokens.safetensors      held_out: the tokens s32[N,1] in whole windows; prompts: the beginnings of the windows
    {prefill,generate}{,_f32}.before.hlo, cpu/, tpu/GENERATION/      as scripts/dump_hlo.py writes them
    cpu/prefill.excess_{on,off}.tokens.safetensors     what XLA:CPU itself finds in the first window
    suites/llama.toml       examples/llama.toml for what was dumped: for TPUs only where libtpu is installed
"""

import argparse
import importlib.util
import json
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))

# Before jax: sets its environment.
import dump_hlo

import decoder
import jax
import llama_config
import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

TOPOLOGIES = "v5e:2x2", "v6e:2x2", "tpu7x:2x2x1"
# Hugging Face's names of what scripts/decoder.py calls otherwise. Matrices are stored as [out, in].
WHOLE = {"embedding": "model.embed_tokens.weight", "norm": "model.norm.weight"}
OWN_HEAD = "lm_head.weight"
OF_LAYER = {
    "attention_norm": "input_layernorm", "query": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj",
    "output": "self_attn.o_proj", "mlp_norm": "post_attention_layernorm", "gate": "mlp.gate_proj", "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
# Of older files only: buffers that follow from config.json.
DERIVED = ".rotary_emb.inv_freq"


def refuse(why):
    sys.exit(f"llama: {why}")


def config_of(folder, length, new_tokens):
    """What config.json says, and the same as decoder.Config."""
    read = llama_config.read(folder, length)
    return read, decoder.Config(
        head_size=read.head_size,
        theta=read.theta,
        epsilon=read.epsilon,
        new_tokens=new_tokens,
        rope_scaling=read.rope_scaling,
    )


def weights_of(folder, given):
    """The weights by decoder.py's names."""
    files = [safe_open(path, "numpy") for path in sorted(folder.glob("*.safetensors"))]
    if not files:
        refuse(f"{folder} has no *.safetensors")
    where = {name: file for file in files for name in file.keys() if not name.endswith(DERIVED)}

    def take(name):
        if name not in where:
            refuse(f"{folder} has no tensor {name}")
        tensor = where.pop(name).get_tensor(name)
        llama_config.check_shape(given, name, tensor.shape)
        return tensor

    def laid_out(array):
        return array.swapaxes(-1, -2) if array.ndim > 1 else array

    weights = {name: take(stored) for name, stored in WHOLE.items()}
    for name, stored in OF_LAYER.items():
        layers = (take(f"model.layers.{at}.{stored}.weight") for at in range(given.layers))
        weights[name] = np.stack([laid_out(layer) for layer in layers])
    if given.tied:
        where.pop(OWN_HEAD, None)
    else:
        weights[decoder.HEAD] = laid_out(take(OWN_HEAD))
    if where:
        refuse(f"tensors that decoder.py has no place for: {', '.join(sorted(where)[:5])}{', ...' if len(where) > 5 else ''}")
    if len({weight.dtype for weight in weights.values()}) > 1:
        refuse("the tensors are not all of one type: " + ", ".join(sorted({str(w.dtype) for w in weights.values()})))
    return {name: np.ascontiguousarray(weight) for name, weight in weights.items()}


def tokens_of(path, vocabulary, length, prompt):
    """The windows s32[N,length], and their beginnings s32[N,prompt]."""
    ids = np.array(json.loads(path.read_text()), np.int64).reshape(-1)
    if ids.size < length or ids.min() < 0 or ids.max() >= vocabulary:
        refuse(f"{path} must have at least {length} tokens, each from 0 to {vocabulary - 1}")
    windows = ids[: ids.size // length * length].reshape(-1, length).astype(np.int32)
    return windows, windows[:, :prompt]


def suite(out, rows):
    """examples/llama.toml without the matrices whose files are not there, over `rows` positions."""
    folder = out / "suites"
    folder.mkdir(exist_ok=True)
    first, *matrices = (HERE / "llama.toml").read_text().replace("rows = [64]", f"rows = [{rows}]").split("[[matrix]]\n")
    there = [matrix for matrix in matrices if all((folder / name).exists() for name in re.findall(r'"([^"]*\.hlo)"', matrix))]
    (folder / "llama.toml").write_text("[[matrix]]\n".join([first, *there]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, help="folder with config.json and *.safetensors")
    parser.add_argument("tokens", type=pathlib.Path, help="a JSON list of token ids")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder to write to")
    parser.add_argument("--length", type=int, default=64, help="positions of a window (64)")
    parser.add_argument("--prompt", type=int, default=16, help="tokens of a window that greedy decoding begins with (16)")
    parser.add_argument("--new", type=int, default=32, help="tokens that greedy decoding adds (32)")
    options = parser.parse_args()

    given, config = config_of(options.model, max(options.length, options.prompt + options.new), options.new)
    weights = weights_of(options.model, given)
    windows, prompts = tokens_of(options.tokens, len(weights["embedding"]), options.length, options.prompt)
    out = options.out
    (out / "cpu").mkdir(parents=True, exist_ok=True)
    save_file(weights, out / "decoder.safetensors")
    save_file({"held_out": windows.reshape(-1, 1), "prompts": np.ascontiguousarray(prompts)}, out / "tokens.safetensors")
    print(f"{sum(w.size for w in weights.values())} weights of {weights['norm'].dtype}, {windows.size} positions", flush=True)

    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    topologies = TOPOLOGIES if importlib.util.find_spec("libtpu") else ()
    for name, (function, first) in decoder.ENTRIES.items():
        f = decoder.of_arrays(function, first, config, tuple(weights))
        start = windows[0][:, None] if first == "tokens" else prompts[:1]
        arguments = [start, *weights.values()]
        abstract = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments]
        lowered = jax.jit(f, keep_unused=True).lower(*abstract)
        (out / f"{name}.before.hlo").write_text(lowered.as_text(dialect="hlo"))
        if name.endswith("_f32"):
            continue
        compiled = dump_hlo.write(out / "cpu", name, lowered)
        placed = [jax.device_put(argument) for argument in arguments]
        for setting, executable in compiled.items():
            results = jax.block_until_ready(executable(*placed))
            started = time.time()
            results = jax.block_until_ready(executable(*placed))
            print(f"XLA:CPU, {name}, {setting}: {time.time() - started:.3f} s", flush=True)
            if name == "prefill":
                save_file({"token": np.asarray(results[1])}, out / "cpu" / f"{name}.{setting}.tokens.safetensors")
        for topology in topologies:
            dump_hlo.for_topology(f, name, out / "tpu" / topology.split(":")[0], topology, abstract)
    suite(out, windows.size)
    print(f"cd {out} && ulpgate run")


if __name__ == "__main__":
    main()
