"""A scenario played on a real YARN: virtual nodes of three sizes, one with additional resources."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from loomcard.cluster.embedded import ClusterError
from loomcard.player.play import play
from loomcard.results.record import RunRecord
from loomcard.simulator import Progress
from loomcard.workload.scenario import (
    Executors,
    Fault,
    Scenario,
    ScenarioApplication,
    ScenarioNode,
    Stage,
)

pytestmark = pytest.mark.cluster

TYPES = ["memory_mb", "vcores", "gpu"]
NODES = [
    ScenarioNode("big", "/r1", (8192, 16, 2)),
    ScenarioNode("n2", "/r2", (4096, 8, 0)),
    ScenarioNode("n3", "/r2", (2048, 8, 1)),
]


def maps(tasks: int, ms: int) -> Stage:
    return Stage("map", (512, 1, 0), 20, 1, [ms] * tasks)


APPLICATIONS = [
    ScenarioApplication(
        "dag", 0, "root.default", "alice", "dag",
        [
            Stage("a", (512, 1, 0), 20, 1, [1000] * 4, nodes=[["n2"]] * 4),
            Stage("b", (512, 1, 1), 20, 2, [800] * 3, after=[0], fails_ms={1: [300]}),
        ],
    ),
    ScenarioApplication(
        "mapreduce", 500, "root.default", "bob", "mapreduce",
        [maps(6, 1500), Stage("reduce", (1024, 1, 0), 10, 2, [500] * 2, after=[0])],
        slowstart=0.2, ms_per_map=100, am=(256, 1, 0),
    ),
    ScenarioApplication(
        "spark", 1000, "root.default", "bob", "spark",
        [maps(6, 600), Stage("join", (512, 1, 0), 20, 2, [400], after=[0])],
        executors=Executors(2, (1024, 2, 0)),
    ),
    ScenarioApplication(
        "hopeless", 1500, "root.default", "alice", "plain",
        [Stage("s", (512, 1, 0), 20, 1, [9000] * 2, fails_ms={0: [200, 200]})],
        max_attempts=2,
    ),
    ScenarioApplication(
        "long", 0, "root.default", "alice", "plain",
        [Stage("s", (512, 1, 0), 20, 1, [6000] * 2, nodes=[["n3"], ["n3"]])], am=(256, 1, 0),
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """One run: five applications under drf, and a node that is away for a while. It loses tasks of
    six seconds, which may have begun at any time before.
    """
    folder = tmp_path_factory.mktemp("play")
    policy = folder / "drf.yml"
    policy.write_text("version: 1\nkind: policy\npolicy: drf\n")
    scenario = Scenario(
        "mixed", 7, TYPES, NODES, APPLICATIONS, heartbeat_ms=200, am_heartbeat_ms=200,
        am_start_ms=200, minimum=(128, 1, 0), faults=[Fault(5500, "n3", 1000)],
    )  # fmt: skip
    return play(scenario, policy, folder=folder)


def rows(record: RunRecord, application: str, stage: str) -> list[tuple[int, int, str, str]]:
    """Return (task, attempt, node, kind) of each container of a stage."""
    return sorted(
        (row.task, row.attempt, row.node, row.kind)
        for row in record.containers
        if row.application == application and row.stage == stage and not row.is_am
    )


def test_applications_end_as_the_scenario_says(played: RunRecord) -> None:
    """Each application has its state, and each container has its times, in order. CommandTest
    checks how long a node was told to run it.
    """
    assert played.finished
    assert played.engine == "local"
    assert {app.id: app.state for app in played.applications} == {
        "dag": "SUCCEEDED",
        "mapreduce": "SUCCEEDED",
        "spark": "SUCCEEDED",
        "hopeless": "FAILED",
        "long": "SUCCEEDED",
    }
    for row in played.containers:
        if row.application == "dag" and row.kind == "completed":
            assert row.allocated_ms is not None
            assert row.started_ms is not None
            assert row.finished_ms is not None
            assert row.allocated_ms <= row.finished_ms
            assert row.started_ms < row.finished_ms


def test_tasks_go_where_they_want_and_where_the_gpus_are(played: RunRecord) -> None:
    """Locality rows and additional resource types reach the scheduler; a failed task runs again."""
    assert {node for _, _, node, _ in rows(played, "dag", "a")} == {"n2"}
    second = rows(played, "dag", "b")
    assert {node for _, _, node, _ in second} <= {"big", "n3"}
    assert [(t, a, kind) for t, a, _, kind in second if t == 1] == [
        (1, 1, "failed"),
        (1, 2, "completed"),
    ]
    assert [kind for _, _, _, kind in rows(played, "hopeless", "s")][:2] == ["failed", "failed"]


def test_reduces_wait_for_maps_and_executors_for_the_end(played: RunRecord) -> None:
    """A task whose length only the application master knows runs until the player ends it."""
    seen = {
        name: [row for row in played.containers if row.application == name and not row.is_am]
        for name in ("mapreduce", "spark")
    }
    last_map = max(row.finished_ms or 0 for row in seen["mapreduce"] if row.stage == "map")
    reduces = [row for row in seen["mapreduce"] if row.stage == "reduce"]
    assert len(reduces) == 2
    assert all((row.finished_ms or 0) > last_map for row in reduces)
    assert len(seen["spark"]) == 2
    begun = [row.started_ms or 0 for row in seen["spark"]]
    assert max(begun) < min(row.finished_ms or 0 for row in seen["spark"])  # both run to the end
    masters = [row for row in played.containers if row.is_am]
    assert sorted((row.application, row.size, row.kind) for row in masters) == [
        ("long", (256, 1, 0), "completed"),
        ("mapreduce", (256, 1, 0), "completed"),
    ]


def test_a_lost_node_costs_what_ran_there(played: RunRecord) -> None:
    """Its containers are lost, their tasks run again, and the cluster was smaller in that time."""
    ran = rows(played, "long", "s")
    assert {(0, 1, "n3", "lost"), (1, 1, "n3", "lost")} <= set(ran)
    assert sorted(task for task, _, _, kind in ran if kind == "completed") == [0, 1]
    assert [amounts for _, amounts in played.capacity] == [
        (14336, 32, 3),
        (12288, 24, 2),
        (14336, 32, 3),
    ]


def command_lines(folder: Path) -> dict[int, str]:
    """Return the processes whose command names the folder, by their ids."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_text().replace("\0", " ")
                if str(folder) in line:
                    found[int(entry.name)] = line
    return found


@pytest.mark.slow
def test_a_run_without_its_models_ends_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """The process that runs the models is killed: what runs is killed too, and the output says
    why.
    """
    stage = Stage("s", (512, 1), 20, 1, [300, 60_000])
    scenario = Scenario(
        "cut", 1, TYPES[:2], [ScenarioNode("n1", "/r1", (4096, 8))],
        [ScenarioApplication("a", 0, "root.default", "alice", "plain", [stage])],
        heartbeat_ms=200, am_heartbeat_ms=200,
    )  # fmt: skip

    def kill(progress: Progress) -> None:
        for number, line in command_lines(tmp_path).items():
            if progress.containers and "model_process" in line:
                os.kill(number, signal.SIGKILL)

    with pytest.raises(ClusterError) as raised:
        play(scenario, "drf", folder=tmp_path, on_progress=kill)
    assert str(raised.value) == (
        "the player ended with status 4: the process of the application masters' models ended with"
        " status 137"
    )
    journals = (tmp_path / "cluster" / "loomcard" / "journal").glob("*.jsonl")
    told = [line for path in journals for line in path.read_text().splitlines()]
    killed = [line for line in told if '"application_removed"' in line and '"KILLED"' in line]
    assert killed  # the warm-up before it is FINISHED
    assert command_lines(tmp_path) == {}


@pytest.mark.slow
def test_ctrl_c_leaves_what_happened_and_no_process(tmp_path: Path) -> None:
    """Under a stock scheduler, with real processes, the record contains all that happened so
    far.
    """
    stage = Stage("s", (512, 1), 20, 1, [300, 60_000])
    scenario = Scenario(
        "cut", 1, TYPES[:2], [ScenarioNode("n1", "/r1", (4096, 8))],
        [ScenarioApplication("a", 0, "root.q.x", "alice", "plain", [stage])],
        heartbeat_ms=200, am_heartbeat_ms=200,
    )  # fmt: skip

    def interrupt(progress: Progress) -> None:
        if progress.containers:
            raise KeyboardInterrupt

    record = play(
        scenario, "stock:capacity", folder=tmp_path, executor="process", on_progress=interrupt
    )
    assert not record.finished
    assert [app.state for app in record.applications] in ([""], ["KILLED"])
    ended = {row.task: row.kind for row in record.containers}
    assert ended[0] == "completed"
    assert ended[1] != "completed"
    assert command_lines(tmp_path) == {}
