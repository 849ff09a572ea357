"""Write the plans of collectives that a TPU's compiler makes, one row a topology, operation, type and size.

    python scripts/collective_plans.py tests/data/collectives/plans.csv

Compiles ahead of time, without a TPU (FACTS 9.2). `mesh` says how `jax.make_mesh` lays one axis over the chips: `x,y,z` where
it counts along z first (row-major in x, y, z), else the coordinates of the first devices.
"""

import csv
import importlib.metadata
import json
import re
import sys

import ahead_of_time  # noqa: F401  (keeps libtpu from looking for a TPU, before jax is imported)
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

TOPOLOGIES = [
    ("v2:2x2", ""), ("v2:4x4", ""), ("v3:2x2", ""), ("v3:4x4", ""),
    ("v4:2x2x1", "megacore"), ("v4:2x2x2", "megacore"), ("v4:2x2x4", "megacore"), ("v4:2x4x4", "megacore"),
    ("v4:4x4x4", "megacore"),
    ("v5e:2x2", ""), ("v5e:2x4", ""), ("v5e:4x4", ""), ("v5e:4x8", ""), ("v5e:8x8", ""), ("v5e:16x16", ""),
    ("v5p:2x2x1", ""), ("v5p:2x2x2", ""), ("v5p:2x2x4", ""), ("v5p:2x4x4", ""), ("v5p:4x4x4", ""),
    ("v6e:2x2", ""), ("v6e:2x4", ""), ("v6e:4x4", ""), ("v6e:8x8", ""), ("v6e:16x16", ""),
    ("tpu7x:2x2x1", ""), ("tpu7x:2x2x2", ""), ("tpu7x:4x4x4", ""),
]
SIZES = [(1,), (8, 128), (8, 512), (64, 1024), (1024, 1024), (8, 1048576)]
OPERATIONS = {
    "psum": lambda x: lax.psum(x, "i"),
    "psum_scatter": lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
    "all_gather": lambda x: lax.all_gather(x, "i"),
}
COLUMNS = [
    "jax", "libtpu", "topology", "chip_config", "devices", "mesh", "operation", "dtype", "dims", "opcode", "emitter",
    "strategy", "colors", "phases", "rings", "dim_sizes", "dim_used", "has_reordering_map",
]
COLLECTIVE = re.compile(r" (all-reduce|all-reduce-start|reduce-scatter|all-gather|all-gather-start|all-to-all)\(")


def mesh_order(devices):
    """The order in which one axis of a mesh takes the chips, in words."""
    order = [tuple(d.coords) + (d.core_on_chip,) for d in jax.make_mesh((len(devices),), ("i",), devices=devices).devices.flat]
    if order == sorted(order):
        return "x,y,z"
    return " ".join("".join(map(str, place)) for place in order[:8])


def field(debug, name):
    """The value of one field of the plan's text."""
    found = re.search(rf"\b{name}:(\{{[\d ]*\}}(?:,\{{[\d ]*\}})*|[^ {{}}]+)", debug)
    return found.group(1) if found else ""


def plans(devices, operation, dtype, dims):
    """The collectives of one compiled program: opcode and configuration."""
    mesh = Mesh(np.array(devices), ("i",))
    mapped = jax.jit(jax.shard_map(OPERATIONS[operation], mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False))
    argument = jax.ShapeDtypeStruct(dims, jnp.dtype(dtype), sharding=NamedSharding(mesh, P()))
    text = mapped.trace(argument).lower(lowering_platforms=("tpu",)).compile().as_text()
    for line in text.splitlines():
        if opcode := COLLECTIVE.search(line):
            config = re.search(r"backend_config=(\{.*\})", line)
            config = json.loads(config.group(1)) if config else {}
            yield opcode.group(1), config.get("collective_algorithm_config") or {}


def main():
    versions = [importlib.metadata.version(name) for name in ("jax", "libtpu")]
    with open(sys.argv[1], "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for topology, config in TOPOLOGIES:
            options = {"chip_config_name": config} if config else {}
            devices = topologies.get_topology_desc(topology_name=topology, platform="tpu", **options).devices
            order = mesh_order(devices)
            devices = sorted(devices, key=lambda device: device.id)
            for operation in OPERATIONS:
                for dtype in ("float32", "bfloat16"):
                    for dims in SIZES:
                        if operation != "psum" and (len(dims) < 2 or dims[1] % len(devices) or operation == "all_gather" and dims[1] > 1024):
                            continue
                        row = [*versions, topology, config, len(devices), order, operation, dtype, "x".join(map(str, dims))]
                        for opcode, algorithm in plans(devices, operation, dtype, dims):
                            debug = algorithm.get("debug", "").strip()
                            fields = ["colors", "phases", "cores", "dim_sizes", "dim_used", "has_reordering_map"]
                            told = [field(debug, name) for name in fields]
                            out.writerow([*row, opcode, algorithm.get("emitter", ""), algorithm.get("strategy", ""), *told])
                            file.flush()
            print(topology, flush=True)


if __name__ == "__main__":
    main()
