#!/usr/bin/env python3
"""Dumps prefill and greedy decoding of a decoder as Hugging Face has them, and writes a suite that judges them.

    python -m venv venv && venv/bin/pip install "jax[tpu]" safetensors numpy
    venv/bin/python examples/llama.py MODEL TOKENS.json --out OUT --topology v5e --topology tpu7x
    cd OUT && ulpgate run               # --slow: greedy decoding as well

MODEL is a folder as Hugging Face has them: config.json, and *.safetensors with tensors such as
model.layers.0.self_attn.q_proj.weight. TOKENS.json is a list of token ids, which the model's own tokenizer makes of a text.
The types of models are those of FAMILIES in examples/llama_config.py: llama, mistral, qwen2, qwen3, gemma2, gemma3_text, granite,
smollm3, mixtral, qwen3_moe. Whatever else config.json or the tensors ask for is refused by name. Written to OUT, in the form of
tests/data/language_model:

    decoder.safetensors     the weights in the form of examples/decoders.py: layers stacked
    tokens.safetensors      held_out: the tokens s32[N,1] in whole windows; prompts: the beginnings of the windows
    {prefill,generate}{,_f32}.before.hlo, cpu/, tpu/GENERATION/      as scripts/dump_hlo.py writes them
    cpu/prefill.excess_{on,off}.tokens.safetensors     the tokens (and experts) that XLA:CPU itself finds in the first window
    suites/llama.toml       examples/llama.toml for what was dumped: for the chips of --topology, where libtpu is installed

Of a mixture of experts the suite tells the positions whose experts are not those of the truth, beside the tokens.
"""

import argparse
import importlib.util
import json
import pathlib
import re
import sys
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))

# Before jax: sets its environment.
import dump_hlo

import decoder
import decoders
import jax
import llama_config
import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

# The chips for which the suite has matrices.
CHIPS = "v5e", "v6e", "tpu7x"
OWN_HEAD = "lm_head.weight"
# Of older files only: buffers that follow from config.json.
DERIVED = ".rotary_emb.inv_freq"


def refuse(why):
    sys.exit(f"llama: {why}")


def weights_of(folder, given):
    """The weights by decoders.py's names."""
    files = [safe_open(path, "numpy") for path in sorted(folder.glob("*.safetensors"))]
    if not files:
        refuse(f"{folder} has no *.safetensors")
    where = {name: file for file in files for name in file.keys() if not name.endswith(DERIVED)}

    def take(stored, *at):
        name = stored.name.format(*at)
        if name not in where:
            refuse(f"{folder} has no tensor {name}")
        tensor = where.pop(name).get_tensor(name)
        llama_config.check_shape(name, stored.shape, tensor.shape)
        return tensor

    def laid_out(array):
        return array.swapaxes(-1, -2) if array.ndim > 1 else array

    def stacked(stored):
        if "{1}" not in stored.name:
            return np.stack([laid_out(take(stored, at)) for at in range(given.layers)])
        experts = range(given.experts)
        return np.stack([np.stack([laid_out(take(stored, at, expert)) for expert in experts]) for at in range(given.layers)])

    weights = {}
    for name, stored in llama_config.stored(given).items():
        whole = take(stored) if "{0}" not in stored.name else stacked(stored)
        weights[name] = laid_out(whole) if name == decoder.HEAD else whole
    if given.tied:
        where.pop(OWN_HEAD, None)
    if where:
        refuse(f"tensors that decoders.py has no place for: {', '.join(sorted(where)[:5])}{', ...' if len(where) > 5 else ''}")
    if len({weight.dtype for weight in weights.values()}) > 1:
        refuse("the tensors are not all of one type: " + ", ".join(sorted({str(w.dtype) for w in weights.values()})))
    return {name: np.ascontiguousarray(weight) for name, weight in weights.items()}


def in_type_of(weights, given):
    """The config with the embedding's scale as Gemma has it: rounded to the type of the weights."""
    if not given.gain_from_one:
        return given
    return given._replace(embedding_scale=float(np.asarray(given.embedding_scale, weights["norm"].dtype)))


def tokens_of(path, vocabulary, length, prompt):
    """The windows s32[N,length], and their beginnings s32[N,prompt]."""
    ids = np.array(json.loads(path.read_text()), np.int64).reshape(-1)
    if ids.size < length or ids.min() < 0 or ids.max() >= vocabulary:
        refuse(f"{path} must have at least {length} tokens, each from 0 to {vocabulary - 1}")
    windows = ids[: ids.size // length * length].reshape(-1, length).astype(np.int32)
    return windows, windows[:, :prompt]


# The experts of a position, layer by layer: a row that differs from the truth's is a routing flip.
EXPERTS = '''
[[matrix.check]]
kind = "divergence"
output = "experts"
expect = "report"
because = "a router's logits that nearly tie choose other experts once rounded"

'''


def suite(out, rows, results):
    """examples/llama.toml without the matrices whose files are not there, over `rows` positions, for a prefill of these results."""
    folder = out / "suites"
    folder.mkdir(exist_ok=True)
    text = (HERE / "llama.toml").read_text().replace("rows = [64]", f"rows = [{rows}]")
    first = text[: text.index("\n#")] + "\n"
    # A comment belongs to the matrix after it.
    matrices = re.findall(r"(?:^#[^\n]*\n\n)?^\[\[matrix\]\]\n.*?(?=^#|^\[\[matrix\]\]|\Z)", text, re.M | re.S)
    there = [matrix for matrix in matrices if all((folder / name).exists() for name in re.findall(r'"([^"]*\.hlo)"', matrix))]
    if "experts" in results:
        named = ", ".join(f'"{name}"' for name in results)
        for at, matrix in enumerate(there):
            if 'scores = "logits"' in matrix:
                there[at] = re.sub("^results = .*$", f"results = [{named}]", matrix.rstrip() + "\n", flags=re.M) + EXPERTS
    (folder / "llama.toml").write_text("".join([first, *there]).rstrip() + "\n")


def topologies_of(asked):
    """The topologies to compile for, one a chip; those of all chips that the suite knows where none is asked for."""
    if not importlib.util.find_spec("libtpu"):
        if asked:
            refuse(f"--topology {asked[0]} needs libtpu: pip install libtpu")
        return []
    topologies = asked or [dump_hlo.topology_of(chip) for chip in CHIPS]
    chips = [topology.split(":")[0] for topology in topologies]
    for chip in chips:
        if chip not in CHIPS:
            refuse(f"--topology {chip}: the suite has matrices for {', '.join(CHIPS)}")
        if chips.count(chip) > 1:
            refuse(f"--topology has {chip} twice, and dumps of both would lie in tpu/{chip}")
    return topologies


def options_of(parser, arguments):
    """The options that examples/own_model.py has too."""
    parser.add_argument("tokens", type=pathlib.Path, help="a JSON list of token ids")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder to write to")
    parser.add_argument("--length", type=int, default=64, help="positions of a window (64)")
    parser.add_argument("--topology", action="append", default=[], type=dump_hlo.topology_of,
                        help=f"a TPU generation, as v5e, or a topology, as v5e:2x2; may be repeated ({', '.join(CHIPS)})")  # fmt: skip
    return parser.parse_args(arguments)


def write_tensors(out, weights, windows, prompts):
    """The weights, the windows and their beginnings, as the suite binds them."""
    (out / "cpu").mkdir(parents=True, exist_ok=True)
    save_file(weights, out / "decoder.safetensors")
    save_file({"held_out": windows.reshape(-1, 1), "prompts": np.ascontiguousarray(prompts)}, out / "tokens.safetensors")
    types_there = ", ".join(sorted({str(weight.dtype) for weight in weights.values()}))
    print(f"{sum(w.size for w in weights.values())} weights of {types_there}, {windows.size} positions", flush=True)


def dump(out, model, functions, weights, starts, results, topologies):
    """Writes each function of arrays, (function, name of its first argument), as dump_hlo.py does; of those in f32 only the
    program before compilation. `starts` has an array for each first argument."""
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    # Nothing is drawn: the inputs are a text's.
    held = types.SimpleNamespace(inputs=out / "tokens.safetensors", draw=None, seed=None, scale=None)
    for name, (f, first) in functions.items():
        arguments = [starts[first], *weights.values()]
        abstract = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments]
        lowered = jax.jit(f, keep_unused=True).lower(*abstract)
        (out / f"{name}.before.hlo").write_text(lowered.as_text(dialect="hlo"))
        if name.endswith("_f32"):
            continue
        shapes = [(of, dump_hlo.Shape(a.shape, a.dtype)) for of, a in zip((first, *weights), arguments)]
        made = dump_hlo.manifest(held, f"{model}.{name}", shapes)
        compiled = dump_hlo.write(out / "cpu", name, lowered, made)
        placed = [jax.device_put(argument) for argument in arguments]
        for setting, executable in compiled.items():
            found = jax.block_until_ready(executable(*placed))
            started = time.time()
            found = jax.block_until_ready(executable(*placed))
            print(f"XLA:CPU, {name}, {setting}: {time.time() - started:.3f} s", flush=True)
            if name == "prefill":
                kept = {of: np.asarray(result) for of, result in zip(results, found) if of in ("token", "experts")}
                save_file(kept, out / "cpu" / f"{name}.{setting}.tokens.safetensors")
        for topology in topologies:
            dump_hlo.for_topology(f, name, out / "tpu" / topology.split(":")[0], topology, abstract, made)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path, help="folder with config.json and *.safetensors")
    parser.add_argument("--prompt", type=int, default=16, help="tokens of a window that greedy decoding begins with (16)")
    parser.add_argument("--new", type=int, default=32, help="tokens that greedy decoding adds (32)")
    options = options_of(parser, arguments)

    topologies = topologies_of(options.topology)
    given = llama_config.read(options.model, max(options.length, options.prompt + options.new))
    weights = weights_of(options.model, given)
    config = in_type_of(weights, given._replace(new_tokens=options.new))
    windows, prompts = tokens_of(options.tokens, len(weights["embedding"]), options.length, options.prompt)
    write_tensors(options.out, weights, windows, prompts)
    functions = {
        name: (decoder.of_arrays(function, first, config, tuple(weights)), first) for name, (function, first) in decoders.ENTRIES.items()
    }
    starts = {"tokens": windows[0][:, None], "prompts": prompts[:1]}
    results = ["logits", "token", "p", *(["experts"] if given.experts else [])]
    dump(options.out, f"llama.py:{given.model}", functions, weights, starts, results, topologies)
    suite(options.out, windows.size, results)
    print(f"cd {options.out} && ulpgate run")


if __name__ == "__main__":
    main()
