"""Plain data as JSON and back without loss: what a policy's memory and a tag may consist of.

It is None, bool, int, float, str, list, tuple, dict (any plain key), set, frozenset, and
dataclasses of plain fields. JSON alone would turn tuples into lists and integer keys into text; a
replay would then differ from the run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from importlib import import_module
from typing import Any

from loomcard.wire.older import CLASSES


class NotPlainError(Exception):
    """Something in a memory is not plain data; the message names it."""


_PLAIN = frozenset((int, float, str, bool, type(None)))


def encode(value: Any) -> Any:
    """``value`` as JSON-compatible data. Raises NotPlainError."""
    if type(value) in _PLAIN or isinstance(value, str):
        return value
    if isinstance(value, list):
        return _each(value)
    if isinstance(value, dict):
        return {"is": "dict", "of": list(map(list, zip(_each(value), _each(value.values()))))}  # noqa: B905
    kind, items = _parts(value)
    return {"is": kind, "of": _each(items)}


def _each(items: Collection[Any]) -> list[Any]:
    # A memory can have millions of numbers, and a look at each in Python would hold up a round.
    if _PLAIN.issuperset(map(type, items)):
        return list(items)
    return [item if type(item) in _PLAIN else encode(item) for item in items]


def _parts(value: Any) -> tuple[str, Collection[Any]]:
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(value)
    if isinstance(value, tuple):
        return "tuple" if type(value) is tuple else _name(value), value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _name(value), [getattr(value, f.name) for f in dataclasses.fields(value)]
    raise NotPlainError(f"{type(value).__qualname__} is not plain data: {value!r}")


def _name(value: Any) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


def decode(data: Any) -> Any:
    """Return what ``encode`` was given."""
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    items = [decode(item) for item in data["of"]]
    kind = data["is"]
    if kind == "dict":
        return {key: item for key, item in items}  # noqa: C416 - pairs came as lists
    if kind in _BUILTIN:
        return _BUILTIN[kind](items)
    moved: Any = CLASSES.get(kind, kind)
    module, _, name = moved.partition(":")
    cls: Any = import_module(module)
    for part in name.split("."):
        cls = getattr(cls, part)
    return cls(*items)


_BUILTIN: dict[str, Any] = {"tuple": tuple, "set": set, "frozenset": frozenset}
