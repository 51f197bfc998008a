"""Where a container of one shape fits: the lowest node number first, found without looking at every
node.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from loomcard.model.cluster import Node
from loomcard.model.resource import Resource, fits

SHAPES_KEPT = 64
"""More shapes than this are rare; the least recently made is forgotten and rebuilt when it is asked
for again.
"""

Shape = tuple[Resource, str]
"""A container's size and the partition (node label) it must run in."""


class Room:
    """The nodes on which one shape may fit, as a heap of node numbers cleaned when read."""

    __slots__ = ("_heap", "_inside", "_nodes", "label", "size")

    def __init__(self, shape: Shape, nodes: Mapping[int, Node]) -> None:
        self.size, self.label = shape
        self._nodes = nodes
        self._heap = [
            n.number for n in nodes.values() if n.label == self.label and fits(self.size, n.free)
        ]
        heapify(self._heap)
        self._inside = set(self._heap)

    def first(self) -> Node | None:
        """The fitting node of the lowest number, or None."""
        heap, nodes, size = self._heap, self._nodes, self.size
        while heap:
            node = nodes.get(heap[0])
            if node is not None and fits(size, node.free):
                return node
            self._inside.discard(heappop(heap))
        return None

    def touch(self, node: Node) -> None:
        """A node may have more room than before."""
        number = node.number
        if number not in self._inside and node.label == self.label and fits(self.size, node.free):
            heappush(self._heap, number)
            self._inside.add(number)


class Rooms:
    """All rooms in use; told of every node that gained room."""

    def __init__(self, nodes: Mapping[int, Node]) -> None:
        self._nodes = nodes
        self._rooms: dict[Shape, Room] = {}

    def of(self, size: Resource, label: str) -> Room:
        """The room of one shape."""
        shape = (size, label)
        room = self._rooms.get(shape)
        if room is None:
            if len(self._rooms) >= SHAPES_KEPT:
                del self._rooms[next(iter(self._rooms))]
            room = self._rooms[shape] = Room(shape, self._nodes)
        return room

    def touch(self, node: Node) -> None:
        """A node gained room."""
        for room in self._rooms.values():
            room.touch(node)

    def forget(self) -> None:
        """The set of nodes changed; rooms are rebuilt when asked for."""
        self._rooms.clear()
