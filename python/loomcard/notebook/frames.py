"""Rows as a table of the installed library of data frames, and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

Row = dict[str, Any]
Library = Literal["polars", "pandas"]


def frame(rows: Sequence[Row], library: Library | None) -> Any:
    """Return the rows as a DataFrame of ``library``; None: polars, or pandas if polars is not
    installed. Raises ModuleNotFoundError if neither is, and ValueError for another library.
    """
    if library not in (None, "polars", "pandas"):
        raise ValueError(f"library: expected 'polars' or 'pandas', not {library!r}")
    found = library or next((n for n in ("polars", "pandas") if find_spec(n) is not None), None)
    if found is None:
        raise ModuleNotFoundError("a table needs polars or pandas (pip install polars)")
    if found == "polars":
        return import_module("polars").DataFrame(list(rows), infer_schema_length=None)
    return import_module("pandas").DataFrame(list(rows))


def html_table(rows: Sequence[Row], caption: str) -> str:
    """Return the rows as an HTML table; numbers have at most two decimals and are right-aligned."""
    if not rows:
        return f"<p>{escape(caption)}</p>"
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(_cell(v) for v in row.values())}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
        return f'<td style="text-align: right">{text}</td>'
    return f"<td>{escape('-' if value is None else str(value))}</td>"
