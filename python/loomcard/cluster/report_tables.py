"""What policies report about queues, as tables of text, from the scheduler's document."""

from __future__ import annotations

import decimal
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loomcard.api.report import FROM_ABOVE, figures_of

_DIGITS = decimal.Context(prec=4, rounding=decimal.ROUND_HALF_UP)
_ABOVE = "report_from_above"
SHARE = "share"
"""The unit of a fraction of 1, which is shown in percent."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text; ``numbers`` says for each column whether it contains numbers."""

    title: str
    headings: list[str]
    rows: list[list[str]]
    numbers: list[bool]


def tables(queues: Iterable[Mapping[str, Any]]) -> Iterator[Table]:
    """Return the tables of the document's queues that have a report. Queues with the same figures
    share one table, with one row per queue. A queue with other figures gets a table of figures and
    values. Then each table of a report follows that is not empty.
    """
    alike: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for queue in queues:
        for place, key in ((queue["path"], "report"), (f"{queue['path']}{FROM_ABOVE}", _ABOVE)):
            if isinstance(report := queue.get(key), dict):
                headings = tuple(map(heading, figures_of(report)))
                alike.setdefault(headings, []).append({"path": place, "report": report})
    for headings, group in alike.items():
        if len(group) == 1 and headings:
            yield _one(group[0])
        elif headings:
            rows = [_row(figures_of(queue["report"])) for queue in group]
            paths = [str(queue["path"]) for queue in group]
            cells = [[path, *row] for path, row in zip(paths, rows, strict=True)]
            are = [False, *map(_is_number, figures_of(group[0]["report"]))]
            yield Table("", ["queue", *headings], cells, are)
        for queue in group:
            yield from _nested(queue)


def _one(queue: Mapping[str, Any]) -> Table:
    figures = figures_of(queue["report"])
    rows = [
        [str(each["label"]), text(each["value"], each["unit"]) + _unit(each)] for each in figures
    ]
    return Table(str(queue["path"]), ["figure", "value"], rows, [False, True])


def _unit(figure: Mapping[str, Any]) -> str:
    unit = figure["unit"]
    return f" {unit}" if unit not in ("", SHARE) and figure["value"] is not None else ""


def _row(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    return [text(each["value"], each["unit"]) for each in figures]


def _nested(queue: Mapping[str, Any]) -> Iterator[Table]:
    for table in queue["report"].get("tables", ()) if "typed" in queue["report"] else ():
        if table["rows"]:
            columns = [{"unit": "", **column} for column in table["columns"]]
            rows = [
                [text(value, column["unit"]) for value, column in zip(row, columns, strict=True)]
                for row in table["rows"]
            ]
            are = [_is_number({"value": value}) for value in table["rows"][0]]
            title = f"{table['label']} of {queue['path']}"
            yield Table(title, list(map(heading, columns)), rows, are)


def _is_number(figure: Mapping[str, Any]) -> bool:
    return isinstance(figure["value"], int | float) and not isinstance(figure["value"], bool)


def heading(figure: Mapping[str, Any]) -> str:
    """Return the label of a figure or column and its unit; a share is shown as a percentage."""
    unit = figure.get("unit", "")
    return str(figure["label"]) + (f", {unit}" if unit not in ("", SHARE) else "")


def text(value: Any, unit: str = "") -> str:
    """Return a value as text; its unit is only shown for a percentage."""
    match value:
        case None | []:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int() | float() if unit == SHARE:
            return f"{100 * value:.1f} %"
        case int():
            return f"{value:,}"
        case float():
            return f"{_DIGITS.create_decimal(value).normalize():f}"
        case list():
            return ", ".join(text(each, unit) for each in value)
        case str():
            return value
    return json.dumps(value, separators=(",", ":"))
