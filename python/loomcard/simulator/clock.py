"""The kernel: events in the order of (time, sequence), and nothing else."""

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
        """``action(*facts)`` happens at ``at_ms``, which may be now but never in the past."""
        assert at_ms >= self.now, f"an event at {at_ms} is scheduled at {self.now}"
        self._sequence += 1
        heappush(self._heap, (at_ms, self._sequence, action, facts))

    def advance(self) -> bool:
        """Let all events of the next time happen, those included that they schedule for the same
        time. False: there is none left.
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


def next_beat(at_ms: int, phase_ms: int, period_ms: int) -> int:
    """The first of the times phase, phase + period, ... that is not before ``at_ms``; with a period
    of 0 every time is one.
    """
    if period_ms <= 0:
        return at_ms
    return phase_ms + -(-(max(at_ms, phase_ms) - phase_ms) // period_ms) * period_ms
