"""The members of one queue in the order of one policy, kept from round to round."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any, Literal, Self

from mypy_extensions import mypyc_attr

from loomcard.api.lazy_heap import Entry, LazyHeap
from loomcard.api.view import ClusterView, members_of
from loomcard.model.fit_index import SHAPES_KEPT, Shape
from loomcard.model.limits import forbids_all
from loomcard.model.objects import Application, Member
from loomcard.model.queue import Queue

Order = Callable[[Any], Any]
"""A function from a member to its sort key, which must compare with the other members' keys."""


Heaps = dict[Shape | None, LazyHeap]


@mypyc_attr(allow_interpreted_subclasses=True)
class MemberIndex:
    """The members of one queue in the order of one policy, kept from round to round.

    An application is in one heap for each shape of container that it asks for, so that those whose
    shapes fit nowhere are not looked at; in other heaps if it asks for its AM alone. All child
    queues are in one heap. ``guarantees_first``: queues below their guarantee come before the
    others, whatever the order.

    An entry: whether others come first, its key, submission, number, and the member.
    """

    def __init__(self, queue: Queue, *, guarantees_first: bool = True) -> None:
        self.queue = queue
        self.guarantees_first = guarantees_first
        self.stale: dict[Member, None] = {}
        self.entries: dict[Member, Entry] = {}
        # By shape: of tasks and queues, and of applications that ask for their AM.
        self._heaps: tuple[Heaps, Heaps] = {}, {}
        self.capacity_version = -1
        self.unreported: dict[Member, None] = {}  # changed, and no reason given yet
        self._at: Shape | None = None  # the heap in which the top was found
        self._at_master = False  # it is one of AMs
        # Heaps of which a limit of the leaf forbids everything in this call.
        self._closed: tuple[set[Any], set[Any]] = set(), set()
        self.limited: dict[Member, None] = {}  # in heaps that were closed for a new reason
        self._view: ClusterView | None = None
        self.aside: list[tuple[Shape | None, Entry]] = []  # gets nothing in this call

    def attach(self, view: ClusterView) -> Self:
        """Follow the changes below the queue from now on; returns the index."""
        view.watch(self.queue, self.stale)
        self._view = view
        return self

    def refresh(self, version: int, order: Order, rebuild: bool = False) -> None:
        """Re-key what changed; re-key all if the capacity has another ``version``."""
        if rebuild or version != self.capacity_version:
            self.capacity_version = version
            changed = members_of(self.queue)
            self.entries.clear()
            for heaps in self._heaps:
                heaps.clear()
        else:
            changed = list(self.stale)
            if sum(map(len, self._heaps)) > 2 * SHAPES_KEPT:
                for heaps in self._heaps:
                    for shape in [shape for shape, heap in heaps.items() if not heap]:
                        del heaps[shape]
        for member in changed:
            self.rekey(order, member)
        if changed:
            self.stale.clear()
            self.unreported.update(dict.fromkeys(changed))

    def rekey(self, order: Order, member: Member) -> None:
        """Give a changed member its new place. A member that demands nothing has no place, nor has
        an application in a queue from which it was moved.
        """
        moved = isinstance(member, Application) and member.queue is not self.queue
        if moved or member.pending_count <= 0:
            self.entries.pop(member, None)
            self.limited.pop(member, None)
            return
        entry = self._entry(order, member)
        for shape in shapes_of(member):
            self._push(shape, entry)

    def _entry(self, order: Order, member: Member) -> Entry:
        after = self.guarantees_first and not member.below_guaranteed
        entry: Entry = (after, order(member), member.submitted_ms, member.number, member)
        self.entries[member] = entry
        return entry

    @property
    def known_shapes(self) -> Iterable[Shape | None]:
        """The shapes that members demand, or did lately; None for child queues."""
        tasks, masters = self._heaps
        return tasks.keys() | masters.keys()

    def _push(self, shape: Shape | None, entry: Entry) -> None:
        heaps = self._heaps[asks_for_master(entry[4])]
        heap = heaps.get(shape)
        if heap is None:
            heap = heaps[shape] = LazyHeap(self.entries)
        heap.push(entry)

    def top(self, full: Container[Any] = ()) -> Member | None:
        """The first member that demands a shape not in ``full``; None if no member does."""
        best: Entry = None
        for master in (False, True):
            closed = self._closed[master]
            for shape, heap in self._heaps[master].items():
                if shape in full or shape in closed:
                    continue
                entry = heap.top()
                if entry is not None and (best is None or entry < best):
                    best = entry
                    self._at, self._at_master = shape, master
        return None if best is None else best[4]

    def served(self, order: Order, member: Member) -> None:
        """Give the top its new place, after it got something."""
        self.stale.pop(member, None)
        heap = self._heaps[self._at_master][self._at]
        if member.pending_count > 0 and only_shape_of(member) == self._at:
            heap.replace_top(self._entry(order, member))
            return
        heap.pop()
        self.rekey(order, member)

    def take_top(self) -> list[tuple[Shape | None, Entry]]:
        """Remove the top from every heap in which it is first; ``restore`` puts it back."""
        heaps = self._heaps[self._at_master]
        top = heaps[self._at].top()
        found = []
        for shape, heap in heaps.items():
            while heap.top() is top:
                found.append((shape, heap.pop()))
        return found

    def set_aside(self) -> None:
        """Give the top nothing in this call, whatever it asks for."""
        self.aside += self.take_top()

    def close(self, *, report: bool = True) -> bool:
        """Close the heap of the top for this call if a limit of the leaf forbids all that is in it:
        then not each of its members is looked at. Return whether it did. Otherwise the top is to be
        set aside.

        ``report``: if the limit is the top's new reason, all members get it (``limited``).
        """
        shape, master = self._at, self._at_master
        if not self.queue.leaf or shape is None or not forbids_all(self.queue, shape[0], master):
            return False
        self._closed[master].add(shape)
        heap = self._heaps[master][shape]
        top: Any = heap.top()
        if report and self._view is not None and top is not None:
            now_ms = self._view.now_ms
            if any(ask.count > 0 and ask.reported_ms == now_ms for ask in top[4].asks):
                self.limited.update(dict.fromkeys(heap.members()))
        return True

    def reopen(self) -> None:
        """Open the heaps that were closed."""
        for closed in self._closed:
            closed.clear()

    def put_back(self) -> None:
        """End the call: members that were set aside may try again in the next."""
        self.reopen()
        if self.aside:
            self.restore(self.aside)
            self.aside = []

    def restore(self, taken: Iterable[tuple[Shape | None, Entry]]) -> None:
        """Put back what was taken out, except what has another place by now."""
        for shape, entry in taken:
            if self.entries.get(entry[4]) is entry:
                self._push(shape, entry)


def asks_for_master(member: Member) -> bool:
    """Whether an application asks for its AM, and for nothing else."""
    if isinstance(member, Queue):
        return False
    asks = member.asks
    return len(asks) == 1 and asks[0].is_am


def only_shape_of(member: Member) -> Shape | Literal[False] | None:
    """The one shape that a member asks for, as ``shapes_of`` gives it; False if it has several."""
    if isinstance(member, Queue):
        return None
    asks = member.asks
    return (asks[0].size, asks[0].label) if len(asks) == 1 else False


def shapes_of(member: Member) -> Iterable[Shape | None]:
    """The shapes that an application asks for; for a queue, only its policy knows them."""
    if isinstance(member, Queue):
        return _UNKNOWN
    asks = member.asks
    if len(asks) == 1:
        return ((asks[0].size, asks[0].label),)
    return dict.fromkeys((ask.size, ask.label) for ask in asks if ask.count > 0)


_UNKNOWN = (None,)
