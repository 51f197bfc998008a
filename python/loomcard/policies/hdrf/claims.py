"""What a leaf may claim by preemption: what it is guaranteed, which of its asks, within limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from loomcard.model.cluster import Ask, Queue
from loomcard.model.ledger import Ledger
from loomcard.model.resource import Resource, add_all, room_for
from loomcard.policies.hdrf.follow import Partition, applications_of
from loomcard.policies.hdrf.sums import Branch, Child, Leaf

ROUNDING = 1e-9


def guarantees(partition: Partition, whole: Resource) -> dict[Child, float]:
    """g(n) = g(parent) * w[n] / the sum of w over demanding siblings and n (section 1); but a queue
    whose ``guaranteed`` is a larger part of the ``whole`` cluster has that, and what it leaves of
    the parent's goes to its siblings by weight.
    """
    found: dict[Child, float] = {partition.tree.root: 1.0}
    waiting: list[Branch] = [partition.tree.root]
    while waiting:
        branch = waiting.pop()
        demanding = [child for child in branch.children if child.wants]
        promised = {c: p for c in branch.children if (p := _promise(c, whole))}
        level = _level(demanding, found[branch], promised)
        total = sum(sorted(child.weight for child in demanding))
        for child in branch.children:
            if child.wants:
                mine = level
            elif promised:
                mine = _level([*demanding, child], found[branch], promised)
            else:
                mine = found[branch] / (total + child.weight)
            found[child] = max(promised.get(child, 0.0), mine * child.weight)
            if isinstance(child, Branch):
                waiting.append(child)
    return found


def _promise(child: Child, whole: Resource) -> float:
    """The largest part of a resource that a queue is guaranteed by the set-up."""
    member = child.member
    if not isinstance(member, Queue):
        return 0.0
    pairs = zip(member.guaranteed, whole, strict=True)
    return max((amount / all_ for amount, all_ in pairs if all_), default=0.0)


def _level(children: Collection[Child], due: float, promised: Mapping[Child, float]) -> float:
    """What a weight of 1 is due, when each child has its promise at least and all have ``due``."""
    left, weights = due, sum(sorted(child.weight for child in children))
    bound = [child for child in children if child in promised]
    for child in sorted(bound, key=lambda c: (-promised[c] / c.weight, c.order)):
        if promised[child] * weights <= left * child.weight:
            break
        left, weights = left - promised[child], weights - child.weight
    return max(left, 0.0) / weights if weights > ROUNDING else 0.0


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
