"""A small workload for the simulator: every kind of application, sampled by a seed."""

from __future__ import annotations

from random import Random
from typing import Any

from loomcard.testing.random_cluster import AM_SIZE, SIZES
from loomcard.workload.scenario import (
    Executors,
    Fault,
    Scenario,
    ScenarioApplication,
    ScenarioNode,
    Stage,
)

NODE = (8192, 8)
KINDS = ("plain", "dag", "mapreduce", "spark")


def small_scenario(compiled: dict[str, Any], seed: int) -> Scenario:
    """Return eight applications on four nodes, in the leaf queues of a configuration. A node is
    lost for a while, some tasks fail once, and every second application has an AM container.
    """
    rng = Random(seed)  # noqa: S311 - no secret
    leaves = [queue["path"] for queue in compiled["queues"] if queue["leaf"]]
    applications = [_application(rng, number, leaves[number % len(leaves)]) for number in range(8)]
    return Scenario(
        name="contract",
        seed=seed,
        resource_types=["memory_mb", "vcores"],
        nodes=[ScenarioNode(f"n{n}", f"/r{n % 2}", NODE) for n in range(1, 5)],
        applications=sorted(applications, key=lambda app: app.submit_ms),
        heartbeat_ms=rng.choice([0, 1000]) or 1000 * ("heartbeats" in compiled["needs"]),
        am_heartbeat_ms=rng.choice([0, 1000]),
        faults=[Fault(rng.randint(5_000, 60_000), f"n{rng.randint(1, 4)}", 20_000)],
    )


def _application(rng: Random, number: int, queue: str) -> ScenarioApplication:
    kind = KINDS[number % len(KINDS)]
    first = _stage(rng, "map", 20, 1, [])
    stages = [first] if kind == "plain" else [first, _stage(rng, "reduce", 10, 2, [0])]
    return ScenarioApplication(
        id=f"app{number}",
        submit_ms=rng.randint(0, 30_000),
        queue=queue,
        user=f"user{number % 2}",
        kind=kind,
        stages=stages,
        am=AM_SIZE if number % 2 else None,
        slowstart=1.0,  # reduces that wait for maps may use all the room; a policy cannot help
        executors=Executors(2, (2048, 2)) if kind == "spark" else None,
    )


def _stage(rng: Random, name: str, priority: int, request_id: int, after: list[int]) -> Stage:
    durations = [rng.randint(1_000, 20_000) for _ in range(rng.randint(1, 12))]
    wishes = [[f"n{rng.randint(1, 4)}"] for _ in durations] if rng.random() < 0.5 else []
    fails = {0: [500]} if rng.random() < 0.3 else {}
    size = rng.choice(SIZES)
    return Stage(name, size, priority, request_id, durations, after, wishes, fails)
