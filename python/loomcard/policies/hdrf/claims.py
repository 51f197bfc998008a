"""What a leaf may claim by preemption: what it is guaranteed, which of its asks, within limits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from loomcard.model.cluster import Ask, Queue
from loomcard.model.ledger import Ledger
from loomcard.model.resource import Resource, add_all, room_for
from loomcard.policies.hdrf.cluster_tree import Partition, applications_of
from loomcard.policies.hdrf.paper import guarantees
from loomcard.policies.hdrf.share_tree import Child, Leaf

ROUNDING = 1e-9


def due(
    partition: Partition, whole: Resource, held: Callable[[Child], float],
    children: Callable[[Any], Iterable[Child]] = lambda n: n.children,
) -> dict[Child, float]:  # fmt: skip
    """What each node of a partition is guaranteed now, by ``guarantees``: what ``held`` says that
    it has is the most that is due to one that wants no more. A queue's ``guaranteed`` is its
    largest part of a resource of the ``whole`` cluster.
    """

    def promised(child: Child) -> float:
        if not isinstance(child.member, Queue):
            return 0.0
        pairs = zip(child.member.guaranteed, whole, strict=True)
        return max((amount / all_ for amount, all_ in pairs if all_), default=0.0)

    root = partition.tree.root
    return guarantees(root, lambda child: bool(child.wants), held, promised, children)


class Limits:
    """What maxima, user limits and AM shares leave, once all that is being taken is gone and all
    that is owed has been served.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._freed: dict[Queue, list[int]] = {}
        self._owed: dict[Queue, list[int]] = {}

    def free(self, queue: Queue, size: Sequence[int]) -> None:
        """A container in a leaf queue is being taken."""
        _add(self._freed, queue, size)

    def owe(self, queue: Queue, size: Sequence[int]) -> None:
        """Room for a task in a queue has been taken."""
        _add(self._owed, queue, size)

    def tight(self, ask: Ask) -> dict[Queue, list[int]]:
        """The queues, from the root down, whose maximum has no room for one more container of
        ``ask``, and what it leaves. Only what is taken from inside all of them helps.
        """
        found = {}
        for queue in ask.application.queue.capped:
            assert queue.maximum is not None
            freed, owed = self._freed.get(queue), self._owed.get(queue)
            left = list(queue.maximum.minus(queue.used))
            left = [a + b for a, b in zip(left, freed, strict=True)] if freed else left
            left = [a - b for a, b in zip(left, owed, strict=True)] if owed else left
            if not has_room(ask.size, left):
                found[queue] = left
        return found

    def barred(self, ask: Ask) -> bool:
        """Its user's limit or the AM share forbids one more container of ``ask``: nothing that is
        taken from others helps.
        """
        app = ask.application
        queue = app.queue
        owed = self._owed.get(queue)
        if queue.user_limit is not None and owed:
            used = queue.user_used.get(app.user, self._ledger.zero)
            if not room_for(ask.size, used, queue.user_limit.minus(owed)):
                return True
        return self._ledger.limited_in(queue, app.user, ask.size, ask.is_am) is not None


def _add(sums: dict[Queue, list[int]], queue: Queue | None, size: Sequence[int]) -> None:
    while queue is not None:
        add_all([sums.setdefault(queue, [0] * len(size))], size)
        queue = queue.parent


def asks_of(leaf: Leaf, label: str, sizes: Collection[Resource]) -> dict[Ask, int]:
    """The outstanding asks of a leaf for tasks of these sizes, in the order in which it is served;
    of those alike in size, user, queue and place the first, with the count of all.
    """
    found: dict[Any, Ask] = {}
    counts: dict[Ask, int] = {}
    apps = applications_of(leaf.member)
    for app in sorted(apps, key=lambda a: (-a.priority, a.submitted_ms, a.number)):
        for ask in app.asks:
            if ask.count > 0 and ask.label == label and ask.size in sizes:
                where = () if ask.suits_all else (*ask.hosts, *ask.racks, *ask.strict_racks)
                kind = (
                    app.queue.path, app.user, ask.is_am, ask.size, where,
                    frozenset(ask.attempt.blacklist),
                )  # fmt: skip
                first = found.setdefault(kind, ask)
                counts[first] = counts.get(first, 0) + ask.count
    return counts


def has_room(size: Sequence[int], left: Sequence[int]) -> bool:
    """Whether a container is within what a limit leaves, in what it needs at all."""
    return all(not s or s <= room for s, room in zip(size, left, strict=True))
