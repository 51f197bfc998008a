"""Who is served next: asks that must start, and jobs that ask for something, by shape of container.

Kept from call to call; only jobs that changed are entered anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loomcard import SHAPES_KEPT, Application, Ask, ClusterView, LazyHeap, Node, Shape, fits
from loomcard.policies.carbyne.job import Job

Entry = Any
"""A tuple that sorts by what goes first and ends with the ask or the application."""


class Group:
    """One shape of container: who must have one, and who else asks for one."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.size, self.label = shape
        self.due: dict[Ask, Entry] = {}
        self.asking: dict[Application, Entry] = {}
        self.due_order = LazyHeap(self.due)
        self.asking_order = LazyHeap(self.asking)
        self.work = 0  # of the jobs of all that is due

    def enter_due(self, entry: Entry) -> None:
        """(since, work, submission, number, key, ask): that ask must start."""
        ask = entry[-1]
        if self.due.get(ask) != entry:
            self.leave_due(ask)
            self.due[ask] = entry
            self.work += entry[1]
            self.due_order.push(entry)

    def leave_due(self, ask: Ask) -> None:
        """Nothing of it must start now."""
        entry = self.due.pop(ask, None)
        if entry is not None:
            self.work -= entry[1]

    def enter_asking(self, entry: Entry) -> None:
        """(work, submission, number, application): it asks for this shape."""
        if self.asking.get(entry[-1]) != entry:
            self.asking[entry[-1]] = entry
            self.asking_order.push(entry)


class Line:
    """All groups of a scope.

    ``nowhere``: the shapes that were found to fit on no node, and on none that changed since.
    ``only_on``: those that were, and the nodes that changed since on which they fitted.
    """

    def __init__(self, view: ClusterView) -> None:
        self.groups: dict[Shape, Group] = {}
        self.nowhere: set[Shape] = set()
        self.only_on: dict[Shape, dict[Node, None]] = {}
        self._nodes = view.watch_nodes()
        self.clear()

    def clear(self) -> None:
        """Nobody is in it."""
        self.groups.clear()
        self.nowhere.clear()
        self.only_on.clear()
        self._asking: dict[Application, dict[Shape, None]] = {}
        self._due: dict[Application, dict[Ask, Shape]] = {}

    def see_nodes(self) -> None:
        """See which shapes fit on the nodes that changed."""
        for node in self._nodes:
            room = node.room
            for shape in [*self.nowhere, *self.only_on]:
                if fits(shape[0], room) and node.takes(shape[1]):
                    self.nowhere.discard(shape)
                    self.only_on.setdefault(shape, {})[node] = None
        self._nodes.clear()

    def fits_nowhere(self, shape: Shape) -> bool:
        """No node that changed has room for it any more, and no other had."""
        nodes = self.only_on.get(shape)
        if nodes is not None and not any(fits(shape[0], node.room) for node in nodes):
            self.close(shape)
        return shape in self.nowhere

    def close(self, shape: Shape) -> None:
        """It was found to fit nowhere."""
        self.only_on.pop(shape, None)
        self.nowhere.add(shape)

    def enter(self, job: Job) -> None:
        """Give a job its places, of its asks and dues as they are now."""
        app, before = job.app, self._due.pop(job.app, None)
        place = (app.submitted_ms, app.number)
        due = {ask: (ask.size, ask.label) for ask in job.dues}
        for ask, shape in (before or {}).items():
            if due.get(ask) != shape:
                self.groups[shape].leave_due(ask)
        for ask, shape in due.items():
            entry = (job.dues[ask].since_ms, job.work, *place, ask.key, ask)
            self._group(shape).enter_due(entry)
        if due:
            self._due[app] = due
        asks = app.asks if job.app.pending_count > 0 else ()
        shapes = {(a.size, a.label): None for a in asks if a.count > 0 and not a.is_am}
        for shape in self._asking.get(app, ()):
            if shape not in shapes:
                self.groups[shape].asking.pop(app, None)
        for shape in shapes:
            self._group(shape).enter_asking((job.work, *place, app))
        self._asking[app] = shapes

    def leave(self, app: Application) -> None:
        """It is gone."""
        for ask, shape in self._due.pop(app, {}).items():
            self.groups[shape].leave_due(ask)
        for shape in self._asking.pop(app, ()):
            self.groups[shape].asking.pop(app, None)

    def dues_of(self, shape: Shape) -> Iterator[Ask]:
        """The asks of a shape that must start."""
        group = self.groups.get(shape)
        yield from group.due if group is not None else ()

    def _group(self, shape: Shape) -> Group:
        group = self.groups.get(shape)
        if group is None:
            if len(self.groups) % SHAPES_KEPT == 0:
                kept = {s: g for s, g in self.groups.items() if g.due or g.asking}
                self.groups = kept
                self.nowhere.intersection_update(kept)
                self.only_on = {s: nodes for s, nodes in self.only_on.items() if s in kept}
            group = self.groups[shape] = Group(shape)
        return group
