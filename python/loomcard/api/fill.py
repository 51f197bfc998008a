"""The shared loop: serve members in order, one container a time, until nothing more fits.

``order`` gives a member's key from the member and the cluster's capacity alone; the index re-keys
only members that
changed, so the author writes one line and the loop stays fast. Queues below their guaranteed
capacity come first.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any, Literal, Self

from mypy_extensions import mypyc_attr

from loomcard.api.lazy_heap import Entry, LazyHeap
from loomcard.api.order_identity import bound_values, described, identity_of
from loomcard.api.pending_plan import RULE_MS
from loomcard.api.plan import Plan
from loomcard.api.reserve import RESERVE_AFTER_MS, no_room, serve_reservations, want_room
from loomcard.api.view import WITHHELD, ClusterView, asks_below, members_of
from loomcard.model.fit_index import SHAPES_KEPT, Shape
from loomcard.model.objects import Application, Ask, Member
from loomcard.model.queue import Queue
from loomcard.model.reasons import Reason
from loomcard.model.renamed import argument
from loomcard.model.resource import Resource, fits

ALL = 1 << 30
"""A count of containers that no round reaches."""

SHARE = "SHARE"
"""The reason of an ask that waits because its application uses what its policy lets it have."""

RESERVED = "RESERVED"
"""The reason of an ask that waits because the policy keeps what is free for others."""

Order = Callable[[Any], Any]
"""From a member to its sort key: anything that compares with the other members' keys."""


@mypyc_attr(allow_interpreted_subclasses=True)
class MemberIndex:
    """The members of one queue in the order of one policy, kept from round to round.

    Applications stand in one heap for each shape of container that they ask for, so that those
    whose shapes fit nowhere are not looked at; child queues stand in one. ``guarantees_first``:
    queues below their guarantee go before the others, whatever the order.

    An entry: whether others go first, its key, submission, number, and the member.
    """

    def __init__(self, queue: Queue, *, guarantees_first: bool = True) -> None:
        self.queue = queue
        self.guarantees_first = guarantees_first
        self.stale: dict[Member, None] = {}
        self.entries: dict[Member, Entry] = {}
        self.heaps: dict[Shape | None, LazyHeap] = {}
        self.capacity_version = -1
        self.unreported: dict[Member, None] = {}  # changed, and no reason given yet
        self._at: Shape | None = None  # the heap in which the top was found
        self.aside: list[tuple[Shape | None, Entry]] = []  # gets nothing in this call

    def attach(self, view: ClusterView) -> Self:
        """Follow the changes below the queue from now on; returns the index."""
        view.watch(self.queue, self.stale)
        return self

    def refresh(self, version: int, order: Order, rebuild: bool = False) -> None:
        """Re-key what changed; all, when the capacity has another ``version``."""
        if rebuild or version != self.capacity_version:
            self.capacity_version = version
            changed = members_of(self.queue)
            self.entries.clear()
            self.heaps.clear()
        else:
            changed = list(self.stale)
            if len(self.heaps) > 2 * SHAPES_KEPT:
                self.heaps = {shape: heap for shape, heap in self.heaps.items() if heap}
        for member in changed:
            self.rekey(order, member)
        if changed:
            self.stale.clear()
            self.unreported.update(dict.fromkeys(changed))

    def rekey(self, order: Order, member: Member) -> None:
        """Give a changed member its new place; one that does not demand has none."""
        if member.pending_count <= 0:
            self.entries.pop(member, None)
            return
        entry = self._entry(order, member)
        for shape in shapes_of(member):
            self._push(shape, entry)

    def _entry(self, order: Order, member: Member) -> Entry:
        after = self.guarantees_first and not member.below_guaranteed
        entry: Entry = (after, order(member), member.submitted_ms, member.number, member)
        self.entries[member] = entry
        return entry

    def _push(self, shape: Shape | None, entry: Entry) -> None:
        heap = self.heaps.get(shape)
        if heap is None:
            heap = self.heaps[shape] = LazyHeap(self.entries)
        heap.push(entry)

    def top(self, full: Container[Any] = ()) -> Member | None:
        """The first of all that demand something that is not ``exhausted``; None if none does."""
        best: Entry = None
        for shape, heap in self.heaps.items():
            if shape in full:
                continue
            entry = heap.top()
            if entry is not None and (best is None or entry < best):
                best = entry
                self._at = shape
        return None if best is None else best[4]

    def served(self, order: Order, member: Member) -> None:
        """The top got something: its new place."""
        self.stale.pop(member, None)
        heap = self.heaps[self._at]
        if member.pending_count > 0 and only_shape_of(member) == self._at:
            heap.replace_top(self._entry(order, member))
            return
        heap.pop()
        self.rekey(order, member)

    def take_top(self) -> list[tuple[Shape | None, Entry]]:
        """Remove the top from every heap in which it is first; ``restore`` puts it back."""
        top = self.heaps[self._at].top()
        found = []
        for shape, heap in self.heaps.items():
            while heap.top() is top:
                found.append((shape, heap.pop()))
        return found

    def set_aside(self) -> None:
        """The top gets nothing in this call, whatever it asks for."""
        self.aside += self.take_top()

    def put_back(self) -> None:
        """The call is over: who was set aside may try again in the next."""
        if self.aside:
            self.restore(self.aside)
            self.aside = []

    def restore(self, taken: Iterable[tuple[Shape | None, Entry]]) -> None:
        """Put back what was taken out, but for what has another place by now."""
        for shape, entry in taken:
            if self.entries.get(entry[4]) is entry:
                self._push(shape, entry)


def only_shape_of(member: Member) -> Shape | Literal[False] | None:
    """The one shape that a member asks for, as ``shapes_of`` gives it; False where it has more."""
    if isinstance(member, Queue):
        return None
    asks = member.asks
    return (asks[0].size, asks[0].label) if len(asks) == 1 else False


def shapes_of(member: Member) -> Iterable[Shape | None]:
    """The shapes that an application asks for; of a queue nobody knows but its policy."""
    if isinstance(member, Queue):
        return _UNKNOWN
    asks = member.asks
    if len(asks) == 1:
        return ((asks[0].size, asks[0].label),)
    return dict.fromkeys((ask.size, ask.label) for ask in asks if ask.count > 0)


_UNKNOWN = (None,)


def fill(
    plan: Plan, *, order: Order, index: str = "fill", live: bool = False, turn_containers: int = 1,
    reserve_after_ms: int = RESERVE_AFTER_MS, goes_on: bool = False, **renamed: int,
) -> Plan:  # fmt: skip
    """Allocate containers to the scope's members, in order, until nothing fits.

    ``order``: a member's sort key; ties go by submission, then number. It may look at the member
    and at the cluster's capacity; if it looks at more, ``live=True`` re-keys every member at each
    call. ``index``: the name under which the members are kept in this order from call to call; a
    policy that fills by several orders names an index for each. ``turn_containers``: how many
    containers a child queue's policy may allocate in one turn; one that demands alone may take all.
    ``reserve_after_ms``: for how long the first in line of a leaf queue is passed over, because it
    fits nowhere, before room is reserved for it; 0: none is. ``goes_on``: the policy does nothing
    else in ``decide``, so that later turns of the round need not call it (``plan.go_on``).

    Deprecated since 0.1: ``hold_after_ms``, which is ``reserve_after_ms``.

    Raises ValueError where the index was made for another order.
    """
    view = plan.view
    if renamed:
        reserve_after_ms = argument("fill", "reserve_after_ms", renamed, "hold_after_ms")
    kept = view.cache(
        (_CachedIndex, index), lambda: _CachedIndex(MemberIndex(view.queue).attach(view), order)
    )
    kept.check(order, index, None if live else view.version)
    serving = _Fill(plan, kept.index, order, live, turn_containers, reserve_after_ms)
    if goes_on:
        plan.go_on = serving.run
    serving.run()
    return plan


class _CachedIndex:
    """An index and the order that it is in."""

    __slots__ = ("_bound", "_order", "_version", "index")

    def __init__(self, index: MemberIndex, order: Order) -> None:
        self.index = index
        self._order = identity_of(order)
        self._bound: Any = None  # of the order, in the round of that version
        self._version: int | None = -1

    def check(self, order: Order, name: str, version: int | None) -> None:
        """Raise ValueError for another order than before, or one with other values in it than
        earlier in the round of that version; None: its values may change with each call.
        """
        identity, bound = identity_of(order), [] if version is None else bound_values(order)
        if version != self._version:
            self._version, self._bound = version, bound
        if identity != self._order or bound != self._bound:
            ours, theirs = described(self._order, self._bound), described(identity, bound)
            raise ValueError(
                f"fill: index {name!r} is in the order of {ours}, not of {theirs}:"
                " name another one, as in fill(..., index='second')"
            )


class _Fill:
    """One plan's use of an index: what a turn of the policy runs."""

    __slots__ = (
        "exhausted", "index", "live", "order", "plan", "reserve_after_ms", "turn_containers",
    )  # fmt: skip

    def __init__(
        self, plan: Plan, index: MemberIndex, order: Order, live: bool, turn_containers: int,
        reserve_after_ms: int,
    ) -> None:  # fmt: skip
        self.plan = plan
        self.index = index
        self.order = order
        self.live = live
        self.turn_containers = turn_containers
        self.reserve_after_ms = reserve_after_ms
        self.exhausted = ExhaustedShapes(plan.view)

    def run(self) -> None:
        """Serve what room is reserved for, then members in order, then reserve room."""
        plan, index = self.plan, self.index
        view = plan.view
        leaf, state = view.queue.leaf, view._state
        if leaf and state.reservations and not plan.spent:
            serve_reservations(plan, lambda queue: queue is view.queue)
        if index.stale or self.live or index.capacity_version != state.capacity_version:
            index.refresh(state.capacity_version, self.order, self.live)
        if plan.spent:
            return
        if not leaf:
            _give_turns(plan, index, self.order, self.turn_containers)
            return
        _serve_applications(plan, index, self.order, self.exhausted)
        if not plan.spent:  # nothing more fits; a turn that is used up says nothing about room
            report_waiting(plan, index.unreported)
            want_room(plan, index, self.reserve_after_ms)


class ExhaustedShapes:
    """Which shapes fit nowhere any more; nothing is freed while a round lasts.

    ``shared``: with what earlier calls of the round found out already, and for the later ones.
    """

    def __init__(self, view: ClusterView, *, shared: bool = True) -> None:
        self._state = view._state
        self._shapes: set[Shape] = view.exhausted if shared else set()

    def __contains__(self, shape: object) -> bool:
        return shape in self._shapes

    def everything(self) -> bool:
        """Nothing that anybody asks for fits any more."""
        return len(self._shapes) >= len(self._state.shapes)

    def add(self, shape: Shape) -> None:
        """One shape was found to fit nowhere: look at all shapes now, so that not every member
        tries without success.
        """
        if not self._shapes:
            first = self._state.fit_indexes.first
            self._shapes.update(s for s in self._state.shapes if first(*s) is None)
        self._shapes.add(shape)


def _serve_applications(
    plan: Plan, index: MemberIndex, order: Order, full: ExhaustedShapes
) -> None:
    while not plan.spent and not full.everything():
        app = index.top(full)
        if app is None:
            break
        if serve_application(plan, app, full):
            index.served(order, app)
        else:
            index.set_aside()
    index.put_back()


def serve_application(
    plan: Plan, app: Any, full: ExhaustedShapes, most: Resource | None = None,
    reserved: Container[Any] = (),
) -> bool:  # fmt: skip
    """One container for the first of the application's asks that fits; asks that fit nowhere are
    passed over, and so are those beyond ``most`` and of shapes for which nothing but what is
    ``reserved`` for others is left.
    """
    for ask in app.asks:
        if ask.count <= 0:
            continue
        shape = (ask.size, ask.label)
        if shape in reserved:
            plan.wait(ask, RESERVED, plan.view.now_ms + RULE_MS)
            continue
        if shape in full:
            plan.wait(ask, no_room(plan.view, ask))
            continue
        limit = plan.limited(ask)
        if limit is not None:
            plan.wait(ask, limit)
            continue
        if not plan.allows(ask):
            continue
        if most is not None and not fits(ask.size, most):
            plan.wait(ask, SHARE, plan.view.now_ms + RULE_MS)
            continue
        node = plan.place(ask)
        if node is not None:
            plan.allocate_checked(ask, node)
            return True
        plan.wait(ask, _why_nowhere(plan, ask, shape, full))
    return False


def _why_nowhere(plan: Plan, ask: Ask, shape: Shape, full: ExhaustedShapes) -> str:
    if plan.view._state.fit_indexes.first(ask.size, ask.label) is None:
        full.add(shape)
        return no_room(plan.view, ask)
    return Reason.LOCALITY if not ask.relax_locality else Reason.BLACKLISTED


def report_waiting(plan: Plan, unreported: dict[Member, None]) -> None:
    """Asks that came while the cluster was full were not looked at; they wait for room alike."""
    for member in unreported:
        if isinstance(member, Application):
            for ask in member.asks:
                if ask.count > 0 and ask.reported_reason is None:
                    plan.wait(ask, plan.limited(ask) or no_room(plan.view, ask))
    unreported.clear()


def _give_turns(plan: Plan, index: MemberIndex, order: Order, count: int) -> None:
    while not plan.spent:
        child: Any = index.top()
        if child is None:
            break
        alone = len(index.entries) == 1  # nobody to take turns with
        if take_turn(plan, index, child, ALL if alone else count):
            index.served(order, child)
        elif child in index.entries:
            index.set_aside()
    index.put_back()


def take_turn(
    plan: Plan, index: MemberIndex, child: Queue, count: int, limit: Resource | None = None
) -> bool:
    """Let a child queue's policy decide; whether it took something. One that holds back leaves the
    index until its next change or timer.
    """
    taken = plan.turn(child, count, limit)
    if taken.count:
        return True
    if limit is not None and not any(fits(ask.size, limit) for ask in asks_below(child)):
        plan.wait(child, SHARE, plan.view.now_ms + RULE_MS)
    index.stale.pop(child, None)
    if taken.stopped == WITHHELD:
        del index.entries[child]
    return False
