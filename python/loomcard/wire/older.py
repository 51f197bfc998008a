"""Translate names of the previous version, and journals of earlier schemas, into today's. This
module will be removed in the next version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from loomcard.wire.messages import SCHEMA, PlanReply

QUEUE_KEYS = {"hold_share": "reservation_share", "hold_nodes": "reservation_nodes"}
"""Keys of a queue in YAML."""
OPTIONS = {"hold_after_ms": "reserve_after_ms"}
"""Options of policies."""
REASONS = {"HELD": "NODE_RESERVED", "HOLD_LIMIT": "RESERVATION_LIMIT"}
CLASSES = {
    "loomcard.policies.hdrf.preemption:Preemption": "loomcard.api.preempt.rules:Preemption",
    "loomcard.policies.hdrf.placement:OwedTask": "loomcard.api.preempt.owed:OwedTask",
}
"""Classes of plain data in memories, which have moved."""
_COMPILED = {"hold_share_ppm": "reservation_share_ppm", "hold_nodes": "reservation_nodes"}
_RECORDS = {"setup": "config", "holds": "reservations"}
_DECISIONS = {"hold": "reserve", "release_hold": "unreserve", "grant": "allocate"}
_HEADER = {"setup": "config", "told": "reported", "holds": "reservations"}
_SCHEMA, _FEATURES = 1, 6
_WITH_REASON = "HOLDS "
_FIELDS = ("tag", *PlanReply.__struct_fields__)
_DECIDED, _WAITS = _FIELDS.index("decisions"), _FIELDS.index("waits")
_QUEUE_WAITS = _FIELDS.index("queue_waits")


def renamed(found: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A mapping with today's names for its keys; if it has both names, the former one stays."""
    return {
        key if names.get(key, key) in found else names.get(key, key): value
        for key, value in found.items()
    }


def compiled(config: Mapping[str, Any]) -> dict[str, Any]:
    """A compiled configuration of an earlier version, which a store or a journal may have."""
    queues = [renamed(queue, _COMPILED) for queue in config["queues"]]
    return {**config, "queues": queues}


Rounds = list[tuple[str, str]]


def segment(header: dict[str, Any], rounds: Rounds) -> tuple[dict[str, Any], Rounds]:
    """The header and the texts of a segment in today's schema; unchanged if they have it already.
    Raises ``msgspec.MsgspecError``, and any error that a damaged text causes.
    """
    found = schema(header)
    if found >= SCHEMA:
        return header, rounds
    return _header(header), [(_batch(b), _plan(p, older=found == 2)) for b, p in rounds]


def _header(found: dict[str, Any]) -> dict[str, Any]:
    found = _with_reasons(found)
    hello = found["hello"]
    hello[_SCHEMA] = SCHEMA
    hello[_FEATURES] = [_RECORDS.get(name, name) for name in hello[_FEATURES]]
    if "mirror" in found:
        mirror = renamed(found["mirror"], _HEADER)
        mirror["config"] = compiled(mirror["config"])
        mirror["plan"] = [[_DECISIONS.get(kind, kind), *rest] for kind, *rest in mirror["plan"]]
        found["mirror"] = mirror
    return found


def schema(found: dict[str, Any]) -> int:
    """The schema that a segment's header states."""
    match found.get("hello"):
        case [_, int(schema), *_]:
            return schema
    return SCHEMA  # other code says what is wrong with a damaged header


def _batch(text: str) -> str:
    batch = msgspec.json.decode(text)
    records = batch[5]
    for record in records:
        record[0] = _RECORDS.get(record[0], record[0])
        if record[0] == "config":
            record[3] = compiled(record[3])
        elif record[0] == "outcomes":
            record[5] = _with_reasons(record[5])
    return _text(batch)


def _plan(text: str, *, older: bool) -> str:
    """``older``: the plan has schema 2, without ends of asks' waits and reasons of queues."""
    plan = _with_reasons(msgspec.json.decode(text))
    plan[_DECIDED] = [[_DECISIONS.get(kind, kind), *rest] for kind, *rest in plan[_DECIDED]]
    if older:
        plan[_WAITS] = [[*row, None] for row in plan[_WAITS]]
        plan.insert(_QUEUE_WAITS, [])
    return _text(plan)


def _with_reasons(found: Any) -> Any:
    """The same data with today's codes of reasons."""
    if isinstance(found, str):
        if found.startswith(_WITH_REASON):
            return f"RESERVATION {found.removeprefix(_WITH_REASON)}"
        return REASONS.get(found, found)
    if isinstance(found, list):
        return [_with_reasons(item) for item in found]
    if isinstance(found, dict):
        return {key: _with_reasons(value) for key, value in found.items()}
    return found


def _text(message: list[Any]) -> str:
    return msgspec.json.encode(message, order="sorted").decode()
