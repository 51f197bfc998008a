"""The parts of stress scenarios: nodes of eight slots, applications of equal tasks, streams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from loomcard.stress.predicates import Consistent, Ends, NoIdleRoom, NoStarvation, Predicate
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

SLOT = (1024, 1)
"""The usual task: memory in MB, vcores."""
NODE = (8192, 8)
"""The usual node, of eight slots."""
TASK_MS = 10_000
"""The usual duration of a task, in ms."""
TURNOVER_MS = 15_000
"""The time after which every running task has ended and the ResourceManager has been informed, in
ms.
"""
USUAL: tuple[Predicate, ...] = (Consistent(), Ends(), NoIdleRoom(), NoStarvation())


def nodes(count: int, capacity: Sequence[int] = NODE, **keys: Any) -> list[ScenarioNode]:
    """Return machines of one size, in two racks; their names begin with ``name`` (n)."""
    name = keys.pop("name", "n")
    return [
        ScenarioNode(f"{name}{i}", f"/r{i % 2}", tuple(capacity), **keys)
        for i in range(1, count + 1)
    ]


def stage(
    name: str, tasks: int, ms: int = TASK_MS, size: Sequence[int] = SLOT, number: int = 1,
    **keys: Any,
) -> Stage:  # fmt: skip
    """Return tasks that run for about ``ms``, up to a fifth more or less, seeded with ``name``."""
    rng = Random(name)  # noqa: S311 - no secret
    durations = [round(ms * rng.uniform(0.8, 1.2)) for _ in range(tasks)]
    return Stage(f"s{number}", tuple(size), 20, number, durations, **keys)


def app(
    name: str, tasks: int, at_ms: int = 0, queue: str = "root.default", *, user: str = "user",
    ms: int = TASK_MS, size: Sequence[int] = SLOT, am: Sequence[int] | None = None,
    stages: list[Stage] | None = None, **keys: Any,
) -> ScenarioApplication:  # fmt: skip
    """Return an application of one stage, unless ``stages`` are given; ``am``: the size of its
    AM.
    """
    found = stages or [stage(name, tasks, ms, size)]
    master = None if am is None else tuple(am)
    kind = keys.pop("kind", "dag")
    return ScenarioApplication(name, at_ms, queue, user, kind, found, am=master, **keys)


def workload(
    name: str, machines: Iterable[ScenarioNode], applications: Iterable[ScenarioApplication],
    stop_s: int, **keys: Any,
) -> Scenario:  # fmt: skip
    """Return the scenario for the simulator; nodes and AMs send one heartbeat per second."""
    types = keys.pop("types", ["memory_mb", "vcores"])
    coming = sorted(applications, key=lambda each: each.submit_ms)
    return Scenario(name, 1, types, list(machines), coming, stop_ms=stop_s * 1000, **keys)
