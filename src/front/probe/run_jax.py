"""Answers the questions of `ulpgate probe` with JAX: `python run_jax.py` in this folder writes answers.npz."""
import json, numpy as np, jax, jax.numpy as jnp
from jax import lax

dot = lambda p: lambda a, b: lax.dot(a, b, precision=p, preferred_element_type=jnp.float32)
total = lambda dim: lambda x: lax.reduce(x, jnp.zeros((), x.dtype), lax.add, (dim % x.ndim,)).astype(jnp.float32)
scan = lambda x: lax.reduce_window(x, 0.0, lax.add, (1, x.shape[1]), (1, 1), ((0, 0), (x.shape[1] - 1, 0)))
ask = {"dot_default": dot("default"), "dot_high": dot("high"), "dot_highest": dot("highest"), "scan": scan,
       "sum_last": total(-1), "sum_first": total(0), "bins": lambda x: lax.approx_max_k(x, 4)[1], "divide": lax.div,
       "maximum": lax.max, "add": lax.add, "add_twice": lambda x, y, z: (x + y + z).astype(jnp.float32),
       "exp": lax.exp, "log": lax.log, "tanh": lax.tanh, "rsqrt": lax.rsqrt}
inputs, questions = np.load("inputs.npz"), json.load(open("manifest.json"))["questions"]
answers = {"about": np.frombuffer(f"jax {jax.__version__} on {jax.devices()[0].device_kind}".encode(), np.uint8)}
for q in questions:
    answers[q["name"]] = np.asarray(jax.jit(ask[q["operation"]])(*[jnp.asarray(inputs[x], q["dtype"]) for x in q["operands"]]))
# The order of an all-reduce, where more than one device is there: masks on two devices, ones on the others.
P, n = jax.sharding.PartitionSpec, jax.device_count()
mesh = jax.sharding.Mesh(jax.make_mesh((n,), ("i",)).devices, ("i",))
psum = jax.jit(jax.shard_map(lambda x: lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P()))
for tiles in [1, 64] if n > 1 else []:
    mask = lambda i, j: np.array([2.0**30 if d == i else -2.0**30 if d == j else 1.0 for d in range(n)], np.float32)
    sums = lambda i, j: np.asarray(psum(np.broadcast_to(mask(i, j)[:, None, None], (n, 8 * tiles, 128))))[0, ::8, 0]
    answers[f"psum{tiles}"] = np.stack([sums(i, j) for i in (0, 1) for j in range(i + 1, n)])
np.savez_compressed("answers.npz", **answers)
