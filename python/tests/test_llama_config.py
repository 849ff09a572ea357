"""examples/llama_config.py: what of config.json is known, and that all else is refused by name."""

import importlib.util
import json
import math
import pathlib
import time

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
    "architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "no_rope_layer_interval": 4, "pretraining_tp": 2,
    "no_rope_layers": [1, 1, 1, 0, 1] * 6, "use_sliding_window": False, "sliding_window": None, "max_window_layers": 28,
}  # fmt: skip
COMMON = {name: value for name, value in LLAMA.items() if name not in (
    "is_llama_config", "mlp_bias", "pretraining_tp", "attention_bias", "hidden_act", "rope_interleaved",
)}  # fmt: skip
QWEN2 = COMMON | {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_act": "silu", "use_sliding_window": False,
    "sliding_window": 32768, "max_window_layers": 21, "use_mrope": False,
}  # fmt: skip
QWEN3 = COMMON | {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_act": "silu", "attention_bias": False, "head_dim": 128,
    "use_sliding_window": False, "sliding_window": None, "max_window_layers": 28,
}  # fmt: skip
GEMMA2 = COMMON | {
    "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 224, "sliding_window": 32, "cache_implementation": "hybrid",
    "final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0, "head_dim": 64, "rope_theta": 10000.0,
}  # fmt: skip
GEMMA3 = COMMON | {
    "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh",
    "query_pre_attn_scalar": 256, "sliding_window": 32, "sliding_window_pattern": 6, "rope_theta": 1e6,
    "rope_local_base_freq": 10000, "final_logit_softcapping": None, "attn_logit_softcapping": None, "head_dim": 64,
}  # fmt: skip
MIXTRAL = COMMON | {
    "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_act": "silu", "num_local_experts": 8,
    "num_experts_per_tok": 2, "output_router_logits": False, "router_aux_loss_coef": 0.02, "sliding_window": None,
}  # fmt: skip
QWEN3_MOE = COMMON | {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_act": "silu", "decoder_sparse_step": 1,
    "mlp_only_layers": [], "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": True,
    "use_sliding_window": False, "sliding_window": None, "max_window_layers": 48, "attention_bias": False,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


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
    assert (small.layers, small.head_size, small.kinds[0].rope.theta, small.epsilon, small.tied) == (30, 64, 100000.0, 1e-5, True)
    assert [kind.rope.kind for kind in small.kinds] == ["default"]
    llama3 = dict(read(LLAMA | {"rope_scaling": LLAMA3}).kinds[0].rope.numbers)
    assert llama3 == {name: value for name, value in LLAMA3.items() if name != "rope_type"}
    del (nested := LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}})["rope_theta"]
    assert read(nested).kinds[0].rope.theta == 5e5
    assert read(MISTRAL | {"sliding_window": None}, 8192).layers == 30
    assert read(LLAMA | {"head_dim": 128}).head_size == 128
    # Transformers' own defaults of Mistral: 8 heads of keys, and a window of 4096.
    unsaid = {name: value for name, value in MISTRAL.items() if name not in ("num_key_value_heads", "sliding_window")}
    assert read(unsaid | {"num_attention_heads": 32, "hidden_size": 4096}).key_heads == 8


def layers_of(config):  # type: ignore[no-untyped-def]
    """Of each layer its rope's theta and its window."""
    kinds = [config.kinds[at] for at in config.kind_of_layer]
    return [(kind.rope and kind.rope.theta, kind.window) for kind in kinds]


def test_a_family_has_its_own_parts(read) -> None:  # type: ignore[no-untyped-def]
    qwen2, qwen3, gemma2, gemma3 = read(QWEN2), read(QWEN3), read(GEMMA2), read(GEMMA3)
    assert (qwen2.input_biases, qwen2.output_bias, qwen2.head_norms) == (True, False, False)
    assert (qwen3.input_biases, qwen3.head_norms, qwen3.head_size) == (False, True, 128)
    assert layers_of(qwen2) == [(100000.0, None)] * 30
    assert layers_of(read(QWEN2 | {"use_sliding_window": True}))[20:22] == [(100000.0, None), (100000.0, 32768)]
    assert layers_of(read(MISTRAL | {"sliding_window": 63})) == [(100000.0, 63)] * 30
    assert layers_of(gemma2) == [(1e4, 32), (1e4, None)] * 15
    assert (gemma2.score_cap, gemma2.logits_cap, gemma2.score_scale, gemma2.embedding_scale) == (50.0, 30.0, 224**-0.5, 24.0)
    assert layers_of(gemma3) == ([(1e4, 32)] * 5 + [(1e6, None)]) * 5
    assert (gemma3.score_cap, gemma3.logits_cap, gemma3.head_norms, gemma3.end_norms, gemma3.gain_from_one) == (None, None, True, True, True)
    linear = read(GEMMA3 | {"rope_scaling": {"rope_type": "linear", "factor": 8.0}})
    assert [kind.rope.kind for kind in linear.kinds] == ["default", "linear"]
    of_today = {name: value for name, value in GEMMA3.items() if not name.startswith("rope") and name != "sliding_window_pattern"}
    ropes = {"full_attention": {"rope_type": "default", "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
    assert read(of_today | {"rope_parameters": ropes, "_sliding_window_pattern": 6}) == gemma3
    assert layers_of(read(SMOLLM3)) == [(100000.0, None), (100000.0, None), (100000.0, None), (None, None), (100000.0, None)] * 6
    assert layers_of(read(SMOLLM3 | {"no_rope_layers": None}))[:4] == [(100000.0, None)] * 3 + [(None, None)]
    granite = read(GRANITE)
    assert (granite.embedding_scale, granite.score_scale, granite.residual_scale, granite.logits_divisor) == (12.0, 0.0078125, 0.22, 8.0)
    mixtral, qwen3_moe = read(MIXTRAL), read(QWEN3_MOE)
    assert (mixtral.experts, mixtral.chosen_experts, mixtral.shares_sum_to_one, mixtral.intermediate) == (8, 2, True, 1536)
    assert (qwen3_moe.experts, qwen3_moe.chosen_experts, qwen3_moe.shares_sum_to_one, qwen3_moe.intermediate) == (128, 8, True, 768)
    assert not read(QWEN3_MOE | {"norm_topk_prob": None}).shares_sum_to_one
    # As transformers 5.24.0 writes it.
    second = {name: value for name, value in QWEN3_MOE.items() if name != "num_experts"} | {"num_local_experts": 64}
    assert read(second).experts == 64


def test_yarn_has_transformers_defaults(read) -> None:  # type: ignore[no-untyped-def]
    """A table without beta_fast, beta_slow and attention_factor, as Qwen's model cards have it."""
    numbers = dict(read(QWEN3 | {"rope_scaling": YARN}).kinds[0].rope.numbers)
    assert (numbers["beta_fast"], numbers["beta_slow"], numbers["truncate"]) == (32.0, 1.0, True)
    assert numbers["attention_factor"] == 0.1 * math.log(4) + 1
    assert dict(read(QWEN3 | {"rope_scaling": YARN | {"attention_factor": 1.0}}).kinds[0].rope.numbers)["attention_factor"] == 1.0
    of_all = dict(read(QWEN3 | {"rope_scaling": YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}}).kinds[0].rope.numbers)
    assert of_all["attention_factor"] == 1.0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (LLAMA | {"model_type": "phi3"}, 'models of type "phi3" are not known; known are llama, mistral, qwen2, qwen3, gemma2'),
        (GEMMA3 | {"model_type": "gemma3", "architectures": None}, 'models of type "gemma3" are not known'),
        (GRANITE | {"model_type": "llama"}, "architectures is"),
        (GRANITE | {"model_type": "llama", "architectures": None}, "'attention_multiplier' (0.0078125) is not known"),
        (SMOLLM3 | {"no_rope_layers": [1, 1, 1, 0]}, "no_rope_layers has 4 layers, and num_hidden_layers is 30"),
        (SMOLLM3 | {"no_rope_layers": [1, 2] * 15}, "no_rope_layers is"),
        (SMOLLM3 | {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, "'no_rope_layer_interval' (4) is not known"),
        ({name: value for name, value in LLAMA.items() if name != "model_type"}, "model_type is missing"),
        ({name: value for name, value in LLAMA.items() if name != "rms_norm_eps"}, "rms_norm_eps is missing"),
        (LLAMA | {"model_type": ["llama"]}, 'models of type ["llama"]'),
        (LLAMA | {"architectures": ["LlamaForSequenceClassification"]}, "architectures is"),
        (LLAMA | {"a_key_of_next_year": None}, "'a_key_of_next_year' (null) is not known"),
        (LLAMA | {"hidden_act": "gelu"}, 'hidden_act is "gelu", and decoders.py is written for "silu"'),
        (MISTRAL | {"attention_bias": True}, "attention_bias is true"),
        (MISTRAL | {"mlp_bias": True}, "mlp_bias is true"),
        (LLAMA | {"sliding_window": 4096}, "sliding_window is 4096"),
        (MISTRAL | {"sliding_window": None, "layer_types": ["sliding_attention"] * 30}, "sliding_window is null"),
        (QWEN2 | {"use_mrope": True}, "use_mrope is true"),
        (QWEN2 | {"layer_types": ["sliding_attention"] * 30}, "there is no window"),
        (QWEN2 | {"attention_multiplier": 0.5}, "'attention_multiplier' (0.5) is not known"),
        (QWEN3 | {"layer_types": ["chunked_attention"] * 30}, "layer_types is"),
        (GEMMA2 | {"hidden_activation": "gelu"}, 'hidden_activation is "gelu"'),
        (GEMMA2 | {"sliding_window_size": 64}, "sliding_window is 32, and sliding_window_size is 64"),
        (GEMMA2 | {"attn_logit_softcapping": 0}, "attn_logit_softcapping is 0"),
        (GEMMA3 | {"use_bidirectional_attention": True}, "use_bidirectional_attention is true"),
        (GEMMA3 | {"rope_parameters": {"full_attention": {"rope_theta": 5.0}}}, "rope_theta is 1000000.0, and 5.0"),
        (QWEN3_MOE | {"num_local_experts": 8}, "num_experts is 128, and num_local_experts is 8"),
        (MIXTRAL | {"num_experts_per_tok": 9}, "num_experts_per_tok is 9, and there are 8 experts"),
        (QWEN3_MOE | {"mlp_only_layers": [0]}, "mlp_only_layers is [0]"),
        (QWEN3_MOE | {"decoder_sparse_step": 2}, "decoder_sparse_step is 2"),
        (QWEN3_MOE | {"use_sliding_window": True}, "use_sliding_window is true"),
        (LLAMA | {"rope_interleaved": True}, "rope_interleaved is true"),
        (LLAMA | {"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5"),
        (LLAMA | {"quantization_config": {"bits": 4}}, "quantization_config is"),
        (LLAMA | {"layer_types": ["full_attention", "sliding_attention"] * 15}, "layer_types is"),
        (LLAMA | {"layer_types": ["full_attention"]}, "layer_types has 1 layers"),
        (LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2.0}}, 'rope of type ["dynamic"] is not known'),
        (LLAMA | {"rope_scaling": {"type": "linear"}}, "rope_scaling: factor is missing"),
        (LLAMA | {"rope_scaling": YARN | {"truncate": 1}}, "rope_scaling: truncate is 1, and must be true or false"),
        (LLAMA | {"rope_scaling": LLAMA3 | {"type": "yarn"}}, "is not known; known are default, linear, llama3, yarn"),
        (LLAMA | {"rope_scaling": LLAMA3 | {"attention_factor": 1.2}}, "rope_scaling: 'attention_factor' is not known"),
        (LLAMA | {"rope_scaling": LLAMA3 | {"factor": None}}, "rope_scaling: factor is missing"),
        (LLAMA | {"rope_scaling": LLAMA3, "rope_parameters": {"rope_type": "default"}}, "rope_parameters and rope_scaling differ"),
        (LLAMA | {"rope_parameters": {"partial_rotary_factor": 0.25}}, "rope_parameters: partial_rotary_factor is 0.25"),
        (LLAMA | {"rope_parameters": {"rope_theta": 5e5}}, "rope_theta is 100000.0, and 500000.0"),
        (LLAMA | {"hidden_size": "576"}, 'hidden_size is "576", and must be a whole number from 1'),
        (LLAMA | {"hidden_size": True}, "hidden_size is true"),
        (LLAMA | {"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        (LLAMA | {"rms_norm_eps": 0}, "rms_norm_eps is 0, and must be a number above 0"),
        (LLAMA | {"hidden_size": 2**31}, "hidden_size is 2147483648, and must be a whole number from 1 to 2147483647"),
        (LLAMA | {"num_hidden_layers": 10**18}, "must be a whole number from 1 to 10000"),
        (LLAMA | {"rope_theta": 10**400}, "must be a number above 0 that f64 holds"),
        (LLAMA | {"m" * 5000: 1}, "mmmm..."),
        (LLAMA | {"num_attention_heads": 7, "num_key_value_heads": 7}, "is no multiple of num_attention_heads 7"),
        (LLAMA | {"num_key_value_heads": 2}, "is no multiple of num_key_value_heads 2"),
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
    assert told.startswith("llama: config.json: ") and says in told and "\n" not in told and len(told) < 1100


def test_many_keys_are_looked_at_once_each(read) -> None:  # type: ignore[no-untyped-def]
    """100,000 of them take no minutes."""
    begun = time.process_time()
    with pytest.raises(SystemExit, match="'key0' .* is not known"):
        read(LLAMA | {f"key{at}": at for at in range(100_000)})
    assert time.process_time() - begun < 10


def test_a_window_that_is_not_said_is_transformers_own(read) -> None:  # type: ignore[no-untyped-def]
    unsaid = {name: value for name, value in MISTRAL.items() if name != "sliding_window"}
    assert {window for _, window in layers_of(read(unsaid))} == {4096}
    assert {window for _, window in layers_of(read(unsaid | {"sliding_window": None}))} == {None}
    unsaid = {name: value for name, value in GEMMA2.items() if not name.endswith("softcapping")}
    assert (read(unsaid).score_cap, read(unsaid).logits_cap) == (50.0, 30.0)
    assert read(unsaid | {"attn_logit_softcapping": None}).score_cap is None


def test_every_key_is_needed_known_or_refused(read, llama_config) -> None:  # type: ignore[no-untyped-def]
    """Any key that is made up is refused, whatever it says; of those that are fixed any other value is."""
    for value in (None, 0, 1, 1.0, "x", [], {}, True):
        with pytest.raises(SystemExit, match="'made_up' .* is not known"):
            read(LLAMA | {"made_up": value})
    for given in (LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA2, GEMMA3, GRANITE, SMOLLM3, MIXTRAL, QWEN3_MOE):
        family, own = llama_config.FAMILIES[given["model_type"]], read(given | {"num_key_value_heads": 3})
        given = given | {"num_key_value_heads": 3}
        with pytest.raises(SystemExit, match="'made_up' .* is not known"):
            read(given | {"made_up": 1})
        for name, expected in llama_config.fixed_of(family).items():
            assert read(given | {name: expected}) == own
            with pytest.raises(SystemExit, match=f"{name} is "):
                read(given | {name: "another"})
        for name in (llama_config.HARMLESS | family.harmless) - {"model_type", "architectures"}:
            assert read(given | {name: "another"}) == own
        for name in llama_config.REQUIRED | llama_config.OPTIONAL | family.optional:
            with pytest.raises(SystemExit, match=name):
                read(given | {name: "another"})


def test_tensors_have_the_sizes_that_config_says(read, llama_config) -> None:  # type: ignore[no-untyped-def]
    stored = llama_config.stored(read(LLAMA))
    assert stored["key"] == ("model.layers.{0}.self_attn.k_proj.weight", (192, 576))
    llama_config.check_shape("norm", stored["norm"].shape, (576,))
    llama_config.check_shape("unsaid", (None, 576), (7, 576))
    for asked, found in ((stored["key"].shape, (576, 576)), (stored["norm"].shape, (1, 576))):
        with pytest.raises(SystemExit, match="the tensor a.weight is"):
            llama_config.check_shape("a.weight", asked, found)


def test_a_family_has_its_own_tensors(read, llama_config) -> None:  # type: ignore[no-untyped-def]
    def named(given):  # type: ignore[no-untyped-def]
        return {name: tensor.name.removeprefix("model.layers.{0}.") for name, tensor in llama_config.stored(read(given)).items()}

    plain = set(named(LLAMA))
    assert set(named(QWEN2)) - plain == {"query_bias", "key_bias", "value_bias"}
    assert set(named(QWEN3)) - plain == {"query_norm", "key_norm"}
    assert set(named(LLAMA | {"attention_bias": True, "mlp_bias": True})) - plain == {
        f"{name}_bias" for name in ("query", "key", "value", "output", "gate", "up", "down")
    }
    gemma2 = named(GEMMA2)
    assert (gemma2["attention_end_norm"], gemma2["mlp_norm"]) == ("post_attention_layernorm.weight", "pre_feedforward_layernorm.weight")
    assert named(MIXTRAL)["up"] == "block_sparse_moe.experts.{1}.w3.weight"
    assert (named(QWEN3_MOE)["router"], named(QWEN3_MOE)["up"]) == ("mlp.gate.weight", "mlp.experts.{1}.up_proj.weight")


def test_what_transformers_writes_is_read(tmp_path, llama_config) -> None:  # type: ignore[no-untyped-def]
    """A config of each family with transformers' defaults, where it is installed."""
    transformers = pytest.importorskip("transformers")
    for kind, family in llama_config.FAMILIES.items():
        written = transformers.AutoConfig.for_model(kind)
        written.architectures = [family.architecture]
        written.save_pretrained(tmp_path)
        found = llama_config.read(tmp_path, 64)
        assert (found.model, found.layers, found.heads) == (kind, written.num_hidden_layers, written.num_attention_heads)
        of_layers = getattr(written, "layer_types", None)
        if of_layers is not None:
            windows = [found.kinds[at].window for at in found.kind_of_layer]
            assert windows == [written.sliding_window if of == "sliding_attention" else None for of in of_layers]
