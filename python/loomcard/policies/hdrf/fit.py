"""Where a task fits now: free room by partition and kind of server, beside what is held for others.

This is the one place that says so: what fits on no server is blocked, for shares and for the
descent alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loomcard.model.cluster import Ask, Node
from loomcard.model.ledger import Ledger
from loomcard.model.plan import Plan
from loomcard.model.resource import Resource, add_all, fits, subtract_all
from loomcard.model.room import Room, Shape


@dataclass
class Hold:
    """Room on one server that is kept for one task of a leaf; plain data, for a memory."""

    leaf: str
    """Its word (``word_of``)."""
    node: int
    size: list[int]
    label: str
    until_ms: int
    """It ends then at the latest."""
    taken: bool
    """Containers were taken for it."""


class Kept:
    """A server less what is held there; it stands for its node in a ``Room``."""

    __slots__ = ("label", "node", "number", "sizes")

    def __init__(self, node: Node, sizes: list[list[int]]) -> None:
        self.node = node
        self.number = node.number
        self.label = node.label
        self.sizes = sizes

    @property
    def room(self) -> list[int]:
        """What is left for those for whom nothing is held."""
        return without(self.node.room, self.sizes)


class Kind:
    """The servers of one partition and one capacity."""

    def __init__(self, label: str, capacity: Resource) -> None:
        self.label = label
        self.capacity = capacity
        self.nodes: dict[int, Node | Kept] = {}
        self.free = [0] * len(capacity)
        self.largest: list[int] = []  # q; [] where nothing that is wanted can run
        self.rooms: dict[Resource, Room[Node | Kept]] = {}  # by what must be free

    def needs(self, size: Resource, headroom: bool) -> Resource:
        """What must be free on a server: with headroom the largest of what the task needs."""
        if not headroom or not self.largest:
            return size
        return Resource(max(s, q) if s else 0 for s, q in zip(size, self.largest, strict=True))

    def first(self, need: Resource) -> Node | None:
        """The server of the lowest number with so much room beside what is held."""
        room = self.rooms.get(need)
        if room is None:
            room = self.rooms[need] = Room((need, self.label), self.nodes)
        found = room.first()
        return found.node if isinstance(found, Kept) else found

    def touch(self, spot: Node | Kept) -> None:
        """A server may have more room than before."""
        for room in self.rooms.values():
            room.touch(spot)


class Servers:
    """Free room, followed node by node.

    ``headroom``: a task goes only where the component-wise largest of the wanted tasks that an
    empty server of its kind could run would fit, in what the task needs (specification 2.5-16).
    """

    def __init__(self, ledger: Ledger, headroom: bool) -> None:
        self.headroom = headroom
        self._ledger = ledger
        self._changed: dict[Node, None] = dict.fromkeys(ledger.nodes.values())
        ledger.node_watchers.append(self._changed)
        self._known: dict[Node, tuple[Kind, Resource]] = {}
        self._kinds: dict[tuple[str, Resource], Kind] = {}
        self._by_label: dict[str, list[Kind]] = {}
        self._needs: dict[Shape, list[tuple[Kind, Resource]]] = {}
        self._gained: dict[str, dict[Node, None]] = {}  # by partition, since it was last asked for
        self._fitting: dict[str, dict[Shape, None]] = {}  # by partition; none where all is to be
        self._holds: dict[int, list[list[int]]] = {}  # sizes, by node

    def update(self) -> None:
        """Follow the nodes that changed."""
        for node in self._changed:
            known = self._known.pop(node, None)
            if known is not None:
                kind, free = known
                subtract_all([kind.free], free)
                there = self._ledger.nodes.get(node.number) is node
                if not there or (kind.label, kind.capacity) != (node.label, node.capacity):
                    del kind.nodes[node.number]
                    kind.rooms.clear()
                    self._forget()
            if self._ledger.nodes.get(node.number) is node:
                self._enter(node)
        self._changed.clear()

    def _enter(self, node: Node) -> None:
        key, free = (node.label, node.capacity), Resource(node.room)
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = Kind(*key)
            self._by_label.setdefault(node.label, []).append(kind)
        if not kind.nodes:
            self._forget()
        self._known[node] = kind, free
        add_all([kind.free], free)
        self._place(kind, node)

    def _place(self, kind: Kind, node: Node) -> None:
        sizes = self._holds.get(node.number)
        spot = Kept(node, sizes) if sizes else node
        kind.nodes[node.number] = spot
        kind.touch(spot)
        self._gained.setdefault(kind.label, {})[node] = None

    def hold(self, holds: Iterable[Hold]) -> None:
        """From now on this is held, and nothing else."""
        before, self._holds = self._holds, {}
        for each in holds:
            self._holds.setdefault(each.node, []).append(each.size)
        for number in {**before, **self._holds}:
            node = self._ledger.nodes.get(number)
            if before.get(number) != self._holds.get(number) and node in self._known:
                self._place(self._known[node][0], node)

    def kinds(self, label: str) -> list[Kind]:
        """Those of one partition."""
        return [kind for kind in self._by_label.get(label, ()) if kind.nodes]

    def can_ever(self, shape: Shape) -> bool:
        """An empty server of some kind has room for it."""
        return bool(self._needs_of(shape))

    def _forget(self) -> None:
        """What is needed where is found anew, and what fits."""
        self._needs.clear()
        self._fitting.clear()

    def fitting(self, label: str, wanted: Iterable[Shape]) -> frozenset[Shape]:
        """Of the shapes that were said to be wanted those for which a server has room now: what did
        fit is looked up again, the others on the servers that changed.
        """
        known, gained = self._fitting.get(label), self._gained.pop(label, {})
        if known is None:
            known = dict.fromkeys(wanted)
        else:
            for shape in wanted:
                if shape not in known and self._has_room(gained, shape):
                    known[shape] = None
        first = self.first
        self._fitting[label] = {shape: None for shape in known if first(*shape) is not None}
        return frozenset(self._fitting[label])

    def _has_room(self, nodes: Iterable[Node], shape: Shape) -> bool:
        for node in nodes:
            there = node in self._known and fits(shape[0], node.room)
            if there and fits(self.needs(shape[0], node), self.left(node)):
                return True
        return False

    def want(self, label: str, sizes: Sequence[Resource]) -> None:
        """From now on tasks of these sizes are wanted in a partition: the headroom follows."""
        self._forget()
        for kind in self.kinds(label):
            running = [size for size in sizes if fits(size, kind.capacity)]
            kind.largest = largest_demand(running, self.headroom)
            if len(kind.rooms) > 2 * len(sizes):
                kind.rooms.clear()

    def unsaturated(self, label: str) -> list[bool]:
        """Y of a partition: of each resource, free[r] > 0 and free[r] >= q[r]."""
        kinds = self.kinds(label)
        free = [sum(amounts) for amounts in zip(*(kind.free for kind in kinds), strict=True)]
        wanted = [Resource(kind.largest) for kind in kinds if kind.largest]
        largest = largest_demand(wanted, self.headroom) or [0] * len(free)
        return [left > 0 and left >= q for left, q in zip(free, largest, strict=True)]

    def first(self, size: Resource, label: str) -> Node | None:
        """The server of the lowest number that has room for a task."""
        found: Node | None = None
        for kind, need in self._needs_of((size, label)):
            node = kind.first(need)
            if node is not None and (found is None or node.number < found.number):
                found = node
        return found

    def _needs_of(self, shape: Shape) -> list[tuple[Kind, Resource]]:
        known = self._needs.get(shape)
        if known is None:
            kinds = [kind for kind in self.kinds(shape[1]) if fits(shape[0], kind.capacity)]
            known = [(kind, kind.needs(shape[0], self.headroom)) for kind in kinds]
            self._needs[shape] = known
        return known

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """As ``plan.place``, on servers that have room beside headroom and what is held."""
        first = self.first(ask.size, ask.label)
        anywhere = not ask.hosts and not ask.racks and ask.relax_locality
        if first is None or (anywhere and not ask.attempt.blacklist):
            return first
        for node in plan.nodes_fitting(ask):
            if fits(self.needs(ask.size, node), self.left(node)):
                return node
        return None

    def needs(self, size: Resource, node: Node) -> Resource:
        """What must be free on a server for a task."""
        return self._known[node][0].needs(size, self.headroom)

    def left(self, node: Node, but: Sequence[int] | None = None) -> Sequence[int]:
        """What is free on a server beside what is held there, ``but`` for one size of it."""
        sizes = list(self._holds.get(node.number, ()))
        if but is not None and list(but) in sizes:
            sizes.remove(list(but))
        return without(node.room, sizes) if sizes else node.room


def without(free: Sequence[int], sizes: Iterable[Sequence[int]]) -> list[int]:
    """What is free less what is held, part of which may have to come free yet: then nothing."""
    left = list(free)
    for size in sizes:
        subtract_all([left], size)
    return [max(rest, min(had, 0)) for rest, had in zip(left, free, strict=True)]


def largest_demand(sizes: Sequence[Resource], headroom: bool) -> list[int]:
    """q[r]: the most that a wanted task needs of r; without headroom the least of those that need
    it at all (specification 2.5-11). [] where nothing is wanted.
    """
    most = max if headroom else min
    return [most((a for a in amounts if a), default=0) for amounts in zip(*sizes, strict=True)]
