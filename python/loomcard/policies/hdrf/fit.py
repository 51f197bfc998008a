"""Where a task fits now. What is held for another ask is no room.

This is the one place that says so: what fits on no server is blocked, for shares and for the
descent alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loomcard.model.cluster import Ask, Node
from loomcard.model.ledger import Ledger
from loomcard.model.plan import Plan
from loomcard.model.resource import Resource, fits
from loomcard.model.room import Room, Shape


class Servers:
    """The servers of a cluster, without headroom: a task goes where there is room for it."""

    headroom = False

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._version = -1
        self._capacities: dict[str, dict[Resource, None]] = {}  # of the servers of each partition
        self._wanted: dict[str, list[Resource]] = {}  # what some empty server could run

    def update(self) -> None:
        """Follow the servers that changed."""
        if self._version != self._ledger.capacity_version:
            self._version = self._ledger.capacity_version
            self._capacities.clear()
            for node in self._ledger.nodes.values():
                self._capacities.setdefault(node.label, {})[node.capacity] = None

    def can_ever(self, shape: Shape) -> bool:
        """An empty server of some kind has room for it."""
        size, label = shape
        return any(fits(size, capacity) for capacity in self._capacities.get(label, ()))

    def want(self, label: str, sizes: Sequence[Resource]) -> None:
        """From now on tasks of these sizes are wanted in a partition."""
        self._wanted[label] = [size for size in sizes if self.can_ever((size, label))]

    def unsaturated(self, label: str) -> list[bool]:
        """Y of a partition: of each resource, free[r] > 0 and free[r] >= q[r]."""
        partitions = self._ledger.partitions
        free = self._ledger.free if len(partitions) == 1 else partitions[label].free
        wanted = self._wanted.get(label, ())
        largest = largest_demand(wanted, self.headroom) or [0] * len(free)
        return [left > 0 and left >= q for left, q in zip(free, largest, strict=True)]

    def needs(self, size: Resource, node: Node) -> Resource:  # noqa: ARG002 - headroom looks
        """What must be free on a server for a task."""
        return size

    def first(self, size: Resource, label: str) -> Node | None:
        """The server of the lowest number that has room for a task."""
        return self._ledger.rooms.of(size, label).first()

    def spots(self, shapes: Iterable[Shape]) -> dict[Shape, Node]:
        """For each shape that fits on a server now the first of these."""
        of = self._ledger.rooms.of
        return {s: node for s in shapes if (node := of(*s).first()) is not None}

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """As ``plan.place``."""
        return plan.place(ask)


class Kind:
    """The servers of one partition and one capacity, with headroom."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.largest: list[int] = []  # q; [] where nothing that is wanted can run
        self.rooms: dict[Resource, Room[Node]] = {}  # by what must be free


class ServersWithHeadroom(Servers):
    """A task goes only where the component-wise largest of the wanted tasks that an empty server of
    its kind could run would fit, in what the task needs (specification 2.5-16).
    """

    headroom = True

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._changed: dict[Node, None] = {}
        ledger.node_watchers.append(self._changed)
        self._kinds: dict[tuple[str, Resource], Kind] = {}

    def update(self) -> None:
        """Follow the servers that changed."""
        if self._version != self._ledger.capacity_version:
            super().update()
            self._kinds.clear()
            for number, node in sorted(self._ledger.nodes.items()):
                kind = self._kinds.setdefault((node.label, node.capacity), Kind())
                kind.nodes[number] = node
            for label in self._capacities:
                self.want(label, self._wanted.get(label, ()))
        for node in self._changed:
            if self._ledger.nodes.get(node.number) is node:
                for room in self._kinds[node.label, node.capacity].rooms.values():
                    room.touch(node)
        self._changed.clear()

    def want(self, label: str, sizes: Sequence[Resource]) -> None:
        """From now on tasks of these sizes are wanted in a partition: the headroom follows."""
        super().want(label, sizes)
        for (of, capacity), kind in self._kinds.items():
            if of == label:
                kind.largest = largest_demand(
                    [s for s in sizes if fits(s, capacity)], headroom=True
                )
                if len(kind.rooms) > 2 * len(sizes):
                    kind.rooms.clear()

    def needs(self, size: Resource, node: Node) -> Resource:
        """What must be free on a server: the largest of what the task needs."""
        return self._needs(size, self._kinds[node.label, node.capacity])

    def _needs(self, size: Resource, kind: Kind) -> Resource:
        if not kind.largest:
            return size
        return Resource(max(s, q) if s else 0 for s, q in zip(size, kind.largest, strict=True))

    def first(self, size: Resource, label: str) -> Node | None:
        """The server of the lowest number that has room for a task and for the headroom."""
        found: Node | None = None
        for (of, capacity), kind in self._kinds.items():
            if of == label and fits(size, capacity):
                need = self._needs(size, kind)
                room = kind.rooms.get(need)
                if room is None:
                    room = kind.rooms[need] = Room((need, label), kind.nodes)
                node = room.first()
                if node is not None and (found is None or node.number < found.number):
                    found = node
        return found

    def spots(self, shapes: Iterable[Shape]) -> dict[Shape, Node]:
        """For each shape that fits on a server now the first of these."""
        return {s: node for s in shapes if (node := self.first(*s)) is not None}

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """As ``plan.place``, where the headroom is left."""
        first = self.first(ask.size, ask.label)
        anywhere = not ask.hosts and not ask.racks and ask.relax_locality
        if first is None or (anywhere and not ask.attempt.blacklist):
            return first
        nodes = plan.nodes_fitting(ask)
        return next((n for n in nodes if fits(self.needs(ask.size, n), n.room)), None)


def largest_demand(sizes: Sequence[Resource], headroom: bool) -> list[int]:
    """q[r]: the most that a wanted task needs of r; without headroom the least of those that need
    it at all (specification 2.5-11). [] where nothing is wanted.
    """
    most = max if headroom else min
    return [most((a for a in amounts if a), default=0) for amounts in zip(*sizes, strict=True)]
