"""The reader of a Hugging Face model's config.json, for examples/llama.py: every key is known, or refused by its name.

A key is read, or must have the one value that examples/decoders.py computes, or bears on no logit. A model of another type is
refused, and so is a key of which none of that is known. FAMILIES lists, type by type, the keys that not all have. Needs
nothing but Python.
"""

import json
import math
import pathlib
import sys
from typing import Any, NamedTuple

# What every family reads, and of which type it must be. Sizes are from 1.
REQUIRED = {"hidden_size": int, "num_attention_heads": int, "num_hidden_layers": int, "rms_norm_eps": float}
OPTIONAL = {
    "head_dim": int, "num_key_value_heads": int, "intermediate_size": int, "vocab_size": int, "max_position_embeddings": int,
    "rope_theta": float, "tie_word_embeddings": bool, "rope_scaling": dict, "rope_parameters": dict,
}  # fmt: skip
# What decoders.py is, but where a family reads the key; another value is another model. None is what transformers takes for
# the default.
FIXED = {
    "attention_bias": False, "mlp_bias": False, "pretraining_tp": 1,
    "partial_rotary_factor": 1.0, "rope_interleaved": False, "is_decoder": True, "is_encoder_decoder": False,
    "add_cross_attention": False, "cross_attention_hidden_size": None, "quantization_config": None, "auto_map": None,
    "pruned_heads": {}, "tie_encoder_decoder": False, "chunk_size_feed_forward": 0,
}  # fmt: skip
# What bears on no logit: dropout is for training, tokens' numbers for the tokenizer, types are those of the tensors.
HARMLESS = {
    "model_type", "architectures", "attention_dropout", "bos_token_id", "eos_token_id", "pad_token_id", "initializer_range",
    "torch_dtype", "dtype", "transformers_version", "use_cache", "_name_or_path", "name_or_path", "transformers.js_config",
    "is_llama_config", "tokenizer_class", "output_attentions", "output_hidden_states", "return_dict", "_attn_implementation",
    "_attn_implementation_autoset", "finetuning_task", "id2label", "label2id", "problem_type", "task_specific_params",
}  # fmt: skip
FULL, SLIDING = "full_attention", "sliding_attention"


class Family(NamedTuple):
    """The keys of one model type beside those of all."""

    # What transformers calls its class.
    architecture: str
    optional: dict[str, Any] = {}
    # What transformers takes where the file does not say.
    defaults: dict[str, Any] = {}
    fixed: dict[str, Any] = {}
    harmless: frozenset[str] = frozenset()
    # Second names that files of some releases have, and the first.
    aliases: dict[str, str] = {}


SILU = {"hidden_act": "silu"}
NO_WINDOW = {"sliding_window": None, "use_sliding_window": False}
BIASES = {"attention_bias": bool, "mlp_bias": bool}
# Qwen's windows are there only where use_sliding_window is true, from the layer max_window_layers on.
QWEN_WINDOW = {"sliding_window": int, "use_sliding_window": bool, "max_window_layers": int, "layer_types": list}
QWEN_DEFAULTS = {"num_key_value_heads": 32, "sliding_window": 4096, "max_window_layers": 28}
ROUTER_OF_TRAINING = frozenset({"output_router_logits", "router_aux_loss_coef", "router_jitter_noise"})
GEMMA = {
    "attention_bias": bool, "sliding_window": int, "layer_types": list, "query_pre_attn_scalar": float,
    "final_logit_softcapping": float, "attn_logit_softcapping": float,
}  # fmt: skip
GEMMA_DEFAULTS = {
    "num_key_value_heads": 4, "head_dim": 256, "sliding_window": 4096, "query_pre_attn_scalar": 256, "tie_word_embeddings": True,
}  # fmt: skip
GEMMA_FIXED = {
    "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh", "use_bidirectional_attention": False,
}  # fmt: skip
# How a serving engine keeps the cache.
GEMMA_HARMLESS = frozenset({"cache_implementation"})

FAMILIES = {
    "llama": Family(
        "LlamaForCausalLM", BIASES | {"layer_types": list}, fixed=SILU | NO_WINDOW),
    "mistral": Family(
        "MistralForCausalLM", {"sliding_window": int, "layer_types": list}, {"num_key_value_heads": 8, "sliding_window": 4096},
        SILU | {"use_sliding_window": True},
    ),
    "qwen2": Family("Qwen2ForCausalLM", QWEN_WINDOW, QWEN_DEFAULTS, SILU | {"use_mrope": False}),
    "qwen3": Family("Qwen3ForCausalLM", QWEN_WINDOW | {"attention_bias": bool}, QWEN_DEFAULTS | {"head_dim": 128}, SILU),
    "gemma2": Family(
        "Gemma2ForCausalLM", GEMMA, GEMMA_DEFAULTS | {"final_logit_softcapping": 30.0, "attn_logit_softcapping": 50.0},
        GEMMA_FIXED, GEMMA_HARMLESS, {"sliding_window_size": "sliding_window"},
    ),
    "gemma3_text": Family(
        "Gemma3ForCausalLM", GEMMA | {"sliding_window_pattern": int, "rope_local_base_freq": float},
        GEMMA_DEFAULTS | {"sliding_window_pattern": 6}, GEMMA_FIXED, GEMMA_HARMLESS,
        {"_sliding_window_pattern": "sliding_window_pattern"},
    ),
    "granite": Family(
        "GraniteForCausalLM",
        BIASES | {
            "embedding_multiplier": float, "attention_multiplier": float, "residual_multiplier": float, "logits_scaling": float,
        },
        {"embedding_multiplier": 1, "attention_multiplier": 1, "residual_multiplier": 1, "logits_scaling": 1}, SILU | NO_WINDOW,
    ),
    # pretraining_tp: a key that its files took over from Llama's, and that its class does not read.
    "smollm3": Family(
        "SmolLM3ForCausalLM",
        BIASES | {
            "sliding_window": int, "use_sliding_window": bool, "layer_types": list, "no_rope_layers": list,
            "no_rope_layer_interval": int,
        },
        {"num_key_value_heads": 4, "rope_theta": 2e6, "no_rope_layer_interval": 4, "tie_word_embeddings": True}, SILU,
        frozenset({"pretraining_tp", "max_window_layers"}),
    ),
    "mixtral": Family(
        "MixtralForCausalLM", {"sliding_window": int, "num_local_experts": int, "num_experts_per_tok": int},
        {"num_key_value_heads": 8, "rope_theta": 1e6, "num_local_experts": 8, "num_experts_per_tok": 2}, SILU,
        ROUTER_OF_TRAINING,
    ),
    "qwen3_moe": Family(
        "Qwen3MoeForCausalLM",
        {"attention_bias": bool, "moe_intermediate_size": int, "num_experts": int, "num_experts_per_tok": int, "norm_topk_prob": bool},
        {"num_key_value_heads": 4, "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8},
        SILU | {"use_sliding_window": False, "decoder_sparse_step": 1, "mlp_only_layers": []},
        # No window without use_sliding_window.
        ROUTER_OF_TRAINING | {"sliding_window", "max_window_layers"}, {"num_local_experts": "num_experts"},
    ),
}  # fmt: skip

# Of rope's own table, by its type: what must be there, and what may be.
ROPE = {
    "default": ((), ()),
    "linear": (("factor",), ()),
    "llama3": (("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"), ()),
    "yarn": (
        ("factor",),
        ("original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    ),
}
ROPE_FIXED = {"partial_rotary_factor": 1.0}


class Rope(NamedTuple):
    """Rope's frequencies: theta, the type of their scaling, and its numbers by name."""

    theta: float
    kind: str = "default"
    numbers: tuple[tuple[str, float], ...] = ()


class Kind(NamedTuple):
    """One of the kinds of layers of a model; None: no rope, no window."""

    rope: Rope | None
    window: int | None


class Config(NamedTuple):
    """What is read of config.json."""

    model: str
    hidden_size: int
    layers: int
    heads: int
    key_heads: int
    head_size: int
    # None where the file does not say.
    intermediate: int | None
    vocabulary: int | None
    epsilon: float
    tied: bool
    kinds: tuple[Kind, ...]
    # The number of each layer's kind.
    kind_of_layer: tuple[int, ...]
    # Biases of query, key and value; of the attention's output; of the perceptron.
    input_biases: bool = False
    output_bias: bool = False
    mlp_biases: bool = False
    # Norms of each head's queries and keys; norms of what a block adds.
    head_norms: bool = False
    end_norms: bool = False
    # Norms multiply by 1 + gain.
    gain_from_one: bool = False
    activation: str = "silu"
    embedding_scale: float = 1.0
    # What scores are multiplied by; None: they are divided by the root of head_size.
    score_scale: float | None = None
    score_cap: float | None = None
    residual_scale: float = 1.0
    logits_divisor: float = 1.0
    logits_cap: float | None = None
    # No experts: a perceptron.
    experts: int = 0
    chosen_experts: int = 0
    shares_sum_to_one: bool = False
    # How many tokens greedy decoding adds: no key of config.json.
    new_tokens: int = 32


# Layers of a model, of which each has its entry here.
MOST_LAYERS = 10_000
# Characters of a message: names and values of a file are of any length.
MOST_SAID = 1_000


def refuse(why):
    sys.exit(f"llama: config.json: {why if len(why) <= MOST_SAID else why[:MOST_SAID] + '...'}")


def unique(pairs):
    """An object whose names stand once."""
    once = {}
    for name, value in pairs:
        if name in once:
            refuse(f"{name!r} stands twice")
        once[name] = value
    return once


def checked(name, value, kind):
    """A value of this type, or None. A whole number is a float, and a truth value is no number."""
    if value is None:
        return None
    is_bool = isinstance(value, bool)
    fits = is_bool if kind is bool else not is_bool and isinstance(value, (int, float) if kind is float else kind)
    most = {int: MOST_LAYERS if name == "num_hidden_layers" else 2**31 - 1, float: sys.float_info.max}.get(kind)
    if not fits or (kind is int and not 1 <= value <= most) or (kind is float and not 0 < value <= most):
        asked = {
            int: f"a whole number from 1 to {most}", float: "a number above 0 that f64 holds", bool: "true or false",
            dict: "an object", list: "a list",
        }[kind]  # fmt: skip
        refuse(f"{name} is {shown(value)}, and must be {asked}")
    return kind(value)


def shown(value):
    """A value for a message; a long one is cut."""
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}... ({len(text) - 80} more characters)"


def check_fixed(given, fixed, of=""):
    for name, expected in fixed.items():
        value = given.get(name)
        if value is not None and (value != expected or isinstance(value, bool) != isinstance(expected, bool)):
            refuse(f"{of}{name} is {shown(value)}, and decoders.py is written for {json.dumps(expected)}")


def fixed_of(family):
    """The keys that have one value in this family."""
    fixed = FIXED | family.fixed
    return {name: value for name, value in fixed.items() if name not in family.optional and name not in family.harmless}


def family_of(given):
    known = ", ".join(FAMILIES)
    if "model_type" not in given:
        refuse(f"model_type is missing; known are {known}")
    kind = given["model_type"]
    if not isinstance(kind, str) or kind not in FAMILIES:
        refuse(f"models of type {shown(kind)} are not known; known are {known}")
    family, architectures = FAMILIES[kind], given.get("architectures")
    if architectures not in (None, [family.architecture]):
        refuse(f"architectures is {shown(architectures)}, and a model of type {kind} is {json.dumps([family.architecture])}")
    return kind, family


def yarn_numbers(given, of, most):
    """YaRN's numbers with transformers' defaults: the factor of cosines and sines follows from the other factor."""
    factor, mscale, of_all = given["factor"], given["mscale"], given["mscale_all_dim"]

    def grown(weight):
        return 0.1 * weight * math.log(factor) + 1 if factor > 1 else 1.0

    implied = grown(mscale) / grown(of_all) if mscale and of_all else grown(1)
    original = given["original_max_position_embeddings"] or most
    if original is None:
        refuse(f"{of}original_max_position_embeddings is missing, and max_position_embeddings too")
    return {
        "factor": factor,
        "original_max_position_embeddings": float(original),
        "attention_factor": given["attention_factor"] or implied,
        "beta_fast": given["beta_fast"] or 32.0,
        "beta_slow": given["beta_slow"] or 1.0,
        "truncate": given["truncate"] is not False,
    }


def rope_of(table, of, theta, most):
    """The rope of one table: its theta, where it has none of its own the one given, and its numbers."""
    table = table or {}
    kinds = {table[name] for name in ("rope_type", "type") if isinstance(table.get(name), str)} or {"default"}
    kind = kinds.pop()
    if kinds or kind not in ROPE:
        refuse(f"{of}rope of type {shown(sorted(kinds | {kind}))} is not known; known are {', '.join(ROPE)}")
    own = checked(f"{of}rope_theta", table.get("rope_theta"), float)
    check_fixed(table, ROPE_FIXED, of)
    needed, possible = ROPE[kind]
    for name in table:
        if name not in {*needed, *possible, "rope_type", "type", "rope_theta", *ROPE_FIXED}:
            refuse(f"{of}{name!r} is not known for rope of type {kind}")
    numbers = {
        name: checked(f"{of}{name}", table.get(name), bool if name == "truncate" else float) for name in (*needed, *possible)
    }
    for name in needed:
        if numbers[name] is None:
            refuse(f"{of}{name} is missing, which rope of type {kind} needs")
    if kind == "yarn":
        numbers = yarn_numbers(numbers, of, most)
    return Rope(own or theta, kind, tuple(numbers.items()))


def ropes_of(given, kind, values):
    """The rope of layers that see all positions, and of those with a window."""
    tables = {name: checked(name, given.get(name), dict) for name in ("rope_parameters", "rope_scaling")}
    there = [name for name, table in tables.items() if table]
    if len(there) > 1 and tables["rope_parameters"] != tables["rope_scaling"]:
        refuse("rope_parameters and rope_scaling differ")
    of, table = (f"{there[0]}: ", tables[there[0]]) if there else ("", {})
    most, theta = values["max_position_embeddings"], values["rope_theta"]
    if kind != "gemma3_text":
        rope = rope_of(table, of, theta or 10000.0, most)
        if theta not in (None, rope.theta):
            refuse(f"rope_theta is {theta}, and {rope.theta} in rope's own table")
        return rope, rope
    theta, local = theta or 1e6, values["rope_local_base_freq"] or 1e4
    if table and set(table) <= {FULL, SLIDING}:
        nested = {name: checked(f"{of}{name}", inner, dict) for name, inner in table.items()}
        ropes = [rope_of(nested.get(name), f"{of}{name}: ", base, most) for name, base in ((FULL, theta), (SLIDING, local))]
        for key, base, rope in zip(("rope_theta", "rope_local_base_freq"), (theta, local), ropes):
            if values[key] is not None and rope.theta != base:
                refuse(f"{key} is {base}, and {rope.theta} in rope's own table")
        return tuple(ropes)
    # A table of one rope is that of the layers that see all positions.
    rope = rope_of(table, of, theta, most)
    if values["rope_theta"] not in (None, rope.theta):
        refuse(f"rope_theta is {theta}, and {rope.theta} in rope's own table")
    return rope, Rope(local)


def of_layers(name, value, count, known):
    """A list with one of the known entries for each layer, or None."""
    if value is not None:
        if any(isinstance(entry, bool) or entry not in known for entry in value):
            refuse(f"{name} is {shown(value)}, and has other entries than {json.dumps(known)}")
        if len(value) != count:
            refuse(f"{name} has {len(value)} layers, and num_hidden_layers is {count}")
    return value


def sliding_layers(kind, values, roped):
    """Whether each layer has the window, by transformers' rule for the family where layer_types does not say."""
    layers = range(values["num_hidden_layers"])
    window = values.get("sliding_window")
    if kind in ("qwen2", "qwen3", "smollm3") and not values["use_sliding_window"]:
        window = None
    by_rule = {
        "mistral": lambda at: True,
        "mixtral": lambda at: True,
        "qwen2": lambda at: at >= values["max_window_layers"],
        "qwen3": lambda at: at >= values["max_window_layers"],
        "smollm3": lambda at: not roped[at],
        "gemma2": lambda at: at % 2 == 0,
        "gemma3_text": lambda at: (at + 1) % values["sliding_window_pattern"] != 0,
    }.get(kind, lambda at: False)
    rule = [SLIDING if window is not None and by_rule(at) else FULL for at in layers]
    stated = of_layers("layer_types", values.get("layer_types"), len(layers), [FULL, SLIDING])
    if stated is None:
        stated = rule
    if kind == "llama" and stated != rule:
        refuse(f"layer_types is {shown(stated)}, and layers of a model of type {kind} have full_attention")
    if kind == "mistral":
        # Its class reads sliding_window alone.
        if window is None and SLIDING in stated:
            refuse(f"layer_types is {shown(stated)}, and sliding_window is null")
        stated = rule
    if window is None and SLIDING in stated:
        refuse(f"layer_types is {shown(stated)}, and there is no window (sliding_window, use_sliding_window)")
    return [entry == SLIDING for entry in stated], window


def kinds_of(given, kind, values):
    """The kinds of layers, and the number of each layer's."""
    count = values["num_hidden_layers"]
    roped = [1] * count
    if kind == "smollm3":
        roped = of_layers("no_rope_layers", values["no_rope_layers"], count, [0, 1])
        if roped is None:
            roped = [int((at + 1) % values["no_rope_layer_interval"] != 0) for at in range(count)]
    sliding, window = sliding_layers(kind, values, roped)
    everywhere, local = ropes_of(given, kind, values)
    each = [
        Kind((local if slides else everywhere) if has_rope else None, window if slides else None)
        for slides, has_rope in zip(sliding, roped)
    ]
    kinds = tuple(dict.fromkeys(each))
    return kinds, tuple(map(kinds.index, each))


def parsed(folder):
    path = pathlib.Path(folder) / "config.json"
    try:
        given = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except (OSError, ValueError, RecursionError) as error:
        refuse(f"failed to read {path}: {error}")
    if not isinstance(given, dict):
        refuse(f"{path} is no JSON object")
    return given


def by_first_names(given, family):
    """The keys with each second name's value under the first."""
    given = dict(given)
    for second, first in family.aliases.items():
        value = given.pop(second, None)
        if None not in (value, given.get(first)) and value != given[first]:
            refuse(f"{first} is {shown(given[first])}, and {second} is {shown(value)}")
        if value is not None:
            given[first] = value
    return given


def read(folder, length):
    """The Config of this folder's config.json for a run over so many positions; ends the process where that is no model of a
    known family."""
    given = parsed(folder)
    kind, family = family_of(given)
    given = by_first_names(given, family)
    known, fixed = REQUIRED | OPTIONAL | family.optional, fixed_of(family)
    for name, value in given.items():
        if name not in known and name not in fixed and name not in HARMLESS and name not in family.harmless:
            refuse(f"{name!r} ({shown(value)}) is not known: whether it bears on the logits is to be read in the model's code first")
    given = family.defaults | given
    check_fixed(given, fixed)
    values = {name: checked(name, given.get(name), a_kind) for name, a_kind in known.items()}
    for name in REQUIRED:
        if values[name] is None:
            refuse(f"{name} is missing")
    for name, value in family.defaults.items():
        # None is a value of its own where there may be no window and no cap.
        if values[name] is None and name not in ("sliding_window", "final_logit_softcapping", "attn_logit_softcapping"):
            values[name] = None if name == "num_key_value_heads" else value
    hidden, heads = values["hidden_size"], values["num_attention_heads"]
    if values["head_dim"] is None and hidden % heads:
        refuse(f"hidden_size {hidden} is no multiple of num_attention_heads {heads}, and head_dim is missing")
    key_heads = values["num_key_value_heads"] or heads
    if heads % key_heads:
        refuse(f"num_attention_heads {heads} is no multiple of num_key_value_heads {key_heads}")
    head_size = values["head_dim"] or hidden // heads
    if head_size % 2:
        refuse(f"a head has {head_size} elements, and rope turns pairs of them")
    most = values["max_position_embeddings"]
    if most is not None and most < length:
        refuse(f"the model has {most} positions (max_position_embeddings), and {length} are asked for")
    kinds, kind_of_layer = kinds_of(given, kind, values)
    gemma, moe = kind in ("gemma2", "gemma3_text"), kind in ("mixtral", "qwen3_moe")
    experts = values["num_local_experts"] if kind == "mixtral" else values["num_experts"] if moe else 0
    chosen = values["num_experts_per_tok"] if moe else 0
    if chosen > experts:
        refuse(f"num_experts_per_tok is {chosen}, and there are {experts} experts")
    return Config(
        model=kind,
        hidden_size=hidden,
        layers=values["num_hidden_layers"],
        heads=heads,
        key_heads=key_heads,
        head_size=head_size,
        intermediate=values["moe_intermediate_size" if kind == "qwen3_moe" else "intermediate_size"],
        vocabulary=values["vocab_size"],
        epsilon=values["rms_norm_eps"],
        tied=bool(values["tie_word_embeddings"]),
        kinds=kinds,
        kind_of_layer=kind_of_layer,
        input_biases=kind == "qwen2" or bool(values.get("attention_bias")),
        output_bias=bool(values.get("attention_bias")),
        mlp_biases=bool(values.get("mlp_bias")),
        head_norms=kind in ("qwen3", "qwen3_moe", "gemma3_text"),
        end_norms=gemma,
        gain_from_one=gemma,
        activation="gelu_pytorch_tanh" if gemma else "silu",
        embedding_scale=math.sqrt(hidden) if gemma else values.get("embedding_multiplier") or 1.0,
        score_scale=values["query_pre_attn_scalar"] ** -0.5 if gemma else values.get("attention_multiplier"),
        score_cap=values.get("attn_logit_softcapping"),
        residual_scale=values.get("residual_multiplier") or 1.0,
        logits_divisor=values.get("logits_scaling") or 1.0,
        logits_cap=values.get("final_logit_softcapping"),
        experts=experts,
        chosen_experts=chosen,
        shares_sum_to_one=kind == "mixtral" or bool(values.get("norm_topk_prob")),
    )


class Stored(NamedTuple):
    """A weight of decoders.py as a file has it: the tensor's name, {0} for the layer and {1} for the expert, and its shape, with
    None for an extent that config.json does not say. Matrices are stored as [out, in]."""

    name: str
    shape: tuple[int | None, ...]


def stored(config):
    """The tensors that a model of this config has, by decoders.py's names."""
    width, hidden, words = config.hidden_size, config.intermediate, config.vocabulary
    queries, keys, head = config.heads * config.head_size, config.key_heads * config.head_size, config.head_size
    tensors = {"embedding": Stored("model.embed_tokens.weight", (words, width)), "norm": Stored("model.norm.weight", (width,))}

    def add(name, inner, shape, biased=False):
        tensors[name] = Stored(f"model.layers.{{0}}.{inner}.weight", shape)
        if biased:
            tensors[f"{name}_bias"] = Stored(f"model.layers.{{0}}.{inner}.bias", shape[:1])

    add("attention_norm", "input_layernorm", (width,))
    add("query", "self_attn.q_proj", (queries, width), config.input_biases)
    add("key", "self_attn.k_proj", (keys, width), config.input_biases)
    add("value", "self_attn.v_proj", (keys, width), config.input_biases)
    if config.head_norms:
        add("query_norm", "self_attn.q_norm", (head,))
        add("key_norm", "self_attn.k_norm", (head,))
    add("output", "self_attn.o_proj", (width, queries), config.output_bias)
    if config.end_norms:
        add("attention_end_norm", "post_attention_layernorm", (width,))
        add("mlp_end_norm", "post_feedforward_layernorm", (width,))
    add("mlp_norm", "pre_feedforward_layernorm" if config.end_norms else "post_attention_layernorm", (width,))
    inner, names = "mlp", {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}
    if config.experts:
        if config.model == "mixtral":
            inner, names = "block_sparse_moe", {"gate": "w1", "up": "w3", "down": "w2"}
        add("router", f"{inner}.gate", (config.experts, width))
        inner += ".experts.{1}"
    for name, shape in (("gate", (hidden, width)), ("up", (hidden, width)), ("down", (width, hidden))):
        add(name, f"{inner}.{names[name]}", shape, config.mlp_biases)
    if not config.tied:
        tensors["head"] = Stored("lm_head.weight", (words, width))
    return tensors


def check_shape(name, asked, found):
    """That a tensor has the shape that config.json says."""
    if len(asked) != len(found) or any(a not in (None, b) for a, b in zip(asked, found)):
        told = ", ".join("?" if extent is None else str(extent) for extent in asked)
        refuse(f"the tensor {name} is {list(found)}, and by the sizes there it must be [{told}]")
