"""What limits leave for tasks for which containers are preempted."""

from __future__ import annotations

from collections.abc import Sequence

from loomcard.model.limits import own_limit
from loomcard.model.objects import Ask, Container
from loomcard.model.queue import Queue, queues_above
from loomcard.model.resource import add_all, room_for
from loomcard.model.state import ClusterState


class Limits:
    """What maxima, user limits and AM shares leave, after the containers that are being preempted
    have ended and the owed tasks have started.
    """

    def __init__(self, state: ClusterState, label: str) -> None:
        """``label``: of the nodes that are looked at."""
        self._state = state
        self._label = label
        self._gains: dict[Queue, list[int]] = {}  # what is being preempted, less what is owed
        self._owed: dict[Queue, list[int]] = {}
        self._here: dict[Queue, list[int]] = {}  # of the gains, those on nodes of the label

    def free(self, container: Container) -> None:
        """Count a container that is being preempted."""
        queue = container.application.queue
        _add(self._gains, queue, container.size)
        if container.node.label == self._label:
            _add(self._here, queue, container.size)

    def owe(self, queue: Queue, size: Sequence[int]) -> None:
        """Count a task of a queue for which room has been taken."""
        _add(self._owed, queue, size)
        for gains in (self._gains, self._here):
            _add(gains, queue, [-amount for amount in size])

    def owed(self, queue: Queue) -> Sequence[int]:
        """Return what the tasks use for which room of a queue has been taken."""
        return self._owed.get(queue, self._state.zero)

    def tight(self, ask: Ask) -> dict[Queue, list[int]]:
        """Return the queues, from the root down, whose maximum has no room for one more container
        of ``ask``, each with what its maximum leaves. Only containers inside all of them help. The
        maximum is the queue's own, or that on the label.
        """
        found: dict[Queue, list[int]] = {}
        for queue in reversed(list(queues_above(ask.application.queue))):
            bounds = []
            if queue.maximum is not None:
                bounds.append((list(queue.maximum.minus(queue.used)), self._gains))
            on_label = self._state.label_limits.left(self._state, queue, self._label)
            if on_label is not None:
                bounds.append((on_label, self._here))
            for left, gains in bounds:
                if queue in gains:
                    add_all([left], gains[queue])
                if not has_room(ask.size, left):
                    before = found.get(queue, left)
                    found[queue] = list(map(min, left, before))
        return found

    def barred(self, ask: Ask) -> bool:
        """Return whether the user limit, the limits of AMs or the queue's labels forbid one more
        container of ``ask``. Taking containers from others does not help then.
        """
        if not self._state.label_limits.allowed(ask):
            return True
        user, queue = ask.application.user, ask.application.queue
        owed = self._owed.get(queue)
        if queue.user_limit is not None and owed:
            used = queue.user_used.get(user) or [0] * len(owed)
            if not room_for(ask.size, used, queue.user_limit.minus(owed)):
                return True
        return own_limit(queue, user, ask.size, ask.is_am) is not None


def _add(sums: dict[Queue, list[int]], leaf: Queue, size: Sequence[int]) -> None:
    for queue in queues_above(leaf):
        add_all([sums.setdefault(queue, [0] * len(size))], size)


def has_room(size: Sequence[int], left: Sequence[int]) -> bool:
    """Return whether a container is within what a limit leaves, in the types that it needs."""
    return all(not s or s <= room for s, room in zip(size, left, strict=True))
