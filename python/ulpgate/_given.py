"""The forms in which a program is given: a function, what jax made of one, a text, or a path of it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _ulpgate
from ._arrays import Array, as_array, encode, encode_arguments
from ._audit import function_name, jax_lowering
from ._hlo import text_of
from ._programs import is_path, text_before

Encoded = list[tuple[str, str, tuple[int, ...], bytes]]


@dataclass(frozen=True)
class Program:
    """A program with its arguments."""

    # What messages call it.
    name: str
    # HLO text: before compilation, but of a Compiled object.
    text: str = field(repr=False)
    is_compiled: bool
    # Its arguments: arrays, or the path of a file of arrays.
    arguments: Encoded | str = field(repr=False)
    # The structure of the results, of what jax lowered.
    out_tree: Any = field(default=None, repr=False)


def program_of(f: Any, args: Sequence[Any], static_argnums: Sequence[int] = ()) -> Program:
    """The program of a function, of a ``Lowered`` or ``Compiled`` object of jax, of HLO text, of StableHLO as text or bytes or of a path,
    with its arguments.

    Of a text the one argument may be a mapping of names, or a path of a file of arrays. Functions are lowered with jax, for the CPU.
    """
    if isinstance(f, (bytes, bytearray)):
        return program_of(text_before(bytes(f)), args)
    if isinstance(f, (str, os.PathLike)):
        name = "hlo" if isinstance(f, str) and not is_path(f) else os.fspath(f)
        if len(args) == 1 and isinstance(args[0], (str, os.PathLike)):
            return Program(name, text_of(f), False, os.fspath(args[0]))
        return Program(name, text_of(f), False, encode_arguments(tuple(args)))
    if hasattr(f, "as_text") and hasattr(f, "in_tree"):
        return _of_stage(f, args)
    if not callable(f):
        forms = "a function, a Lowered or Compiled object of jax, HLO text, StableHLO (text or bytes) or a path"
        raise _ulpgate.Error(f"{type(f).__name__} is no program: give {forms}")
    lowering = jax_lowering()
    try:
        lowered = lowering.lower_for_cpu(f, *args, static_argnums=static_argnums)
        text = lowering.text_before(lowered)
    except Exception as error:
        raise _ulpgate.Error(f"{function_name(f)}: jax does not lower it: {lowering.first_line(error)}") from error
    dynamic = [argument for i, argument in enumerate(args) if i not in static_argnums]
    return Program(function_name(f), text, False, encode(_named("arg", leaves(dynamic))), lowered.out_tree)


def _of_stage(stage: Any, args: Sequence[Any]) -> Program:
    lowering = jax_lowering()
    import jax

    is_compiled = hasattr(stage, "runtime_executable")
    text = lowering.text_of(stage) if is_compiled else lowering.text_before(stage)
    given: Any = (tuple(args), {})
    structure = jax.tree.structure(given)
    if structure != stage.in_tree:
        raise _ulpgate.Error(f"the arguments have the structure {structure}, and it was lowered for {stage.in_tree}")
    flat = leaves(given)
    kept = _kept(stage)
    if kept is not None:
        flat = [leaf for i, leaf in enumerate(flat) if i in kept]
    return Program("compiled" if is_compiled else "lowered", text, is_compiled, encode(_named("arg", flat)), stage.out_tree)


def _kept(stage: Any) -> Any:
    """The flat arguments that jit kept: it drops those that are not used, unless it is told to keep them. jax has no public name for it."""
    found = getattr(getattr(stage, "_executable", None), "_kept_var_idx", None)
    return found or getattr(getattr(stage, "_lowering", None), "compile_args", {}).get("kept_var_idx")


def leaves(tree: Any) -> list[Array]:
    """The arrays of a structure, of the types that jax gives them."""
    import jax

    def flat(leaf: Any) -> Array:
        if type(leaf).__module__.split(".")[0] == "torch":
            return as_array(leaf)
        if hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        value = as_array(leaf)
        return value.astype(jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf)))

    return [flat(leaf) for leaf in jax.tree.leaves(tree)]


def _named(word: str, arrays: Sequence[Any]) -> dict[str, Any]:
    return {f"{word}{i}": value for i, value in enumerate(arrays)}


def encoded_results(results: Any, program: Program) -> Encoded | str:
    """Results by the names that the program gives them: of one array, a sequence, a mapping of names, or the structure that the
    function returns. A path of a file of arrays stays one."""
    if isinstance(results, (str, os.PathLike)):
        return os.fspath(results)
    if program.out_tree is not None:
        import jax

        if jax.tree.structure(results) == program.out_tree:
            return encode(_named("out", jax.tree.leaves(results)))
    if isinstance(results, Mapping):
        return encode({str(name): value for name, value in results.items()})
    return encode(_named("out", results if isinstance(results, (list, tuple)) else [results]))
