"""Bounds of a scenario by hand; no run of it is below them."""

from pathlib import Path

from loomcard.experiments.lower_bounds import keep_bounds
from loomcard.experiments.run import Request, prepare, run
from loomcard.results.record import RunRecord
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage


def stage(*durations_ms: int, size: int = 1, after: tuple[int, ...] = ()) -> Stage:
    return Stage("s", (size,), 20, 1, list(durations_ms), list(after))


def test_ideals_and_bounds_by_hand() -> None:
    """The bound is the critical path or the work; a reduce ends after its maps."""
    record = RunRecord("p", "w", 1, "simulator", ["memory_mb"], [])
    applications = [
        ScenarioApplication("path", 0, "q", "u", "dag", [stage(5, 7), stage(3, after=(0,))]),
        ScenarioApplication("work", 4, "q", "u", "plain", [stage(*[10] * 9)]),
        ScenarioApplication("reduce", 0, "q", "u", "mapreduce", [stage(5), stage(6)]),
    ]
    nodes = [ScenarioNode("n1", "/r", (1,)), ScenarioNode("n2", "/r", (2,))]
    keep_bounds(record, Scenario("w", 1, ["memory_mb"], nodes, applications))
    assert record.ideals_ms == {"path": 10, "work": 30, "reduce": 11}
    # all work is 15 + 90 + 11 = 116, of which the cluster does three per ms; 34 from 4 ms on
    assert record.bounds["makespan_ms"] == 38


def test_no_run_comes_below_its_bounds(experiment: Path, tmp_path: Path) -> None:
    """This is true for makespan and each completion, under every policy of the experiment."""
    found = run(prepare(Request(str(experiment))), tmp_path / "out", lambda _: None, processes=1)
    for each in found.runs:
        assert each["makespan_ms"] >= each["bounds"]["makespan_ms"] > 0
        for application in each["applications"]:
            assert application["completion_ms"] >= application["ideal_ms"] > 0
