"""What config.json of a Hugging Face model says, for examples/llama.py: every key is known, or refused by its name.

A key is read, or must have the one value that scripts/decoder.py computes, or bears on no logit. A model of another type, and
a key of which none of that is known (`embedding_multiplier`, `no_rope_layers`, `logits_scaling`), is another model. Needs
nothing but Python.
"""

import json
import pathlib
import sys
from typing import NamedTuple

# Model types that are Llama's shape and nothing else, and what transformers calls their class.
MODELS = {"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM"}
# What is read, and of which type it must be. Sizes are from 1.
REQUIRED = {"hidden_size": int, "num_attention_heads": int, "num_hidden_layers": int, "rms_norm_eps": float}
OPTIONAL = {
    "head_dim": int, "num_key_value_heads": int, "intermediate_size": int, "vocab_size": int, "max_position_embeddings": int,
    "sliding_window": int, "rope_theta": float, "use_sliding_window": bool, "tie_word_embeddings": bool,
    "rope_scaling": dict, "rope_parameters": dict,
}  # fmt: skip
# What transformers takes where a model of this type does not say: without a window Mistral slides over 4096 positions.
DEFAULTS = {"llama": {}, "mistral": {"num_key_value_heads": 8, "sliding_window": 4096}}
# What decoder.py is; another value is another model. None is what transformers takes for the default.
FIXED = {
    "hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "partial_rotary_factor": 1.0, "pretraining_tp": 1,
    "rope_interleaved": False, "is_decoder": True, "is_encoder_decoder": False, "add_cross_attention": False,
    "cross_attention_hidden_size": None, "quantization_config": None, "auto_map": None, "pruned_heads": {},
    "tie_encoder_decoder": False, "chunk_size_feed_forward": 0,
}  # fmt: skip
# What bears on no logit: dropout is for training, tokens' numbers for the tokenizer, types are those of the tensors.
HARMLESS = {
    "model_type", "architectures", "layer_types", "attention_dropout", "bos_token_id", "eos_token_id", "pad_token_id",
    "initializer_range", "torch_dtype", "dtype", "transformers_version", "use_cache", "_name_or_path", "name_or_path",
    "is_llama_config", "transformers.js_config", "tokenizer_class", "output_attentions", "output_hidden_states", "return_dict",
    "_attn_implementation", "_attn_implementation_autoset", "finetuning_task", "id2label", "label2id", "problem_type",
    "task_specific_params",
}  # fmt: skip
# Of rope's own table, by its type.
ROPE = {
    "default": (),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}
ROPE_FIXED = {"partial_rotary_factor": 1.0}


class Config(NamedTuple):
    """What is read of config.json."""

    hidden_size: int
    layers: int
    heads: int
    key_heads: int
    head_size: int
    # None where the file does not say.
    intermediate: int | None
    vocabulary: int | None
    epsilon: float
    theta: float
    # factor, low_freq_factor, high_freq_factor, original_max_position_embeddings; or nothing.
    rope_scaling: tuple
    tied: bool


def refuse(why):
    sys.exit(f"llama: config.json: {why}")


def unique(pairs):
    """An object whose names stand once."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            refuse(f"{name!r} stands twice")
    return dict(pairs)


def checked(name, value, kind):
    """A value of this type, or None. A whole number is a float, and a truth value is no number."""
    if value is None:
        return None
    is_bool = isinstance(value, bool)
    fits = is_bool if kind is bool else not is_bool and isinstance(value, (int, float) if kind is float else kind)
    if not fits or (kind is int and value < 1) or (kind is float and not 0 < value < float("inf")):
        asked = {int: "a whole number from 1", float: "a number above 0", bool: "true or false", dict: "an object"}[kind]
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
            refuse(f"{of}{name} is {shown(value)}, and decoder.py is written for {json.dumps(expected)}")


def check_model(given):
    known = ", ".join(MODELS)
    if "model_type" not in given:
        refuse(f"model_type is missing; known are {known}")
    kind = given["model_type"]
    if not isinstance(kind, str) or kind not in MODELS:
        refuse(f"models of type {shown(kind)} are not known to be Llama's shape; known are {known}")
    architectures = given.get("architectures")
    if architectures not in (None, [MODELS[kind]]):
        refuse(f"architectures is {shown(architectures)}, and a model of type {kind} is {json.dumps([MODELS[kind]])}")
    layers = given.get("layer_types")
    if layers is not None and (not isinstance(layers, list) or any(layer != "full_attention" for layer in layers)):
        refuse(f"layer_types is {shown(layers)}, and decoder.py's layers all have full_attention")


def rope_of(given):
    """Rope's scaling, and its theta where its own table has it."""
    tables = {name: checked(name, given.get(name), dict) for name in ("rope_parameters", "rope_scaling")}
    there = [name for name, table in tables.items() if table]
    if len(there) > 1 and tables["rope_parameters"] != tables["rope_scaling"]:
        refuse("rope_parameters and rope_scaling differ")
    if not there:
        return (), None
    of, table = f"{there[0]}: ", tables[there[0]]
    kinds = {table[name] for name in ("rope_type", "type") if isinstance(table.get(name), str)} or {"default"}
    kind = kinds.pop()
    if kinds or kind not in ROPE:
        refuse(f"{of}rope of type {shown(sorted(kinds | {kind}))} is not known; known are {', '.join(ROPE)}")
    theta = checked(f"{of}rope_theta", table.get("rope_theta"), float)
    check_fixed(table, ROPE_FIXED, of)
    known = {*ROPE[kind], "rope_type", "type", "rope_theta", *ROPE_FIXED}
    for name in table:
        if name not in known:
            refuse(f"{of}{name!r} is not known for rope of type {kind}")
    scaling = tuple(checked(f"{of}{name}", table.get(name), float) for name in ROPE[kind])
    for name, value in zip(ROPE[kind], scaling):
        if value is None:
            refuse(f"{of}{name} is missing, which rope of type {kind} needs")
    return scaling, theta


def read(folder, length):
    """What config.json in this folder says of a model that is run over so many positions; ends the process where that is no
    decoder of Llama's shape."""
    path = pathlib.Path(folder) / "config.json"
    try:
        given = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except (OSError, ValueError, RecursionError) as error:
        refuse(f"failed to read {path}: {error}")
    if not isinstance(given, dict):
        refuse(f"{path} is no JSON object")
    check_model(given)
    given = DEFAULTS[given["model_type"]] | given
    for name, value in given.items():
        if name not in REQUIRED and name not in OPTIONAL and name not in FIXED and name not in HARMLESS:
            refuse(f"{name!r} ({shown(value)}) is not known: whether it bears on the logits is to be read in the model's code first")
    check_fixed(given, FIXED)
    values = {name: checked(name, given.get(name), kind) for name, kind in (REQUIRED | OPTIONAL).items()}
    for name in REQUIRED:
        if values[name] is None:
            refuse(f"{name} is missing")
    hidden, heads = values["hidden_size"], values["num_attention_heads"]
    if values["head_dim"] is None and hidden % heads:
        refuse(f"hidden_size {hidden} is no multiple of num_attention_heads {heads}, and head_dim is missing")
    key_heads = values["num_key_value_heads"] or heads
    if heads % key_heads:
        refuse(f"num_attention_heads {heads} is no multiple of num_key_value_heads {key_heads}")
    window = values["sliding_window"] if values["use_sliding_window"] in (None, True) else None
    if window is not None and window < length:
        refuse(f"attention slides over {window} positions (sliding_window): --length must not be more")
    most = values["max_position_embeddings"]
    if most is not None and most < length:
        refuse(f"the model has {most} positions (max_position_embeddings), and {length} are asked for")
    scaling, theta = rope_of(given)
    if theta is not None and values["rope_theta"] not in (None, theta):
        refuse(f"rope_theta is {values['rope_theta']}, and {theta} in rope's own table")
    layers = given.get("layer_types")
    if layers is not None and len(layers) != values["num_hidden_layers"]:
        refuse(f"layer_types has {len(layers)} layers, and num_hidden_layers is {values['num_hidden_layers']}")
    return Config(
        hidden_size=hidden,
        layers=values["num_hidden_layers"],
        heads=heads,
        key_heads=key_heads,
        head_size=values["head_dim"] or hidden // heads,
        intermediate=values["intermediate_size"],
        vocabulary=values["vocab_size"],
        epsilon=values["rms_norm_eps"],
        theta=theta or values["rope_theta"] or 10000.0,
        rope_scaling=scaling,
        tied=bool(values["tie_word_embeddings"]),
    )


def shapes(config):
    """The shape that each tensor must have, by the end of its name; None where config.json does not say an extent."""
    width, hidden, words = config.hidden_size, config.intermediate, config.vocabulary
    queries, keys = config.heads * config.head_size, config.key_heads * config.head_size
    return {
        "embed_tokens.weight": (words, width), "lm_head.weight": (words, width), "norm.weight": (width,),
        "input_layernorm.weight": (width,), "post_attention_layernorm.weight": (width,), "q_proj.weight": (queries, width),
        "k_proj.weight": (keys, width), "v_proj.weight": (keys, width), "o_proj.weight": (width, queries),
        "gate_proj.weight": (hidden, width), "up_proj.weight": (hidden, width), "down_proj.weight": (width, hidden),
    }  # fmt: skip


def check_shape(config, name, found):
    """That a tensor has the shape that config.json says."""
    last = ".".join(name.split(".")[-2:])
    asked = shapes(config).get(last)
    if asked is not None and (len(asked) != len(found) or any(a not in (None, b) for a, b in zip(asked, found))):
        told = ", ".join("?" if extent is None else str(extent) for extent in asked)
        refuse(f"the tensor {name} is {list(found)}, and by the sizes there it must be [{told}]")
