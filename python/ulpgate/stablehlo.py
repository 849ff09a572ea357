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

    def __init__(self, name: str, bytecode: bytes, arguments: list[Argument]) -> None:
        self.name = name
        self.arguments = arguments
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
        _check_devices(module)
        arguments = [_argument(number, kind) for number, kind in enumerate(_entry(module).type.inputs)]
        return Program(name, _bytecode_of(module), arguments)


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


def _check_devices(module: Any) -> None:
    for what in ("num_partitions", "num_replicas"):
        given = module.operation.attributes
        name = f"mhlo.{what}"
        if name in given and ir.IntegerAttr(given[name]).value != 1:
            count = ir.IntegerAttr(given[name]).value
            raise ProgramError(f"{name} is {count}: give the program of one device")


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

    def __init__(self, executable: Any, device: Any) -> None:
        self._executable = executable
        self._device = device

    def runtime_executable(self) -> Any:
        return self._executable

    def as_text(self) -> str:
        return str(self._executable.hlo_modules()[0].to_string())

    def __call__(self, *arguments: Any) -> list[np.ndarray]:
        """The results on the CPU."""
        placed = [jax.device_put(argument, self._device) for argument in arguments]
        results = self._executable.execute_sharded(placed).disassemble_into_single_device_arrays()
        return [np.asarray(shards[0]) for shards in results]


class Lowered:
    """A program on its way to the compiler of one device, with the methods of JAX's that dumps use."""

    def __init__(self, program: Program, device: Any) -> None:
        self._program = program
        self._device = device

    def as_text(self, dialect: str = "hlo") -> str:
        """HLO before compilation, with its constants in full; or StableHLO."""
        with self._program.module() as module:
            if dialect == "stablehlo":
                return str(module)
            computation = _jax.mlir.mlir_module_to_xla_computation(_bytecode_of(module), use_tuple_args=False, return_tuple=False)
        options = _print_options()
        return str(computation.get_hlo_module().to_string(options))

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Executable:
        device = self._device
        options = compiler.get_compile_options(
            num_replicas=1,
            num_partitions=1,
            device_assignment=np.array([[device.id]]),
            env_options_overrides=compiler_options or {},
        )
        devices = _jax.DeviceList((device,))
        with self._program.module() as module:
            client = device.client
            compile_it = client.compile_and_load if device.platform == "cpu" else client.compile
            return Executable(compile_it(module, devices, options), device)


def _print_options() -> Any:
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    # As JAX prints what it hands to the compiler.
    options.print_metadata = True
    return options


def lower_for_cpu(program: Program) -> Lowered:
    """The program for the CPU."""
    return Lowered(program, jax.devices("cpu")[0])


def lower_for_topology(program: Program, topology: str) -> Lowered:
    """The program for one chip of a TPU topology, such as v5e:2x2; no TPU is used.

    Raises ``ProgramError`` if there is no such topology.
    """
    try:
        device = topologies.get_topology_desc(topology_name=topology, platform="tpu").devices[0]
    except Exception as error:
        raise ProgramError(f"topology {topology}: {_first_line(error)}") from error
    return Lowered(program, device)


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
