"""What queues may use of the nodes of each label: whether at all, and how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loomcard.model.cluster import Ask, Container, Queue
from loomcard.model.reasons import Reason
from loomcard.model.resource import Resource, add_all, room_for, subtract_all

if TYPE_CHECKING:
    from loomcard.model.ledger import Ledger

PPM = 1_000_000
_Place = tuple[int, str]
"""A queue's number and a node label."""


class LabelLimits:
    """The limits of one configuration, and what is held under them.

    ``active`` is False where no queue states any. Use is counted as containers come and go, and
    afresh after nodes, labels or applications have changed their place.
    """

    def __init__(self, queues: list[Queue]) -> None:
        specs = [(queue.number, queue.spec) for queue in queues]
        self._allowed = {n: frozenset(s["labels"]) for n, s in specs if "labels" in s}
        self._parts: dict[int, dict[str, int]] = {
            n: s["label_maximum_ppm"] for n, s in specs if "label_maximum_ppm" in s
        }
        self.active = bool(self._allowed or self._parts)
        self._limits: dict[_Place, Resource] = {}
        self._used: dict[_Place, list[int]] = {}
        self._version = -1

    def forget(self) -> None:
        """Containers are another queue's now; use is counted afresh when it is asked for."""
        self._version = -1

    def hold(self, container: Container) -> None:
        """A container started."""
        if self._parts:
            add_all(self._sums(container), container.size)

    def release(self, container: Container) -> None:
        """A container ended."""
        if self._parts:
            subtract_all(self._sums(container), container.size)

    def _sums(self, container: Container) -> list[list[int]]:
        label, sums = container.node.label, []
        queue: Queue | None = container.application.queue
        while queue is not None:
            if label in self._parts.get(queue.number, ()):
                sums.append(self._used.setdefault((queue.number, label), [0] * len(queue.used)))
            queue = queue.parent
        return sums

    def forbids(self, ledger: Ledger, ask: Ask) -> Reason | None:
        """Why the ask's queue may hold no further container of it on its label's nodes, or None."""
        leaf, label = ask.application.queue, ask.label
        allowed = self._allowed.get(leaf.number)
        if label and allowed is not None and label not in allowed:
            return Reason.LABEL
        if not self._parts:
            return None
        self._refresh(ledger)
        queue: Queue | None = leaf
        while queue is not None:
            limit = self._limits.get((queue.number, label))
            used = self._used.get((queue.number, label), ledger.zero)
            if limit is not None and not room_for(ask.size, used, limit):
                return Reason.QUEUE_MAX
            queue = queue.parent
        return None

    def _refresh(self, ledger: Ledger) -> None:
        if self._version == ledger.capacity_version:
            return
        self._version = ledger.capacity_version
        self._limits = {}
        for queue in ledger.queues:  # parents come first
            for label, part in self._parts.get(queue.number, {}).items():
                whole = self._above(ledger, queue, label)
                limit = Resource(amount * part // PPM for amount in whole)
                self._limits[queue.number, label] = limit
        self._used = {}
        for app in ledger.applications.values():
            for container in app.containers:
                self.hold(container)

    def _above(self, ledger: Ledger, queue: Queue, label: str) -> Resource:
        above = queue.parent
        while above is not None:
            if (above.number, label) in self._limits:
                return self._limits[above.number, label]
            above = above.parent
        partition = ledger.partitions.get(label)
        return ledger.zero if partition is None else partition.capacity
