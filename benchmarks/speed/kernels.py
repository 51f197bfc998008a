"""The bare kernel: the same timed completions on SimPy and on our Clock, without any scheduling."""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from time import process_time
from typing import Any

from loomcard.masters.clock import Clock

LENGTH_MS = (20_000, 40_000)


def lengths(tasks: int) -> list[int]:
    """Return how long each task runs, in ms."""
    rng = Random(1)  # noqa: S311 - no secret
    return [rng.randint(*LENGTH_MS) for _ in range(tasks)]


def on_simpy(lengths_ms: list[int], slots: int) -> tuple[float, int]:
    """Return the CPU seconds, and when the last task ended. The tasks share ``slots`` slots in
    order of arrival. Raises ImportError if SimPy is not installed.
    """
    import simpy  # a package for developers, not one of the product's

    environment, waiting = simpy.Environment(), iter(lengths_ms)

    def slot() -> Generator[Any, Any, None]:
        for length_ms in waiting:
            yield environment.timeout(length_ms)

    began = process_time()
    for _ in range(slots):
        environment.process(slot())
    environment.run()
    return process_time() - began, round(environment.now)


def on_ours(lengths_ms: list[int], slots: int) -> tuple[float, int]:
    """Do the same on the simulator's Clock."""
    clock, waiting = Clock(), iter(lengths_ms)

    def ended() -> None:
        length_ms = next(waiting, None)
        if length_ms is not None:
            clock.at(clock.now + length_ms, ended)

    began = process_time()
    for _ in range(slots):
        ended()
    while clock.advance():
        pass
    return process_time() - began, clock.now
