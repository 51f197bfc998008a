"""What the applications request, and how long each ask waited by the NodeManagers' clocks."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loomcard.cluster.container_times import ContainerRun, read_runs
from loomcard.cluster.embedded import LocalCluster
from loomcard.player.process import WARM_UP, Event, Player
from loomcard.workload.scenario import (
    Executors,
    Scenario,
    ScenarioApplication,
    ScenarioNode,
    Stage,
)

NODES, NODE_MB, NODE_VCORES = 4, 16_384, 16
MASTER = (512, 1)
TASK = (2048, 1)
BEAT_MS = 200
LOOK_S = 0.2


@dataclass(frozen=True)
class Wait:
    """The wait of one container. ``whole_ms``: since its application asked for it; ``ms``: since it
    asked or the ask last got a container, whichever is later. ``served``: whether the container
    came.
    """

    ms: int
    whole_ms: int
    served: bool


def roomy(task_ms: int) -> Scenario:
    """Return six applications of five tasks in two queues. There is always room for all of them.
    Each has two asks of different priorities; every other pair has an AM on the cluster.
    """
    stages = [Stage("s", TASK, 20, 1, [task_ms] * 3), Stage("t", TASK, 10, 2, [task_ms] * 2)]
    apps = [
        ScenarioApplication(
            f"app-{i}", 4_000 * i, f"root.{'ab'[i % 2]}", f"u{i % 3}", "plain", stages,
            am=MASTER if i // 2 % 2 == 0 else None,
        )
        for i in range(6)
    ]  # fmt: skip
    return _scenario("roomy", apps)


def mixed() -> Scenario:
    """Return a load for which policies leave room idle by design: at first only one queue asks;
    there are large and small jobs, maps with wishes and their reduces, a DAG, executors; tasks are
    longer than the deadline.
    """
    hosts = [f"n{i + 1}" for i in range(NODES)]
    maps = Stage("map", TASK, 20, 0, [14_000] * 24, nodes=[[hosts[i % 2]] for i in range(24)])
    reduces = Stage("reduce", TASK, 10, 0, [12_000] * 6, after=[0])
    dag = [
        Stage("d0", TASK, 20, 1, [6_000] * 6), Stage("d1", TASK, 20, 2, [14_000] * 6, after=[0]),
        Stage("d2", TASK, 20, 3, [14_000] * 3), Stage("d3", TASK, 20, 4, [5_000], after=[1, 2]),
    ]  # fmt: skip
    small, large = Stage("s", TASK, 20, 1, [13_000] * 3), Stage("s", TASK, 20, 1, [14_000] * 40)

    def application(
        name: str, at_s: int, queue: str, kind: str, stages: list[Stage]
    ) -> dict[str, Any]:
        return {
            "id": name,
            "submit_ms": 1000 * at_s,
            "queue": f"root.{queue}",
            "kind": kind,
            "user": f"u-{name}",
            "stages": stages,
            "am": MASTER,
        }

    rows = [
        application("maps", 0, "a", "mapreduce", [maps, reduces]),
        application("large", 1, "a", "plain", [large]),
        application("small", 2, "a", "plain", [small]),
        application("dag", 3, "a", "plain", dag),
        application("more-maps", 24, "b", "mapreduce", [maps, reduces]),
        application("small-too", 26, "b", "plain", [small]),
        application("dag-too", 28, "b", "plain", dag),
    ]
    apps = [ScenarioApplication(**row, ms_per_map=50) for row in rows]
    spark = application("spark", 20, "b", "spark", [Stage("s", TASK, 20, 1, [9_000] * 24)])
    apps.append(ScenarioApplication(**spark, executors=Executors(4, (4096, 2))))
    return _scenario("mixed", sorted(apps, key=lambda app: app.submit_ms))


def _scenario(name: str, apps: list[ScenarioApplication]) -> Scenario:
    nodes = [
        ScenarioNode(f"n{i + 1}", f"/rack{i % 2 + 1}", (NODE_MB, NODE_VCORES)) for i in range(NODES)
    ]
    return Scenario(
        name, 1, ["memory_mb", "vcores"], nodes, apps, heartbeat_ms=BEAT_MS,
        am_heartbeat_ms=BEAT_MS,
    )  # fmt: skip


def played(cluster: LocalCluster, scenario: Scenario, folder: Path, limit_s: float) -> list[Wait]:
    """Play it to its end, or until ``limit_s`` after its zero, and return all its waits."""
    folder.mkdir(parents=True, exist_ok=True)
    before = {run.container for run in read_runs(cluster.container_times)}
    player = Player(scenario, folder, cluster.conf_dir, tuple(cluster.client_options))
    with player:
        _wait_until_over(player, limit_s)
        until_ms = int(time.time() * 1000)
    runs = [run for run in read_runs(cluster.container_times) if run.container not in before]
    return waits(scenario, player.events, runs, until_ms)


def _wait_until_over(player: Player, limit_s: float) -> None:
    end = None
    while not player.ended() and (end is None or time.monotonic() < end):
        if any(event["event"] == "zero" for event in player.follow()):
            end = time.monotonic() + limit_s
        time.sleep(LOOK_S)


def waits(
    scenario: Scenario, events: Sequence[Event], runs: Iterable[ContainerRun], until_ms: int
) -> list[Wait]:
    """Return the wait of each container of each ask; one that has not come waits until
    ``until_ms``.
    """
    began = {run.container: run.started_ms for run in runs}
    masters = {run.application: run.started_ms for run in runs if run.is_am}
    asked: dict[str, int] = {}
    yarn: dict[str, tuple[str, int]] = {}
    starts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for event in events:
        app, at_ms = event.get("application", WARM_UP), event["at_ms"]
        if event["event"] == "submitted":
            yarn[app] = event["yarn"], at_ms
        elif event["event"] == "demand" and event["on"]:
            asked.setdefault(app, at_ms)
        elif event["event"] == "allocated" and event["container"] in began:
            starts[app, event["stage"]].append(began[event["container"]])
    found = []
    for app in scenario.applications:
        if app.id in yarn and app.am is not None:
            name, at_ms = yarn[app.id]
            found += _of_ask(at_ms, [masters[name]] if name in masters else [], 1, until_ms)
        for stage in app.stages if app.id in asked else []:
            came = sorted(starts[app.id, stage.id])
            found += _of_ask(asked[app.id], came, len(stage.durations_ms), until_ms)
    return found


def _of_ask(asked_ms: int, came: Sequence[int], count: int, until_ms: int) -> list[Wait]:
    found, last = [], asked_ms
    for at_ms in came:
        found.append(Wait(max(0, at_ms - last), max(0, at_ms - asked_ms), served=True))
        last = max(last, at_ms)
    if len(came) < count:
        late = max(0, until_ms - last), max(0, until_ms - asked_ms)
        found += [Wait(*late, served=False)] * (count - len(came))
    return found
