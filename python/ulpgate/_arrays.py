"""NumPy arrays as the extension takes and gives them: bytes with a type and dims."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ._ulpgate import Error

Array = npt.NDArray[Any]

# HLO's names of element types by NumPy's; below those that only ml_dtypes has.
_NUMPY = {
    "bool": "pred",
    "int8": "s8", "int16": "s16", "int32": "s32", "int64": "s64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "f16", "float32": "f32", "float64": "f64",
}  # fmt: skip
_ML_DTYPES = {
    "bfloat16": "bf16",
    "float8_e3m4": "f8e3m4", "float8_e4m3": "f8e4m3", "float8_e4m3b11fnuz": "f8e4m3b11fnuz",
    "float8_e4m3fn": "f8e4m3fn", "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2": "f8e5m2",
    "float8_e5m2fnuz": "f8e5m2fnuz", "float8_e8m0fnu": "f8e8m0fnu", "float4_e2m1fn": "f4e2m1fn",
    "int1": "s1", "int2": "s2", "int4": "s4", "uint1": "u1", "uint2": "u2", "uint4": "u4",
}  # fmt: skip
# HLO's names by the names of NumPy and ml_dtypes.
_TO_HLO = _NUMPY | _ML_DTYPES
_FROM_HLO = {hlo: name for names in (_NUMPY, _ML_DTYPES) for name, hlo in names.items()}
# Integers of fewer than eight bits cross as integers of eight.
_SMALL = {"s1": "int8", "s2": "int8", "s4": "int8", "u1": "uint8", "u2": "uint8", "u4": "uint8"}


def hlo_name(name: Any) -> str:
    """HLO's name of an element type: given as that, by NumPy's name, or as a type of NumPy's or ml_dtypes'.

    >>> hlo_name("f32"), hlo_name("float32"), hlo_name(np.int32), hlo_name("bfloat16")
    ('f32', 'f32', 's32', 'bf16')
    """
    try:
        known = name if isinstance(name, str) else str(np.dtype(name).name)
    except TypeError as error:
        raise Error(f"{name!r} is no element type") from error
    return _TO_HLO.get(known, known)


def dtype(name: Any) -> np.dtype[Any]:
    """NumPy's type of a name of HLO or NumPy, of ml_dtypes where NumPy has none.

    >>> dtype("s32"), dtype("bf16"), dtype("float16")
    (dtype('int32'), dtype(bfloat16), dtype('float16'))
    """
    name = hlo_name(name)
    if name not in _FROM_HLO:
        raise Error(f"there is no element type {name}; known: {', '.join(_FROM_HLO)}, and NumPy's names of these")
    own = _FROM_HLO[name]
    if own in _NUMPY:
        return np.dtype(own)
    try:
        import ml_dtypes
    except ImportError as error:
        raise Error(f"{name} needs a package: pip install ml_dtypes") from error
    if not hasattr(ml_dtypes, own):
        raise Error(f"{name} needs a newer package: pip install --upgrade ml_dtypes ({ml_dtypes.__version__} has no {own})")
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, own))
    return found


def array(values: npt.ArrayLike, name: Any) -> Array:
    """An array of an element type: HLO's ``pred``, ``s4`` to ``u64``, ``f4e2m1fn`` to ``f64``, or NumPy's ``bfloat16``.

    >>> array([1, 2.5], "bf16")
    array([1, 2.5], dtype=bfloat16)
    """
    return np.asarray(values).astype(dtype(name))


def as_array(value: Any) -> Array:
    """An array of what NumPy takes, of a jax array, or of a tensor of PyTorch on any device, also of bf16 and of eight-bit floats.

    >>> as_array([1, 2]).shape
    (2,)
    """
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach"):
        return _of_torch(value.detach().cpu().contiguous())
    return np.asarray(value)


def _of_torch(tensor: Any) -> Array:
    """A tensor on the CPU. NumPy has no type for some of PyTorch's, whose bits it takes as integers."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name in _NUMPY or name not in _ML_DTYPES:
        try:
            return np.asarray(tensor.numpy())
        except TypeError as error:
            raise Error(f"a tensor of {tensor.dtype} is of no type that HLO has") from error
    import torch

    bits = tensor.view(torch.int16 if tensor.element_size() == 2 else torch.uint8).numpy()
    return np.asarray(bits.view(dtype(_ML_DTYPES[name])))


def _encoded(name: str, value: Array) -> tuple[str, str, tuple[int, ...], bytes]:
    hlo = _NUMPY.get(value.dtype.name) or _ML_DTYPES.get(value.dtype.name)
    if hlo is None:
        raise Error(f"{name} is of type {value.dtype}, which HLO does not have")
    if hlo in _SMALL:
        value = value.astype(_SMALL[hlo])
    if sys.byteorder == "big" or value.dtype.byteorder == ">":
        value = value.astype(value.dtype.newbyteorder("<"))
    return name, hlo, value.shape, value.tobytes()


def encode(arrays: Mapping[str, Any]) -> list[tuple[str, str, tuple[int, ...], bytes]]:
    """Named arrays for the extension; a complex one is two, of real and of imaginary parts."""
    encoded = []
    for name, given in arrays.items():
        value = as_array(given)
        if value.dtype.kind == "c":
            encoded += [_encoded(f"{name}.real", value.real), _encoded(f"{name}.imag", value.imag)]
        else:
            encoded.append(_encoded(name, value))
    return encoded


def encode_arguments(arguments: tuple[Any, ...]) -> list[tuple[str, str, tuple[int, ...], bytes]]:
    """The arguments of a program: in order, or one mapping of their names (``arg0``, or ``arg0@1`` of device 1)."""
    if len(arguments) == 1 and isinstance(arguments[0], Mapping):
        return encode(arguments[0])
    return encode({f"arg{i}": argument for i, argument in enumerate(arguments)})


def decode(name: str, dims: Iterable[int], data: bytes) -> Array:
    """The array of these bytes, ``name`` being HLO's of its type."""
    stored = np.dtype(_SMALL[name]) if name in _SMALL else dtype(name)
    value = np.frombuffer(data, stored if stored.name in _ML_DTYPES else stored.newbyteorder("<"))
    return value.reshape(tuple(dims)).astype(dtype(name))


def complex_joined(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The same with parts ``NAME.real`` and ``NAME.imag`` as one array of complex numbers."""
    joined: dict[str, Array] = {}
    for name, value in arrays.items():
        whole, dot, part = name.rpartition(".")
        if part == "real" and f"{whole}.imag" in arrays:
            # Not by arithmetic, in which infinities become NaN.
            both = np.empty(value.shape, np.result_type(value.dtype, np.complex64))
            both.real, both.imag = value, arrays[f"{whole}.imag"]
            joined[whole] = both
        elif not (part == "imag" and dot and f"{whole}.real" in arrays):
            joined[name] = value
    return joined
