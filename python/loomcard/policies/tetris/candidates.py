"""Who fits where, and how well: applications and nodes by the shape of container they meet in.

What Tetris chooses from, kept from call to call: for each shape, the applications that ask for it,
the least remaining work first, and the nodes on which it fits, the best aligned first. Only what
changed is scored anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from loomcard import SHAPES_KEPT, Application, Ask, ClusterView, Member, Node, Shape, fits
from loomcard.policies.tetris.paper import alignment

Entry = tuple[int, int, int, Application]
"""An application at its place: remaining work, submission, number, itself."""


class Group:
    """One shape: who asks for it, and where it fits."""

    def __init__(self, shape: Shape, view: ClusterView) -> None:
        self.size, self.label = shape
        self.entries: dict[Application, Entry] = {}
        self.work = 0  # of all entries
        self.heap: list[Entry] = []
        self._view = view
        self._aligned: dict[int, float] = {}  # by node number, as last scored
        self._nodes: list[tuple[float, int]] = []
        self._lent: list[tuple[float, int]] = []  # shared nodes, which have another label
        self.changed = view.watch_nodes()

    def enter(self, app: Application, work: int) -> None:
        """The application asks for this shape."""
        self.leave(app)
        entry = (work, app.submitted_ms, app.number, app)
        self.entries[app] = entry
        self.work += work
        heappush(self.heap, entry)
        if len(self.heap) > 64 + 4 * len(self.entries):  # superseded entries: sweep them out
            self.heap = list(self.entries.values())
            heapify(self.heap)

    def leave(self, app: Application) -> None:
        """It does not ask for this shape any more."""
        entry = self.entries.pop(app, None)
        if entry is not None:
            self.work -= entry[0]

    def top(self) -> Entry | None:
        """The application with the least remaining work; it stays in the heap."""
        while self.heap:
            entry = self.heap[0]
            if self.entries.get(entry[3]) is entry:
                return entry
            heappop(self.heap)
        return None

    def put_back(self, entries: list[Entry]) -> None:
        """Applications that were taken out of the heap to look at the next ones."""
        for entry in entries:
            if self.entries.get(entry[3]) is entry:
                heappush(self.heap, entry)

    def best(self) -> tuple[float, Node] | None:
        """The best aligned node on which the shape fits, ties by number, with its alignment."""
        for node in self.changed:
            self._score(node)
        self.changed.clear()
        return self._top(self._lent if self._view.lending else self._nodes)

    def _top(self, nodes: list[tuple[float, int]]) -> tuple[float, Node] | None:
        while nodes:
            score, number = nodes[0]
            if self._aligned.get(number) == -score:
                node = self._view.node(number)
                assert node is not None
                return -score, node
            heappop(nodes)
        return None

    def alignment(self, node: Node) -> float:
        """Of the shape on a node."""
        return alignment(self.size, node.room, self._view.cluster_capacity)

    def _score(self, node: Node) -> None:
        number, alive = node.number, self._view.node(node.number) is node
        if not alive or not node.takes(self.label) or not fits(self.size, node.room):
            self._aligned.pop(number, None)
            return
        score = self.alignment(node)
        if self._aligned.get(number) != score:
            self._aligned[number] = score
            nodes = self._nodes if node.label == self.label else self._lent
            heappush(nodes, (-score, number))
            if len(nodes) > 64 + 4 * len(self._aligned):
                nodes[:] = dict.fromkeys(e for e in nodes if self._aligned.get(e[1]) == -e[0])
                heapify(nodes)


class Candidates:
    """All groups of one scope; ``work`` gives an application's remaining work as an integer."""

    def __init__(self, view: ClusterView, work: Callable[[Application], int]) -> None:
        self.groups: dict[Shape, Group] = {}
        self.stale: dict[Any, None] = view.watch(view.queue)
        self.unreported: dict[Member, None] = {}  # changed, and not yet told why they wait
        self._view = view
        self._work = work
        self._shapes: dict[Application, list[Shape]] = {}
        self._version = -1
        self.queue = view.queue

    def update(self) -> None:
        """Enter what changed; everything, when the cluster has another capacity."""
        if self._version != self._view.capacity_version:
            self._version = self._view.capacity_version
            for group in self.groups.values():
                self._view.unwatch(group.changed)
            self.groups.clear()
            self._shapes.clear()
            self.stale.update(dict.fromkeys(self.queue.applications.values()))
        for app in self.stale:
            self.enter(app)
        self.unreported.update(self.stale)
        self.stale.clear()

    def enter(self, app: Application) -> None:
        """The application's asks or remaining work may be others than before."""
        before = self._shapes.pop(app, ())
        inside = app.pending_count > 0 and app.number in self.queue.applications
        asks = app.asks if inside else ()
        shapes = list(dict.fromkeys((a.size, a.label) for a in asks if a.count > 0))
        for shape in before:
            if shape not in shapes:
                self.groups[shape].leave(app)
        if shapes:
            self._shapes[app] = shapes
            work = self._work(app)
            for shape in shapes:
                self._group(shape).enter(app, work)

    def asks_of(self, shape: Shape) -> Iterator[Ask]:
        """Every outstanding ask of a shape."""
        group = self.groups.get(shape)
        for app in group.entries if group is not None else ():
            yield from (a for a in app.asks if a.count > 0 and (a.size, a.label) == shape)

    def served(self, app: Application) -> None:
        """It got a container."""
        self.stale.pop(app, None)
        self.enter(app)

    def _group(self, shape: Shape) -> Group:
        group = self.groups.get(shape)
        if group is None:
            if len(self.groups) >= SHAPES_KEPT:
                self._sweep()
            group = self.groups[shape] = Group(shape, self._view)
        return group

    def _sweep(self) -> None:
        """Forget shapes that nobody asks for."""
        for shape, group in list(self.groups.items()):
            if not group.entries:
                self._view.unwatch(group.changed)
                del self.groups[shape]
