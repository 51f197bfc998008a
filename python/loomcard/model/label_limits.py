"""What queues may use of the nodes of each label: whether at all, how much, and in what order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from loomcard.model.objects import Ask, Container
from loomcard.model.queue import Queue, queues_above
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource, add_all, room_for, short_of, subtract_all

if TYPE_CHECKING:
    from loomcard.model.state import ClusterState

PPM = 1_000_000
_Place = tuple[int, str]
"""A queue's number and a node label."""


class LabelLimits:
    """The limits of one configuration, and what is used under them.

    ``active`` is False if no queue states a limit. Use is counted as containers start and end, and
    counted again after nodes, labels or applications have moved.

    While it ``guards``, a queue that has its guarantee on a label waits for siblings that are below
    theirs, if these had asks that could be served when guarding began. ``deferred``: the asks that
    waited for this reason.
    """

    def __init__(self, queues: list[Queue]) -> None:
        specs = [(queue.number, queue.spec) for queue in queues]
        self._allowed = {n: frozenset(s["labels"]) for n, s in specs if "labels" in s}
        self._parts: dict[int, dict[str, int]] = {
            n: s["label_maximum_ppm"] for n, s in specs if "label_maximum_ppm" in s
        }
        self._guarantees: dict[int, dict[str, int]] = {
            n: s["label_guaranteed_ppm"] for n, s in specs if "label_guaranteed_ppm" in s
        }
        self.active = bool(self._allowed or self._parts or self._guarantees)
        self.guards = False
        self.deferred: dict[Ask, None] = {}
        self._contested: dict[_Place, bool] = {}  # by parent: some queue below it comes first
        self._limits: dict[_Place, Resource] = {}
        self._guaranteed: dict[_Place, Resource] = {}
        self._used: dict[_Place, list[int]] = {}
        self._version = -1

    def forget(self) -> None:
        """Forget the use, since containers changed their queue; it is counted again when needed."""
        self._version = -1

    def charge(self, container: Container) -> None:
        """Add a container that started."""
        if self._parts or self._guarantees:
            add_all(self._sums(container), container.size)

    def release(self, container: Container) -> None:
        """Subtract a container that ended."""
        if self._parts or self._guarantees:
            subtract_all(self._sums(container), container.size)

    def _sums(self, container: Container) -> list[list[int]]:
        label, sums = container.node.label, []
        queue: Queue | None = container.application.queue
        while queue is not None:
            n = queue.number
            if label in self._parts.get(n, ()) or label in self._guarantees.get(n, ()):
                sums.append(self._used.setdefault((n, label), [0] * len(queue.used)))
            queue = queue.parent
        return sums

    @property
    def bounds_lending(self) -> bool:
        """Whether some queue has a maximum on a label, which limits what is lent to it."""
        return bool(self._parts)

    def allowed(self, ask: Ask) -> bool:
        """Whether the ask's queue may ask for its label."""
        return not ask.label or self.may_use(ask.application.queue, ask.label)

    def may_use(self, queue: Queue, label: str) -> bool:
        """Whether a queue may ask for a label."""
        allowed = self._allowed.get(queue.number) if label else None
        return allowed is None or label in allowed

    def left(self, state: ClusterState, queue: Queue, label: str) -> list[int] | None:
        """What a queue's maximum on a label leaves it; None if it states none."""
        if label not in self._parts.get(queue.number, ()):
            return None
        self._refresh(state)
        place = (queue.number, label)
        return list(self._limits[place].minus(self._used.get(place, state.zero)))

    def promises(self, label: str) -> bool:
        """Whether some queue is guaranteed a part of the label's nodes."""
        return any(label in parts for parts in self._guarantees.values())

    def guaranteed(self, state: ClusterState, queue: Queue, label: str) -> Resource:
        """What a queue is guaranteed on the label's nodes; 0 if it states nothing."""
        self._refresh(state)
        return self._guaranteed.get((queue.number, label), state.zero)

    def forbids(self, state: ClusterState, ask: Ask, lent: str = "") -> Reason | None:
        """Why the ask's queue may have no further container of it on its label's nodes, or None.
        ``lent``: the label of the nodes that are lent to an ask without a label.
        """
        leaf, label = ask.application.queue, ask.label or lent
        if not label:
            return None
        if not self.allowed(ask):
            return Reason.LABEL
        if not self._parts:
            return None
        self._refresh(state)
        queue: Queue | None = leaf
        while queue is not None:
            limit = self._limits.get((queue.number, label))
            used = self._used.get((queue.number, label), state.zero)
            if limit is not None and not room_for(ask.size, used, limit):
                return Reason.QUEUE_MAX
            queue = queue.parent
        return None

    def labels_of(self, leaf: Queue) -> frozenset[str] | None:
        """The labels that a leaf queue may use; None: all."""
        return self._allowed.get(leaf.number)

    def maxima(
        self, state: ClusterState, leaf: Queue, label: str
    ) -> Iterator[tuple[Queue, Resource, Resource]]:
        """The queues on a leaf's path with a maximum on the label's nodes: queue, maximum, and what
        the maximum is a part of.
        """
        if not self._parts:
            return
        self._refresh(state)
        for queue in queues_above(leaf):
            limit = self._limits.get((queue.number, label))
            if limit is not None:
                yield queue, limit, self._above(state, queue, label)

    def used(self, state: ClusterState, queue: Queue, label: str) -> Resource:
        """What a queue that has a limit on the label's nodes uses there."""
        return Resource(self._used.get((queue.number, label), state.zero))

    def allow(self, leaf: Queue, label: str) -> None:
        """Let a leaf queue use a label's nodes; for a trial on a copy."""
        self._allowed[leaf.number] = self._allowed.get(leaf.number, frozenset()) | {label}

    def relax(self, queue: Queue, label: str, short: Resource) -> None:
        """Raise a maximum on a label's nodes by ``short``; for a trial on a copy."""
        place = (queue.number, label)
        self._limits[place] = self._limits[place].plus(short)

    # Guarantees: an order among siblings, while there is enough for neither

    def guard(self, guards: bool) -> None:
        """Set whether guarantees defer asks from now on."""
        self.guards = guards and bool(self._guarantees)
        if self.guards:
            self.deferred, self._contested = {}, {}

    def defers(self, state: ClusterState, ask: Ask) -> Reason | None:
        """Why an ask that no limit forbids waits for other queues' guarantees, or None."""
        if not ask.label:
            return None
        self._refresh(state)
        queue = ask.application.queue
        while queue.parent is not None:
            contested = self._is_contested(state, queue.parent, ask.label)
            if contested and not self.below(state, queue, ask.label):
                self.deferred[ask] = None
                return Reason.LABEL_GUARANTEE
            queue = queue.parent
        return None

    def below(self, state: ClusterState, queue: Queue, label: str) -> bool:
        """Whether the queue uses less than it is guaranteed on the label's nodes, in every type
        that is guaranteed.
        """
        place = (queue.number, label)
        guaranteed = self._guaranteed.get(place)
        return guaranteed is not None and short_of(self._used.get(place, state.zero), guaranteed)

    def _is_contested(self, state: ClusterState, parent: Queue, label: str) -> bool:
        place = (parent.number, label)
        found = self._contested.get(place)
        if found is None:
            promised = [q for q in parent.children if label in self._guarantees.get(q.number, ())]
            owed = [queue for queue in promised if self.below(state, queue, label)]
            self.guards = False  # limits alone count here
            found = bool(owed) and any(
                any(q is above for q in owed for above in queues_above(ask.application.queue))
                and state.limited(ask) is None
                for ask in state.labelled.get(label, ())
                if state.fit_indexes.first(ask.size, label) is not None
            )
            self.guards = True
            self._contested[place] = found
        return found

    def could_go_on(self, state: ClusterState) -> bool:
        """Whether some ask that was deferred would fit."""
        shapes = dict.fromkeys((ask.size, ask.label) for ask in self.deferred if ask.count > 0)
        return any(state.fit_indexes.first(*shape) for shape in shapes)

    # What the shares come to

    def _refresh(self, state: ClusterState) -> None:
        if self._version == state.capacity_version:
            return
        self._version = state.capacity_version
        self._limits, self._guaranteed = {}, {}
        for queue in state.queues:  # parents come first
            n = queue.number
            for label, part in self._parts.get(n, {}).items():
                self._limits[n, label] = _share(self._above(state, queue, label), part)
            for label, part in self._guarantees.get(n, {}).items():
                self._guaranteed[n, label] = _share(self._guarantee_of(state, queue, label), part)
        self._used = {}
        for app in state.applications.values():
            for container in app.containers:
                self.charge(container)

    def _above(self, state: ClusterState, queue: Queue, label: str) -> Resource:
        """What the queues above ``queue`` may use."""
        above = queue.parent
        while above is not None:
            if (above.number, label) in self._limits:
                return self._limits[above.number, label]
            above = above.parent
        partition = state.partitions.get(label)
        return state.zero if partition is None else partition.capacity

    def _guarantee_of(self, state: ClusterState, queue: Queue, label: str) -> Resource:
        """What the parent is guaranteed; for root, all that it may use."""
        parent = queue.parent
        if parent is not None and (parent.number, label) in self._guaranteed:
            return self._guaranteed[parent.number, label]
        if parent is None or parent.parent is None:
            return self._above(state, queue, label)
        return state.zero


def _share(whole: Resource, ppm: int) -> Resource:
    return Resource(amount * ppm // PPM for amount in whole)
