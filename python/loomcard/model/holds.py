"""Holds: room kept on a node for an ask that fits nowhere yet.

What is free on the node, and what becomes free there, is withheld from every other ask, up to the
size of the ask that it is kept for. A hold ends when a container of its ask is granted there, when
its time is over, and with its ask, attempt or node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from loomcard.model.cluster import Application, Ask, AskKey, Hold, Node, Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource, add_all, fits, room_for

if TYPE_CHECKING:
    from loomcard.model.ledger import Ledger

HoldRow = tuple[int, int, int, int, int | None, int, int]
"""A hold on the wire: attempt, priority, allocation request id, node, until_ms, since_ms,
placed_ms.
"""


class Holds:
    """All holds of a cluster: at most one an application, at most one a node."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._of: dict[Application, Hold] = {}
        self.version = 0  # changes with every change of a hold
        self.allowed = True  # the engine knows holds
        self.ended = 0  # how often one ended or moved: room was given back

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Hold]:
        return iter(sorted(self._of.values(), key=lambda hold: hold.ask.key))

    def of(self, application: Application) -> Hold | None:
        """The hold of an application, if it has one."""
        return self._of.get(application)

    def why_not(self, ask: Ask, node: Node) -> Reason | None:
        """Why no room may be kept on ``node`` for ``ask``; None if it may. A hold that the ask has
        already would move there.
        """
        if self._ledger.nodes.get(node.number) is not node:
            return Reason.NODE_GONE
        if ask.attempt.number not in self._ledger.attempts:
            return Reason.ATTEMPT_GONE
        if ask.count <= 0:
            return Reason.ASK_GONE
        if node.hold is not None and node.hold.ask is not ask:
            return Reason.HELD
        return why_never(ask, node) or self._ledger.limited(ask) or self.beyond(ask)

    def beyond(self, ask: Ask) -> Reason | None:
        """HOLD_LIMIT where the engine knows no holds, the application has one for another ask, or
        those of a queue would exceed its part; the first of a queue is always within it.
        """
        app = ask.attempt.application
        mine = self._of.get(app)
        if not self.allowed or (mine is not None and mine.ask is not ask):
            return Reason.HOLD_LIMIT
        held = self._by_queue(apart_from=mine)
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
        for hold in self._of.values():
            queue: Queue | None = None if hold is apart_from else hold.ask.application.queue
            while queue is not None:
                add_all([held.setdefault(queue, [0] * len(queue.used))], hold.ask.size)
                queue = queue.parent
        return held

    def held(self, queue: Queue) -> Resource:
        """The sizes of what room is kept for in a queue and below it, together."""
        return Resource(self._by_queue(None).get(queue, self._ledger.zero))

    def put(self, ask: Ask, node: Node, now_ms: int, until_ms: int | None) -> None:
        """Keep room on ``node`` for one container of ``ask``; its hold elsewhere ends. The caller
        has checked that it may.
        """
        before = self._of.get(ask.application)
        since_ms = now_ms
        if before is not None:
            since_ms = before.since_ms
            self._end(before, moved=before.node is not node)
        self._enter(Hold(ask, node, until_ms, since_ms, now_ms))

    def _enter(self, hold: Hold) -> None:
        self.version += 1
        self._of[hold.ask.application] = hold
        hold.ask.hold = hold
        hold.node.hold = hold
        hold.node.withhold()
        self._ledger.room_changed(hold.node)

    def end(self, hold: Hold) -> None:
        """Give the room back."""
        self._end(hold, moved=True)

    def _end(self, hold: Hold, *, moved: bool) -> None:
        self.version += 1
        self.ended += moved
        del self._of[hold.ask.application]
        hold.ask.hold = None
        hold.node.hold = None
        hold.node.withhold()
        self._ledger.room_changed(hold.node)

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
        """All holds as they cross the wire, by ask."""
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
            ask = self._ledger.attempts[attempt].asks[key]
            self._enter(Hold(ask, self._ledger.nodes[number], until_ms, since_ms, placed_ms))


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
    return ask.hold is not None and ask.hold.node is node and fits(ask.size, node.free)
