"""A priority queue in which an entry can be superseded without a search for it."""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

Entry = Any
"""A tuple whose last element is what it stands for. The type is Any because compiled code would
copy typed tuples, and identity distinguishes an entry from superseded ones.
"""


class LazyHeap:
    """Entries, the least first. An entry counts while ``current`` has it for its last element.
    Others are dropped when they come to the top, and all at once when they are the majority.

    ``current``: the entries that count, by what they stand for; several heaps may share it.
    """

    __slots__ = ("_current", "_heap")

    def __init__(self, current: dict[Any, Entry]) -> None:
        self._current = current
        self._heap: list[Entry] = []

    def __len__(self) -> int:
        """The count of entries, superseded ones included."""
        return len(self._heap)

    def push(self, entry: Entry) -> None:
        """Add an entry."""
        heap, current = self._heap, self._current
        heappush(heap, entry)
        if len(heap) > 64 + 4 * len(current):
            live: list[Entry] = [each for each in heap if current.get(each[-1]) is each]
            heap[:] = {id(each): each for each in live}.values()
            heapify(heap)

    def top(self) -> Entry | None:
        """Return the least entry that counts, without removing it; None if there is no entry."""
        heap, current = self._heap, self._current
        while heap:
            entry = heap[0]
            if current.get(entry[-1]) is entry:
                return entry
            heappop(heap)
        return None

    def members(self) -> list[Any]:
        """Return what the entries that count stand for, in no certain order."""
        current = self._current
        live: list[Entry] = [each for each in self._heap if current.get(each[-1]) is each]
        return [each[-1] for each in live]

    def pop(self) -> Entry:
        """Remove the top, which ``top`` has just returned, and return it."""
        return heappop(self._heap)

    def replace_top(self, entry: Entry) -> None:
        """Do ``pop`` and ``push`` in one step."""
        heapreplace(self._heap, entry)
