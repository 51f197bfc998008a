"""The shared loop: serve members in order, one container a time, until nothing more fits.

``order`` gives a member's key from the member and the cluster's capacity alone; the index re-keys
only members that
changed, so the author writes one line and the loop stays fast. Queues below their guaranteed
capacity come first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

from loomcard.model.cluster import Application, Ask, Member, Queue
from loomcard.model.ledger import Ledger
from loomcard.model.plan import Plan
from loomcard.model.reasons import Reason
from loomcard.model.room import SHAPES_KEPT, Shape
from loomcard.model.view import WITHHELD

ALL = 1 << 30
"""A count of containers that no round reaches."""

Order = Callable[[Any], Any]
Entry = tuple[bool, Any, int, int, Member]


class Index:
    """The members of one queue in the order of one policy, kept from round to round.

    ``guarantees_first``: queues below their guarantee go before the others, whatever the order.
    """

    def __init__(self, queue: Queue, *, guarantees_first: bool = True) -> None:
        self.queue = queue
        self.guarantees_first = guarantees_first
        self.stale: dict[Member, None] = {}
        self.entries: dict[Member, Entry] = {}
        self.heap: list[Entry] = []
        self.capacity_version = -1
        self.untold: dict[Member, None] = {}  # changed, and not yet told why they wait
        queue.watchers.append(self.stale)

    def refresh(self, version: int, order: Order, rebuild: bool = False) -> None:
        """Re-key what changed; all, when the capacity has another ``version``."""
        if rebuild or version != self.capacity_version:
            self.capacity_version = version
            changed = members_of(self.queue)
            self.entries.clear()
            self.heap = [e for m in changed if (e := self._entry(order, m)) is not None]
            heapify(self.heap)
        else:
            changed = list(self.stale)
            for member in changed:
                self.rekey(order, member)
        if changed:
            self.stale.clear()
            self.untold.update(dict.fromkeys(changed))

    def rekey(self, order: Order, member: Member) -> None:
        """Give a changed member its new place; one that does not demand has none."""
        entry = self._entry(order, member)
        if entry is not None:
            heappush(self.heap, entry)
            if len(self.heap) > 64 + 4 * len(self.entries):  # superseded entries: sweep them out
                self.heap = list(self.entries.values())
                heapify(self.heap)

    def _entry(self, order: Order, member: Member) -> Entry | None:
        if member.pending_count <= 0:
            self.entries.pop(member, None)
            return None
        after = self.guarantees_first and not member.below_guaranteed
        entry = (after, order(member), member.submitted_ms, member.number, member)
        self.entries[member] = entry
        return entry

    def top(self) -> Entry | None:
        """The first of all that demand; None if none does. It stays in the heap."""
        heap, entries = self.heap, self.entries
        while heap:
            entry = heap[0]
            if entries.get(entry[4]) is entry:
                return entry
            heappop(heap)  # superseded
        return None

    def served(self, order: Order, member: Member) -> None:
        """The first got something: its new place."""
        self.stale.pop(member, None)
        fresh = self._entry(order, member)
        if fresh is None:
            heappop(self.heap)
        else:
            heapreplace(self.heap, fresh)

    def restore(self, aside: list[Entry]) -> None:
        """Put back what was set aside, but for what has another place by now."""
        for entry in aside:
            if self.entries.get(entry[4]) is entry:
                heappush(self.heap, entry)


def fill(plan: Plan, *, order: Order, live: bool = False, turn_containers: int = 1) -> Plan:
    """Grant containers to the scope's members, in order, until nothing fits.

    ``order``: a member's sort key; ties go by submission, then number. It may look at the member
    and at the cluster's capacity; if it looks at more, ``live=True`` re-keys every member at each
    call. ``turn_containers``: how many containers a child queue's policy may grant in one turn;
    one that demands alone may take all.
    """
    view = plan.view
    frame = sys._getframe(1)
    place = (frame.f_code.co_filename, frame.f_lineno)
    index = view._indexes.get(place)
    if index is None:
        index = view._indexes[place] = Index(view.queue)
    index.refresh(view._ledger.capacity_version, order, live)
    if plan.spent:
        return plan
    if view.queue.leaf:
        _serve_applications(plan, index, order)
        if not plan.spent:  # nothing more fits; a turn that is used up says nothing about room
            tell(plan, index)
    else:
        _give_turns(plan, index, order, turn_containers)
    return plan


def members_of(queue: Queue) -> list[Member]:
    """A queue's applications by number, or its child queues."""
    if queue.leaf:
        return sorted(queue.applications.values(), key=lambda app: app.number)
    return list(queue.children)


class Full:
    """Which shapes fit nowhere any more in this call; nothing is freed while a call lasts."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._shapes: set[Shape] = set()

    def __contains__(self, shape: Shape) -> bool:
        return shape in self._shapes

    def everything(self) -> bool:
        """Nothing that anybody asks for fits any more."""
        return len(self._shapes) >= len(self._ledger.shapes)

    def add(self, shape: Shape) -> None:
        """One shape was found to fit nowhere: then look at all, so that not every member must try
        in vain.
        """
        if not self._shapes and len(self._ledger.shapes) <= SHAPES_KEPT:
            rooms = self._ledger.rooms
            self._shapes = {s for s in self._ledger.shapes if rooms.of(*s).first() is None}
        self._shapes.add(shape)


def _serve_applications(plan: Plan, index: Index, order: Order) -> None:
    aside: list[Entry] = []
    full = Full(plan.view._ledger)
    while not plan.spent and not full.everything():
        entry = index.top()
        if entry is None:
            break
        if serve(plan, entry[4], full):
            index.served(order, entry[4])
        else:
            aside.append(heappop(index.heap))
    index.restore(aside)


def serve(plan: Plan, app: Any, full: Full) -> bool:
    """One container for the first of the application's asks that fits; asks that fit nowhere are
    passed over.
    """
    for ask in app.asks:
        if ask.count <= 0:
            continue
        shape = (ask.size, ask.label)
        if shape in full:
            plan.wait(ask, Reason.NODE_FULL)
            continue
        limit = plan.limited(ask)
        if limit is not None:
            plan.wait(ask, limit)
            continue
        if not plan.allows(ask):
            continue
        node = plan.place(ask)
        if node is not None:
            plan.grant(ask, node)
            return True
        plan.wait(ask, _why_nowhere(plan, ask, shape, full))
    return False


def _why_nowhere(plan: Plan, ask: Ask, shape: Shape, full: Full) -> Reason:
    if plan.view._ledger.rooms.of(ask.size, ask.label).first() is None:
        full.add(shape)
        return Reason.NODE_FULL
    return Reason.LOCALITY if not ask.relax_locality else Reason.BLACKLISTED


def tell(plan: Plan, index: Index) -> None:
    """Asks that came while the cluster was full were not looked at; they wait for room alike."""
    for member in index.untold:
        if isinstance(member, Application):
            for ask in member.asks:
                if ask.count > 0 and ask.told is None:
                    plan.wait(ask, plan.limited(ask) or Reason.NODE_FULL)
    index.untold.clear()


def _give_turns(plan: Plan, index: Index, order: Order, count: int) -> None:
    aside: list[Entry] = []
    while not plan.spent:
        entry = index.top()
        if entry is None:
            break
        child: Any = entry[4]
        alone = len(index.entries) == 1  # nobody to take turns with
        if take_turn(plan, index, child, ALL if alone else count):
            index.served(order, child)
        elif child in index.entries:
            aside.append(heappop(index.heap))
    index.restore(aside)


def take_turn(plan: Plan, index: Index, child: Queue, count: int) -> bool:
    """Let a child queue's policy decide; whether it took something. One that holds back leaves the
    index until its next change or timer.
    """
    taken = plan.turn(child, count)
    if taken.count:
        return True
    index.stale.pop(child, None)
    if taken.stopped == WITHHELD:
        del index.entries[child]
    return False
