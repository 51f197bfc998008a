"""The kernel: it runs events in the order of (time, sequence), and does nothing else."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Event = tuple[int, int, Callable[..., None], tuple[Any, ...]]


class Clock:
    """Virtual time in ms. Events of equal time happen in the order in which they were scheduled."""

    __slots__ = ("_heap", "_sequence", "happened", "now")

    def __init__(self) -> None:
        self.now = 0
        self.happened = 0  # count of events so far
        self._heap: list[Event] = []
        self._sequence = 0

    def at(self, at_ms: int, action: Callable[..., None], *facts: Any) -> None:
        """Schedule ``action(*facts)`` at ``at_ms``, which may be now but never in the past."""
        assert at_ms >= self.now, f"an event at {at_ms} is scheduled at {self.now}"
        self._sequence += 1
        heappush(self._heap, (at_ms, self._sequence, action, facts))

    def advance(self) -> bool:
        """Run all events of the next time, and the events that they schedule for the same time.
        Return False when there is no event left.
        """
        heap = self._heap
        if not heap:
            return False
        self.now = now = heap[0][0]
        while heap and heap[0][0] == now:
            _, _, action, facts = heappop(heap)
            self.happened += 1
            action(*facts)
        return True

    def run_until(self, at_ms: int) -> None:
        """Run all events up to ``at_ms``, which is then the time unless it has passed."""
        while self._heap and self._heap[0][0] <= at_ms:
            self.advance()
        self.now = max(self.now, at_ms)


def next_beat(at_ms: int, phase_ms: int, period_ms: int) -> int:
    """Return the first of the times phase, phase + period, ... that is not before ``at_ms``. With a
    period of 0 that is ``at_ms``.
    """
    if period_ms <= 0:
        return at_ms
    return phase_ms + -(-(max(at_ms, phase_ms) - phase_ms) // period_ms) * period_ms
