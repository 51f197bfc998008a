"""One line per shape of container, for policies that serve many shapes: what is served next of each
shape, and which shapes may fit somewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loomcard.api.lazy_heap import Entry, LazyHeap
from loomcard.api.serve import ExhaustedShapes
from loomcard.api.view import ClusterView
from loomcard.model.fit_index import SHAPES_KEPT, Shape
from loomcard.model.objects import Node
from loomcard.model.resource import fits

Keys = dict[tuple[Shape, Any], None]


class ShapeLines:
    """A line for each shape of container, kept from call to call.

    An entry is a tuple. Its elements sort it, the first in line least. Its last element is its key:
    the application or ask that it stands for. A line contains a key only once. Keys are not
    compared: if entries tie, the one that entered first comes first, by a number kept before its
    key. ``summed``: the place of an element of which ``sum_of`` knows the sum; it is an integer.
    """

    def __init__(self, summed: int | None = None) -> None:
        self._summed = summed
        self._sums: dict[Shape, int] = {}
        self._lines: dict[Shape, tuple[dict[Any, Entry], LazyHeap]] = {}
        self._owned: dict[Any, Keys] = {}
        self._aside: list[tuple[Shape, Entry]] = []
        self._entered = 0

    def enter(self, owner: Any, entries: Iterable[tuple[Shape, Entry]]) -> None:
        """Give ``owner`` these places instead of those that it had; call it at each change."""
        keys: Keys = {}
        for shape, entry in entries:
            key = entry[-1]
            keys[shape, key] = None
            current, heap = self._line(shape)
            old = current.get(key)
            if old is None or old[:-2] != entry[:-1]:
                self._entered += 1
                current[key] = kept = (*entry[:-1], self._entered, key)
                heap.push(kept)
                self._count(shape, old, kept)
        for shape, key in self._owned.pop(owner, ()):
            if (shape, key) not in keys:
                self.leave(shape, key)
        if keys:
            self._owned[owner] = keys

    def leave(self, shape: Shape, key: Any) -> None:
        """Take one place away."""
        line = self._lines.get(shape)
        if line is not None:
            self._count(shape, line[0].pop(key, None), None)

    def shapes(self) -> list[Shape]:
        """The shapes whose lines are not empty."""
        return [shape for shape, (current, _) in self._lines.items() if current]

    def entries(self, shape: Shape) -> list[Entry]:
        """All entries of a line, in no order."""
        kept = self._lines[shape][0].values() if shape in self._lines else ()
        return [_as_entered(each) for each in kept]

    def count(self, shape: Shape) -> int:
        """How many entries a line has."""
        return len(self._lines[shape][0]) if shape in self._lines else 0

    def sum_of(self, shape: Shape) -> int:
        """The sum of the ``summed`` elements of a line."""
        return self._sums.get(shape, 0)

    def top(self, shape: Shape) -> Entry | None:
        """Return the first entry of a line without removing it; None if the line is empty."""
        kept = self._lines[shape][1].top()
        return None if kept is None else _as_entered(kept)

    def set_aside(self, shape: Shape) -> None:
        """Remove the first of a line for now; ``put_back`` gives it its place again."""
        self._aside.append((shape, self._lines[shape][1].pop()))

    def put_back(self) -> None:
        """End the call: entries that were set aside may try again in the next."""
        for shape, entry in self._aside:
            current, heap = self._line(shape)
            if current.get(entry[-1]) is entry:
                heap.push(entry)
        self._aside = []

    def _count(self, shape: Shape, old: Entry | None, new: Entry | None) -> None:
        if (at := self._summed) is not None:
            more = (0 if new is None else new[at]) - (0 if old is None else old[at])
            self._sums[shape] = self._sums.get(shape, 0) + more

    def _line(self, shape: Shape) -> tuple[dict[Any, Entry], LazyHeap]:
        line = self._lines.get(shape)
        if line is None:
            if len(self._lines) % SHAPES_KEPT == 0:  # forget shapes with empty lines
                self._lines = {s: line for s, line in self._lines.items() if line[0]}
                self._sums = {s: sum_ for s, sum_ in self._sums.items() if s in self._lines}
            current: dict[Any, Entry] = {}
            line = self._lines[shape] = current, LazyHeap(current)
        return line


def _as_entered(kept: Entry) -> Entry:
    return (*kept[:-2], kept[-1])


class OpenShapes:
    """The shapes that may fit somewhere, as one policy finds out in a round. Call ``begin`` in each
    call of the policy. ``shape in open_shapes``: whether it may fit.
    """

    def __init__(self, view: ClusterView) -> None:
        self.begin(view)

    def begin(self, view: ClusterView) -> None:
        """Begin a call of the policy."""
        self._view, self._full = view, ExhaustedShapes(view)

    def __contains__(self, shape: object) -> bool:
        return shape not in self._full

    def find(self, shape: Shape) -> Node | None:
        """The node with the lowest number on which it fits; None: nowhere in this round."""
        if shape in self._full:
            return None
        node = self._view.first_fit(*shape)
        if node is None:
            self._full.add(shape)
        return node

    def none(self) -> bool:
        """Whether no outstanding ask fits anywhere any more."""
        return self._full.everything()


class RoomIndex:
    """By shape, the numbers of the nodes with room for one more container. They are kept from call
    to call; each call looks only at nodes that changed.
    """

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._changed = view.watch_nodes()
        self._of: dict[Shape, set[int]] = {}
        self._moved: dict[int, None] = {}

    def moved(self) -> list[int]:
        """Return the numbers of the nodes that entered or left one of the sets since the last call,
        also because a set was dropped. There is one caller.
        """
        self._update()
        moved = list(self._moved)
        self._moved.clear()
        return moved

    def _update(self) -> None:
        for node in self._changed:
            alive, number = self._view.node(node.number) is node, node.number
            for each, numbers in self._of.items():
                if (alive and _takes(node, each)) != (number in numbers):
                    numbers ^= {number}
                    self._moved[number] = None
        self._changed.clear()

    def of(self, shape: Shape) -> set[int]:
        """The nodes that have room for a container of the shape now."""
        if self._changed:
            self._update()
        found = self._of.get(shape)
        if found is None:
            if not self._view._state.partitions.shared and self._view.first_fit(*shape) is None:
                return set()
            if len(self._of) >= SHAPES_KEPT:
                self._moved.update(dict.fromkeys(self._of.pop(next(iter(self._of)))))
            found = self._of[shape] = {n.number for n in self._view.nodes if _takes(n, shape)}
        return found


def _takes(node: Node, shape: Shape) -> bool:
    return node.takes(shape[1]) and fits(shape[0], node.room)
