"""How many containers per second the embedded cluster starts on this machine, measured once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from loomcard.results.container_rows import ContainerRow
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

Executor = Literal["virtual", "process"]

TASKS: dict[Executor, int] = {"virtual": 600, "process": 90}
_NODES = 3
_APPLICATIONS = 3


def probe(executor: Executor) -> Scenario:
    """The scenario that measures it: three applications that ask for all their containers at once,
    on nodes that have room for all of them.
    """
    tasks = TASKS[executor] // _APPLICATIONS
    stage = Stage("s", (1, 1), 20, 1, [500] * tasks)
    return Scenario(
        "launch-rate",
        0,
        ["memory_mb", "vcores"],
        [ScenarioNode(f"n{i}", "/r1", (1000, 1000)) for i in range(1, _NODES + 1)],
        [
            ScenarioApplication(f"a{i}", 0, "root.default", "u", "plain", [stage])
            for i in range(_APPLICATIONS)
        ],
        heartbeat_ms=100,
        am_heartbeat_ms=100,
    )


def started_per_second(rows: Sequence[ContainerRow]) -> float:
    """Return the containers per second between the first start and the last, without the slow first
    tenth and the last tenth.
    """
    starts = sorted(row.started_ms for row in rows if row.started_ms is not None)
    cut = len(starts) // 10
    middle = starts[cut : len(starts) - cut]
    return 1000 * (len(middle) - 1) / max(1, middle[-1] - middle[0])


def saved_rate(file: Path, executor: Executor) -> float | None:
    """Return the rate that was measured and written to `file`; None if there is none."""
    try:
        rate = json.loads(file.read_text()).get(executor)
    except (OSError, ValueError, AttributeError):
        return None
    return float(rate) if isinstance(rate, int | float) else None


def save_rate(file: Path, executor: Executor, rate: float) -> None:
    """Write a rate to `file`, beside the rates in it."""
    others: tuple[Executor, ...] = ("virtual", "process")
    known = {name: saved_rate(file, name) for name in others}
    found = {name: value for name, value in known.items() if value is not None}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found | {executor: round(rate, 1)}, indent=2) + "\n")


def wanted_per_second(scenario: Scenario) -> float:
    """Return how many containers per second a scenario asks for, on average over the shortest time
    that it can take: no application is faster than its longest chain of stages, and the cluster is
    not faster than its vcores.
    """
    apps = scenario.applications
    if not apps:
        return 0.0
    began = min(app.submit_ms for app in apps)
    chain = max(app.submit_ms + _chain_ms(app) for app in apps) - began
    whole = max(1, sum(node.capacity[1] for node in scenario.nodes))
    stages = [stage for app in apps for stage in app.stages]
    work = sum(max(1, stage.size[1]) * sum(stage.durations_ms) for stage in stages) / whole
    return 1000 * sum(map(_containers, apps)) / max(1000, chain, work)


def warning(scenario: Scenario, executor: Executor, rate: float | None) -> str | None:
    """Return a warning if a scenario asks for more than half of what the machine can start; or
    None.
    """
    wanted = wanted_per_second(scenario)
    if rate is None or wanted <= rate / 2:
        return None
    return (
        f"{scenario.name} starts about {wanted:.0f} containers a second, and this machine holds "
        f"{rate:.0f} ({executor}): they will start late, and not only because of the policy"
    )


def _containers(app: ScenarioApplication) -> int:
    if app.executors is not None:
        return app.executors.count
    return sum(len(stage.durations_ms) for stage in app.stages)


def _chain_ms(app: ScenarioApplication) -> int:
    @cache
    def until(index: int) -> int:
        stage = app.stages[index]
        return max(map(until, stage.after), default=0) + max(stage.durations_ms, default=0)

    return max(map(until, range(len(app.stages))), default=0)
