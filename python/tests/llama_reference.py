"""Decoders in f64 NumPy, position by position and head by head, from the formulas of each family's own code (transformers'
modeling_*.py). Nothing here is shared with examples/: config.json is read a second time, by its keys alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def norm(given: dict[str, Any], x: Array, gain: Array) -> Array:
    unit = x / np.sqrt((x * x).mean(-1, keepdims=True) + given["rms_norm_eps"])
    return unit * (1 + gain) if given["model_type"].startswith("gemma") else unit * gain


def yarn(rope: dict[str, Any], theta: float, dim: int) -> tuple[list[float], float]:
    """Peng et al. 2023, section 3.2 and 3.4: the frequencies, and the factor of cosines and sines."""
    factor, original = rope["factor"], rope["original_max_position_embeddings"]

    def pair_of(turns: float) -> float:
        return dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low = max(math.floor(pair_of(rope.get("beta_fast", 32))), 0)
    high = min(math.ceil(pair_of(rope.get("beta_slow", 1))), dim - 1)
    found = []
    for pair in range(dim // 2):
        own = theta ** (-2 * pair / dim)
        slowed = min(max((pair - low) / (high - low), 0), 1)
        found.append(slowed * own / factor + (1 - slowed) * own)
    return found, rope.get("attention_factor") or 0.1 * math.log(factor) + 1


def llama3(rope: dict[str, Any], theta: float, dim: int) -> list[float]:
    """Llama 3.1: long waves are stretched by the factor, short ones stay, those between are mixed."""
    found = []
    for pair in range(dim // 2):
        own = theta ** (-2 * pair / dim)
        wave, original = 2 * math.pi / own, rope["original_max_position_embeddings"]
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        if wave < original / high:
            found.append(own)
        elif wave > original / low:
            found.append(own / rope["factor"])
        else:
            kept = (original / wave - low) / (high - low)
            found.append((1 - kept) * own / rope["factor"] + kept * own)
    return found


def rope_of(given: dict[str, Any], slides: bool, dim: int) -> tuple[list[float], float]:
    theta, scaling = given.get("rope_theta", 10000.0), given.get("rope_scaling") or {}
    if given["model_type"] == "gemma3_text" and slides:
        theta, scaling = given["rope_local_base_freq"], {}
    kind = scaling.get("rope_type", "default")
    if kind == "yarn":
        return yarn(scaling, theta, dim)
    if kind == "llama3":
        return llama3(scaling, theta, dim), 1.0
    divisor = scaling["factor"] if kind == "linear" else 1.0
    return [theta ** (-2 * pair / dim) / divisor for pair in range(dim // 2)], 1.0


def turned(x: Array, position: int, rope: tuple[list[float], float]) -> Array:
    """A head x [E] at its position: pair by pair, the first half with the second."""
    half, (frequencies, factor), y = len(x) // 2, rope, np.empty_like(x)
    for pair, frequency in enumerate(frequencies):
        cos, sin = math.cos(position * frequency) * factor, math.sin(position * frequency) * factor
        a, b = x[pair], x[pair + half]
        y[pair], y[pair + half] = a * cos - b * sin, b * cos + a * sin
    return y


def slides(given: dict[str, Any], at: int) -> bool:
    kind = given["model_type"]
    if kind == "mistral":
        return given["sliding_window"] is not None
    if kind in ("qwen2", "qwen3"):
        return bool(given.get("use_sliding_window")) and at >= given["max_window_layers"]
    if kind == "gemma2":
        return at % 2 == 0
    return kind == "gemma3_text" and (at + 1) % given["sliding_window_pattern"] != 0


def gelu(x: Array) -> Array:
    return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def silu(x: Array) -> Array:
    return np.asarray(x / (1 + np.exp(-x)))


def decoder(given: dict[str, Any], tensors: dict[str, Array], tokens: list[int]) -> tuple[Array, list[list[int]]]:
    """Logits [T,V] after each token, and of each position the experts chosen, layer by layer."""
    kind, heads = given["model_type"], given["num_attention_heads"]
    gemma, dim = kind.startswith("gemma"), given.get("head_dim") or given["hidden_size"] // heads
    active = gelu if gemma else silu
    shared = heads // given["num_key_value_heads"]
    x = tensors["model.embed_tokens.weight"][tokens] * given.get("embedding_multiplier", 1.0)
    if gemma:
        x = x * math.sqrt(given["hidden_size"])
    scale = given.get("attention_multiplier") or (given["query_pre_attn_scalar"] if gemma else dim) ** -0.5
    residual = given.get("residual_multiplier", 1.0)
    routed: list[list[int]] = [[] for _ in tokens]
    for at in range(given["num_hidden_layers"]):

        def linear(name: str, x: Array, at: int = at) -> Array:
            y = x @ tensors[f"model.layers.{at}.{name}.weight"].T
            return np.asarray(y + tensors.get(f"model.layers.{at}.{name}.bias", 0.0))

        def gained(name: str, x: Array, at: int = at) -> Array:
            return norm(given, x, tensors[f"model.layers.{at}.{name}.weight"])

        normed = gained("input_layernorm", x)
        query, key, value = (linear(f"self_attn.{name}_proj", normed).reshape(len(tokens), -1, dim) for name in "qkv")
        if f"model.layers.{at}.self_attn.q_norm.weight" in tensors:
            query, key = gained("self_attn.q_norm", query), gained("self_attn.k_norm", key)
        if kind != "smollm3" or given["no_rope_layers"][at]:
            rope = rope_of(given, slides(given, at), dim)
            query, key = (np.array([[turned(h, t, rope) for h in row] for t, row in enumerate(part)]) for part in (query, key))
        mixed = np.zeros((len(tokens), heads, dim))
        for t in range(len(tokens)):
            begin = max(0, t + 1 - given["sliding_window"]) if slides(given, at) else 0
            for head in range(heads):
                scores = key[begin : t + 1, head // shared] @ query[t, head] * scale
                cap = given.get("attn_logit_softcapping")
                scores = np.tanh(scores / cap) * cap if cap else scores
                shares = np.exp(scores - scores.max())
                mixed[t, head] = (shares / shares.sum()) @ value[begin : t + 1, head // shared]
        y = linear("self_attn.o_proj", mixed.reshape(len(tokens), -1))
        x = x + (gained("post_attention_layernorm", y) if gemma else y) * residual
        normed = gained("pre_feedforward_layernorm" if gemma else "post_attention_layernorm", x)
        if kind in ("mixtral", "qwen3_moe"):
            inner, names = ("block_sparse_moe", ("w1", "w3", "w2")) if kind == "mixtral" else ("mlp", ("gate_proj", "up_proj", "down_proj"))
            y = np.zeros_like(x)
            for t, row in enumerate(linear(f"{inner}.gate", normed)):
                shares = np.exp(row - row.max())
                shares = shares / shares.sum()
                best = np.argsort(-shares, kind="stable")[: given["num_experts_per_tok"]]
                total = shares[best].sum() if kind == "mixtral" or given.get("norm_topk_prob") else 1.0
                routed[t] += sorted(best.tolist())
                for expert in best:
                    gate, up, down = (f"{inner}.experts.{expert}.{name}" for name in names)
                    y[t] += shares[expert] / total * linear(down, active(linear(gate, normed[t])) * linear(up, normed[t]))
        else:
            y = linear("mlp.down_proj", active(linear("mlp.gate_proj", normed)) * linear("mlp.up_proj", normed))
        x = x + (gained("post_feedforward_layernorm", y) if gemma else y) * residual
    head = tensors["model.embed_tokens.weight" if given["tie_word_embeddings"] else "lm_head.weight"]
    logits = norm(given, x, tensors["model.norm.weight"]) @ head.T / given.get("logits_scaling", 1.0)
    cap = given.get("final_logit_softcapping")
    return np.tanh(logits / cap) * cap if cap else logits, routed
