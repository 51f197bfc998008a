"""The work that the bench gives to the simulator: cells, and the scenario of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import msgspec

from loomcard.config import compile_config
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

NODE = (32_768, 16)
"""Memory in MB and vcores of every node."""
SIZES = ((1_024, 1), (4_096, 1), (2_048, 2), (6_144, 1))
"""Sizes of tasks; each application uses the next one. Some run out of memory first, some of
vcores.
"""
TASKS = 100
"""Tasks of an application: as many as the 80 maps and 20 reduces of a middling job."""
LENGTH_MS = (20_000, 40_000)
ALIVE = 200
"""Least number of applications at the start; after that one comes for each that ends."""
TYPES = ["memory_mb", "vcores"]


class Cell(msgspec.Struct, frozen=True):
    """One measurement: ``tasks`` tasks on ``nodes`` nodes under ``policy``, the ``repeat``-th
    time.
    """

    policy: str
    nodes: int
    tasks: int
    repeat: int = 0
    seed: int = 1


def cells(
    policies: Sequence[str], nodes: Sequence[int], repeats: Mapping[int, int]
) -> Iterator[Cell]:
    """Yield every policy on every cluster with every count of tasks, small ones first. ``repeats``:
    how often, by the count of tasks. The cells of one count take turns.
    """
    for tasks, times in sorted(repeats.items()):
        for repeat in range(times):
            for size in nodes:
                for policy in policies:
                    yield Cell(policy, size, tasks, repeat)


def config(policy: str) -> dict[str, object]:
    """Return the compiled configuration of one leaf queue under ``policy``."""
    return compile_config(f"version: 1\nkind: policy\npolicy: {policy}\n", "bench.yml")


def scenario(cell: Cell, heartbeat_ms: int = 0) -> Scenario:
    """Return a cluster that stays full: enough applications to fill it come at the start, and later
    one comes each time that, at full use, the work of another is done.
    """
    rng = Random(cell.seed)  # noqa: S311 - no secret
    count = -(-cell.tasks // TASKS)
    at_once = max(ALIVE, 2 * _filling(cell.nodes))
    interval_ms = _work_ms() / cell.nodes
    applications = [
        ScenarioApplication(
            id=f"job{i}",
            submit_ms=round(max(0, i - at_once) * interval_ms),
            queue="root.default",
            user="bench",
            kind="plain",
            stages=[_stage(SIZES[i % len(SIZES)], min(TASKS, cell.tasks - i * TASKS), rng)],
        )
        for i in range(count)
    ]
    nodes = [ScenarioNode(f"n{i}", f"/r{i % 40}", NODE) for i in range(1, cell.nodes + 1)]
    name = f"bench-{cell.nodes}-{cell.tasks}"
    return Scenario(name, cell.seed, TYPES, nodes, applications, heartbeat_ms, heartbeat_ms)


def _stage(size: tuple[int, int], tasks: int, rng: Random) -> Stage:
    return Stage("work", size, 20, 1, [rng.randint(*LENGTH_MS) for _ in range(tasks)])


def _whole() -> float:
    """Return how many nodes one application of the mean size fills with all its tasks at once."""
    part = [sum(s[r] for s in SIZES) / len(SIZES) / NODE[r] for r in range(len(NODE))]
    return TASKS * max(part)


def _filling(nodes: int) -> int:
    """Return how many applications fill this many nodes with all their tasks at once."""
    return round(nodes / _whole())


def _work_ms() -> float:
    """Return how long an application keeps one node busy, in ms."""
    return _whole() * sum(LENGTH_MS) / 2
