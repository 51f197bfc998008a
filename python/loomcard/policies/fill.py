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

from loomcard.model.cluster import Application, Ask, Member
from loomcard.model.plan import Plan
from loomcard.model.reasons import Reason
from loomcard.model.view import WITHHELD

ALL = 1 << 30
"""A count of containers that no round reaches."""

Order = Callable[[Any], Any]
Entry = tuple[bool, Any, int, int, Member]


class Index:
    """The members of one scope in the order of one ``fill``, kept from round to round."""

    def __init__(self, plan: Plan) -> None:
        self.stale: dict[Member, None] = {}
        self.entries: dict[Member, Entry] = {}
        self.heap: list[Entry] = []
        self.capacity_version = -1
        self.untold: dict[Member, None] = {}  # changed, and not yet told why they wait
        plan.view.queue.watchers.append(self.stale)

    def refresh(self, plan: Plan, order: Order, rebuild: bool) -> None:
        """Re-key what changed."""
        version = plan.view._ledger.capacity_version
        if rebuild or version != self.capacity_version:
            self.capacity_version = version
            changed = list(plan.view.members)
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
        entry = (
            not member.below_guaranteed, order(member), member.submitted_ms, member.number, member
        )  # fmt: skip
        self.entries[member] = entry
        return entry


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
        index = view._indexes[place] = Index(plan)
    index.refresh(plan, order, live)
    if plan.spent:
        return plan
    if view.queue.leaf:
        _serve_applications(plan, index, order)
        if not plan.spent:  # nothing more fits; a turn that is used up says nothing about room
            _tell(plan, index)
    else:
        _give_turns(plan, index, order, turn_containers)
    return plan


def _serve_applications(plan: Plan, index: Index, order: Order) -> None:
    entries, stale = index.entries, index.stale
    aside: list[Entry] = []
    full: set[Any] = set()  # shapes that fit nowhere any more in this call
    shapes = plan.view._ledger.shapes
    while index.heap and not plan.spent:
        heap = index.heap
        entry = heap[0]
        member = entry[4]
        if entries.get(member) is not entry:
            heappop(heap)
            continue
        if len(full) >= len(shapes):
            break
        if _serve(plan, member, full):
            stale.pop(member, None)
            fresh = index._entry(order, member)
            if fresh is None:
                heappop(heap)
            else:
                heapreplace(heap, fresh)
        else:
            aside.append(heappop(heap))
    for entry in aside:
        heappush(index.heap, entry)


def _serve(plan: Plan, app: Any, full: set[Any]) -> bool:
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


def _why_nowhere(plan: Plan, ask: Ask, shape: Any, full: set[Any]) -> Reason:
    if plan.view._ledger.rooms.of(ask.size, ask.label).first() is None:
        full.add(shape)
        return Reason.NODE_FULL
    return Reason.LOCALITY if not ask.relax_locality else Reason.BLACKLISTED


def _tell(plan: Plan, index: Index) -> None:
    """Asks that came while the cluster was full were not looked at; they wait for room alike."""
    for member in index.untold:
        if isinstance(member, Application):
            for ask in member.asks:
                if ask.count > 0 and ask.told is None:
                    plan.wait(ask, plan.limited(ask) or Reason.NODE_FULL)
    index.untold.clear()


def _give_turns(plan: Plan, index: Index, order: Order, count: int) -> None:
    entries, stale = index.entries, index.stale
    aside: list[Entry] = []
    while index.heap and not plan.spent:
        heap = index.heap
        entry = heap[0]
        child: Any = entry[4]
        if entries.get(child) is not entry:
            heappop(heap)
            continue
        alone = len(entries) == 1  # nobody to take turns with
        taken = plan.turn(child, ALL if alone else count)
        stale.pop(child, None)
        if taken.count:
            fresh = index._entry(order, child)
            if fresh is None:
                heappop(heap)
            else:
                heapreplace(heap, fresh)
        elif taken.stopped == WITHHELD:
            del entries[child]  # not demanding until its next change or timer
            heappop(heap)
        else:
            aside.append(heappop(heap))
    for entry in aside:
        if entries.get(entry[4]) is entry:
            heappush(index.heap, entry)
