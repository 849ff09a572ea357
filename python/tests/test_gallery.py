"""The gallery: its cells run, and print what the notebook shows."""

import ast
import contextlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "gallery.ipynb"
CELLS = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def shown(cell: dict[str, Any]) -> str:
    """The text that a notebook shows below a cell: the printed one, and the value of its last line."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell["outputs"]]
    return "".join("".join(text) for text in texts)


def run(source: str, names: dict[str, Any]) -> str:
    """The same as the cell gives it now."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    return printed.getvalue() + ("" if value is None else repr(value))


def test_the_gallery_shows_what_its_cells_print(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NOTEBOOK.parent)
    names: dict[str, Any] = {}
    for cell in CELLS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            now = run("".join(cell["source"]), names)
        hint = "CONTRIBUTING says how the gallery is written anew"
        assert shown(cell).rstrip() == now.rstrip(), hint
    assert len(CELLS) > 5 and all(map(shown, CELLS[1:]))
