#!/usr/bin/env python3
"""Writes the HLO of a JAX function, or of StableHLO, before and after compilation, for CPU and for TPUs that need not be there.

    python -m venv venv && venv/bin/pip install "jax[tpu]" safetensors numpy
    venv/bin/python scripts/dump_hlo.py my_module:my_function 'bf16[8,1024]' 'f32[1024]' \
        --out dumps --topology v5e:2x2 --topology v5p:2x2x1
    venv/bin/python scripts/dump_hlo.py model.mlir --out dumps --topology v5e

In the place of a function stands the file of a program, of any framework: StableHLO (.mlir, .mlirbc), a serialised
HloModuleProto (.pb), or HLO text before compilation (.hlo). It says its arguments itself.

my_module is a module's name or a path that ends with .py; my_function is anything in it that can be called: a function,
a functools.partial, an object (`model.apply` takes an attribute of one). An argument is

    bf16[8,1024]                            an array, spelled as in HLO
    {'w': f32[64,64], 'b': [f32[64]]}       a structure of arrays, as Python writes it: dicts, lists, tuples
    4, 'mean', True                         what is static: a Python literal without arrays
    axis=-1, x=bf16[8,1024]                 any of these by the name of its parameter

The files, all below --out:

    {cpu,tpu/GENERATION}/NAME.before.hlo        what JAX hands to the compiler
    {cpu,tpu/GENERATION}/NAME.excess_on.hlo     what the compiler makes of it (xla_allow_excess_precision=true, the default)
    {cpu,tpu/GENERATION}/NAME.excess_off.hlo    the same with the flag false
    cpu/NAME.inputs.safetensors                 arg0, arg1, ...: the leaves of the arguments, in JAX's order
    cpu/NAME.excess_{on,off}.outputs.safetensors    out0, out1, ...: what XLA:CPU computed from these inputs
    {cpu,tpu/GENERATION}/NAME.cut_inputs.safetensors    of a program for several devices (StableHLO of jax.jit over a mesh):
                                                what each of them takes of the inputs, arg0@0, ..., for the compiled files
    {cpu,tpu/GENERATION}/NAME.made.json         what made them: releases, topology, flags, function, shapes, draw, seed
                                                (`ulpgate hlo diff` tells what differs between two)

Inputs are drawn so that they find something (--draw rows): of eight rows of an array argument six are normal, of standard
deviation 1, 4 and 16; in one two tokens at the top lie so close that bf16 hardly tells them apart, in one a single token
has nearly all the probability. More rows find more. Weights, arguments of two or more dims that are contracted with activations
(scripts/jaxpr_roles.py), are normal of standard deviation 1/sqrt(fan-in), so that activations keep their size from layer to
layer. A softmax that inputs saturate is told.

The TPU compiler ships in the libtpu wheel and compiles ahead of time for a named topology; no TPU is used. Topologies
that jax 0.10.2 with libtpu 0.0.42.1 knows: v2:2x2, v3:2x2, v4:2x2x1, v5e:2x2, v5p:2x2x1, v6e:2x2, tpu7x:2x2x1.
"""

import argparse
import ast
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import itertools
import json
import operator
import os
import pathlib
import re
import sys
from typing import NamedTuple

# Before jax is imported: compute on the CPU.
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def load(path):
    """The module of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


try:
    # The file alone, not its package: that has an extension, which a checkout has not built.
    lowering = load(pathlib.Path(__file__).resolve().parent.parent / "python" / "ulpgate" / "lowering.py")
    stablehlo = load(pathlib.Path(__file__).resolve().parent.parent / "python" / "ulpgate" / "stablehlo.py")
    roles = load(pathlib.Path(__file__).resolve().parent / "jaxpr_roles.py")

    import jax
    import jax.numpy as jnp
    import numpy as np
    import safetensors
    from safetensors.numpy import save
except ModuleNotFoundError as missing:
    sys.exit(
        f"dump_hlo.py: {missing.name} is not installed for {sys.executable}; run it by a Python that has it: "
        "python3 -m venv venv && venv/bin/pip install 'jax[tpu]' safetensors"
    )

# HLO's names of element types, and JAX's; of the small floats those that this jax has.
DTYPES = {
    "pred": jnp.bool_, "s8": jnp.int8, "s16": jnp.int16, "s32": jnp.int32, "s64": jnp.int64,
    "u8": jnp.uint8, "u16": jnp.uint16, "u32": jnp.uint32, "u64": jnp.uint64,
    "f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32, "f64": jnp.float64,
} | {
    hlo: getattr(jnp, name) for hlo, name in {
        "f8e5m2": "float8_e5m2", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz",
        "f8e5m2fnuz": "float8_e5m2fnuz", "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e4m3": "float8_e4m3",
        "f8e3m4": "float8_e3m4", "f8e8m0fnu": "float8_e8m0fnu",
    }.items() if hasattr(jnp, name)
}  # fmt: skip


# The same types as safetensors calls them. Its load_file knows those of NumPy alone.
STORED = {
    "BOOL": "pred", "I8": "s8", "I16": "s16", "I32": "s32", "I64": "s64", "U8": "u8", "U16": "u16", "U32": "u32", "U64": "u64",
    "F16": "f16", "BF16": "bf16", "F32": "f32", "F64": "f64", "F8_E5M2": "f8e5m2", "F8_E4M3": "f8e4m3fn",
    "F8_E4M3FNUZ": "f8e4m3fnuz", "F8_E5M2FNUZ": "f8e5m2fnuz", "F8_E8M0": "f8e8m0fnu",
}  # fmt: skip


class Shape(NamedTuple):
    """The dims and the element type of an array that is yet to be drawn."""

    dims: tuple
    dtype: object


def is_shape(leaf):
    return isinstance(leaf, Shape)


def leaves(argument):
    """Shapes and literals of an argument, in JAX's order."""
    return jax.tree.leaves(argument, is_leaf=is_shape)


def argument(text):
    """An argument and the name it is given by, or none: `axis=-1`, `bf16[8,1024]`, `{'w': f32[64,64]}`."""
    name, equals, value = text.partition("=")
    if not (equals and name.strip().isidentifier()):
        name, value = None, text
    shapes = []

    def hold(match):
        if match[1] not in DTYPES:
            raise argparse.ArgumentTypeError(f"{match[0]!r}: no type {match[1]}; types: {', '.join(DTYPES)}")
        shapes.append(Shape(tuple(int(dim) for dim in match[2].split(",") if dim.strip()), DTYPES[match[1]]))
        return f"{{{len(shapes) - 1}}}"  # A set of one number: nothing else that a structure may hold is a set.

    held = re.sub(r"\b([a-z]\w*)\[([\d,\s]*)\]", hold, value)
    try:
        structure = ast.literal_eval(held.strip())
    except (ValueError, SyntaxError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither an array such as bf16[8,1024], nor a structure of arrays, nor a Python literal"
        ) from error
    given = jax.tree.map(lambda leaf: shapes[min(leaf)] if isinstance(leaf, set) else leaf, structure)
    return name and name.strip(), given


def topology_of(text):
    """A TPU topology, or the usual one of a generation."""
    if ":" in text:
        return text
    if text not in lowering.TOPOLOGIES:
        known = ", ".join(lowering.TOPOLOGIES)
        raise argparse.ArgumentTypeError(f"no TPU generation is called {text!r}; known: {known}; or a topology, as v5e:2x2")
    return lowering.TOPOLOGIES[text]


def function(text):
    """A function that `module:function` or `path.py:function` names, or the program of a file; a name for its files; the text."""
    if stablehlo.is_program(text):
        try:
            program = stablehlo.read(text)
        except stablehlo.ProgramError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return program, program.name, text
    module, colon, name = text.rpartition(":")
    if not colon:
        ends = ", ".join(stablehlo.KINDS)
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither module:function, such as sampler.py:keep_max, nor a program's file, which ends with one of {ends}"
        )
    try:
        if module.endswith(".py"):
            sys.path.insert(0, str(pathlib.Path(module).resolve().parent))
            loaded = load(pathlib.Path(module))
        else:
            sys.path.insert(0, os.getcwd())
            loaded = importlib.import_module(module)
        found = operator.attrgetter(name)(loaded)
    except (ImportError, OSError, AttributeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from error
    if not callable(found):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be called: it is a {type(found).__name__}")
    return found, name.replace(".", "_"), text


def of_arrays(f, given, name):
    """The function of those arguments that hold arrays, and these: what is static is bound.

    `given` are pairs of a parameter's name, or none, and its argument.
    """
    arrays = [value for _, value in given if any(map(is_shape, leaves(value)))]

    def of(*values):
        rest = iter(values)
        every = [(key, next(rest) if any(map(is_shape, leaves(value))) else value) for key, value in given]
        return f(*(v for key, v in every if key is None), **{key: v for key, v in every if key is not None})

    of.__name__ = name
    if names := names_of(f, given):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        of.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    return of, arrays


def names_of(f, given):
    """The names of the parameters that get arrays, by which the dump calls its own; none where the function does not say."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    single = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [parameter.name if parameter.kind in single else None for parameter in parameters]
    names = []
    for at, (key, value) in enumerate(given):
        if any(map(is_shape, leaves(value))):
            names.append(key or (own[at] if at < len(own) else None))
    return names if None not in names else []


def check(f, given):
    """Fails where the function does not take such arguments."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return  # Some builtins do not say.
    signature.bind(*(v for key, v in given if key is None), **{key: v for key, v in given if key is not None})


# What rows are multiplied by, in turn; the last two of a turn hold one more thing each.
SCALES = (1, 4, 16, 1, 4, 16, 4, 1)


def rows(random, dims):
    """Rows in turn: normal of each of SCALES; two tokens at the top that bf16 hardly tells apart; one token that has nearly all."""
    drawn = random.standard_normal(dims)
    turn = len(SCALES)
    flat = drawn.reshape(-1, dims[-1])
    for first, scale in enumerate(SCALES):
        flat[first::turn] *= scale
    if dims[-1] > 1:
        for row in flat[turn - 2 :: turn]:
            second, first = np.argsort(row)[-2:]
            row[second] = row[first] - abs(row[first]) * float(jnp.finfo(jnp.bfloat16).eps) / 2
        for row in flat[turn - 1 :: turn]:
            # The exponentials of n standard normal logits sum to about n * exp(1/2).
            row[random.integers(dims[-1])] = np.log(dims[-1]) + 8
    return drawn


def draw(shape, random, scale, by_rows, fan_in=None):
    """An array: floats standard normal or by rows, times scale; weights by their fan-in; small integers; coin tosses."""
    dims, dtype = shape
    if jnp.issubdtype(dtype, jnp.floating):
        drawn = rows(random, dims) if by_rows and len(dims) > 1 and not fan_in else random.standard_normal(dims)
        if fan_in:
            drawn /= np.sqrt(fan_in)
        if dtype == DTYPES.get("f8e8m0fnu"):
            drawn = np.exp2(np.round(drawn))  # Powers of two, and nothing else.
        return np.asarray(drawn * scale).astype(dtype)
    if dtype == jnp.bool_:
        return np.asarray(random.integers(0, 2, dims)).astype(bool)
    return np.asarray(random.integers(0, 100, dims)).astype(dtype)


def fan_ins(f, arguments):
    """The fan-in of each weight, by the number of its leaf; none where the function is not traced: lowering says why."""
    abstract = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(*leaf) if is_shape(leaf) else leaf, arguments, is_leaf=is_shape)
    in_structure = [not is_shape(value) for value in arguments for _ in leaves(value)]
    try:
        return roles.weights(f, abstract, in_structure)
    except Exception:
        return {}


def draw_arguments(arguments, seed, scale, draws_rows, fan_in=None):
    """Structures of arrays for structures of shapes. An array that is an argument of its own is drawn by rows; in structures
    all is standard normal; weights by their `fan_in`, which leaves have by their numbers. Numbers stay what they are."""
    random, fan_in, numbers = np.random.default_rng(seed), fan_in or {}, itertools.count()

    def drawn(leaf, alone):
        number = next(numbers)
        return draw(leaf, random, scale, draws_rows and alone, fan_in.get(number)) if is_shape(leaf) else leaf

    return [jax.tree.map(lambda leaf, alone=is_shape(value): drawn(leaf, alone), value, is_leaf=is_shape) for value in arguments]


def warn_of_saturation(f, name, arguments):
    """Says which softmaxes these inputs saturate. What cannot be evaluated step by step is not looked at, which is said, too."""
    try:
        told = roles.saturated(f, arguments)
    except Exception as error:
        told = [f"whether inputs saturate a softmax was not seen: {type(error).__name__}: {lowering.first_line(error)}"]
    for line in told:
        print(f"dump_hlo: warning: {name}: {line} (--scale makes inputs smaller, --inputs takes your own)", file=sys.stderr)


def write(folder, name, lowered, made, topology=None):
    """Writes the three texts and what made them, and returns the two executables."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"before": lowering.text_before(lowered)}
    compiled = lowering.compile_both(lowered)
    texts |= {setting: lowering.text_of(executable) for setting, executable in compiled.items()}
    for form, text in texts.items():
        (folder / f"{name}.{form}.hlo").write_text(stablehlo.without_folders(text))
    made = {**made, "topology": topology or "cpu"}
    (folder / f"{name}.made.json").write_text(json.dumps(made, indent=2) + "\n")
    print(f"{folder}/{name}.{{before,excess_on,excess_off}}.hlo")
    return compiled


# Variables that hold flags of XLA's and of libtpu's compiler.
FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_NUMPY_DTYPE_PROMOTION")


def releases():
    """The releases of what lowers and compiles, by package; those that are not installed are left out."""
    found = {}
    for package in ("jax", "jaxlib", "libtpu"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


class Spelled(str):
    """A text that stands in a structure without quotation marks."""

    __repr__ = str.__str__


def manifest(options, text, given):
    """What made the dumps, but for the topology: of the function that a text names, of these arguments; of paths the last name alone."""
    names = {np.dtype(dtype): hlo for hlo, dtype in DTYPES.items()}

    def shape(leaf):
        return Spelled(f"{names[np.dtype(leaf.dtype)]}[{','.join(map(str, leaf.dims))}]") if is_shape(leaf) else leaf

    spelled = [(name, repr(jax.tree.map(shape, value, is_leaf=is_shape))) for name, value in given]
    drawn = {"draw": options.draw, "seed": options.seed, "scale": options.scale}
    inputs = {"inputs": options.inputs.name} if options.inputs else drawn
    return {
        "manifest": 1,
        **releases(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "flags": {flag: os.environ[flag] for flag in FLAGS if os.environ.get(flag)},
        "function": re.sub(r"^.*/", "", text),
        "shapes": [f"{name}={value}" if name else value for name, value in spelled],
        **inputs,
    }


def read_tensors(path, prefix):
    """Numbered tensors of a file: arg0, arg1, ... with the prefix arg."""
    named = {
        name: np.frombuffer(stored["data"], DTYPES[STORED[stored["dtype"]]]).reshape(stored["shape"])
        for name, stored in safetensors.deserialize(path.read_bytes())
    }
    return [named[f"{prefix}{i}"] for i in range(len(named))]


def write_tensors(path, named):
    """Tensors by their names, contiguous; scalars stay scalars. Types that safetensors does not have stand in wider ones, as those
    that `ulpgate hlo eval` writes."""
    wider = {"int4": np.int8, "int2": np.int8, "uint4": np.uint8, "uint2": np.uint8}
    arrays = {name: np.array(jnp.asarray(array), order="C") for name, array in named.items()}
    held = {name: array.astype(wider.get(array.dtype.name, array.dtype)) for name, array in arrays.items()}
    # Not save_file, which lets nobody else read what it writes.
    path.write_bytes(save(held))


def numbered(arrays):
    return {f"arg{number}": array for number, array in enumerate(arrays)}


def write_cut(folder, name, compiled, arguments):
    """Writes what each of several devices takes; nothing where there is one device."""
    cut = stablehlo.cut_arguments(compiled["excess_on"], jax.tree.leaves(arguments))
    if cut is not None:
        write_tensors(folder / f"{name}.cut_inputs.safetensors", cut)


def on_cpu(f, name, folder, arguments, made):
    """Writes HLO, inputs and outputs of XLA:CPU."""
    device = jax.devices("cpu")[0]
    placed = [jax.tree.map(lambda leaf: leaf if isinstance(leaf, (int, float)) else jax.device_put(leaf, device), a) for a in arguments]
    is_program = isinstance(f, stablehlo.Program)
    compiled = write(folder, name, stablehlo.lower_for_cpu(f) if is_program else lowering.lower_for_cpu(f, *placed), made)
    write_tensors(folder / f"{name}.inputs.safetensors", numbered(jax.tree.leaves(arguments)))
    write_cut(folder, name, compiled, arguments)
    for setting, executable in compiled.items():
        write_tensors(folder / f"{name}.{setting}.outputs.safetensors", stablehlo.named_results(executable, placed))


def for_topology(f, name, folder, topology, arguments, made):
    """Writes the HLO that the TPU compiler makes for one chip of this topology, or for as many as a program has."""
    is_program = isinstance(f, stablehlo.Program)
    lowered = stablehlo.lower_for_topology(f, topology) if is_program else lowering.lower_for_topology(f, topology, *arguments)
    write_cut(folder, name, write(folder, name, lowered, made, topology), arguments)


def of_program(program, given):
    """Shapes of a program's arguments, which are not given beside it."""
    if given:
        raise TypeError("a program says its arguments itself: leave them out")
    shapes = []
    for number, argument in enumerate(program.arguments):
        dtype = getattr(jnp, "bool_" if argument.dtype == "bool" else argument.dtype, None)
        if dtype not in DTYPES.values():
            raise TypeError(f"argument {number} is {argument.dtype}, which this script does not draw")
        shapes.append(Shape(argument.shape, dtype))
    return program, shapes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", type=function, help="module:function, path.py:function, or a program: model.mlir, .mlirbc, .pb, .hlo")
    parser.add_argument("arguments", type=argument, nargs="*", help="bf16[8,1024], {'w': f32[64,64]}, axis=-1")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="folder to write to")
    parser.add_argument("--name", help="name of the files; default: the function's")
    parser.add_argument("--topology", action="append", default=[], type=topology_of,
                        help="a TPU generation, as v5e, or a topology, as v5e:2x2; may be repeated")
    parser.add_argument("--no-cpu", action="store_true", help="leave XLA:CPU out")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs")
    parser.add_argument("--scale", type=float, default=1.0, help="what float inputs are multiplied by")
    parser.add_argument("--draw", choices=["rows", "normal"], default="rows", help="how rows of float inputs are drawn")
    parser.add_argument("--inputs", type=pathlib.Path, help="a safetensors file with arg0, ... to use instead of drawing")
    parser.add_argument("--traceback", action="store_true", help="where the function fails, say where in it")
    options = parser.parse_args()

    f, name, text = options.function
    name = options.name or name
    given = options.arguments
    is_program = isinstance(f, stablehlo.Program)
    if options.inputs:
        try:
            flat = read_tensors(options.inputs, "arg")
        except (OSError, KeyError, safetensors.SafetensorError) as error:
            parser.error(f"{options.inputs}: no tensors arg0, arg1, ... of types that are known: {error}")
        given = given or ([] if is_program else [(None, Shape(array.shape, array.dtype)) for array in flat])
    try:
        if is_program:
            f, arguments = of_program(f, given)
            given = [(None, shape) for shape in arguments]
        else:
            check(f, given)
            f, arguments = of_arrays(f, given, name)
    except TypeError as error:
        parser.error(f"{name}: {error}")
    made = manifest(options, text, given)
    if options.inputs:
        shapes, structure = jax.tree.flatten(arguments, is_leaf=is_shape)
        if [(s.dims, np.dtype(s.dtype)) for s in shapes if is_shape(s)] != [(a.shape, a.dtype) for a in flat]:
            parser.error(f"{options.inputs}: holds other arrays than the arguments name")
        rest = iter(flat)
        arguments = jax.tree.unflatten(structure, [next(rest) if is_shape(s) else s for s in shapes])
    # File names without their folders, so that dumps do not tell where they were made; 64-bit types only where asked for.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    wide = ("int64", "uint64", "float64")
    dtypes = [np.dtype(leaf.dtype) for value in arguments for leaf in leaves(value) if hasattr(leaf, "dtype")]
    jax.config.update("jax_enable_x64", any(dtype.name in wide for dtype in dtypes))
    if is_program and f.devices > 1:
        # Before the first device is asked for.
        jax.config.update("jax_num_cpu_devices", f.devices)
    if not options.inputs:
        arguments = draw_arguments(arguments, options.seed, options.scale, options.draw == "rows", fan_ins(f, arguments))
    try:
        if not options.no_cpu:
            if not is_program:
                warn_of_saturation(f, name, arguments)
            on_cpu(f, name, options.out / "cpu", arguments, made)
        for topology in options.topology:
            for_topology(f, name, options.out / "tpu" / topology.split(":")[0], topology, arguments, made)
    except (lowering.LoweringError, stablehlo.ProgramError) as error:
        sys.exit(f"dump_hlo: {error}")
    except Exception as error:
        if options.traceback:
            raise
        sys.exit(f"dump_hlo: {name}: {type(error).__name__}: {lowering.first_line(error)} (--traceback says where)")


if __name__ == "__main__":
    main()
