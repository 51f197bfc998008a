"""Where a container of one shape fits: the lowest node number first, found without looking at every
node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

from loomcard.model.objects import Node
from loomcard.model.resource import Resource, fits

SHAPES_KEPT = 64
"""How many sizes have their own index of the nodes of a partition. Each index costs memory for
every node, and a look whenever a node gains room. The other sizes share one (``Bounds``).
"""

Shape = tuple[Resource, str]
"""A container's size and the partition (node label) it must run in."""


class FitNode(Protocol):
    """What the index reads: a node, or something in its place."""

    number: int
    label: str

    @property
    def room(self) -> Sequence[int]:
        """The amounts that may be taken from it."""


S = TypeVar("S", bound=FitNode)


class FitIndex(Generic[S]):
    """The nodes on which one shape may fit, as a heap of node numbers that is cleaned when read. If
    the label is None, it has the nodes of every partition.
    """

    __slots__ = ("_heap", "_inside", "_nodes", "label", "size")

    def __init__(self, shape: tuple[Resource, str | None], nodes: Mapping[int, S]) -> None:
        self.size, self.label = shape
        self._nodes = nodes
        self._heap = [n.number for n in _of_label(nodes, self.label) if fits(self.size, n.room)]
        heapify(self._heap)
        self._inside = set(self._heap)

    def first(self) -> S | None:
        """The fitting node with the lowest number, or None."""
        heap, nodes, size = self._heap, self._nodes, self.size
        while heap:
            node = nodes.get(heap[0])
            if node is not None and fits(size, node.room):
                return node
            self._inside.discard(heappop(heap))
        return None

    def touch(self, node: S) -> None:
        """A node may have more room than before."""
        number = node.number
        if number in self._inside or not fits(self.size, node.room):
            return
        if self.label is None or node.label == self.label:
            heappush(self._heap, number)
            self._inside.add(number)


class Bounds(Generic[S]):
    """Upper bounds of the nodes' room, as a tree over the nodes in order of their numbers. A size
    is searched only among nodes that may have room for it; all others are ruled out at once.

    A bound is never less than the room. A search that finds a bound too high lowers it, so each
    such search follows an allocation on the node.
    """

    __slots__ = ("_at", "_bounds", "_half", "_nodes", "_nowhere", "_order")

    def __init__(self, nodes: Mapping[int, S], label: str | None) -> None:
        self._nodes = nodes
        self._order = sorted(_of_label(nodes, label), key=lambda node: node.number)
        self._at = {node.number: place for place, node in enumerate(self._order)}
        self._half = half = 1 << max(0, len(self._order) - 1).bit_length()
        self._nowhere: set[Resource] = set()  # what fitted nowhere since room was gained
        # A place past the last node has no room: no bound of amounts, and nothing fits.
        rooms: list[list[int]] = [list(node.room) for node in self._order]
        none = [-1] * (len(rooms[0]) if rooms else 0)
        self._bounds = [none] * half + rooms + [none] * (half - len(rooms))
        for place in range(half - 1, 0, -1):
            self._bounds[place] = self._above(place)

    def _above(self, place: int) -> list[int]:
        return list(map(max, self._bounds[2 * place], self._bounds[2 * place + 1]))

    def first(self, size: Resource) -> S | None:
        """The node with the lowest number on which the size fits, or None."""
        if not self._order or not fits(size, self._bounds[1]) or size in self._nowhere:
            return None
        bounds, half, left = self._bounds, self._half, [1]
        while left:
            place = left.pop()
            if not fits(size, bounds[place]):
                continue
            if place < half:
                left += (2 * place + 1, 2 * place)
                continue
            node = self._order[place - half]
            alive = self._nodes.get(node.number) is node
            if alive and fits(size, node.room):
                return node
            self._lower(place, list(node.room) if alive else [-1] * len(size))
        self._nowhere.add(size)
        return None

    def _lower(self, place: int, bound: list[int]) -> None:
        while bound != self._bounds[place]:
            self._bounds[place] = bound
            place >>= 1
            if not place:
                return
            bound = self._above(place)

    def touch(self, node: S) -> bool:
        """Note that a node may have more room than before; return False if it is new."""
        place = self._at.get(node.number, -1)
        if place < 0 or self._order[place] is not node:
            return False
        self._nowhere.clear()
        place += self._half
        while place and not fits(node.room, self._bounds[place]):
            self._bounds[place] = list(map(max, node.room, self._bounds[place]))
            place >>= 1
        return True


class FirstFit(Generic[S]):
    """Where containers of any size fit first, on the nodes of a label or on all nodes (None). Every
    node that joins or gains room is reported to it.

    The cost of a search hardly depends on how many sizes are searched for.
    """

    __slots__ = ("_bounds", "_label", "_nodes", "_searches", "indexes")

    def __init__(self, nodes: Mapping[int, S], label: str | None = None) -> None:
        self._nodes, self._label = nodes, label
        self.indexes: dict[Resource, FitIndex[S]] = {}
        """The indexes of the sizes that have their own."""
        self._bounds: Bounds[S] | None = None
        self._searches = 0  # in the bounds, since an index was made

    def first(self, size: Resource) -> S | None:
        """The node with the lowest number on which a container of the size fits, or None."""
        index = self.indexes.get(size)
        if index is None:
            if len(self.indexes) >= SHAPES_KEPT and not self._renews():
                return self._bounds_now().first(size)
            index = self.indexes[size] = FitIndex((size, self._label), self._nodes)
        return index.first()

    def _renews(self) -> bool:
        """Whether the oldest index was dropped for a new one. A new one costs a look at every node,
        so it is made only after that many searches without one.
        """
        self._searches += 1
        if self._searches <= len(self._nodes):
            return False
        self._searches = 0
        del self.indexes[next(iter(self.indexes))]
        return True

    def _bounds_now(self) -> Bounds[S]:
        if self._bounds is None:
            self._bounds = Bounds(self._nodes, self._label)
        return self._bounds

    def touch(self, node: S) -> None:
        """Note that one of the nodes joined, or may have more room than before."""
        for index in self.indexes.values():
            index.touch(node)
        if self._bounds is not None and not self._bounds.touch(node):
            self._bounds = None


class FitIndexes:
    """Where each shape fits first; every node that gained room is reported to them.

    ``shared``: while partitions lend, the nodes of those that do; only these are found then, and
    only for asks without a label. Otherwise empty. ``lender``: the only label that lends; "": all.
    """

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self._nodes = nodes
        self._of: dict[str, FirstFit[Node]] = {}  # by label
        self._lent: dict[str, FirstFit[Node]] = {}  # by lender; "": all
        self.shared: Mapping[int, Node] = {}
        self.lender = ""

    def first(self, size: Resource, label: str) -> Node | None:
        """The node with the lowest number on which one shape fits, or None."""
        if self.shared:
            return None if label else self.lent(size, self.shared, self.lender)
        found = self._of.get(label)
        if found is None:
            found = self._of[label] = FirstFit(self._nodes, label)
        index = found.indexes.get(size)  # as found.first does, in the hot path
        return found.first(size) if index is None else index.first()

    def lent(self, size: Resource, shared: Mapping[int, Node], lender: str = "") -> Node | None:
        """The same for a size, on ``shared``, all nodes that lend; on those of one ``lender``."""
        if lender not in self._lent:
            self._lent[lender] = FirstFit(shared, lender or None)
        return self._lent[lender].first(size)

    def offers(self, node: Node, label: str) -> bool:
        """Whether an ask with that label may find room on the node now."""
        if self.shared:
            return node.shared and not label and self.lender in ("", node.label)
        return node.label == label

    def touch(self, node: Node) -> None:
        """Note that a node joined, or gained room."""
        found = self._of.get(node.label)
        if found is not None:
            found.touch(node)
        if node.shared:
            for lender in ("", node.label):
                if lender in self._lent:
                    self._lent[lender].touch(node)

    def forget(self) -> None:
        """Drop all indexes, since nodes have another label; they are built again when needed."""
        self._of.clear()
        self._lent.clear()


def _of_label(nodes: Mapping[int, S], label: str | None) -> Iterable[S]:
    if label is None:
        return nodes.values()
    return [node for node in nodes.values() if node.label == label]
