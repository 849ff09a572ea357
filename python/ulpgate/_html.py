"""Tables for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts, which are escaped."""
    lines = ["".join(f"<td style='text-align:left'>{escape(str(cell))}</td>" for cell in row) for row in rows]
    names = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"


def paragraph(text: str) -> str:
    """A line of text, which is escaped."""
    return f"<p>{escape(text)}</p>"
