"""Holds: room kept on a node for an ask that fits nowhere yet.

What is free on the node, and what becomes free there, is withheld from every other ask, up to the
size of the ask that it is kept for. A hold ends when a container of its ask is granted there, when
its time is over, and with its ask, attempt or node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from loomcard.model.objects import Application, Ask, AskKey, Hold, Node
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource, add_all, fits, room_for

if TYPE_CHECKING:
    from loomcard.model.state import ClusterState

HoldRow = tuple[int, int, int, int, int | None, int, int]
"""A hold on the wire: attempt, priority, allocation request id, node, until_ms, since_ms,
placed_ms.
"""


class Holds:
    """All holds of a cluster: for one ask of an application, at most one a node."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._asks: dict[Application, Ask] = {}
        self.version = 0  # changes with every change of a hold
        self.allowed = True  # the engine knows holds
        self.ended = 0  # how often one ended or moved: room was given back

    def __len__(self) -> int:
        return sum(len(ask.holds) for ask in self._asks.values())

    def __bool__(self) -> bool:
        return bool(self._asks)

    def __iter__(self) -> Iterator[Hold]:
        asks = sorted(self._asks.values(), key=lambda ask: ask.key)
        return iter([hold for ask in asks for hold in ask.holds])

    def of(self, application: Application) -> Ask | None:
        """The ask of an application that room is kept for, if there is one."""
        return self._asks.get(application)

    def why_not(self, ask: Ask, node: Node) -> Reason | None:
        """Why no room may be kept on ``node`` for ``ask``; None if it may. Its
        oldest hold would be released, if it has as many as it may have.
        """
        if self._state.nodes.get(node.number) is not node:
            return Reason.NODE_GONE
        if ask.attempt.number not in self._state.attempts:
            return Reason.ATTEMPT_GONE
        if ask.count <= 0:
            return Reason.ASK_GONE
        if node.hold is not None and node.hold.ask is not ask:
            return Reason.HELD
        never = why_never(ask, node) or self._state.limited(ask)
        return never or self.beyond(ask, in_place_of=self._in_the_way(ask, node))

    def _in_the_way(self, ask: Ask, node: Node) -> Hold | None:
        """The hold of an ask that another one, on ``node``, would replace."""
        if node.hold is not None:
            return node.hold
        return ask.hold if len(ask.holds) >= ask.application.queue.hold_nodes else None

    def beyond(self, ask: Ask, in_place_of: Hold | None = None) -> Reason | None:
        """HOLD_LIMIT where one more hold may not be: the engine knows none, the application has one
        for another ask or as many as it may have, or those of a queue would exceed its part; the
        first of a queue is always within it. ``in_place_of`` would be released for it.
        """
        app = ask.attempt.application
        if not self.allowed or self._asks.get(app, ask) is not ask:
            return Reason.HOLD_LIMIT
        if len(ask.holds) - (in_place_of is not None) >= app.queue.hold_nodes:
            return Reason.HOLD_LIMIT
        held = self._by_queue(apart_from=in_place_of)
        queue: Queue | None = app.queue
        while queue is not None:
            if not any(queue.hold_limit):
                return Reason.HOLD_LIMIT
            if queue in held and not room_for(ask.size, held[queue], queue.hold_limit):
                return Reason.HOLD_LIMIT
            queue = queue.parent
        return None

    def _by_queue(self, apart_from: Hold | None) -> dict[Queue, list[int]]:
        held: dict[Queue, list[int]] = {}
        for hold in [hold for ask in self._asks.values() for hold in ask.holds]:
            queue: Queue | None = None if hold is apart_from else hold.ask.application.queue
            while queue is not None:
                add_all([held.setdefault(queue, [0] * len(queue.used))], hold.ask.size)
                queue = queue.parent
        return held

    def held(self, queue: Queue) -> Resource:
        """The sizes of what room is kept for in a queue and below it, together."""
        return Resource(self._by_queue(None).get(queue, self._state.zero))

    def put(self, ask: Ask, node: Node, now_ms: int, until_ms: int | None) -> None:
        """Keep room on ``node`` for one container of ``ask``; if it has as many holds as it may
        have, the one placed first ends. The caller has checked that it may.
        """
        since_ms = ask.holds[0].since_ms if ask.holds else now_ms
        before = self._in_the_way(ask, node)
        if before is not None:
            self._end(before, moved=before.node is not node)
        self._enter(Hold(ask, node, until_ms, since_ms, now_ms))

    def _enter(self, hold: Hold) -> None:
        ask = hold.ask
        self.version += 1
        self._asks[ask.application] = ask
        ask.holds = tuple(sorted([*ask.holds, hold], key=lambda h: (h.placed_ms, h.node.number)))
        hold.node.hold = hold
        hold.node.withhold()
        self._state.room_changed(hold.node)

    def end(self, hold: Hold) -> None:
        """Give the room back."""
        self._end(hold, moved=True)

    def end_all(self, ask: Ask) -> None:
        """Give back all room that is kept for an ask."""
        for hold in ask.holds:
            self.end(hold)

    def _end(self, hold: Hold, *, moved: bool) -> None:
        self.version += 1
        self.ended += moved
        hold.ask.holds = tuple(other for other in hold.ask.holds if other is not hold)
        if not hold.ask.holds:
            del self._asks[hold.ask.application]
        hold.node.hold = None
        hold.node.withhold()
        self._state.room_changed(hold.node)

    def expire(self, now_ms: int) -> None:
        """End the holds whose time is over."""
        for hold in self:
            if hold.until_ms is not None and hold.until_ms <= now_ms:
                self.end(hold)

    def node_changed(self, node: Node) -> None:
        """A node has another size or label: its hold ends if its ask could not run there."""
        if node.hold is not None and why_never(node.hold.ask, node) is not None:
            self.end(node.hold)

    def rows(self) -> list[HoldRow]:
        """All holds as they cross the wire, by ask, the one placed first before others."""
        return [
            (h.ask.key.attempt, h.ask.key.priority, h.ask.key.allocation_request_id,
             h.node.number, h.until_ms, h.since_ms, h.placed_ms)
            for h in self
        ]  # fmt: skip

    def restore(self, rows: Iterable[HoldRow]) -> None:
        """These holds and no others. Raises KeyError for one whose ask or node is unknown."""
        rows = list(rows)
        if rows == self.rows():
            return
        for hold in self:
            self.end(hold)
        for attempt, priority, request_id, number, until_ms, since_ms, placed_ms in rows:
            key = AskKey(attempt, priority, request_id)
            ask = self._state.attempts[attempt].asks[key]
            self._enter(Hold(ask, self._state.nodes[number], until_ms, since_ms, placed_ms))


def why_never(ask: Ask, node: Node) -> Reason | None:
    """Why ``ask`` could not run on ``node`` even if it were empty; None if it could."""
    if node.label != ask.label:
        return Reason.LABEL
    if ask.attempt.blacklist and not ask.attempt.blacklist.isdisjoint((node.host, node.rack)):
        return Reason.BLACKLISTED
    if (ask.racks or not ask.relax_locality) and ask.reach(node) is None:
        return Reason.LOCALITY
    return None if fits(ask.size, node.capacity) else Reason.NODE_FULL


def fits_held(ask: Ask, node: Node) -> bool:
    """Whether ``ask`` fits on ``node`` into the room that is kept for it there."""
    return node.hold is not None and node.hold.ask is ask and fits(ask.size, node.free)
