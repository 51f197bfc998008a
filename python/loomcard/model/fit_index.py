"""Where a container of one shape fits: the lowest node number first, found without looking at every
node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

from loomcard.model.objects import Node
from loomcard.model.resource import Resource, fits

SHAPES_KEPT = 64
"""More shapes than this are rare; the least recently made is forgotten and rebuilt when it is asked
for again.
"""

Shape = tuple[Resource, str]
"""A container's size and the partition (node label) it must run in."""


class FitNode(Protocol):
    """What the index looks at: a node, or what stands for one."""

    number: int
    label: str

    @property
    def room(self) -> Sequence[int]:
        """What may be taken of it."""


S = TypeVar("S", bound=FitNode)


class FitIndex(Generic[S]):
    """The nodes on which one shape may fit, as a heap of node numbers cleaned when read."""

    __slots__ = ("_heap", "_inside", "_nodes", "label", "size")

    def __init__(self, shape: Shape, nodes: Mapping[int, S]) -> None:
        self.size, self.label = shape
        self._nodes = nodes
        self._heap = [
            n.number for n in nodes.values() if n.label == self.label and fits(self.size, n.room)
        ]
        heapify(self._heap)
        self._inside = set(self._heap)

    def first(self) -> S | None:
        """The fitting node of the lowest number, or None."""
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
        if number not in self._inside and node.label == self.label and fits(self.size, node.room):
            heappush(self._heap, number)
            self._inside.add(number)


class SharedFitIndex(FitIndex[Node]):
    """The same, of the nodes that take asks without a label though they have one."""

    __slots__ = ()

    def __init__(self, size: Resource, shared: Mapping[int, Node]) -> None:
        super().__init__((size, ""), {})
        self._nodes = shared
        for node in shared.values():
            self.touch(node)

    def touch(self, node: Node) -> None:
        """A node may have more room than before."""
        number = node.number
        if number not in self._inside and node.shared and fits(self.size, node.room):
            heappush(self._heap, number)
            self._inside.add(number)


NOWHERE: FitIndex[Node] = FitIndex((Resource(), ""), {})
"""What no node has."""


class FitIndexes:
    """All indexes in use; every node that gained room is reported to them.

    ``shared``: while partitions lend, the nodes of those that do; the indexes are then theirs
    alone, and there are none for asks with a label. Else empty.
    """

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self._nodes = nodes
        self._indexes: dict[Shape, FitIndex[Node]] = {}
        self._lent: dict[Resource, SharedFitIndex] = {}
        self.shared: Mapping[int, Node] = {}

    def of(self, size: Resource, label: str) -> FitIndex[Node]:
        """The index of one shape."""
        if self.shared:
            return NOWHERE if label else self.lent(size, self.shared)
        shape = (size, label)
        index = self._indexes.get(shape)
        if index is None:
            if len(self._indexes) >= SHAPES_KEPT:
                del self._indexes[next(iter(self._indexes))]
            index = self._indexes[shape] = FitIndex(shape, self._nodes)
        return index

    def lent(self, size: Resource, shared: Mapping[int, Node]) -> FitIndex[Node]:
        """The index of a size on these nodes, all that lend."""
        index = self._lent.get(size)
        if index is None:
            if len(self._lent) >= SHAPES_KEPT:
                del self._lent[next(iter(self._lent))]
            index = self._lent[size] = SharedFitIndex(size, shared)
        return index

    def offers(self, node: Node, label: str) -> bool:
        """Whether an ask with that label is to find room on the node now."""
        if self.shared:
            return node.shared and not label
        return node.label == label

    def touch(self, node: Node) -> None:
        """A node gained room."""
        for index in self._indexes.values():
            index.touch(node)
        if self._lent:
            for lent in self._lent.values():
                lent.touch(node)

    def forget(self) -> None:
        """The set of nodes changed; indexes are rebuilt when asked for."""
        self._indexes.clear()
        self._lent.clear()
