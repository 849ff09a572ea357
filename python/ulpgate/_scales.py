"""Scaled formats: the rule behind a quantised array, and quantisation by a rule."""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _ulpgate
from ._arrays import Array, decode, encode
from ._hlo import printable_lines


@dataclass(frozen=True)
class ScaleRules:
    """The rules that explain scales, as far as their bytes tell them apart."""

    agrees: bool
    """Whether one class of rules explains all blocks, and nothing else is wrong."""
    rules: list[str]
    """Names of the best class's rules."""
    sub_rules: list[str]
    """Forms of these rules that give the same bytes here."""
    libraries: list[str]
    """Libraries that have these rules."""
    faults: list[str]
    """Everything that is wrong, a sentence each."""
    data: dict[str, Any] = field(repr=False)
    """All of the answer, as ``ulpgate scales --json`` has it."""
    text: str = field(repr=False)
    """The answer as the command line prints it."""

    def __str__(self) -> str:
        return printable_lines(self.text.splitlines())


@dataclass(frozen=True)
class Quantized:
    """A quantised array: an element for each number, one array element each, and a scale for each block."""

    elements: Array
    """The elements, one array element for each number of the input."""
    scales: Array
    """The scales, one for each block."""
    per_tensor: float | None
    """The scale of the whole tensor in NVFP4; None of other formats."""
    zero_points: Array | None = None
    """The zero points, one for each scale; None of rules without them."""


def _bytes_of_small(value: npt.ArrayLike) -> Array:
    """The same array; one of a six-bit type, which HLO does not have, as its codes."""
    array = np.asarray(value)
    return array.view(np.uint8) if array.dtype.name.startswith("float6_") else array


def scales(
    elements: npt.ArrayLike,
    scales: npt.ArrayLike,
    like: npt.ArrayLike | None = None,
    per_tensor: float | None = None,
    zero_points: npt.ArrayLike | None = None,
) -> ScaleRules:
    """The rule that made ``scales``, where ``like`` is the array that was quantised; without it, the rules that bytes exclude.
    ``zero_points`` are those of integers, one for each scale or one of all.

    >>> import numpy as np
    >>> x = np.linspace(1, 9, 64, dtype=np.float32).reshape(2, 32)
    >>> made = quantize(x, "mxfp8/CEIL")
    >>> found = scales(made.elements, made.scales, like=x)
    >>> found.rules
    ['CEIL']
    >>> print(found)
    mxfp8: e4m3 elements, e8m0 scales, blocks of 32 along axis 1, one code an element
    rule: CEIL  ...
    """
    encoded = encode({"elements": _bytes_of_small(elements), "scales": scales})
    input_ = None if like is None else encode({"input": like})[0]
    zeros = None if zero_points is None else encode({"zero_points": zero_points})[0]
    found, text = _ulpgate.scales(encoded[0], encoded[1], per_tensor, input_, zeros)
    data = json.loads(found)
    names = ("agrees", "rules", "sub_rules", "libraries", "faults")
    return ScaleRules(**{name: data[name] for name in names}, data=data, text=text)


def quantize(x: npt.ArrayLike, rule: str, axis: int = -1, block: int | None = None) -> Quantized:
    """An array of f32, bf16 or f16, quantised in blocks along an axis by a rule such as ``mxfp8/RCEIL/a``, ``mxfp4/EVEN/quark``,
    ``nvfp4/NVFP4/torchao``, ``int8/AMAX-127.5`` or ``uint4/MINMAX/torchao``; a rule that is not known raises an error that lists them.

    >>> import numpy as np
    >>> made = quantize(np.linspace(1, 9, 64, dtype=np.float32).reshape(2, 32), "mxfp8/CEIL")
    >>> made.elements.dtype, made.scales.dtype
    (dtype(float8_e4m3fn), dtype(float8_e8m0fnu))
    >>> made.scales.astype(float).ravel()
    array([0.03125, 0.0625 ])
    """
    value = np.asarray(x)
    element, elements, made, per_tensor, zeros = _ulpgate.quantize(
        encode({"input": value})[0], rule, axis % max(value.ndim, 1), block
    )
    codes = decode(*elements)
    if element in ("e3m2", "e2m3"):
        import ml_dtypes

        six_bits = getattr(ml_dtypes, "float6_e3m2fn" if element == "e3m2" else "float6_e2m3fn", None)
        codes = codes if six_bits is None else codes.view(six_bits)
    return Quantized(codes, decode(*made), per_tensor, None if zeros is None else decode(*zeros))
