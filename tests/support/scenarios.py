"""Scenarios for tests: short calls for small ones, and random ones by seed."""

from __future__ import annotations

from random import Random
from typing import Any

from loomcard.config import compile_config
from loomcard.results.container_rows import ContainerRow
from loomcard.results.record import RunRecord
from loomcard.simulator import simulate
from loomcard.workload.scenario import (
    Executors,
    Fault,
    Scenario,
    ScenarioApplication,
    ScenarioNode,
    Stage,
)

SIZE = (1024, 1)


def stage(durations: list[int], number: int = 1, **keys: Any) -> Stage:
    """Return the application's stage of that number, with tasks of these durations in ms, each of
    1024 MB and 1 vcore.
    """
    given = {"id": f"s{number}", "size": SIZE, "priority": 20} | keys
    return Stage(request_id=number, durations_ms=durations, **given)


def app(name: str, *stages: Stage, **keys: Any) -> ScenarioApplication:
    """Return an application of kind dag in root.default, submitted at 0."""
    given = {"submit_ms": 0, "queue": "root.default", "user": "alice", "kind": "dag"} | keys
    return ScenarioApplication(id=name, stages=list(stages), **given)


def scenario(*applications: ScenarioApplication, nodes: int = 1, slots: int = 4, **keys: Any):
    """Return a scenario with nodes n1, n2, ... of ``slots`` slots (1024 MB, 1 vcore each), in racks
    /r1 and /r2 in turn, and without heartbeats.
    """
    machines = [
        ScenarioNode(f"n{i}", f"/r{(i - 1) % 2 + 1}", (1024 * slots, slots))
        for i in range(1, nodes + 1)
    ]
    given = {"heartbeat_ms": 0, "am_heartbeat_ms": 0} | keys
    types = ["memory_mb", "vcores"]
    return Scenario("test", 1, types, machines, list(applications), **given)


def compiled(policy: str = "drf", **keys: Any) -> dict[str, Any]:
    """Return the compiled configuration of one policy, or of a YAML text."""
    text = policy if "\n" in policy else f"version: 1\npolicy: {policy}\n"
    return compile_config(text, "test.yml", **keys)


def run(wanted: Scenario, policy: str = "drf") -> RunRecord:
    """Simulate the scenario, comparing all state after each round."""
    return simulate(wanted, compiled(policy), policy="test", check=True)


def times(record: RunRecord, name: str = "j") -> list[tuple[Any, ...]]:
    """Return (stage, task, attempt, node, started, finished, kind) of each of an application's
    containers.
    """
    rows: list[ContainerRow] = [row for row in record.containers if row.application == name]
    return [
        (r.stage, r.task, r.attempt, r.node, r.started_ms, r.finished_ms, r.kind)
        for r in rows
        if not r.is_am
    ]


def random_scenario(seed: int) -> Scenario:
    """Return the scenario of a seed: five nodes, applications of every kind, heartbeats, faults,
    failures and wishes for nodes.
    """
    rng = Random(seed)  # noqa: S311 - no secret
    nodes = [ScenarioNode(f"n{i}", f"/r{i % 2}", (8192, 8)) for i in range(1, 6)]
    applications = [_random_application(rng, f"j{i}") for i in range(rng.randint(1, 8))]
    faults = [
        Fault(rng.randint(0, 8000), f"n{rng.randint(2, 5)}", rng.choice([None, 2000]))
        for _ in range(rng.randint(0, 3))
    ]
    return Scenario(
        "random",
        seed,
        ["memory_mb", "vcores"],
        nodes,
        sorted(applications, key=lambda each: each.submit_ms),
        heartbeat_ms=rng.choice([0, 100, 1000]),
        am_heartbeat_ms=rng.choice([0, 250]),
        launch_delay_ms=rng.choice([0, 30]),
        am_start_ms=rng.choice([0, 500]),
        faults=faults,
    )


def _random_application(rng: Random, name: str) -> ScenarioApplication:
    kind = rng.choice(["dag", "mapreduce", "spark", "plain"])
    if kind == "mapreduce":
        stages = [_random_stage(rng, 0, [], 20), _random_stage(rng, 1, [0], 10)]
    else:
        count = rng.randint(1, 5)
        parents = [sorted(rng.sample(range(i), min(i, rng.randint(0, 2)))) for i in range(count)]
        stages = [_random_stage(rng, i, parents[i], 20) for i in range(count)]
    return app(
        name,
        *stages,
        submit_ms=rng.randint(0, 3000),
        kind=kind,
        am=(512, 1) if rng.random() < 0.5 else None,
        slowstart=rng.random(),
        ms_per_map=rng.choice([0, 10]),
        executors=Executors(rng.randint(1, 3), (2048, 2)) if kind == "spark" else None,
    )


def _random_stage(rng: Random, index: int, after: list[int], priority: int) -> Stage:
    count = rng.randint(1, 15)
    failing = [task for task in range(count) if rng.random() < 0.1]
    return stage(
        [rng.randint(0, 5000) for _ in range(count)],
        index + 1,
        size=(rng.choice([512, 1024, 2048]), rng.choice([1, 2])),
        priority=priority,
        after=after,
        nodes=[[f"n{rng.randint(1, 5)}"] for _ in range(count)] if rng.random() < 0.5 else [],
        fails_ms={task: [rng.randint(0, 300)] * rng.randint(1, 2) for task in failing},
    )
