"""What must always be true: the ResourceManager's state adds up, and the mirror agrees with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from loomcard.model.objects import Application, Ask, Member, Node
from loomcard.model.queue import Queue
from loomcard.model.resource import Resource
from loomcard.model.state import ClusterState
from loomcard.simulator.resourcemanager import ResourceManager


class InvariantError(AssertionError):
    """The state is inconsistent; the message says where and how. This is a bug of Loomcard."""


def check_agreement(rm: ResourceManager) -> None:
    """Raise InvariantError unless the state adds up, and the mirror has the same state once it has
    received the last plan's outcomes.
    """
    check_state(rm.state, shrunk=rm.shrunk)
    mirror = rm.session.mirror.state
    mine, theirs = _live(rm.state), _live(mirror)
    unconfirmed = Counter(
        (c.attempt.number, c.node.number, tuple(c.size), c.ask_key)
        for step in rm.session.mirror.in_flight
        for c in getattr(step, "containers", ())
    )
    if not rm.needs_round and mine != theirs + unconfirmed and mine != theirs:
        raise InvariantError(f"the mirror holds {theirs}, the ResourceManager {mine}")
    reserved, kept = (
        [row[:4] for row in found.reservations.rows()]
        for found in (rm.session.mirror.state, rm.state)
    )
    if not rm.needs_round and reserved != kept:
        raise InvariantError(
            f"the mirror keeps room for {reserved}, the ResourceManager for {kept}"
        )


def check_state(
    state: ClusterState, *, shrunk: bool = False, too_full: Collection[Node] = ()
) -> None:
    """Raise InvariantError unless no node, queue or ask uses more than it may, and all sums are
    those of the containers. ``shrunk``: a node was lost, so queues may use more than their maxima,
    which shrank with the cluster. ``too_full``: nodes that became smaller than what they
    contained.
    """
    zero = [0] * len(state.types)
    for node in state.nodes.values():
        used = _sum(node.containers, zero)
        _same(f"node {node.id}", [f + u for f, u in zip(node.free, used, strict=True)],
              list(node.capacity))  # fmt: skip
        if min(node.free) < 0 and node not in too_full:
            raise InvariantError(f"node {node.id} holds more than it has: {node.free}")
    _check_reservations(state, shrunk=shrunk)
    for app in state.applications.values():
        _same(f"application {app.name}", app.used, _sum(app.containers, zero))
        pending = sum(ask.count for at in app.attempts.values() for ask in at.asks.values())
        _same(f"pending of {app.name}", app.pending_count, pending)
    for queue in state.queues:
        if queue.leaf:
            below = [c for app in queue.applications.values() for c in app.containers]
            _same(f"queue {queue.path}", queue.used, _sum(below, zero))
        members: Iterable[Member] = queue.applications.values() if queue.leaf else queue.children
        asking = (member.submitted_ms for member in members if member.pending_count)
        _same(f"oldest demand of {queue.path}", queue.submitted_ms, min(asking, default=0))
        maximum = queue.maximum
        over = maximum and any(u > m for u, m in zip(queue.used, maximum, strict=True))
        if over and not shrunk:
            raise InvariantError(f"queue {queue.path} exceeds its maximum: {queue.used}")


def _check_reservations(state: ClusterState, *, shrunk: bool) -> None:
    reserved: dict[Queue, list[Resource]] = {}
    asks: dict[Application, Ask] = {}
    for reservation in state.reservations:
        node, ask = reservation.node, reservation.ask
        if node.reservation is not reservation or reservation not in ask.reservations:
            raise InvariantError(f"{reservation} is not the only one of its node")
        app = ask.application
        if (
            asks.setdefault(app, ask) is not ask
            or len(ask.reservations) > app.queue.reservation_nodes
        ):
            raise InvariantError(f"{reservation} is one too many of its application")
        queue: Queue | None = app.queue
        while queue is not None:
            reserved.setdefault(queue, []).append(ask.size)
            queue = queue.parent
        if ask.count < 1 or state.nodes.get(node.number) is not node:
            raise InvariantError(f"{reservation} outlived its ask or its node")
        left = [max(0, f - size) for f, size in zip(node.free, ask.size, strict=True)]
        _same(f"room on {node.id}", [max(0, room) for room in node.room], left)
    for queue, sizes in reserved.items() if not shrunk else ():
        for limit, *amounts in zip(queue.reservation_limit, *sizes, strict=True):
            # A single reservation, the first, may exceed the limit. Reservations that need nothing
            # of a type do not count for it.
            if sum(amounts) > limit and sum(amount > 0 for amount in amounts) > 1:
                raise InvariantError(f"holds of {queue.path} keep {amounts}, beyond {limit}")
    for node in state.nodes.values():
        if node.reservation is None and node.room is not node.free:
            raise InvariantError(f"room is withheld on {node.id} for nobody")


def _live(state: ClusterState) -> Counter[Any]:
    return Counter(
        (c.attempt.number, c.node.number, tuple(c.size), c.ask_key)
        for c in state.containers.values()
    )


def _sum(containers: Any, zero: list[int]) -> list[int]:
    total = list(zero)
    for container in containers:
        for i, amount in enumerate(container.size):
            total[i] += amount
    return total


def _same(what: str, booked: Any, counted: Any) -> None:
    if booked != counted:
        raise InvariantError(f"{what}: {booked} is booked, {counted} counted")
