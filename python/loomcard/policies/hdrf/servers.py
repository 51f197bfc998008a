"""Where a task fits, with the paper's headroom: free room by partition and by kind of server."""

from __future__ import annotations

from collections.abc import Sequence

from loomcard.model.cluster import Ask, Node
from loomcard.model.ledger import Ledger
from loomcard.model.plan import Plan
from loomcard.model.resource import Resource, add_all, fits, subtract_all
from loomcard.model.room import Rooms, Shape

Kind = tuple[str, Resource]
"""Servers of one partition (node label) and one capacity."""


class Servers:
    """Free room, followed node by node.

    The headroom of a server is the component-wise largest among the wanted tasks that an empty
    server of its kind could run (specification 2.5-16): a task too large for small servers leaves
    nothing idle on them. With one kind of server, saturation is the paper's; with several, a task
    is blocked where each kind that could run it is short of something that it needs.
    """

    def __init__(self, ledger: Ledger, headroom: bool) -> None:
        self.headroom = headroom
        self.free: dict[Kind, list[int]] = {}
        self._ledger = ledger
        self._changed: dict[Node, None] = dict.fromkeys(ledger.nodes.values())
        ledger.node_watchers.append(self._changed)
        self._known: dict[Node, tuple[Kind, Resource]] = {}
        self._kinds: dict[Kind, tuple[dict[int, Node], Rooms]] = {}
        self._largest: dict[Kind, list[int]] = {}  # q, [] where no task that is wanted can run

    def update(self) -> None:
        """Follow the nodes that changed."""
        for node in self._changed:
            known = self._known.pop(node, None)
            if known is not None:
                kind, free = known
                subtract_all([self.free[kind]], free)
                if kind[1] != node.capacity or node.number not in self._ledger.nodes:
                    del self._kinds[kind][0][node.number]
                    self._kinds[kind][1].forget()
            if self._ledger.nodes.get(node.number) is node:
                self._enter(node)
        self._changed.clear()

    def _enter(self, node: Node) -> None:
        kind, free = (node.label, node.capacity), Resource(node.free)
        self._known[node] = kind, free
        if kind not in self._kinds:
            nodes: dict[int, Node] = {}
            self._kinds[kind] = nodes, Rooms(nodes)
            self.free[kind] = [0] * len(free)
        add_all([self.free[kind]], free)
        nodes, rooms = self._kinds[kind]
        nodes[node.number] = node
        rooms.touch(node)

    def can_ever(self, shape: Shape) -> bool:
        """An empty server of some kind has room for it."""
        return any(fits(shape[0], kind[1]) for kind in self.kinds(shape[1]))

    def kinds(self, label: str) -> list[Kind]:
        """Those of one partition."""
        return [kind for kind, (nodes, _) in self._kinds.items() if kind[0] == label and nodes]

    def want(self, label: str, sizes: Sequence[Resource]) -> None:
        """From now on tasks of these sizes are wanted in a partition: the headroom follows."""
        for kind in self.kinds(label):
            running = [size for size in sizes if fits(size, kind[1])]
            self._largest[kind] = largest_demand(running, self.headroom)

    def unsaturated(self, kind: Kind) -> int:
        """Y of the servers of a kind, a bit a resource: free[r] > 0 and free[r] >= q[r]."""
        bits, largest = 0, self._largest.get(kind) or [0] * len(kind[1])
        for r, (left, most) in enumerate(zip(self.free[kind], largest, strict=True)):
            if left > 0 and left >= most:
                bits |= 1 << r
        return bits

    def needs(self, size: Resource, kind: Kind) -> Resource:
        """What must be free on a server of a kind: the headroom, of what the task needs at all."""
        if not self.headroom or not self._largest.get(kind):
            return size
        largest = self._largest[kind]
        return Resource(max(s, q) if s else 0 for s, q in zip(size, largest, strict=True))

    def first(self, size: Resource, label: str) -> Node | None:
        """The server of the lowest number that has room for a task, headroom included."""
        found: Node | None = None
        for kind, (_, rooms) in self._kinds.items():
            if kind[0] == label and fits(size, kind[1]):
                node = rooms.of(self.needs(size, kind), label).first()
                if node is not None and (found is None or node.number < found.number):
                    found = node
        return found

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """As ``plan.place``, on servers whose headroom allows it."""
        first = self.first(ask.size, ask.label)
        anywhere = not ask.hosts and not ask.racks and ask.relax_locality
        if first is None or (anywhere and not ask.attempt.blacklist):
            return first
        for node in plan.nodes_fitting(ask):
            if fits(self.needs(ask.size, (node.label, node.capacity)), node.free):
                return node
        return None


def largest_demand(sizes: Sequence[Resource], headroom: bool) -> list[int]:
    """q[r]: the most that a wanted task needs of r; without headroom the least of those that need
    it at all (specification 2.5-11). [] where nothing is wanted.
    """
    most = max if headroom else min
    return [most((a for a in amounts if a), default=0) for amounts in zip(*sizes, strict=True)]
