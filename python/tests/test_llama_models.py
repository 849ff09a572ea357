"""Every family of examples/llama.py on small random weights: the JAX functions against formulas in f64 NumPy, and these against
transformers' own classes where transformers and torch are installed."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
safetensors_numpy = pytest.importorskip("safetensors.numpy")
ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "scripts"), str(ROOT / "python" / "tests")]

import decoder  # noqa: E402
import decoders  # noqa: E402
import llama_config  # noqa: E402
import llama_reference  # noqa: E402

SMALL = {
    "hidden_size": 24, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 4, "intermediate_size": 40,
    "vocab_size": 61, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True, "head_dim": 8,
}  # fmt: skip
GEMMA = {"hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 20, "sliding_window": 5}
# Of these numbers each of the three ranges has a pair of dims.
LLAMA3 = {
    "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 8.0}
MODELS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama"},
    "llama-own-head-and-biases": {"model_type": "llama", "tie_word_embeddings": False, "attention_bias": True, "mlp_bias": True},
    "llama-linear": {"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": 4.0}},
    "llama-llama3": {"model_type": "llama", "rope_scaling": LLAMA3, "head_dim": 16},
    "llama-yarn": {"model_type": "llama", "rope_scaling": YARN, "head_dim": 16},
    "mistral": {"model_type": "mistral", "sliding_window": 5},
    "qwen2": {"model_type": "qwen2", "head_dim": 6},
    "qwen2-window": {"model_type": "qwen2", "head_dim": 6, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2},
    "qwen3": {"model_type": "qwen3"},
    "gemma2": GEMMA | {"model_type": "gemma2", "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0},
    "gemma3": GEMMA | {
        "model_type": "gemma3_text", "rope_theta": 1e6, "rope_local_base_freq": 1e4, "sliding_window_pattern": 3,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    },
    "granite": {
        "model_type": "granite", "embedding_multiplier": 12.0, "attention_multiplier": 0.2, "residual_multiplier": 0.22,
        "logits_scaling": 8.0,
    },
    "smollm3": {"model_type": "smollm3", "no_rope_layers": [1, 1, 0, 1]},
    "mixtral": {"model_type": "mixtral", "num_local_experts": 5, "num_experts_per_tok": 2},
    "qwen3-moe": {"model_type": "qwen3_moe", "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 20},
    "qwen3-moe-normalised": {
        "model_type": "qwen3_moe", "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 20, "norm_topk_prob": True,
    },
}  # fmt: skip
# The keys that make a family differ from Llama's shape, and the value without which it would not.
PLAIN: dict[str, dict[str, Any]] = {
    "llama-linear": {"rope_scaling": None},
    "llama-llama3": {"rope_scaling": None},
    "llama-yarn": {"rope_scaling": None},
    "mistral": {"sliding_window": 99},
    "qwen2-window": {"use_sliding_window": False},
    "gemma2": {"attn_logit_softcapping": None},
    "gemma3": {"rope_local_base_freq": 1e6},
    "granite": {"attention_multiplier": 8**-0.5},
    "smollm3": {"no_rope_layers": [1, 1, 1, 1]},
    "qwen3-moe": {"norm_topk_prob": True},
}
TOKENS = [int(token) for token in np.random.default_rng(1).integers(0, SMALL["vocab_size"], 12)]


def model(folder: pathlib.Path, name: str, **changed: Any) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """config.json as given and as read, and drawn tensors by Hugging Face's names, f32 values in f64."""
    given = SMALL | MODELS[name] | changed
    if given["model_type"] == "qwen2":
        # Its heads share the width.
        del given["head_dim"]
    (folder / "config.json").write_text(json.dumps(given), encoding="utf-8")
    config, random, tensors = llama_config.read(folder, 12), np.random.default_rng(7), {}
    for stored in llama_config.stored(config).values():
        for layer in range(config.layers if "{0}" in stored.name else 1):
            for expert in range(config.experts if "{1}" in stored.name else 1):
                scale = 0.4 if len(stored.shape) == 1 else 1.5 * stored.shape[1] ** -0.5
                middle = 1.0 if "norm" in stored.name and not config.gain_from_one else 0.0
                drawn = middle + scale * random.standard_normal(stored.shape)
                tensors[stored.name.format(layer, expert)] = drawn.astype(np.float32).astype(np.float64)
    return given, config, tensors


def loaded(folder: pathlib.Path, config: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """The weights as examples/llama.py takes them from files."""
    import llama

    safetensors_numpy.save_file({name: tensor.astype(np.float32) for name, tensor in tensors.items()}, folder / "model.safetensors")
    weights: dict[str, Any] = llama.weights_of(folder, config)
    return weights


def prefill(config: Any, weights: dict[str, Any]) -> list[Any]:
    run = decoder.of_arrays(decoders.prefill, "tokens", config, tuple(weights))
    with jax.default_matmul_precision("highest"):
        return [np.asarray(result) for result in jax.jit(run)(np.array(TOKENS, np.int32)[:, None], *weights.values())]


@pytest.mark.parametrize("name", MODELS)
def test_a_family_computes_its_formula(name: str, tmp_path: pathlib.Path) -> None:
    given, config, tensors = model(tmp_path, name)
    weights = loaded(tmp_path, config, tensors)
    logits, token, _, *experts = prefill(config, weights)
    exact, routed = llama_reference.decoder(given, tensors, TOKENS)
    size = np.abs(exact).max()
    # 4 layers in f32 leave some 1e-6; what a missing part changes is told below.
    assert np.abs(logits - exact).max() < 2e-5 * size
    assert token.tolist() == exact.argmax(-1).tolist()
    assert [rows.tolist() for rows in experts] == ([routed] if config.experts else [])
    if name in PLAIN:
        other, _ = llama_reference.decoder(given | PLAIN[name], tensors, TOKENS)
        assert np.abs(other - exact).max() > 1e-3 * size, "the drawn weights do not show this part"


@pytest.mark.parametrize("name", MODELS)
def test_greedy_decoding_through_a_cache_is_that_of_whole_windows(name: str, tmp_path: pathlib.Path) -> None:
    given, config, tensors = model(tmp_path, name)
    config = config._replace(new_tokens=7)
    weights = loaded(tmp_path, config, tensors)
    run = decoder.of_arrays(decoders.generate, "prompts", config, tuple(weights))
    with jax.default_matmul_precision("highest"):
        found = np.asarray(jax.jit(run)(np.array([TOKENS[:6]], np.int32), *weights.values()))[0]
    text = TOKENS[:6]
    for _ in range(7):
        text = [*text, int(llama_reference.decoder(given, tensors, text)[0][-1].argmax())]
    assert found.tolist() == text[6:]


def test_llamas_own_shape_is_the_program_of_scripts_decoder(tmp_path: pathlib.Path) -> None:
    """A plain decoder lowers to the same text, but for the lines that it names."""
    _, config, tensors = model(tmp_path, "llama", tie_word_embeddings=False)
    weights = loaded(tmp_path, config, tensors)
    assert tuple(weights) == (*decoder.WEIGHTS, decoder.HEAD)
    plain = decoder.Config(head_size=8, new_tokens=32)
    first = {"tokens": jax.ShapeDtypeStruct((12, 1), np.int32), "prompts": jax.ShapeDtypeStruct((1, 6), np.int32)}
    for name, (function, argument) in decoders.ENTRIES.items():
        texts = []
        for of, given in ((function, config), (decoder.ENTRIES[name][0], plain)):
            run = decoder.of_arrays(of, argument, given, tuple(weights))
            lowered = jax.jit(run).lower(first[argument], *(jax.ShapeDtypeStruct(w.shape, jax.numpy.bfloat16) for w in weights.values()))
            texts.append(lowered.as_text())
        assert texts[0] == texts[1], name


@pytest.mark.parametrize("name", MODELS)
def test_the_formulas_are_those_of_transformers(name: str, tmp_path: pathlib.Path) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    given, config, tensors = model(tmp_path, name)
    family = llama_config.FAMILIES[config.model]
    asked = transformers.AutoConfig.for_model(**given, pad_token_id=0)
    asked._attn_implementation = asked._experts_implementation = "eager"
    built = getattr(transformers, family.architecture)(asked).double().eval()
    own = built.state_dict()
    # Fused in the classes of today.
    fused = {"gate_up_proj": (0, 1), "down_proj": (2,)}
    names = {"mixtral": ("w1", "w3", "w2")}.get(config.model, ("gate_proj", "up_proj", "down_proj"))
    for key in own:
        part = key.rpartition(".")[2]
        if key in tensors:
            own[key] = torch.tensor(tensors[key])
        elif key.endswith("mlp.gate.weight"):
            own[key] = torch.tensor(tensors[key.replace("mlp.gate", "block_sparse_moe.gate")])
        elif part in fused:
            layer = key.split(".")[2]
            inner = "block_sparse_moe" if config.model == "mixtral" else "mlp"
            each = [
                np.concatenate([tensors[f"model.layers.{layer}.{inner}.experts.{at}.{names[which]}.weight"] for which in fused[part]])
                for at in range(config.experts)
            ]
            own[key] = torch.tensor(np.stack(each))
        else:
            assert key == "lm_head.weight" and config.tied, key
            own[key] = torch.tensor(tensors["model.embed_tokens.weight"])
    built.load_state_dict(own)
    with torch.no_grad():
        theirs = built(torch.tensor([TOKENS])).logits[0].numpy()
    exact, _ = llama_reference.decoder(given, tensors, TOKENS)
    # Its ropes and softmaxes are of f32.
    assert np.abs(theirs - exact).max() < 2e-5 * np.abs(exact).max()


@pytest.fixture
def without_tpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilation for the CPU alone, whatever is installed."""
    import llama

    monkeypatch.setattr(llama, "topologies_of", lambda asked: [])


def text_of(folder: pathlib.Path) -> pathlib.Path:
    (folder / "tokens.json").write_text(json.dumps(TOKENS * 2), encoding="utf-8")
    return folder / "tokens.json"


@pytest.mark.usefixtures("without_tpus")
@pytest.mark.parametrize("name", ["mixtral", "gemma3"])
def test_a_folder_becomes_programs_and_a_suite(name: str, tmp_path: pathlib.Path) -> None:
    import llama

    given, config, tensors = model(tmp_path, name)
    loaded(tmp_path, config, tensors)
    out = tmp_path / "out"
    llama.main([str(tmp_path), str(text_of(tmp_path)), "--out", str(out), "--length", "12", "--prompt", "4", "--new", "3"])
    suite = (out / "suites" / "llama.toml").read_text()
    assert "tpu/" not in suite and suite.count("rows = [24]") == 3 and suite.count("[[matrix]]\n") == 4
    assert suite.count('"p", "experts"]') == suite.count('output = "experts"') == (3 if name == "mixtral" else 0)
    # A comment stays before the matrices that it is about.
    assert suite.index("The same weights") < suite.index("prefill_f32.before.hlo") < suite.index("Greedy decoding through")
    found = safetensors_numpy.load_file(out / "cpu" / "prefill.excess_off.tokens.safetensors")
    exact, routed = llama_reference.decoder(given, tensors, TOKENS)
    assert found["token"].tolist() == exact.argmax(-1).tolist()
    if config.experts:
        assert found["experts"].tolist() == routed
    made = json.loads((out / "cpu" / "prefill.made.json").read_text())
    assert (made["function"], made["shapes"][0], made["inputs"]) == (f"llama.py:{config.model}.prefill", "tokens=s32[12,1]", "tokens.safetensors")


def test_topologies_are_of_chips_that_the_suite_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    import llama

    monkeypatch.setattr(llama.importlib.util, "find_spec", lambda name: name)
    assert [topology.split(":")[0] for topology in llama.topologies_of([])] == ["v5e", "v6e", "tpu7x"]
    assert llama.topologies_of(["v6e:2x4", "v5e:2x2"]) == ["v6e:2x4", "v5e:2x2"]
    for asked, says in ((["v4:2x2x1"], "--topology v4: the suite has"), (["v5e:2x2", "v5e:2x4"], "has v5e twice")):
        with pytest.raises(SystemExit, match=says):
            llama.topologies_of(asked)
    monkeypatch.setattr(llama.importlib.util, "find_spec", lambda name: None)
    assert llama.topologies_of([]) == []
    with pytest.raises(SystemExit, match="needs libtpu"):
        llama.topologies_of(["v5e:2x2"])


OWN = """
import jax.numpy as jnp

def logits(tokens, weights):
    x = weights["embed.weight"][tokens]
    return jnp.tanh(x @ weights["0.up"]) @ weights["embed.weight"].T

def last(tokens, weights):
    return logits(tokens, weights)[-1]
"""


@pytest.mark.usefixtures("without_tpus")
def test_a_function_of_ones_own_and_a_folder_become_programs_and_a_suite(tmp_path: pathlib.Path) -> None:
    import own_model

    random, out = np.random.default_rng(5), tmp_path / "out"
    embed, up = (random.standard_normal(dims).astype(np.float32) for dims in ((61, 8), (8, 8)))
    safetensors_numpy.save_file({"embed.weight": embed, "0.up": up}, tmp_path / "model.safetensors")
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    rest = [str(tmp_path), str(text_of(tmp_path)), "--out", str(out), "--length", "12"]
    own_model.main([f"{tmp_path}/mine.py:logits", *rest])
    stored = safetensors_numpy.load_file(out / "decoder.safetensors")
    assert set(stored) == {"embed_weight", "_0_up"}
    program = (out / "prefill.before.hlo").read_text()
    # The suite binds a parameter to the tensor of its name.
    for name in ("tokens", *stored):
        assert f"{name}." in program and "parameter(" in program
    found = safetensors_numpy.load_file(out / "cpu" / "prefill.excess_off.tokens.safetensors")["token"]
    exact = np.tanh(embed[TOKENS].astype(np.float64) @ up) @ embed.T.astype(np.float64)
    assert found.tolist() == exact.argmax(-1).tolist()
    suite = (out / "suites" / "llama.toml").read_text()
    assert suite.count("[[matrix]]\n") == 3 and "generate" not in suite
    with pytest.raises(SystemExit, match=r"gives \(61,\) of 12 tokens, and not logits \[T,V\]"):
        own_model.main([f"{tmp_path}/mine.py:last", *rest])
    with pytest.raises(SystemExit, match="both be the argument a_b"):
        own_model.arguments_of(["a.b", "a_b"])
