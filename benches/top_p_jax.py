"""Times the like of `benches/vector.rs` (64 rows) and `benches/hlo_eval.rs` (8 rows) in JAX: bf16 softmax, top-p at 0.9
and argmax over rows of 131072 logits.

One thread: XLA_FLAGS=--xla_cpu_multi_thread_eigen=false taskset -c 0 python benches/top_p_jax.py [ROWS]
All threads: python benches/top_p_jax.py [ROWS]
"""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 64
N, ROUNDS = 131_072, 5


def top_p(x):
    p = jax.nn.softmax(x, axis=-1)
    wide = p.astype(jnp.float32)
    falling = jnp.sort(wide, axis=-1)[..., ::-1]
    mass = jnp.cumsum(falling, axis=-1)
    count = jnp.sum(mass < 0.9, axis=-1, keepdims=True)
    threshold = jnp.take_along_axis(falling, count, axis=-1)
    keep = wide >= threshold
    kept = jnp.where(keep, p, 0)
    return p, threshold[..., 0], jnp.sum(keep, axis=-1), jnp.argmax(kept, axis=-1)


logits = 3 * np.random.default_rng(0).normal(size=(ROWS, N)).astype(np.float32)
x = jnp.asarray(logits, jnp.bfloat16)
compiled = jax.jit(top_p)
jax.block_until_ready(compiled(x))
best = float("inf")
for _ in range(ROUNDS):
    started = time.perf_counter()
    jax.block_until_ready(compiled(x))
    best = min(best, time.perf_counter() - started)
print(f"jax {jax.__version__}: top_p [{ROWS}, {N}] bf16: {best * 1e3:.1f} ms, best of {ROUNDS}")
