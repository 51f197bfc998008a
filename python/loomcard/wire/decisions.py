"""Decisions of a plan in a journal: those in flight when a segment begins, and the containers that
resulted from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loomcard.wire.messages import Allocate, Decision, OutcomesRecord, Preempt, Reserve, Unreserve
from loomcard.wire.plain_data import decode, encode


def write_decisions(plan: Iterable[tuple[Decision, Any]]) -> list[list[Any]]:
    """Decisions with the tags of their containers, as the header of a segment has them."""
    return [_write(decision, tag) for decision, tag in plan]


def _write(decision: Decision, tag: Any) -> list[Any]:
    if isinstance(decision, Preempt):
        facts = [decision.container, decision.grace_ms, decision.reason, decision.instance]
        return ["preempt", *facts]
    key = [decision.attempt, decision.priority, decision.allocation_request_id]
    if isinstance(decision, Allocate):
        return ["allocate", key, decision.node, decision.count, decision.instance, encode(tag)]
    if isinstance(decision, Reserve):
        return ["reserve", key, decision.node, decision.until_ms, decision.instance]
    return ["reserve", key, None, None, decision.instance]


def read_decisions(plan: Iterable[Sequence[Any]]) -> list[tuple[Decision, Any]]:
    """Return what ``write_decisions`` was given."""
    return [_read(kind, facts) for kind, *facts in plan]


def _read(kind: str, facts: list[Any]) -> tuple[Decision, Any]:
    if kind == "preempt":
        return Preempt(*facts), None
    key, *rest = facts
    if kind == "allocate":
        return Allocate(*key, *rest[:3]), decode(rest[3])
    node, until_ms, instance = rest
    attempt, priority, request_id = key
    if node is None:
        return Unreserve(attempt, priority, request_id, instance), None
    return Reserve(attempt, priority, request_id, node, until_ms, instance), None


def allocated(
    decisions: Sequence[Decision], outcomes: OutcomesRecord
) -> Iterator[tuple[Allocate, int, int]]:
    """The containers that resulted from a plan: the decision of each, its number in the epoch, and
    its number in YARN. Raises ValueError if there are fewer or more than the outcomes count.
    """
    refused: dict[int, int] = {}
    for index, count, _ in outcomes.refusals:
        refused[index] = refused.get(index, 0) + count
    done = (
        (decision, decision.count - refused.get(index, 0))
        for index, decision in enumerate(decisions)
        if isinstance(decision, Allocate)
    )
    numbers = enumerate(outcomes.numbers, outcomes.first_container)
    for decision, count in done:
        for _ in range(count):
            number, yarn_number = next(numbers, (None, 0))
            if number is None:
                raise ValueError(f"plan {outcomes.round}: an outcome is missing")
            yield decision, number, yarn_number
    if next(numbers, None) is not None:
        raise ValueError(f"plan {outcomes.round}: more outcomes than decisions")
