"""A full cluster, a task of a node's size that came first, and a stream of small tasks after it."""

from typing import Any

import pytest

from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

SMALL = (1024, 1)

OF_EACH_KIND = ["capacity", "drf", "fifo", "tetris"]
OTHERS = ["fair", "sjf", "slots", "srtf", "strict"]
HOLDING = [*OF_EACH_KIND, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
"""The policies that reserve room; `make test` runs one of each kind."""


def crowded(compiled: dict[str, Any], nodes: int) -> Cluster:
    """Return nodes of 4 slots, full of tasks that each belong to another application. Application 1
    came first and has asked for a whole node since then.
    """
    made = Cluster(compiled, nodes=[(4096, 4)] * nodes)
    for number in range(100, 100 + 4 * nodes):
        small(made, number)
    made.round()
    for container in made.containers:
        made.send(r.ContainerStartedRecord(made.now, container))
    made.add_app(1, submitted_ms=-1)
    made.ask(1, 1, (4096, 4))
    return made


def small(made: Cluster, number: int, size: tuple[int, ...] = SMALL) -> None:
    """Add one more small application, which came later."""
    made.add_app(number, submitted_ms=number)
    made.ask(number, 1, size)


def flow(
    made: Cluster, rounds: int, step_ms: int = 1000, size: tuple[int, ...] = SMALL
) -> list:  # fmt: skip
    """End the oldest task of this size, and add an application with another one, round after round.
    Return what was allocated.
    """
    allocated, number = [], 1000 + made.now
    for _ in range(rounds):
        tasks = (n for n, c in sorted(made.containers.items()) if not c.is_am and c.size == size)
        oldest = next(tasks, None)
        if oldest is not None:
            made.complete(oldest)
        small(made, number := number + 1, size)
        allocated += made.round(step_ms)
        for g in made.containers.values():
            made.send(r.ContainerStartedRecord(made.now, g.number)) if g.number == max(
                made.containers
            ) else None
    return allocated
