"""Where a task fits now, and which limits allow it. Room that is reserved for another ask does not
count.

Shares and descent both use this module. So a task that fits on no server is blocked for both.
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
    fits,
)
from loomcard.advanced import FirstFit, own_limit
from loomcard.policies.hdrf.paper import largest_demand, unsaturated


class Kind:
    """The servers of one partition and one capacity."""

    def __init__(self, width: int) -> None:
        self.nodes: dict[int, Node] = {}
        self.largest = [0] * width  # q; with headroom
        self.fit = FirstFit(self.nodes)  # of what must be free; with headroom

    def ask_for(self, largest: list[int]) -> None:
        """Set the largest task, which defines the headroom."""
        if self.largest != largest:
            self.largest, self.fit = largest, FirstFit(self.nodes)

    def needs(self, size: Resource) -> Resource:
        """Return what must be free for a task: the headroom, in the types that it needs."""
        return Resource(max(s, q) if s else 0 for s, q in zip(size, self.largest, strict=True))


class Servers:
    """The servers of a cluster.

    Without ``headroom`` a task goes where it fits. With ``headroom`` it goes only where a larger
    task would also fit: the component-wise largest of the wanted tasks that an empty server of that
    kind could run, in the resource types that the task needs (docs/papers/hdrf.md 2.5-16).
    """

    def __init__(self, view: ClusterView, headroom: bool) -> None:
        self.headroom = headroom
        self._view = view
        self._version = -1
        self._changed: dict[Node, None] = view.watch_nodes() if headroom else {}
        self._kinds: dict[tuple[str, Resource], Kind] = {}
        self._wanted: dict[str, Sequence[Resource]] = {}  # by partition

    def update(self) -> None:
        """Take in the servers that changed."""
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
        """Return whether an empty server of some kind has room for it."""
        size, label = shape
        return any(of == label and fits(size, capacity) for of, capacity in self._kinds)

    def want(self, label: str, sizes: Sequence[Resource]) -> None:
        """Set the sizes of the tasks that are wanted in a partition, and so its headroom."""
        self._wanted[label] = sizes
        for (of, capacity), kind in self._kinds.items():
            if self.headroom and of == label:
                able = [size for size in sizes if fits(size, capacity)]
                kind.ask_for(largest_demand(able, len(capacity)))

    def unsaturated(self, label: str) -> tuple[bool, ...]:
        """Return Y of a partition."""
        partitions = self._view.partitions
        free = self._view.free if len(partitions) == 1 else partitions[label].free
        wanted = self._wanted.get(label, ())
        return unsaturated(free, largest_demand(wanted, len(free), self.headroom))

    def needs(self, size: Resource, node: Node) -> Resource:
        """Return what must be free on a server for a task."""
        return self._kinds[node.label, node.capacity].needs(size) if self.headroom else size

    def first(self, size: Resource, label: str) -> Node | None:
        """Return the server with the lowest number that has room for a task and the headroom."""
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
        """Return a node as ``plan.place`` does, but only one on which the headroom remains."""
        if not self.headroom:
            return plan.place(ask)
        first = self.first(ask.size, ask.label)
        anywhere = not ask.hosts and not ask.racks and ask.relax_locality
        if first is None or (anywhere and not ask.attempt.blacklist):
            return first
        nodes = plan.nodes_fitting(ask)
        return next((n for n in nodes if fits(self.needs(ask.size, n), n.room)), None)


class LeafLimits:
    """A leaf queue's user limit and AM share, and how many applications may run. An application
    that they forbid any more container does not demand.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.verdicts: dict[tuple[str, Resource, bool], bool] = {}

    def allows(self, ask: Ask) -> bool:
        """Return whether no limit forbids one more container of the ask."""
        key = ask.application.user, ask.size, ask.is_am
        if key not in self.verdicts:
            self.verdicts[key] = own_limit(self._queue, *key) is None
        return self.verdicts[key]

    def moved(self) -> list[Application]:
        """Return the applications of which a verdict has changed; forget those verdicts."""
        verdicts = self.verdicts.items()
        old = [key for key, free in verdicts if free != (own_limit(self._queue, *key) is None)]
        for key in old:
            del self.verdicts[key]
        users = {user for user, _, _ in old}
        applications = self._queue.applications.values() if old else ()
        return [app for app in applications if app.user in users]
