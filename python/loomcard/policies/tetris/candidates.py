"""Which applications fit on which nodes, and how well: both are grouped by container shape.

Tetris chooses from these groups, which stay from call to call. Each shape has the applications that
ask for it, least remaining work first, and the nodes on which it fits, best aligned first. Only
what changed is scored again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from loomcard import Application, Ask, ClusterView, Member, Node, Shape, fits
from loomcard.advanced import SHAPES_KEPT, LazyHeap
from loomcard.policies.tetris.paper import alignment

Entry = tuple[int, int, int, Application]
"""An application and its sort key: remaining work, submission, number, application."""


Followed = dict["Group", dict[Node, None]]
"""The groups that keep every node's alignment, with the nodes that changed since the last look."""


class Group:
    """One shape: the applications that ask for it, and the nodes on which it fits.

    At most ``SHAPES_KEPT`` shapes that fit somewhere keep the alignment of every node: this costs
    memory for every node, and a look whenever one changes. Other shapes go to the first node on
    which they fit.
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
        """Add an application that asks for this shape."""
        self.leave(app)
        entry = (work, app.submitted_ms, app.number, app)
        self.entries[app] = entry
        self.work += work
        self._order.push(entry)

    def leave(self, app: Application) -> None:
        """Remove an application that no longer asks for this shape."""
        entry = self.entries.pop(app, None)
        if entry is not None:
            self.work -= entry[0]

    def top(self) -> Entry | None:
        """Return the application with the least remaining work, without removing it."""
        entry: Entry | None = self._order.top()
        return entry

    def pop(self) -> Entry:
        """Take out and return the top, until ``put_back``."""
        entry: Entry = self._order.pop()
        return entry

    def put_back(self, entries: list[Entry]) -> None:
        """Put back applications that were taken out to look at the next ones."""
        for entry in entries:
            if self.entries.get(entry[3]) is entry:
                self._order.push(entry)

    def best(self) -> tuple[float, Node] | None:
        """Return the best aligned node on which the shape fits, ties by number; alignment first."""
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
        if best is not None and self._view.lending and not self._view.offers(best, ""):
            offered = self._offered()
            return max(offered, key=lambda row: (row[0], -row[1].number), default=None)
        return None if best is None else (-first[0], best)

    def _offered(self) -> Iterator[tuple[float, Node]]:
        """Yield the nodes of the label that alone lends now, with their alignment."""
        for score, number in self._scored.values():
            node = self._view.node(number)
            if node is not None and self._view.offers(node, ""):
                yield -score, node

    def unfollow(self) -> None:
        """Stop keeping the alignment of nodes."""
        changed = self._followed.pop(self, None)
        if changed is not None:
            self._view.unwatch(changed)
            self._scored.clear()

    def alignment(self, node: Node) -> float:
        """Return the alignment of the shape with a node."""
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
        self._sweep_at = SHAPES_KEPT  # number of groups
        self.queue = view.queue

    def update(self) -> None:
        """Enter what changed, or everything if the cluster's capacity has changed."""
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
        if len(self._followed) >= SHAPES_KEPT:  # one shape per call: each look at all nodes is slow
            next(iter(self._followed)).unfollow()

    def enter(self, app: Application) -> None:
        """Enter an application again: its asks or remaining work may have changed."""
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
        """Return every outstanding ask."""
        return (ask for app in self._shapes for ask in app.asks if ask.count > 0)

    def served(self, app: Application) -> None:
        """Enter an application again that got a container."""
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
        """Forget shapes that no application asks for."""
        for shape, group in list(self.groups.items()):
            if not group.entries:
                group.unfollow()
                del self.groups[shape]
        self._sweep_at = SHAPES_KEPT + 2 * len(self.groups)
