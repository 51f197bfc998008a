"""What a policy reports to people about a queue: figures and tables, each with a label and a unit.

A policy states them once, as a frozen dataclass, and passes an object of it to ``plan.report``:

    @dataclass(frozen=True, slots=True)
    class State:
        delta: float = shown("share of small jobs", unit="share", panel="delta")
        jobs: tuple[JobState, ...] = shown("jobs")

A field is a figure: a number, a text, a truth value, None if its type allows it, or a list of
these. A field whose type is a tuple or list of another dataclass is a table, one row per object.
Plain JSON crosses the wire (docs/reference/wire.md), so that no reader needs the class.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

FROM_ABOVE: Final = " from above"
"""Suffix of the name under which the policy of a scope above reports a queue that has its own
policy; the report of that policy stands under the queue's path."""
TYPED: Final = "typed"
"""The key that marks a typed report; its value is the form's version."""
FORM: Final = 1
_METADATA: Final = "loomcard.shown"
LARGEST: Final = 8 << 20
"""The most bytes of a report as JSON: a reply longer than the ResourceManager reads would cost
every queue its round.
"""
_SCALARS: Final = (bool, int, float, str, type(None))
_SURE: Final = frozenset({bool, int, str, type(None)})


class ReportError(Exception):
    """A report cannot be shown; the message names its class and field."""


def shown(
    label: str, *, unit: str = "", panel: str = "", default: Any = dataclasses.MISSING
) -> Any:
    """Return a field of a report's dataclass, with the label for people and its unit (``share``: a
    part of 1, shown in percent). A number with a ``panel`` is also kept over time in run folders,
    and the figures of one panel are drawn together. In a table's rows the panel has no meaning.
    """
    about = {"label": label, "unit": unit, "panel": panel}
    return dataclasses.field(default=default, metadata={_METADATA: about})


def as_json(state: object) -> dict[str, Any]:
    """The report as plain JSON: an object of a dataclass in the typed form, a dict unchanged.

    Raises ReportError if a value is not of its field's type, if a number is not finite, or if there
    is anything other than figures and tables.
    """
    if isinstance(state, dict):
        return dict(_plain(state, "a plain report"))
    if not is_dataclass(state) or isinstance(state, type):
        raise ReportError(f"expected a dataclass's object or a dict, not {state!r}")
    cls = type(state)
    form = _form(cls)
    values = _plain(state, cls.__name__)
    try:
        msgspec.convert(values, cls)
    except msgspec.ValidationError as error:
        raise ReportError(f"{cls.__name__}: {error}") from error
    report: dict[str, Any] = {TYPED: FORM, "figures": [], "tables": []}
    for each in form:
        value = values[each.name]
        if each.columns is None:
            report["figures"].append({**each.about, "value": _figure(value, cls, each.name)})
            continue
        names = [column.name for column in each.columns]
        rows = [[row[name] for name in names] for row in value]
        for place, column in enumerate(each.columns):
            if not column.sure:
                for index, row in enumerate(rows):
                    _figure(row[place], cls, f"{each.name}[{index}].{column.name}")
        columns = [column.about for column in each.columns]
        report["tables"].append({**each.about, "columns": columns, "rows": rows})
    return report


def values_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report's values by field name, from either form; a table is a list of dicts (its rows)."""
    if report.get(TYPED) != FORM:
        return dict(report)
    found = {each["name"]: each["value"] for each in report["figures"]}
    for table in report["tables"]:
        names = [column["name"] for column in table["columns"]]
        found[table["name"]] = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    return found


def figures_of(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A report's figures with name, label, unit, panel, value; a plain report has one per key."""
    if report.get(TYPED) == FORM:
        found = report["figures"]
    else:
        found = [{"name": name, "label": name, "value": value} for name, value in report.items()]
    return [{"unit": "", "panel": "", **each} for each in found]


@dataclasses.dataclass(frozen=True)
class _Field:
    """One field of a report's class: its label and the like, the columns of a table (None: it is a
    figure), and whether its type alone says that a value can be shown.
    """

    name: str
    about: dict[str, str]
    columns: tuple[_Field, ...] | None
    sure: bool


@cache
def _form(cls: type) -> tuple[_Field, ...]:
    try:
        hints = get_type_hints(cls)
    except NameError as error:
        said = f"{cls.__name__}: {error}; a report's class stands at the top of its module"
        raise ReportError(said) from error
    found = []
    for field in dataclasses.fields(cls):
        shown = {"label": field.name} | dict(field.metadata.get(_METADATA, {}))
        about = {"name": field.name} | {key: text for key, text in shown.items() if text}
        hint = hints[field.name]
        row, kinds = _row(hint), set(get_args(hint)) or {hint}
        columns = None if row is None else _form(row)
        found.append(_Field(field.name, about, columns, kinds <= _SURE))
    return tuple(found)


def _row(hint: Any) -> type | None:
    """The dataclass of the elements of a tuple or list; None for a figure."""
    inside = get_args(hint)[:1] if get_origin(hint) in (tuple, list) else ()
    return next((each for each in inside if isinstance(each, type) and is_dataclass(each)), None)


def _plain(state: object, name: str) -> Any:
    try:
        plain = msgspec.to_builtins(state, str_keys=True)
        length = len(msgspec.json.encode(plain))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ReportError(f"{name}: {error}; a report is made of plain data") from error
    if length > LARGEST:
        raise ReportError(f"{name}: {length} bytes as JSON; a report has at most {LARGEST}")
    return plain


def _figure(value: Any, cls: type, place: str) -> Any:
    """Return the value if it can be shown. Raises ReportError otherwise."""
    for part in value if isinstance(value, list | tuple) else (value,):
        if not isinstance(part, _SCALARS):
            said = f"{cls.__name__}.{place}: expected a number, a text or rows, not {value!r}"
            raise ReportError(said)
        if isinstance(part, float) and not math.isfinite(part):
            raise ReportError(f"{cls.__name__}.{place}: {value!r} is not a finite number")
    return value
