"""A priority queue whose entries may be superseded without being looked for."""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import Any

Entry = Any
"""A tuple whose last element is what it stands for. Any, since compiled code makes typed tuples
again, and an entry is distinguished from superseded ones by its identity.
"""


class LazyHeap:
    """Entries, the least first. One counts while it is what ``current`` has for its last element;
    others are dropped when they come to the top, and swept out when they are most of all.

    ``current``: by what they stand for, the entries that count; several heaps may share it.
    """

    __slots__ = ("_current", "_heap")

    def __init__(self, current: dict[Any, Entry]) -> None:
        self._current = current
        self._heap: list[Entry] = []

    def __len__(self) -> int:
        """How many entries there are, superseded ones too."""
        return len(self._heap)

    def push(self, entry: Entry) -> None:
        """One more entry."""
        heap, current = self._heap, self._current
        heappush(heap, entry)
        if len(heap) > 64 + 4 * len(current):
            live: list[Entry] = [each for each in heap if current.get(each[-1]) is each]
            heap[:] = {id(each): each for each in live}.values()
            heapify(heap)

    def top(self) -> Entry | None:
        """The least entry that counts; it stays. None if there is none."""
        heap, current = self._heap, self._current
        while heap:
            entry = heap[0]
            if current.get(entry[-1]) is entry:
                return entry
            heappop(heap)
        return None

    def pop(self) -> Entry:
        """Remove the top, which ``top`` has just returned, and return it."""
        return heappop(self._heap)

    def replace_top(self, entry: Entry) -> None:
        """As ``pop`` and ``push``, in one."""
        heapreplace(self._heap, entry)
