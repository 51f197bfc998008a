"""What a rule of a policy keeps waiting, and until when: asks by their key, queues by number."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from loomcard.model.objects import Ask
from loomcard.model.queue import Queue

Key = tuple[int, int, int]
"""An ask's key; for a queue: -1, its number and 0."""

Row = tuple[int, int, int, int]
"""A key, and the time in ms."""


class RuleWaits:
    """The waits by a rule that have not ended yet. If an ask ends, its wait stays until its time,
    so that a state restored from a journal is the same.
    """

    def __init__(self) -> None:
        self._until: dict[Key, int] = {}
        self._heap: list[tuple[int, Key]] = []

    def put(self, waiting: Ask | Queue, until_ms: int) -> None:
        """Note that a rule keeps an ask, or all asks below a queue, waiting until ``until_ms``."""
        self._put(_key(waiting), until_ms)

    def _put(self, key: Key, until_ms: int) -> None:
        self._until[key] = until_ms
        heappush(self._heap, (until_ms, key))

    def drop(self, waiting: Ask | Queue) -> None:
        """Remove the wait of an ask or queue that waits for another reason."""
        if self._until:
            self._until.pop(_key(waiting), None)

    def drop_queues(self, beyond: int) -> None:
        """Remove the waits of queues with this number or a larger one: the tree has them no more.
        A wait that now is another queue's ends with one look too many.
        """
        gone = [key for key in self._until if key[0] < 0 and key[1] >= beyond]
        for key in gone:
            del self._until[key]

    def until_ms(self, waiting: Ask | Queue) -> int:
        """Until when a rule keeps it waiting; 0: no rule does."""
        return self._until.get(_key(waiting), 0) if self._until else 0

    def next_ms(self) -> int | None:
        """When the next of these waits ends, in ms; None: there is no wait."""
        heap = self._heap
        while heap and self._until.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def take_over(self, now_ms: int) -> list[Key]:
        """Remove the waits that have ended by ``now_ms``, and return their keys."""
        ended = []
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            key = heappop(self._heap)[1]
            del self._until[key]
            ended.append(key)
        return ended

    def rows(self) -> list[Row]:
        """All waits, for a journal."""
        return sorted((*key, until_ms) for key, until_ms in self._until.items())

    def restore(self, rows: Iterable[Row]) -> None:
        """Take over what ``rows`` returned."""
        for attempt, priority, request_id, until_ms in rows:
            self._put((attempt, priority, request_id), until_ms)


def _key(waiting: Ask | Queue) -> Key:
    return (-1, waiting.number, 0) if isinstance(waiting, Queue) else waiting.key
