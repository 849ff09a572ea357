#!/usr/bin/env python3
"""Writes how TPU compilers cut up the matmuls of a model, batch size by batch size, for chips that need not be there.

    python -m venv venv && venv/bin/pip install "jax[tpu]" numpy safetensors
    venv/bin/python scripts/dump_tiling.py > tests/data/tiling/plans.csv

One line for each chip, shape [m,k] x [k,n] in bf16 and batch size m: what computes it (`vector` where the compiler writes
multiply and reduce, `matrix` where it writes a convolution), and of a convolution its emitter, the windows and iteration
bounds of its plan as they stand in the compiled file, and the number of blocks that K is cut into: the third bound, where
kernel window x 8 x bound is K up to padding (docs/FACTS.md 10.1). The shapes are those of an 8-billion-parameter Llama.
"""

import csv
import json
import re
import sys

from ahead_of_time import lowering

import jax
import jax.numpy as jnp

CHIPS = ["v4", "v5e", "v5p", "v6e", "tpu7x"]
SHAPES = {"q_proj": (4096, 4096), "kv_proj": (4096, 1024), "up_proj": (4096, 14336), "down_proj": (14336, 4096)}
BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]


def plan(text, k):
    """What computes the one matmul of a compiled file, and how it is cut up."""
    found = re.search(r'^.*"window_config":(\{[^}]*\}).*"convolution_algorithm_config":\{"emitter":"(\w+)"\}', text, re.M)
    if "convolution(" not in text or found is None:
        return ["vector" if "convolution(" not in text else "matrix", "", "", "", "", "", ""]
    config = json.loads(found[1])
    windows = [config.get(name, []) for name in ("kernel_window_bounds", "output_window_bounds", "input_window_bounds")]
    bounds = [int(bound) for bound in config.get("iteration_bounds", [])]
    blocks = ""
    if len(bounds) == 3 and windows[0]:
        rows = int(windows[0][0]) * 8
        if rows * (bounds[2] - 1) < k <= rows * bounds[2]:
            blocks = bounds[2]
    cells = ["x".join(map(str, window)) for window in windows] + ["x".join(map(str, bounds))]
    return ["matrix", found[2], *cells, blocks]


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("chip layer m k n unit emitter kernel_window output_window input_window iterations k_blocks".split())
    for chip in CHIPS:
        for layer, (k, n) in SHAPES.items():
            for m in BATCHES:
                shapes = [jax.ShapeDtypeStruct(s, jnp.bfloat16) for s in ((m, k), (k, n))]
                lowered = lowering.lower_for_topology(jnp.matmul, lowering.TOPOLOGIES[chip], *shapes)
                out.writerow([chip, layer, m, k, n, *plan(lowered.compile().as_text(), k)])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
