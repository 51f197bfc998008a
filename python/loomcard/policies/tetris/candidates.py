"""Who fits where, and how well: applications and nodes by the shape of container they meet in.

What Tetris chooses from, kept from call to call: for each shape, the applications that ask for it,
the least remaining work first, and the nodes on which it fits, the best aligned first. Only what
changed is scored again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from loomcard import Application, Ask, ClusterView, Member, Node, Shape, fits
from loomcard.advanced import SHAPES_KEPT, LazyHeap
from loomcard.policies.tetris.paper import alignment

Entry = tuple[int, int, int, Application]
"""An application at its place: remaining work, submission, number, itself."""


Followed = dict["Group", dict[Node, None]]
"""The groups that keep every node's alignment, with the nodes that changed since they looked."""


class Group:
    """One shape: who asks for it, and where it fits.

    The alignment of every node is kept for so many shapes that fit somewhere as have an index of
    their own (``SHAPES_KEPT``): it costs memory for every node, and a look whenever one changes.
    The others go to the first node on which they fit.
    """

    def __init__(self, shape: Shape, view: ClusterView, followed: Followed) -> None:
        self.size, self.label = shape
        self.entries: dict[Application, Entry] = {}
        self.work = 0  # of all entries
        self._order = LazyHeap(self.entries)
        self._view = view
        self._scored: dict[int, tuple[float, int]] = {}  # by node number: negative score, number
        self._nodes = LazyHeap(self._scored)
        self._lent = LazyHeap(self._scored)  # shared nodes, which have another label
        self._followed = followed

    def enter(self, app: Application, work: int) -> None:
        """The application asks for this shape."""
        self.leave(app)
        entry = (work, app.submitted_ms, app.number, app)
        self.entries[app] = entry
        self.work += work
        self._order.push(entry)

    def leave(self, app: Application) -> None:
        """It does not ask for this shape any more."""
        entry = self.entries.pop(app, None)
        if entry is not None:
            self.work -= entry[0]

    def top(self) -> Entry | None:
        """The application with the least remaining work; it stays."""
        entry: Entry | None = self._order.top()
        return entry

    def pop(self) -> Entry:
        """Take the top out, until ``put_back``."""
        entry: Entry = self._order.pop()
        return entry

    def put_back(self, entries: list[Entry]) -> None:
        """Applications that were taken out to look at the next ones."""
        for entry in entries:
            if self.entries.get(entry[3]) is entry:
                self._order.push(entry)

    def best(self) -> tuple[float, Node] | None:
        """The best aligned node on which the shape fits, ties by number, with its alignment."""
        changed = self._followed.get(self)
        if changed is None:
            some = self._view.first_fit(self.size, self.label)
            if some is None or len(self._followed) >= SHAPES_KEPT:
                return None if some is None else (self.alignment(some), some)
            changed = self._followed[self] = self._view.watch_nodes()
        for node in changed:
            self._score(node)
        changed.clear()
        first = (self._lent if self._view.lending else self._nodes).top()
        if first is None:
            return None
        best = self._view.node(first[1])
        return None if best is None else (-first[0], best)

    def unfollow(self) -> None:
        """Keep no node's alignment any more."""
        changed = self._followed.pop(self, None)
        if changed is not None:
            self._view.unwatch(changed)
            self._scored.clear()

    def alignment(self, node: Node) -> float:
        """Of the shape on a node."""
        return alignment(self.size, node.room, self._view.cluster_capacity)

    def _score(self, node: Node) -> None:
        number, alive = node.number, self._view.node(node.number) is node
        if not alive or not node.takes(self.label) or not fits(self.size, node.room):
            self._scored.pop(number, None)
            return
        entry = -self.alignment(node), number
        if self._scored.get(number) != entry:
            self._scored[number] = entry
            (self._nodes if node.label == self.label else self._lent).push(entry)


class Candidates:
    """All groups of one scope; ``work`` gives an application's remaining work as an integer."""

    def __init__(self, view: ClusterView, work: Callable[[Application], int]) -> None:
        self.groups: dict[Shape, Group] = {}
        self.stale: dict[Any, None] = view.watch(view.queue)
        self.unreported: dict[Member, None] = {}  # changed; the wait reason is not yet sent
        self._view = view
        self._work = work
        self._shapes: dict[Application, list[Shape]] = {}
        self._version = -1
        self._followed: Followed = {}
        self._sweep_at = SHAPES_KEPT  # so many groups
        self.queue = view.queue

    def update(self) -> None:
        """Enter what changed; everything, when the cluster has another capacity."""
        if self._version != self._view.capacity_version:
            self._version = self._view.capacity_version
            for group in list(self._followed):
                group.unfollow()
            self.groups.clear()
            self._shapes.clear()
            self.stale.update(dict.fromkeys(self.queue.applications.values()))
        for app in self.stale:
            self.enter(app)
        self.unreported.update(self.stale)
        self.stale.clear()
        if len(self._followed) >= SHAPES_KEPT:  # one shape a call: the next costs a look at all
            next(iter(self._followed)).unfollow()

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

    def asks(self) -> Iterator[Ask]:
        """Every outstanding ask."""
        return (ask for app in self._shapes for ask in app.asks if ask.count > 0)

    def served(self, app: Application) -> None:
        """It got a container."""
        self.stale.pop(app, None)
        self.enter(app)

    def _group(self, shape: Shape) -> Group:
        group = self.groups.get(shape)
        if group is None:
            if len(self.groups) >= self._sweep_at:
                self._sweep()
            group = self.groups[shape] = Group(shape, self._view, self._followed)
        return group

    def _sweep(self) -> None:
        """Forget shapes that nobody asks for."""
        for shape, group in list(self.groups.items()):
            if not group.entries:
                group.unfollow()
                del self.groups[shape]
        self._sweep_at = SHAPES_KEPT + 2 * len(self.groups)
