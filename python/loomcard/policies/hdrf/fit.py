"""Where a task fits now, and what limits let it. What is reserved for another ask is no room.

This is the one place that says so: what fits on no server is blocked, for shares and for the
descent alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from loomcard import (
    Application,
    Ask,
    ClusterView,
    Node,
    Plan,
    Queue,
    Resource,
    Shape,
    add_all,
    fits,
)
from loomcard.advanced import FirstFit, own_limit, room_for
from loomcard.policies.hdrf.paper import largest_demand, unsaturated


class Kind:
    """The servers of one partition and one capacity."""

    def __init__(self, width: int) -> None:
        self.nodes: dict[int, Node] = {}
        self.largest = [0] * width  # q; with headroom
        self.fit = FirstFit(self.nodes)  # of what must be free; with headroom

    def ask_for(self, largest: list[int]) -> None:
        """The headroom is another: something else must be free for each task."""
        if self.largest != largest:
            self.largest, self.fit = largest, FirstFit(self.nodes)

    def needs(self, size: Resource) -> Resource:
        """What must be free for a task: the largest of what it needs."""
        return Resource(max(s, q) if s else 0 for s, q in zip(size, self.largest, strict=True))


class Servers:
    """The servers of a cluster. With ``headroom`` a task goes only where the component-wise largest
    of the wanted tasks that an empty server of its kind could run would fit, in what the task needs
    (docs/papers/hdrf.md 2.5-16); else where there is room for it.
    """

    def __init__(self, view: ClusterView, headroom: bool) -> None:
        self.headroom = headroom
        self._view = view
        self._version = -1
        self._changed: dict[Node, None] = view.watch_nodes() if headroom else {}
        self._kinds: dict[tuple[str, Resource], Kind] = {}
        self._wanted: dict[str, Sequence[Resource]] = {}  # by partition

    def update(self) -> None:
        """Follow the servers that changed."""
        if self._version != self._view.capacity_version:
            self._version = self._view.capacity_version
            self._kinds.clear()
            for node in self._view.nodes:
                key = node.label, node.capacity
                if key not in self._kinds:
                    self._kinds[key] = Kind(len(node.capacity))
                self._kinds[key].nodes[node.number] = node
            for label, sizes in self._wanted.items():
                self.want(label, sizes)
        for node in self._changed:
            if self._view.node(node.number) is node:
                self._kinds[node.label, node.capacity].fit.touch(node)
        self._changed.clear()

    def can_ever(self, shape: Shape) -> bool:
        """An empty server of some kind has room for it."""
        size, label = shape
        return any(of == label and fits(size, capacity) for of, capacity in self._kinds)

    def want(self, label: str, sizes: Sequence[Resource]) -> None:
        """From now on tasks of these sizes are wanted in a partition: the headroom follows."""
        self._wanted[label] = sizes
        for (of, capacity), kind in self._kinds.items():
            if self.headroom and of == label:
                able = [size for size in sizes if fits(size, capacity)]
                kind.ask_for(largest_demand(able, len(capacity)))

    def unsaturated(self, label: str) -> tuple[bool, ...]:
        """Y of a partition."""
        partitions = self._view.partitions
        free = self._view.free if len(partitions) == 1 else partitions[label].free
        wanted = self._wanted.get(label, ())
        return unsaturated(free, largest_demand(wanted, len(free), self.headroom))

    def needs(self, size: Resource, node: Node) -> Resource:
        """What must be free on a server for a task."""
        return self._kinds[node.label, node.capacity].needs(size) if self.headroom else size

    def first(self, size: Resource, label: str) -> Node | None:
        """The server of the lowest number that has room for a task, and for the headroom."""
        if not self.headroom:
            return self._view.first_fit(size, label)
        found: Node | None = None
        for (of, capacity), kind in self._kinds.items():
            if of == label and fits(size, capacity):
                node = kind.fit.first(kind.needs(size))
                if node is not None and (found is None or node.number < found.number):
                    found = node
        return found

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """As ``plan.place``, where the headroom is left."""
        if not self.headroom:
            return plan.place(ask)
        first = self.first(ask.size, ask.label)
        anywhere = not ask.hosts and not ask.racks and ask.relax_locality
        if first is None or (anywhere and not ask.attempt.blacklist):
            return first
        nodes = plan.nodes_fitting(ask)
        return next((n for n in nodes if fits(self.needs(ask.size, n), n.room)), None)


class LeafLimits:
    """A leaf queue's user limit and AM share: who may have nothing more does not demand."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.verdicts: dict[tuple[str, Resource, bool], bool] = {}

    def allows(self, ask: Ask) -> bool:
        """Neither limit forbids one more container of the ask."""
        key = ask.application.user, ask.size, ask.is_am
        if key not in self.verdicts:
            self.verdicts[key] = own_limit(self._queue, *key) is None
        return self.verdicts[key]

    def moved(self) -> list[Application]:
        """Applications with an ask of which a verdict that was given is another now; forgets those
        verdicts.
        """
        verdicts = self.verdicts.items()
        old = [key for key, free in verdicts if free != (own_limit(self._queue, *key) is None)]
        for key in old:
            del self.verdicts[key]
        users = {user for user, _, _ in old}
        applications = self._queue.applications.values() if old else ()
        return [app for app in applications if app.user in users]


class Limits:
    """What maxima, user limits and AM shares leave, once all that is being taken is gone and all
    that is owed has been served.
    """

    def __init__(self) -> None:
        self._gains: dict[Queue, list[int]] = {}  # what is being taken, less what is owed
        self._owed: dict[Queue, list[int]] = {}

    def free(self, queue: Queue, size: Sequence[int]) -> None:
        """A container in a leaf queue is being taken."""
        _add(self._gains, queue, size)

    def owe(self, queue: Queue, size: Sequence[int]) -> None:
        """Room for a task in a queue has been taken."""
        _add(self._owed, queue, size)
        _add(self._gains, queue, [-amount for amount in size])

    def tight(self, ask: Ask) -> dict[Queue, list[int]]:
        """The queues, from the root down, whose maximum has no room for one more container of
        ``ask``, and what it leaves. Only what is taken from inside all of them helps.
        """
        found = {}
        for queue in ask.application.queue.capped:
            assert queue.maximum is not None
            left = list(queue.maximum.minus(queue.used))
            if queue in self._gains:
                add_all([left], self._gains[queue])
            if not has_room(ask.size, left):
                found[queue] = left
        return found

    def barred(self, ask: Ask) -> bool:
        """Its user's limit or the AM share forbids one more container of ``ask``: nothing that is
        taken from others helps.
        """
        user, queue = ask.application.user, ask.application.queue
        owed = self._owed.get(queue)
        if queue.user_limit is not None and owed:
            used = queue.user_used.get(user) or [0] * len(owed)
            if not room_for(ask.size, used, queue.user_limit.minus(owed)):
                return True
        return own_limit(queue, user, ask.size, ask.is_am) is not None


def _add(sums: dict[Queue, list[int]], queue: Queue | None, size: Sequence[int]) -> None:
    while queue is not None:
        add_all([sums.setdefault(queue, [0] * len(size))], size)
        queue = queue.parent


def has_room(size: Sequence[int], left: Sequence[int]) -> bool:
    """Whether a container is within what a limit leaves, in what it needs at all."""
    return all(not s or s <= room for s, room in zip(size, left, strict=True))
