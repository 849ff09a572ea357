"""The documentation of what the package offers: a sentence for every field, an example for every function."""

import ast
import inspect
from pathlib import Path
from types import FunctionType

import pytest

import ulpgate

FUNCTIONS = sorted(name for name in ulpgate.__all__ if isinstance(getattr(ulpgate, name), FunctionType))
CLASSES = sorted(name for name in ulpgate.__all__ if inspect.isclass(getattr(ulpgate, name)) and name != "Error")


def is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def fields_of(body: list[ast.stmt]) -> dict[str, bool]:
    """The public fields that these statements set, each with whether a docstring follows it."""
    found = {}
    for statement, following in zip(body, [*body[1:], None], strict=True):
        target = statement.target if isinstance(statement, ast.AnnAssign) else None
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
            target = statement.targets[0]
        name = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else None
        if name is not None and not name.startswith("_"):
            found[name] = is_text(following)
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_every_field_and_method_of_a_result_says_what_it_is(name: str) -> None:
    kind = getattr(ulpgate, name)
    source = Path(inspect.getfile(kind)).read_text(encoding="utf-8")
    body = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name).body
    assert is_text(body[0])
    fields = fields_of(body)
    for method in (node for node in body if isinstance(node, ast.FunctionDef)):
        if method.name == "__init__":
            fields |= fields_of(method.body)
        elif not method.name.startswith("_"):
            fields[method.name] = is_text(method.body[0])
    assert fields and all(fields.values()), [field for field, is_told in fields.items() if not is_told]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_an_example(name: str) -> None:
    # pytest --doctest-modules runs it.
    documentation = inspect.getdoc(getattr(ulpgate, name)) or ""
    assert any(line.startswith(">>> ") and name in line for line in documentation.splitlines()), documentation
