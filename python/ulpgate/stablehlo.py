"""StableHLO and serialised HLO of any framework, lowered and compiled as functions of JAX are: by jaxlib, without the framework.

scripts/dump_hlo.py and the other scripts load this file from a checkout: it needs jax alone, and nothing of its package.
"""

import contextlib
import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jax._src.sharding_impls import GSPMDSharding
from jax.experimental import topologies
from jaxlib.mlir import ir

try:
    from jaxlib import _hlo
except ImportError:
    # Before jax 0.10 its functions are part of another module.
    from jaxlib import _jax as _hlo

# The ends of the files that are read, and what they hold.
KINDS = {
    ".mlir": "StableHLO as text, or as bytecode",
    ".mlirbc": "StableHLO as bytecode, or as a portable artifact",
    ".pb": "a serialised HloModuleProto, or HloProto",
    ".hlo": "HLO text",
}
# Element types of MLIR, by NumPy's names; integers without a sign count as signed, as in StableHLO.
_DTYPES = {
    "i1": "bool", "i4": "int4", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "ui4": "uint4", "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64",
    "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
    "f4E2M1FN": "float4_e2m1fn", "f8E3M4": "float8_e3m4", "f8E4M3": "float8_e4m3", "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz", "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E8M0FNU": "float8_e8m0fnu",
    "complex<f32>": "complex64", "complex<f64>": "complex128",
}  # fmt: skip
# The first bytes of MLIR's bytecode.
_BYTECODE = b"ML\xefR"


class ProgramError(Exception):
    """A file holds no program that can be compiled: one line that says why, and what to do."""


@dataclass(frozen=True)
class Argument:
    """The dims of an argument and the name of its element type, as NumPy has it."""

    shape: tuple[int, ...]
    dtype: str


class Program:
    """A program of no framework: StableHLO, and the arguments of its entry."""

    def __init__(self, name: str, bytecode: bytes, arguments: list[Argument], devices: int = 1) -> None:
        self.name = name
        self.arguments = arguments
        # The number of devices that it is for, of which each holds a part.
        self.devices = devices
        self._bytecode = bytecode

    @contextlib.contextmanager
    def module(self) -> Iterator[Any]:
        """The module, in a context of its own, which ends with it."""
        with mlir.make_ir_context():
            yield ir.Module.parse(self._bytecode)


def is_program(path: str) -> bool:
    """Whether a path ends as a file of a program does."""
    return pathlib.PurePath(path).suffix in KINDS


def read(path: str | os.PathLike[str]) -> Program:
    """The program of a file, by the end of its name.

    Raises ``ProgramError`` if there is none.
    """
    place = pathlib.Path(path)
    if place.suffix not in KINDS:
        known = "; ".join(f"{end}: {what}" for end, what in KINDS.items())
        raise ProgramError(f"{place}: a program ends with one of these: {known}")
    try:
        data = place.read_bytes()
    except OSError as error:
        raise ProgramError(f"{place}: {error.strerror}") from error
    name = place.name
    while pathlib.PurePath(name).suffix in {*KINDS, ".before"}:
        name = pathlib.PurePath(name).stem
    try:
        return parse(data, name, place.suffix)
    except ProgramError as error:
        raise ProgramError(f"{place}: {error}") from error


def parse(data: bytes, name: str = "program", kind: str = ".mlir") -> Program:
    """The program in the bytes of a file whose name ends with ``kind``.

    Raises ``ProgramError`` if they are none.
    """
    if kind in (".pb", ".hlo"):
        data = _of_proto(_proto(data, kind))
    with mlir.make_ir_context():
        try:
            module = ir.Module.parse(data if data.startswith(_BYTECODE) else data.decode())
            # A portable artifact is of a dialect that keeps its meaning between releases.
            if any(operation.operation.name.startswith("vhlo.") for operation in module.body.operations):
                module = _jax.mlir.deserialize_portable_artifact(data)
        except Exception as error:
            raise ProgramError(f"it is no StableHLO: {_first_line(error)}") from error
        devices = _devices(module)
        arguments = [_argument(number, kind) for number, kind in enumerate(_entry(module).type.inputs)]
        return Program(name, _bytecode_of(module), arguments, devices)


def _bytecode_of(module: Any) -> bytes:
    return bytes(mlir.module_to_bytecode(module))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # MLIR puts the place behind a general first line.
    told = [line for line in lines if "error:" in line] or lines
    return told[0] if told else type(error).__name__


def _proto(data: bytes, kind: str) -> bytes:
    """A serialised HloModuleProto, of HLO text or of bytes."""
    try:
        if kind == ".hlo":
            return bytes(_hlo.hlo_module_from_text(data.decode()).as_serialized_hlo_module_proto())
        # Of an HloProto, the module is the first field.
        return data if _is_module(data) else _field(data, 1)
    except Exception as error:
        raise ProgramError(f"it is not {KINDS[kind]}: {_first_line(error)}") from error


def _is_module(data: bytes) -> bool:
    """Whether bytes are an HloModuleProto: its first field, the name, is a text and no message, and a computation follows."""
    try:
        return bool(_hlo.XlaComputation(data).as_hlo_text())
    except Exception:
        return False


def _field(data: bytes, number: int) -> bytes:
    """The first field of a message, if it has this number and is a message."""

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            if data[at] < 0x80:
                return value, at + 1
            at, shift = at + 1, shift + 7

    key, at = varint(0)
    size, at = varint(at)
    if key != number << 3 | 2 or at + size > len(data):
        raise ValueError("its first field is no module")
    return data[at : at + size]


def _of_proto(proto: bytes) -> bytes:
    try:
        found = _jax.mlir.hlo_to_stablehlo(proto)
    except Exception as error:
        raise ProgramError(f"jaxlib does not turn it into StableHLO: {_first_line(error)}") from error
    return found if isinstance(found, bytes) else str(found).encode()


def _entry(module: Any) -> Any:
    functions = [operation for operation in module.body.operations if operation.operation.name == "func.func"]
    named = {ir.StringAttr(operation.attributes["sym_name"]).value: operation for operation in functions}
    if "main" in named:
        return named["main"]
    if len(functions) == 1:
        raise ProgramError(f"its function is called {next(iter(named))}: XLA's entry is called main; rename it")
    raise ProgramError("the StableHLO has no function main, which is XLA's entry")


def _devices(module: Any) -> int:
    """The number of devices of a module; each is a partition, as of a function that is jitted over a mesh."""

    def count(name: str) -> int:
        given = module.operation.attributes
        return int(ir.IntegerAttr(given[name]).value) if name in given else 1

    replicas = count("mhlo.num_replicas")
    if replicas != 1:
        raise ProgramError(
            f"mhlo.num_replicas is {replicas}: give a program of one replica, with partitions for its devices, "
            "as jax.jit over a mesh makes it (jax.pmap makes replicas)"
        )
    return count("mhlo.num_partitions")


def _argument(number: int, kind: Any) -> Argument:
    try:
        ranked = ir.RankedTensorType(kind)
        if not ranked.has_static_shape:
            raise ProgramError(f"argument {number} is {kind}: give each dim a size")
        return Argument(tuple(ranked.shape), _DTYPES[str(ranked.element_type)])
    except (ValueError, KeyError) as error:
        raise ProgramError(f"argument {number} is {kind}: arguments are arrays of {', '.join(_DTYPES)}") from error


class Executable:
    """A compiled program, with the methods of JAX's that dumps use."""

    def __init__(self, executable: Any, devices: Sequence[Any]) -> None:
        self._executable = executable
        self._devices = tuple(devices)

    @property
    def device_count(self) -> int:
        return len(self._devices)

    def runtime_executable(self) -> Any:
        return self._executable

    def as_text(self) -> str:
        return str(self._executable.hlo_modules()[0].to_string())

    def _shardings(self) -> list[Any]:
        return [GSPMDSharding(self._devices, sharding) for sharding in self._executable.get_parameter_shardings()]

    def cut(self, arguments: Sequence[Any]) -> dict[str, np.ndarray]:
        """Arguments by the names that a dump has of them: each device's part, ``arg0@0``, ``arg0@1``, ..., or ``arg0`` where all are one."""
        whole = [np.asarray(argument) for argument in arguments]

        def parts(argument: np.ndarray, sharding: Any) -> list[np.ndarray]:
            places = sharding.devices_indices_map(argument.shape)
            return [argument[places[device]] for device in self._devices]

        return _by_device("arg", [parts(argument, sharding) for argument, sharding in zip(whole, self._shardings(), strict=True)])

    def named_results(self, *arguments: Any) -> dict[str, np.ndarray]:
        """The results on the CPU by name: ``out0``, or each device's, ``out0@0``, where devices have other ones."""
        if len(self._devices) == 1:
            placed = [jax.device_put(argument, self._devices[0]) for argument in arguments]
        else:
            placed = [jax.device_put(argument, sharding) for argument, sharding in zip(arguments, self._shardings(), strict=True)]
        results = self._executable.execute_sharded(placed).disassemble_into_single_device_arrays()
        return _by_device("out", results)


def cut_arguments(executable: Any, arguments: Sequence[Any]) -> dict[str, np.ndarray] | None:
    """The parts of the arguments that each of several devices takes, by name; none of a program of one device or of JAX's own."""
    if not isinstance(executable, Executable) or executable.device_count == 1:
        return None
    return executable.cut(arguments)


def named_results(executable: Any, arguments: Sequence[Any]) -> dict[str, np.ndarray]:
    """The results of a program on the CPU by name, of one that is compiled here or by JAX; keys of random numbers as their words."""
    if isinstance(executable, Executable):
        return executable.named_results(*arguments)

    def plain(leaf: Any) -> Any:
        is_key = hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if is_key else leaf)

    return {f"out{number}": plain(leaf) for number, leaf in enumerate(jax.tree.leaves(executable(*arguments)))}


def _by_device(prefix: str, arrays: Sequence[Sequence[Any]]) -> dict[str, np.ndarray]:
    """Arrays of each device by name; one name where all devices have the same."""
    named = {}
    for number, parts in enumerate(arrays):
        each = [np.asarray(part) for part in parts]
        if all(part.shape == each[0].shape and part.tobytes() == each[0].tobytes() for part in each):
            named[f"{prefix}{number}"] = each[0]
        else:
            named |= {f"{prefix}{number}@{device}": part for device, part in enumerate(each)}
    return named


class Lowered:
    """A program on its way to the compiler of its devices, with the methods of JAX's that dumps use."""

    def __init__(self, program: Program, devices: Sequence[Any]) -> None:
        self._program = program
        self._devices = tuple(devices)

    def as_text(self, dialect: str = "hlo") -> str:
        """HLO before compilation, with its constants in full; or StableHLO."""
        return text_before(self._program) if dialect == "hlo" else self._stablehlo()

    def _stablehlo(self) -> str:
        with self._program.module() as module:
            return str(module)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Executable:
        options = compiler.get_compile_options(
            num_replicas=1,
            num_partitions=len(self._devices),
            device_assignment=np.array([[device.id for device in self._devices]]),
            env_options_overrides=compiler_options or {},
        )
        devices = _jax.DeviceList(self._devices)
        with self._program.module() as module:
            client = self._devices[0].client
            compile_it = client.compile_and_load if self._devices[0].platform == "cpu" else client.compile
            return Executable(compile_it(module, devices, options), self._devices)


def text_before(program: Program) -> str:
    """HLO before compilation, with its constants in full; no device is asked for."""
    with program.module() as module:
        computation = _jax.mlir.mlir_module_to_xla_computation(_bytecode_of(module), use_tuple_args=False, return_tuple=False)
    return str(computation.get_hlo_module().to_string(_print_options()))


def _print_options() -> Any:
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    # As JAX prints what it hands to the compiler.
    options.print_metadata = True
    return options


def lower_for_cpu(program: Program) -> Lowered:
    """The program for the CPU, or for as many CPU devices as it has.

    Raises ``ProgramError`` if the process has fewer.
    """
    found = jax.devices("cpu")
    if len(found) < program.devices:
        raise ProgramError(
            f"it is for {program.devices} devices, and this process has {len(found)} on the CPU: set "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={program.devices} before jax is imported, or leave the CPU out"
        )
    return Lowered(program, found[: program.devices])


def lower_for_topology(program: Program, topology: str) -> Lowered:
    """The program for chips of a TPU topology, such as v5e:2x2: for one, or for as many as it has; no TPU is used.

    Raises ``ProgramError`` if there is no such topology, or it has fewer devices.
    """
    try:
        found = topologies.get_topology_desc(topology_name=topology, platform="tpu").devices
    except Exception as error:
        raise ProgramError(f"topology {topology}: {_first_line(error)}") from error
    if len(found) < program.devices:
        raise ProgramError(f"it is for {program.devices} devices, and topology {topology} has {len(found)}: give a larger one")
    return Lowered(program, found[: program.devices])


def without_folders(text: str) -> str:
    """HLO text whose table of source files has their names without folders."""
    head, found, rest = text.partition("\nFileNames\n")
    if not found:
        return text
    table, end, rest = rest.partition("\n\n")
    return head + found + re.sub(r'^(\d+ )".*/', r'\1"', table, flags=re.MULTILINE) + end + rest


def arrays(program: Program, given: Sequence[Any]) -> list[np.ndarray]:
    """Arguments as arrays of the program's types.

    Raises ``ProgramError`` if they are others.
    """
    if len(given) != len(program.arguments):
        raise ProgramError(f"{program.name} takes {len(program.arguments)} arguments, and {len(given)} are given")
    found = []
    for number, (argument, value) in enumerate(zip(program.arguments, given, strict=True)):
        value = np.asarray(value)
        if (value.shape, value.dtype.name) != (argument.shape, argument.dtype):
            have = f"{value.dtype.name}{list(value.shape)}"
            raise ProgramError(f"argument {number} is {have}, and the program takes {argument.dtype}{list(argument.shape)}")
        found.append(value)
    return found
