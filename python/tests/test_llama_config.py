"""examples/llama_config.py: what of config.json is known, and that all else is refused by name."""

import importlib.util
import json
import pathlib

import pytest

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "llama_config.py"

# What Hugging Face has of SmolLM2-135M, but for what bears on nothing.
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 0,
    "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
    "intermediate_size": 1536, "is_llama_config": True, "max_position_embeddings": 8192, "mlp_bias": False,
    "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1,
    "rms_norm_eps": 1e-05, "rope_interleaved": False, "rope_scaling": None, "rope_theta": 100000, "tie_word_embeddings": True,
    "torch_dtype": "bfloat16", "transformers_version": "4.40.1", "use_cache": True, "vocab_size": 49152,
}  # fmt: skip
LLAMA3 = {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}
MISTRAL = LLAMA | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 4096}
UNSAID = {name: value for name, value in MISTRAL.items() if name != "num_key_value_heads"}
GRANITE = LLAMA | {
    "architectures": ["GraniteForCausalLM"], "model_type": "granite", "attention_multiplier": 0.0078125,
    "embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22,
}  # fmt: skip
SMOLLM3 = LLAMA | {
    "architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "no_rope_layer_interval": 4,
    "no_rope_layers": [1, 1, 1, 0] * 9,
}  # fmt: skip


@pytest.fixture(scope="module")
def llama_config():  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location("llama_config", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def read(llama_config, tmp_path):  # type: ignore[no-untyped-def]
    def read(given, length=64):  # type: ignore[no-untyped-def]
        text = given if isinstance(given, str) else json.dumps(given)
        (tmp_path / "config.json").write_text(text, encoding="utf-8")
        return llama_config.read(tmp_path, length)

    return read


def test_what_is_of_llamas_shape_is_read(read) -> None:  # type: ignore[no-untyped-def]
    small = read(LLAMA)
    assert (small.layers, small.head_size, small.theta, small.epsilon, small.tied) == (30, 64, 100000.0, 1e-5, True)
    assert small.rope_scaling == ()
    assert read(LLAMA | {"rope_scaling": LLAMA3}).rope_scaling == (32.0, 1.0, 4.0, 8192.0)
    del (nested := LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}})["rope_theta"]
    assert read(nested).theta == 5e5
    assert read(MISTRAL).rope_scaling == ()
    assert read(MISTRAL | {"sliding_window": None}, 8192).layers == 30
    assert read(LLAMA | {"head_dim": 128}).head_size == 128
    # Transformers' own defaults of Mistral: 8 heads of keys, and a window of 4096.
    unsaid = {name: value for name, value in MISTRAL.items() if name not in ("num_key_value_heads", "sliding_window")}
    assert read(unsaid | {"num_attention_heads": 32, "hidden_size": 4096}).key_heads == 8


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (GRANITE, "models of type \"granite\" are not known to be Llama's shape; known are llama, mistral"),
        (GRANITE | {"model_type": "llama"}, "architectures is"),
        (GRANITE | {"model_type": "llama", "architectures": None}, "'attention_multiplier' (0.0078125) is not known"),
        (SMOLLM3, 'models of type "smollm3"'),
        (SMOLLM3 | {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, "'no_rope_layer_interval' (4) is not known"),
        ({name: value for name, value in LLAMA.items() if name != "model_type"}, "model_type is missing"),
        ({name: value for name, value in LLAMA.items() if name != "rms_norm_eps"}, "rms_norm_eps is missing"),
        (LLAMA | {"model_type": ["llama"]}, 'models of type ["llama"]'),
        (LLAMA | {"architectures": ["LlamaForSequenceClassification"]}, "architectures is"),
        (LLAMA | {"a_key_of_next_year": None}, "'a_key_of_next_year' (null) is not known"),
        (LLAMA | {"hidden_act": "gelu"}, 'hidden_act is "gelu", and decoder.py is written for "silu"'),
        (LLAMA | {"attention_bias": True}, "attention_bias is true"),
        (LLAMA | {"mlp_bias": True}, "mlp_bias is true"),
        (LLAMA | {"rope_interleaved": True}, "rope_interleaved is true"),
        (LLAMA | {"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5"),
        (LLAMA | {"quantization_config": {"bits": 4}}, "quantization_config is"),
        (LLAMA | {"layer_types": ["full_attention", "sliding_attention"]}, "layer_types is"),
        (LLAMA | {"layer_types": ["full_attention"]}, "layer_types has 1 layers"),
        (LLAMA | {"rope_scaling": {"type": "linear", "factor": 2.0}}, 'rope of type ["linear"] is not known'),
        (LLAMA | {"rope_scaling": LLAMA3 | {"type": "yarn"}}, "is not known; known are default, llama3"),
        (LLAMA | {"rope_scaling": LLAMA3 | {"attention_factor": 1.2}}, "rope_scaling: 'attention_factor' is not known"),
        (LLAMA | {"rope_scaling": LLAMA3 | {"factor": None}}, "rope_scaling: factor is missing"),
        (LLAMA | {"rope_scaling": LLAMA3, "rope_parameters": {"rope_type": "default"}}, "rope_parameters and rope_scaling differ"),
        (LLAMA | {"rope_parameters": {"partial_rotary_factor": 0.25}}, "rope_parameters: partial_rotary_factor is 0.25"),
        (LLAMA | {"rope_parameters": {"rope_theta": 5e5}}, "rope_theta is 100000.0, and 500000.0"),
        (LLAMA | {"hidden_size": "576"}, 'hidden_size is "576", and must be a whole number from 1'),
        (LLAMA | {"hidden_size": True}, "hidden_size is true"),
        (LLAMA | {"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        (LLAMA | {"rms_norm_eps": 0}, "rms_norm_eps is 0, and must be a number above 0"),
        (LLAMA | {"num_attention_heads": 7, "num_key_value_heads": 7}, "is no multiple of num_attention_heads 7"),
        (LLAMA | {"num_key_value_heads": 2}, "is no multiple of num_key_value_heads 2"),
        (MISTRAL | {"sliding_window": 63}, "slides over 63 positions"),
        (UNSAID, "num_attention_heads 9 is no multiple of num_key_value_heads 8"),
        (LLAMA | {"max_position_embeddings": 32}, "has 32 positions"),
        ("[1]", "is no JSON object"),
        ("{", "failed to read"),
        ("[" * 100000, "failed to read"),
        ('{"model_type": "llama", "model_type": "granite"}', "'model_type' stands twice"),
    ],
)
def test_all_else_is_refused_by_name(read, given, says) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SystemExit) as refused:
        read(given)
    told = str(refused.value)
    assert told.startswith("llama: config.json: ") and says in told and "\n" not in told


def test_a_window_that_is_not_said_is_transformers_own(read) -> None:  # type: ignore[no-untyped-def]
    unsaid = {name: value for name, value in MISTRAL.items() if name != "sliding_window"}
    assert read(unsaid, 4096).layers == 30
    with pytest.raises(SystemExit, match="slides over 4096 positions"):
        read(unsaid, 4097)


def test_every_key_is_needed_known_or_refused(read, llama_config) -> None:  # type: ignore[no-untyped-def]
    """Any key that is made up is refused, whatever it says; of those that are fixed any other value is."""
    for value in (None, 0, 1, 1.0, "x", [], {}, True):
        with pytest.raises(SystemExit, match="'made_up' .* is not known"):
            read(LLAMA | {"made_up": value})
    for name, expected in llama_config.FIXED.items():
        assert read(LLAMA | {name: expected}) == read(LLAMA)
        with pytest.raises(SystemExit, match=f"{name} is "):
            read(LLAMA | {name: "another"})
    for name in llama_config.HARMLESS - {"model_type", "architectures", "layer_types"}:
        assert read(LLAMA | {name: "another"}) == read(LLAMA)


def test_tensors_have_the_sizes_that_config_says(read, llama_config) -> None:  # type: ignore[no-untyped-def]
    config = read(LLAMA)
    llama_config.check_shape(config, "model.layers.3.self_attn.k_proj.weight", (192, 576))
    llama_config.check_shape(config, "model.norm.weight", (576,))
    for name, shape in (("model.layers.3.self_attn.k_proj.weight", (576, 576)), ("model.norm.weight", (1, 576))):
        with pytest.raises(SystemExit, match=f"the tensor {name} is"):
            llama_config.check_shape(config, name, shape)
