#!/usr/bin/env python3
"""Writes the HLO of a JAX function, before and after compilation, for CPU and for TPUs that need not be there.

    python -m venv venv && venv/bin/pip install "jax[tpu]" safetensors numpy
    venv/bin/python scripts/dump_hlo.py my_module:my_function 'bf16[8,1024]' 'f32[1024]' \
        --out dumps --topology v5e:2x2 --topology v5p:2x2x1

my_module is a module's name or a path that ends with .py; the shapes are those of the function's arguments, spelled as in
HLO. The files, all below --out:

    {cpu,tpu/GENERATION}/NAME.before.hlo        what JAX hands to the compiler
    {cpu,tpu/GENERATION}/NAME.excess_on.hlo     what the compiler makes of it (xla_allow_excess_precision=true, the default)
    {cpu,tpu/GENERATION}/NAME.excess_off.hlo    the same with the flag false
    cpu/NAME.inputs.safetensors                 arg0, arg1, ...
    cpu/NAME.excess_{on,off}.outputs.safetensors    out0, out1, ...: what XLA:CPU computed from these inputs

The TPU compiler ships in the libtpu wheel and compiles ahead of time for a named topology; no TPU is used. Topologies
that jax 0.10.2 with libtpu 0.0.42.1 knows: v2:2x2, v3:2x2, v4:2x2x1, v5e:2x2, v5p:2x2x1, v6e:2x2, tpu7x:2x2x1.
"""

import argparse
import importlib
import importlib.util
import inspect
import os
import pathlib
import re
import sys

# Before jax is imported: compute on the CPU.
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def load(path):
    """The module of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


# The file alone, not its package: that has an extension, which a checkout has not built.
lowering = load(pathlib.Path(__file__).resolve().parent.parent / "python" / "ulpgate" / "lowering.py")

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file, save_file

# HLO's names of element types, and JAX's.
DTYPES = {
    "pred": jnp.bool_, "s8": jnp.int8, "s16": jnp.int16, "s32": jnp.int32, "s64": jnp.int64,
    "u8": jnp.uint8, "u16": jnp.uint16, "u32": jnp.uint32, "u64": jnp.uint64,
    "f8e5m2": jnp.float8_e5m2, "f8e4m3fn": jnp.float8_e4m3fn, "f8e4m3fnuz": jnp.float8_e4m3fnuz,
    "f8e5m2fnuz": jnp.float8_e5m2fnuz, "f8e8m0fnu": jnp.float8_e8m0fnu,
    "f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32, "f64": jnp.float64,
}


def shape(text):
    """`bf16[8,1024]` as a shape and a dtype."""
    match = re.fullmatch(r"(\w+)\[([\d,\s]*)\]", text)
    if match is None or match[1] not in DTYPES:
        raise argparse.ArgumentTypeError(f"{text!r} is no shape such as bf16[8,1024]; types: {', '.join(DTYPES)}")
    return tuple(int(dim) for dim in match[2].split(",") if dim.strip()), DTYPES[match[1]]


def function(text):
    """The function that `module:function` or `path.py:function` names."""
    module, colon, name = text.rpartition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{text!r} is not module:function")
    try:
        if module.endswith(".py"):
            loaded = load(pathlib.Path(module))
        else:
            sys.path.insert(0, os.getcwd())
            loaded = importlib.import_module(module)
        return getattr(loaded, name)
    except (ImportError, OSError, AttributeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from error


def draw(shapes, seed, scale):
    """Arguments: standard normal times scale where the type is a float, small integers, or coin tosses."""
    random = np.random.default_rng(seed)
    for dims, dtype in shapes:
        if jnp.issubdtype(dtype, jnp.floating):
            yield np.asarray(random.standard_normal(dims) * scale).astype(dtype)
        elif dtype == jnp.bool_:
            yield np.asarray(random.integers(0, 2, dims)).astype(bool)
        else:
            yield np.asarray(random.integers(0, 100, dims)).astype(dtype)


def write(folder, name, lowered):
    """Writes the three texts, and returns the two executables."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.before.hlo").write_text(lowering.text_before(lowered))
    compiled = lowering.compile_both(lowered)
    for setting, executable in compiled.items():
        (folder / f"{name}.{setting}.hlo").write_text(lowering.text_of(executable))
    print(f"{folder}/{name}.{{before,excess_on,excess_off}}.hlo")
    return compiled


def numbered(prefix, arrays):
    """Tensors by their numbered names, contiguous; scalars stay scalars."""
    return {f"{prefix}{i}": np.array(array, order="C") for i, array in enumerate(arrays)}


def on_cpu(f, name, folder, arguments):
    """Writes HLO, inputs and outputs of XLA:CPU."""
    device = jax.devices("cpu")[0]
    placed = [jax.device_put(argument, device) for argument in arguments]
    compiled = write(folder, name, lowering.lower_for_cpu(f, *placed))
    save_file(numbered("arg", arguments), folder / f"{name}.inputs.safetensors")
    for setting, executable in compiled.items():
        outputs = jax.tree.leaves(executable(*placed))
        save_file(numbered("out", outputs), folder / f"{name}.{setting}.outputs.safetensors")


def for_topology(f, name, folder, topology, arguments):
    """Writes the HLO that the TPU compiler makes for one chip of this topology."""
    try:
        lowered = lowering.lower_for_topology(f, topology, *arguments)
    except lowering.LoweringError as error:
        sys.exit(f"dump_hlo: {error}")
    write(folder, name, lowered)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", type=function, help="module:function or path.py:function")
    parser.add_argument("shapes", type=shape, nargs="*", help="the arguments' shapes: bf16[8,1024]")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="folder to write to")
    parser.add_argument("--name", help="name of the files; default: the function's")
    parser.add_argument("--topology", action="append", default=[], help="a TPU topology, as v5e:2x2; may be repeated")
    parser.add_argument("--no-cpu", action="store_true", help="leave XLA:CPU out")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs")
    parser.add_argument("--scale", type=float, default=1.0, help="standard deviation of float inputs")
    parser.add_argument("--inputs", type=pathlib.Path, help="a safetensors file with arg0, ... to use instead of shapes")
    options = parser.parse_args()

    takes = [p for p in inspect.signature(options.function).parameters.values() if p.default is p.empty]
    if not options.inputs and len(options.shapes) < len([p for p in takes if p.kind is p.POSITIONAL_OR_KEYWORD]):
        parser.error(f"{len(options.shapes)} shapes are given, but the function takes {len(takes)} arguments")
    if options.inputs:
        tensors = load_file(options.inputs)
        arguments = [tensors[f"arg{i}"] for i in range(len(tensors))]
    else:
        arguments = list(draw(options.shapes, options.seed, options.scale))
    # File names without their folders, so that dumps do not tell where they were made; 64-bit types only where asked for.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    jax.config.update("jax_enable_x64", any(a.dtype in ("int64", "uint64", "float64") for a in arguments))
    name = options.name or options.function.__name__
    if not options.no_cpu:
        on_cpu(options.function, name, options.out / "cpu", arguments)
    for topology in options.topology:
        generation = topology.split(":")[0]
        for_topology(options.function, name, options.out / "tpu" / generation, topology, arguments)


if __name__ == "__main__":
    main()
