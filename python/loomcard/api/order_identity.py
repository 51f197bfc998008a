"""Whether two orders of ``fill`` are the same: an index is kept for one order only."""

from __future__ import annotations

import contextlib
from functools import partial
from types import FunctionType
from typing import Any

PLAIN = (bool, int, float, str, bytes, FunctionType)
"""The types of the values that count as a part of an order."""


def identity_of(order: Any) -> Any:
    """What distinguishes an order from another: the code that it runs, or otherwise its class. The
    object does not, since a lambda, a partial or a bound method is a new object in each call.
    """
    while isinstance(order, partial):
        order = order.func
    order = getattr(order, "__func__", order)
    name = getattr(order, "__qualname__", None)
    if name is None:
        return type(order)
    return getattr(order, "__code__", None) or (order.__module__, name)


def bound_values(order: Any) -> list[Any]:
    """The plain values in a partial or a closure: with them, the same code gives many orders. Other
    objects do not count, since each call may make new ones with the same meaning.
    """
    found: list[Any] = []
    while isinstance(order, partial):
        found += [*order.args, *order.keywords.values()]
        order = order.func
    for cell in getattr(order, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # not bound yet
            found.append(cell.cell_contents)
    return [value for value in found if type(value) in PLAIN]


def described(identity: Any, bound: Any) -> str:
    """An order in words, from its ``identity_of`` and ``bound_values``: its name, the values, and
    where its code is.
    """
    values = f" with {', '.join(map(repr, bound))}" if bound else ""
    if isinstance(identity, tuple):
        return f"{identity[1]}{values}"
    file, line = getattr(identity, "co_filename", None), getattr(identity, "co_firstlineno", 0)
    name = getattr(identity, "co_qualname", None) or identity.__qualname__
    return f"{name}{values}" + (f" ({file}, line {line})" if file else "")
