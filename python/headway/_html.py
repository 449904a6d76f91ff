"""Small pieces of HTML for notebooks: everything is escaped, nothing is a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Give a heading and a table of two columns; `rows` are text."""
    body = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th>" + cell(text) for name, text in rows)
    return f"<div><strong>{escape(title)}</strong><table>{body}</table></div>"


def cell(text: str) -> str:
    """Give the last cell of a row."""
    return f"<td style='text-align:left'>{escape(text)}</td></tr>"


def grid(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Give a table with a header; values are shown as Python prints them."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(show(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<div><strong>{escape(title)}</strong><table><tr>{head}</tr>{body}</table></div>"


def show(value: object) -> str:
    """Give a value of a table as short text; nothing for None."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def short(texts: Sequence[str], most: int = 12) -> str:
    """Give `texts` in a line, at most `most` of them."""
    more = f", and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
