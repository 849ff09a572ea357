"""The decoder of model_jax.py written anew in PyTorch, with its intermediate values, for `ulpgate layers` (docs/layers.md).

    python port_torch.py ../../tests/data/language_model port/tokens.npz --out port/torch.f32.npz --type f32
    python port_torch.py ../../tests/data/language_model port/tokens.npz --out port/rope.f32.npz --type f32 --plant rope

`--plant` makes a fault that ports have had: rope that pairs neighbours in place of halves, or norms computed in float16.
"""

import argparse
import json
import math
import pathlib
import struct

import numpy as np
import torch

HEAD = 16
THETA = 10000.0
EPSILON = 1e-5


def load(path):
    """The bf16 tensors of a .safetensors file by name."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "BF16":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = torch.frombuffer(bytearray(raw[begin:end]), dtype=torch.bfloat16).reshape(entry["shape"])
    return tensors


class Decoder(torch.nn.Module):
    def __init__(self, weights, layers, plant):
        super().__init__()
        self.weights, self.layers, self.plant = weights, layers, plant

    def norm(self, x, gain):
        wide = x.to(torch.float16 if self.plant == "norm" else torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)
        return wide.to(gain.dtype) * gain

    def rope(self, x):
        """Turns x [T, heads, HEAD] by its positions."""
        frequencies = THETA ** (-torch.arange(0, HEAD, 2, dtype=torch.float64) / HEAD)
        angles = torch.arange(len(x), dtype=torch.float64)[:, None] * frequencies
        cos, sin = angles.cos().float()[:, None], angles.sin().float()[:, None]
        wide = x.float()
        if self.plant == "rope":
            a, b = wide[..., 0::2], wide[..., 1::2]
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).to(x.dtype)
        a, b = wide.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1).to(x.dtype)

    def attention(self, x, own, record):
        query, key, value = ((x @ own[name]).view(len(x), -1, HEAD) for name in ("query", "key", "value"))
        query, key = record("query", self.rope(query)), record("key", self.rope(key))
        groups = query.shape[1] // key.shape[1]
        key, value = (t.repeat_interleave(groups, 1).transpose(0, 1) for t in (key, value))
        scores = query.transpose(0, 1).float() @ key.float().transpose(1, 2) / math.sqrt(HEAD)
        future = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
        shares = torch.softmax(scores.masked_fill(future, -1e30), -1).to(value.dtype)
        return (shares @ value).transpose(0, 1).reshape(len(x), -1)

    def forward(self, tokens):
        values = {}
        x = self.weights["embedding"][tokens]
        for layer in range(self.layers):
            own = {name: weight[layer] for name, weight in self.weights.items() if name not in ("embedding", "norm")}

            def record(name, value, layer=layer):
                return values.setdefault(f"layer{layer}.{name}", value)

            normed = record("attention_norm", self.norm(x, own["attention_norm"]))
            x = record("attention", x + self.attention(normed, own, record) @ own["output"])
            normed = record("mlp_norm", self.norm(x, own["mlp_norm"]))
            hidden = torch.nn.functional.silu(normed @ own["gate"]) * (normed @ own["up"])
            x = record("mlp", x + hidden @ own["down"])
        values["logits"] = self.norm(x, self.weights["norm"]) @ self.weights["embedding"].T
        return values


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="a folder with decoder.safetensors")
    parser.add_argument("tokens", type=pathlib.Path, help="tokens.npz of model_jax.py")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--type", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--plant", choices=("rope", "norm"))
    arguments = parser.parse_args()
    dtype = torch.float32 if arguments.type == "f32" else torch.bfloat16
    weights = {name: weight.to(dtype) for name, weight in load(arguments.folder / "decoder.safetensors").items()}
    tokens = torch.from_numpy(np.load(arguments.tokens)["tokens"].astype(np.int64))
    with torch.no_grad():
        values = Decoder(weights, arguments.layers, arguments.plant)(tokens)
    # NumPy has no bf16: its values are stored as f32, in which each fits.
    np.savez_compressed(arguments.out, **{name: value.float().numpy() for name, value in values.items()})


if __name__ == "__main__":
    main()
