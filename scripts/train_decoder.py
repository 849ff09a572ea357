#!/usr/bin/env python3
"""Trains the small decoder of the suite `language-model` on one core, in about twenty minutes.

    python -m venv venv && venv/bin/pip install jax safetensors numpy
    venv/bin/python scripts/train_decoder.py

Reads tests/data/language_model/{train,held_out}.txt, and writes beside them

    vocabulary.json        512 pieces of text by token id: characters, then byte-pair merges in the order they were made
    decoder.safetensors    the weights in bf16, named as in scripts/decoder.py
    tokens.safetensors     held_out: the tokens of the held-out text s32[N,1], one a row; prompts: s32[64,16], parts of it;
                           sequences: s32[64,65], its first windows of 64 tokens, each with the token that follows

The text is forty thousand lines of William Shakespeare's plays (died 1616; in the public domain) as github.com/karpathy/char-rnn
has them in data/tinyshakespeare/input.txt (1,115,394 characters, sha256 86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed):
the first 95 %, to the end of a speech, to train on, the rest held out. The same seed gives the same weights on the same
machine and version of XLA only: sums are ordered as the compiler likes.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

import decoder

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "language_model"
VOCABULARY = 512
LAYERS, WIDTH, HIDDEN, QUERY_HEADS, KEY_HEADS = 4, 96, 288, 6, 3
BATCH, LENGTH = 16, 128
PEAK, WARMUP, DECAY = 4e-3, 100, 0.1
BETAS = 0.9, 0.95
PROMPTS, PROMPT_LENGTH = 64, 16
SEQUENCES, SEQUENCE_LENGTH = 64, 64


def words(text):
    """A space belongs to what follows it; merges do not cross words."""
    return re.findall(r" ?[A-Za-z]+| ?[^A-Za-z\s]+|\s", text)


def merged(parts, pair):
    """The parts of a word, with every occurrence of the pair made one."""
    out = []
    for part in parts:
        if out and (out[-1], part) == pair:
            out[-1] += part
        else:
            out.append(part)
    return out


def make_vocabulary(text):
    """Byte-pair encoding: the most frequent pair becomes a piece, of equal ones the first in the order of text."""
    pieces = sorted(set(text))
    counts = collections.Counter(words(text))
    split = {word: list(word) for word in counts}
    while len(pieces) < VOCABULARY:
        pairs = collections.Counter()
        for word, parts in split.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += counts[word]
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        pieces.append("".join(best))
        for word, parts in split.items():
            if best[0] in parts and best[1] in parts:
                split[word] = merged(parts, best)
    return pieces


def encode(pieces, text):
    """Token ids: in each word the pair whose piece was made first is merged first."""
    ids = {piece: at for at, piece in enumerate(pieces)}

    def tokens_of(word):
        parts = list(word)
        while True:
            pairs = [pair for pair in zip(parts, parts[1:]) if "".join(pair) in ids]
            if not pairs:
                return [ids[part] for part in parts]
            parts = merged(parts, min(pairs, key=lambda pair: ids["".join(pair)]))

    known = {word: tokens_of(word) for word in set(words(text))}
    return np.array([token for word in words(text) for token in known[word]], np.int32)


def initial(key):
    """Normal weights of standard deviation 0.02 to 0.1 by their inputs, those that add to the stream smaller by the depth."""
    columns = QUERY_HEADS * decoder.SMALL.head_size, KEY_HEADS * decoder.SMALL.head_size
    shapes = {
        "embedding": (VOCABULARY, WIDTH), "query": (LAYERS, WIDTH, columns[0]), "key": (LAYERS, WIDTH, columns[1]),
        "value": (LAYERS, WIDTH, columns[1]), "output": (LAYERS, columns[0], WIDTH),
        "gate": (LAYERS, WIDTH, HIDDEN), "up": (LAYERS, WIDTH, HIDDEN), "down": (LAYERS, HIDDEN, WIDTH),
    }
    weights = {"norm": jnp.ones(WIDTH), "attention_norm": jnp.ones((LAYERS, WIDTH)), "mlp_norm": jnp.ones((LAYERS, WIDTH))}
    for name, shape in shapes.items():
        key, own = jax.random.split(key)
        scale = 0.05 if name == "embedding" else shape[1] ** -0.5
        if name in ("output", "down"):
            scale /= (2 * LAYERS) ** 0.5
        weights[name] = scale * jax.random.normal(own, shape)
    return weights


def losses(weights, tokens):
    """Cross entropy in nats of each next token of s32[B,T+1]."""
    logs = jax.nn.log_softmax(decoder.logits(weights, tokens[:, :-1]))
    return -jnp.take_along_axis(logs, tokens[:, 1:, None], -1)[..., 0]


def train(weights, data, steps, seed):
    """AdamW under a cosine schedule, gradients cut to norm 1."""
    zeros = jax.tree.map(jnp.zeros_like, weights)
    first, second = BETAS

    def rate(at):
        return PEAK * jnp.minimum((at + 1) / WARMUP, 0.5 + 0.5 * jnp.cos(jnp.pi * at / steps))

    @jax.jit
    def update(weights, mean, square, at, tokens):
        loss, gradient = jax.value_and_grad(lambda w: losses(w, tokens).mean())(weights)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradient)))
        gradient = jax.tree.map(lambda g: g / jnp.maximum(norm, 1.0), gradient)
        mean = jax.tree.map(lambda m, g: first * m + (1 - first) * g, mean, gradient)
        square = jax.tree.map(lambda s, g: second * s + (1 - second) * g * g, square, gradient)

        def moved(w, m, s):
            move = m / (1 - first ** (at + 1)) / (jnp.sqrt(s / (1 - second ** (at + 1))) + 1e-8)
            # Neither the norms' gains nor the embedding is pulled towards zero.
            return w - rate(at) * (move + (DECAY * w if w.ndim > 2 else 0.0))

        return jax.tree.map(moved, weights, mean, square), mean, square, loss

    random, mean, square, started = np.random.default_rng(seed), zeros, zeros, time.time()
    for at in range(steps):
        starts = random.integers(0, len(data) - LENGTH - 1, BATCH)
        tokens = np.stack([data[start : start + LENGTH + 1] for start in starts])
        weights, mean, square, loss = update(weights, mean, square, jnp.float32(at), tokens)
        if at % 100 == 0 or at == steps - 1:
            print(f"step {at} loss {float(loss):.3f} nats a token, {time.time() - started:.0f} s", flush=True)
    return weights


def windows(tokens, length):
    """Whole windows s32[N,length+1]; the last token of one is the first of the next."""
    count = (len(tokens) - 1) // length
    return np.stack([tokens[at * length : at * length + length + 1] for at in range(count)])


def report(weights, tokens, text, what):
    """How well the weights predict, and by how much the first token leads the second."""
    given = windows(tokens, LENGTH)
    nats = float(np.mean([losses(weights, part).mean() for part in np.array_split(given, 8)]))
    all_logits = np.concatenate([np.asarray(decoder.logits(weights, part[:, :-1])) for part in np.array_split(given, 8)])
    top = np.sort(all_logits, -1)
    margins = np.quantile(top[..., -1] - top[..., -2], [0.01, 0.05, 0.25, 0.5, 0.75])
    right = float(np.mean(all_logits.argmax(-1) == given[:, 1:]))
    bits = nats / np.log(2) * len(tokens) / len(text)
    print(f"{what}: {nats:.3f} nats a token, {bits:.3f} bits a character, top-1 {right:.3f}, margin at 1, 5, 25, 50, 75 %: "
          + ", ".join(f"{margin:.3f}" for margin in margins), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=FOLDER, help="folder to write to")
    options = parser.parse_args()
    text, held_out = ((FOLDER / name).read_text() for name in ("train.txt", "held_out.txt"))
    pieces = make_vocabulary(text)
    data, unseen = encode(pieces, text), encode(pieces, held_out)
    print(f"{len(data)} tokens to train on, {len(unseen)} held out", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "vocabulary.json").write_text(json.dumps(pieces, ensure_ascii=False, indent=0) + "\n")
    starts = np.arange(PROMPTS) * (len(unseen) // PROMPTS)
    prompts = np.stack([unseen[start : start + PROMPT_LENGTH] for start in starts])
    tensors = {"held_out": unseen[:, None], "prompts": prompts, "sequences": windows(unseen, SEQUENCE_LENGTH)[:SEQUENCES]}
    save_file(tensors, options.out / "tokens.safetensors")
    weights = train(initial(jax.random.key(options.seed)), data, options.steps, options.seed)
    print(f"{sum(w.size for w in weights.values())} parameters", flush=True)
    rounded = {name: np.asarray(w).astype(ml_dtypes.bfloat16) for name, w in weights.items()}
    save_file(rounded, options.out / "decoder.safetensors")
    report(weights, data[: len(unseen)], text[: len(held_out)], "f32 weights, seen text")
    report(weights, unseen, held_out, "f32 weights, held-out text")
    report({name: jnp.asarray(w.astype(np.float32)) for name, w in rounded.items()}, unseen, held_out, "bf16 weights, held-out text")


if __name__ == "__main__":
    main()
