"""The effect of promising more memory than a machine has: all its processes slow down equally.

The model: while the containers that run on a machine are together larger than its physical memory,
each of them takes ``factor`` times as long. How much larger they are does not matter. A container
counts with its whole size from its launch to the end of its process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from loomcard.masters.clock import Clock
from loomcard.model.objects import Container

if TYPE_CHECKING:
    from loomcard.simulator.nodes import Running


class Pressure:
    """The memory of one machine, and the work that is left of each process on it."""

    def __init__(self, physical_mb: int, factor: float, clock: Clock) -> None:
        self._physical_mb = physical_mb
        self._factor = factor
        self._clock = clock
        self._used_mb = 0
        self._since_ms = 0
        self._running: dict[int, Running] = {}

    @property
    def slowness(self) -> float:
        """The factor by which everything takes longer now."""
        return self._factor if self._used_mb > self._physical_mb else 1.0

    def add(self, running: Running) -> list[tuple[Running, int]]:
        """Add a process; return the processes whose end changes, with its new time in ms."""
        self._running[running.container.number] = running
        return self._resize(running.container.size[0])

    def remove(self, container: Container) -> list[tuple[Running, int]]:
        """Remove an ended process; return as `add` does. An unknown one changes nothing."""
        if self._running.pop(container.number, None) is None:
            return []
        return self._resize(-container.size[0])

    def lasts(self, running: Running, work_ms: int) -> tuple[Running, int]:
        """Set how much work a process has from now on; return it with the time of its end."""
        self._work()
        running.left_ms = work_ms
        return running, self._end(running)

    def _resize(self, change_mb: int) -> list[tuple[Running, int]]:
        before = self.slowness
        self._work()
        self._used_mb += change_mb
        if self.slowness == before:
            return []
        timed = [each for each in self._running.values() if each.ends_ms is not None]
        return [(running, self._end(running)) for running in timed]

    def _work(self) -> None:
        """Subtract the work that was done since the last call."""
        done = (self._clock.now - self._since_ms) / self.slowness
        self._since_ms = self._clock.now
        for running in self._running.values():
            running.left_ms -= done

    def _end(self, running: Running) -> int:
        return self._clock.now + max(0, round(running.left_ms * self.slowness))
