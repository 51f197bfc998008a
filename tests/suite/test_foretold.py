"""What the simulator predicts for a run's jobs, from the journal of the run."""

from pathlib import Path

from msgspec.structs import replace

from loomcard.config import compile_config
from loomcard.simulator import simulate
from loomcard.suite.foretold import beside, foretell
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

SETUP = compile_config("version: 1\nkind: policy\npolicy: fifo\n", "fifo")

YARN = "application_1700000000000_{:04}"
"""The names of applications in the simulator's journal, by their number."""


def application(name: str, submit_ms: int, priority: int, tasks: int) -> ScenarioApplication:
    stage = Stage("s", (1000, 1), priority, 0, [20_000] * tasks)
    return ScenarioApplication(
        name, submit_ms, "root.default", "alice", "plain", [stage], am=(500, 1)
    )


RAN = Scenario(
    "mix", 1, ["memory_mb", "vcores"],
    [ScenarioNode("n1", "/r1", (4096, 8)), ScenarioNode("n2", "/r1", (4096, 8))],
    [
        application("first", 0, 20, 2),  # a warm-up, not a job of the mix
        application("second", 60_000, 20, 4),
        application("third", 65_000, 0, 6),  # as Spark asks for its executors
    ],
    heartbeat_ms=0, am_heartbeat_ms=1000, am_start_ms=3_000,
)  # fmt: skip


def test_a_run_is_foretold_job_by_job(tmp_path: Path) -> None:
    """The prediction of a run of the simulator is exact: the same jobs, as late and as long as they
    were. Other jobs in the journal are left out, and executors with priority 0 are not AMs.
    """
    measured = simulate(RAN, SETUP, policy="fifo", journal=tmp_path / "journal")
    names = {YARN.format(2): "1-sort", YARN.format(3): "2-join"}
    called = {"second": "1-sort", "third": "2-join"}
    measured.applications = [a for a in measured.applications if a.id in called]
    measured.containers = [
        row._replace(application=called[row.application])
        for row in measured.containers
        if row.application in called
    ]
    for each in measured.applications:
        each.id = called[each.id]
    predicted = foretell(tmp_path / "journal", SETUP, measured, names)
    assert predicted.policy == "fifo (foretold)"
    rows = beside(measured, predicted)
    assert [each["id"] for each in rows] == ["1-sort", "2-join"]
    assert [each["error_percent"] for each in rows] == [0.0, 0.0]
    assert sum(row.is_am for row in predicted.containers) == 2
    assert len(predicted.containers) == 12


def test_an_am_asks_as_long_after_its_start_as_it_did(tmp_path: Path) -> None:
    """A Spark driver starts slowly, and MapReduce's AM does not: neither counts for the other."""
    late = [replace(app, am_start_ms=20_000 * (app.id == "third")) for app in RAN.applications]
    ran = replace(RAN, applications=late)
    measured = simulate(ran, SETUP, policy="fifo", journal=tmp_path / "journal")
    names = {YARN.format(n): each.id for n, each in enumerate(measured.applications, 1)}
    predicted = foretell(tmp_path / "journal", SETUP, measured, names)
    assert [each["error_percent"] for each in beside(measured, predicted)] == [0.0, 0.0, 0.0]


def test_a_job_that_did_not_end_has_no_error(tmp_path: Path) -> None:
    """If its completion is unknown, the error of the simulator is unknown, too."""
    measured = simulate(RAN, SETUP, policy="fifo", journal=tmp_path / "journal")
    names = {YARN.format(n): each.id for n, each in enumerate(measured.applications, 1)}
    predicted = foretell(tmp_path / "journal", SETUP, measured, names)
    measured.applications[2].state = ""
    assert beside(measured, predicted)[2]["measured_ms"] is None
    assert beside(measured, predicted)[2]["error_percent"] is None


def test_a_policy_that_places_by_heartbeats_is_foretold_too(tmp_path: Path) -> None:
    """A policy that needs heartbeats is predicted too: with a journal's nodes, which report at
    once, it would place nothing.
    """
    measured = simulate(RAN, SETUP, policy="fifo", journal=tmp_path / "journal")
    names = {YARN.format(n): each.id for n, each in enumerate(measured.applications, 1)}
    needs = SETUP | {"needs": ["heartbeats"]}
    predicted = foretell(tmp_path / "journal", needs, measured, names)
    assert all(each["foretold_ms"] for each in beside(measured, predicted))
