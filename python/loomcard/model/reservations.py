"""Reservations: room reserved on a node for an ask that fits nowhere yet.

Every other ask is kept from what is free on the node and what becomes free there, up to the size of
the ask that has the reservation. A reservation ends when a container of its ask is allocated there,
when its time ends, or when its ask, attempt or node ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from loomcard.model.objects import Application, Ask, AskKey, Node, Reservation
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource, add_all, fits, room_for

if TYPE_CHECKING:
    from loomcard.model.state import ClusterState

ReservationRow = tuple[int, int, int, int, int | None, int, int]
"""A reservation on the wire: attempt, priority, allocation request id, node, until_ms, since_ms,
placed_ms.
"""


class Reservations:
    """All reservations of a cluster: for one ask per application, at most one per node."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._asks: dict[Application, Ask] = {}
        self.version = 0  # changes with every change of a reservation
        self.allowed = True  # the engine knows reservations
        self.ended = 0  # how often one ended or moved: room was given back

    def __len__(self) -> int:
        return sum(len(ask.reservations) for ask in self._asks.values())

    def __bool__(self) -> bool:
        return bool(self._asks)

    def __iter__(self) -> Iterator[Reservation]:
        if not self._asks:  # as in most rounds
            return iter(())
        asks = sorted(self._asks.values(), key=lambda ask: ask.key)
        return iter([reservation for ask in asks for reservation in ask.reservations])

    def of(self, application: Application) -> Ask | None:
        """The ask of an application for which room is reserved; None if there is no such ask."""
        return self._asks.get(application)

    def why_not(self, ask: Ask, node: Node) -> Reason | None:
        """Why no room may be reserved on ``node`` for ``ask``; None if it may. If the ask has as
        many reservations as it may have, its oldest one would be released.
        """
        if self._state.nodes.get(node.number) is not node:
            return Reason.NODE_GONE
        if ask.attempt.number not in self._state.attempts:
            return Reason.ATTEMPT_GONE
        if ask.count <= 0:
            return Reason.ASK_GONE
        if node.reservation is not None and node.reservation.ask is not ask:
            return Reason.NODE_RESERVED
        never = why_never(ask, node) or self._state.limited(ask)
        return never or self.beyond(ask, in_place_of=self._in_the_way(ask, node))

    def _in_the_way(self, ask: Ask, node: Node) -> Reservation | None:
        """The reservation of an ask that another one, on ``node``, would replace."""
        if node.reservation is not None:
            return node.reservation
        return (
            ask.reservation
            if len(ask.reservations) >= ask.application.queue.reservation_nodes
            else None
        )

    def beyond(self, ask: Ask, in_place_of: Reservation | None = None) -> Reason | None:
        """RESERVATION_LIMIT if one more reservation is not allowed: the engine does not know
        reservations, the application has one for another ask or as many as it may have, or those of
        a queue would exceed its part. The first one of a queue is always allowed. ``in_place_of``:
        the reservation that would be released for it.
        """
        app = ask.attempt.application
        if not self.allowed or self._asks.get(app, ask) is not ask:
            return Reason.RESERVATION_LIMIT
        if len(ask.reservations) - (in_place_of is not None) >= app.queue.reservation_nodes:
            return Reason.RESERVATION_LIMIT
        reserved = self._by_queue(apart_from=in_place_of)
        queue: Queue | None = app.queue
        while queue is not None:
            if not any(queue.reservation_limit):
                return Reason.RESERVATION_LIMIT
            if queue in reserved and not room_for(
                ask.size, reserved[queue], queue.reservation_limit
            ):
                return Reason.RESERVATION_LIMIT
            queue = queue.parent
        return None

    def _by_queue(self, apart_from: Reservation | None) -> dict[Queue, list[int]]:
        reserved: dict[Queue, list[int]] = {}
        for reservation in [
            reservation for ask in self._asks.values() for reservation in ask.reservations
        ]:
            queue: Queue | None = (
                None if reservation is apart_from else reservation.ask.application.queue
            )
            while queue is not None:
                add_all([reserved.setdefault(queue, [0] * len(queue.used))], reservation.ask.size)
                queue = queue.parent
        return reserved

    def reserved(self, queue: Queue) -> Resource:
        """The total size of the reservations in a queue and below it."""
        return Resource(self._by_queue(None).get(queue, self._state.zero))

    def put(self, ask: Ask, node: Node, now_ms: int, until_ms: int | None) -> None:
        """Reserve room on ``node`` for one container of ``ask``. If the ask has as many
        reservations as it may have, the one placed first ends. The caller has checked that it is
        allowed.
        """
        since_ms = ask.reservations[0].since_ms if ask.reservations else now_ms
        before = self._in_the_way(ask, node)
        if before is not None:
            self._end(before, moved=before.node is not node)
        self._enter(Reservation(ask, node, until_ms, since_ms, now_ms))

    def _enter(self, reservation: Reservation) -> None:
        ask = reservation.ask
        self.version += 1
        self._asks[ask.application] = ask
        ask.reservations = tuple(
            sorted([*ask.reservations, reservation], key=lambda h: (h.placed_ms, h.node.number))
        )
        reservation.node.reservation = reservation
        reservation.node.withhold()
        self._state.room_changed(reservation.node)

    def end(self, reservation: Reservation) -> None:
        """End a reservation."""
        self._end(reservation, moved=True)

    def end_all(self, ask: Ask) -> None:
        """End all reservations of an ask."""
        for reservation in ask.reservations:
            self.end(reservation)

    def _end(self, reservation: Reservation, *, moved: bool) -> None:
        self.version += 1
        self.ended += moved
        reservation.ask.reservations = tuple(
            other for other in reservation.ask.reservations if other is not reservation
        )
        if not reservation.ask.reservations:
            del self._asks[reservation.ask.application]
        reservation.node.reservation = None
        reservation.node.withhold()
        self._state.room_changed(reservation.node)

    def expire(self, now_ms: int) -> None:
        """End the reservations whose time has ended."""
        for reservation in self:
            if reservation.until_ms is not None and reservation.until_ms <= now_ms:
                self.end(reservation)

    def node_changed(self, node: Node) -> None:
        """End a node's reservation if its ask could not run there with the new size or label."""
        if node.reservation is not None and why_never(node.reservation.ask, node) is not None:
            self.end(node.reservation)

    def rows(self) -> list[ReservationRow]:
        """All reservations as they cross the wire, by ask, the one placed first before others."""
        return [
            (h.ask.key.attempt, h.ask.key.priority, h.ask.key.allocation_request_id,
             h.node.number, h.until_ms, h.since_ms, h.placed_ms)
            for h in self
        ]  # fmt: skip

    def restore(self, rows: Iterable[ReservationRow]) -> None:
        """Set these reservations and no others. Raises KeyError if an ask or node is unknown."""
        rows = list(rows)
        if rows == self.rows():
            return
        for reservation in self:
            self.end(reservation)
        for attempt, priority, request_id, number, until_ms, since_ms, placed_ms in rows:
            key = AskKey(attempt, priority, request_id)
            ask = self._state.attempts[attempt].asks[key]
            self._enter(Reservation(ask, self._state.nodes[number], until_ms, since_ms, placed_ms))


def why_never(ask: Ask, node: Node) -> Reason | None:
    """Why ``ask`` could not run on ``node`` even if it were empty; None if it could."""
    if node.label != ask.label:
        return Reason.LABEL
    if ask.attempt.blacklist and not ask.attempt.blacklist.isdisjoint((node.host, node.rack)):
        return Reason.BLACKLISTED
    if (ask.racks or not ask.relax_locality) and ask.reach(node) is None:
        return Reason.LOCALITY
    return None if fits(ask.size, node.capacity) else Reason.NODE_FULL


def fits_reserved(ask: Ask, node: Node) -> bool:
    """Whether ``ask`` fits on ``node`` into the room reserved for it there."""
    return (
        node.reservation is not None and node.reservation.ask is ask and fits(ask.size, node.free)
    )
