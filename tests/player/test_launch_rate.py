"""How many containers per second a machine can start, and a scenario needs."""

from pathlib import Path

import msgspec

from loomcard.player import launch_rate
from loomcard.results.container_rows import ContainerRow
from loomcard.workload.scenario import Executors, Scenario, ScenarioApplication, ScenarioNode, Stage


def row(started_ms: int | None) -> ContainerRow:
    return ContainerRow("a", "s", 0, 1, "n1", False, (1, 1), 0, started_ms, None, "")


def scenario(*stages: Stage, vcores: int = 1000) -> Scenario:
    app = ScenarioApplication("a", 5000, "root.default", "u", "dag", list(stages))
    node = ScenarioNode("n", "/r", (1000, vcores))
    return Scenario("s", 0, ["memory_mb", "vcores"], [node], [app])


def test_the_rate_is_the_middle_of_the_starts() -> None:
    """A slow first start, when classes are loaded, does not count for the hundredth."""
    starts = [0, *range(5000, 5980, 10), 99_999]
    assert launch_rate.started_per_second([row(ms) for ms in [*starts, None]]) == 100.0


def test_a_scenario_asks_for_its_containers_within_its_bound() -> None:
    """The time is bounded by the longest chain of stages, or by the vcores."""
    two = (Stage("a", (1, 1), 20, 1, [4000] * 30), Stage("b", (1, 1), 20, 2, [2000], after=[0]))
    assert round(launch_rate.wanted_per_second(scenario(*two)), 2) == round(31 / 6, 2)
    assert round(launch_rate.wanted_per_second(scenario(*two, vcores=2)), 2) == 0.51
    spark = scenario(*two)
    held = msgspec.structs.replace(spark.applications[0], executors=Executors(6, (1, 1)))
    spark = msgspec.structs.replace(spark, applications=[held])
    assert launch_rate.wanted_per_second(spark) == 1.0
    assert launch_rate.wanted_per_second(msgspec.structs.replace(spark, applications=[])) == 0


def test_more_than_half_of_the_rate_is_reported() -> None:
    """It is one line; nothing is printed if no rate was measured."""
    asks = scenario(Stage("a", (1, 1), 20, 1, [1000] * 30))
    said = launch_rate.warning(asks, "process", 59.0)
    assert said is not None
    assert "about 30 containers a second" in said
    assert launch_rate.warning(asks, "process", 60.0) is None
    assert launch_rate.warning(asks, "process", None) is None


def test_rates_are_remembered_by_executor(tmp_path: Path) -> None:
    """Both are in one file, and one keeps the other's rate; a damaged file counts as none."""
    file = tmp_path / "run" / "rates.json"
    assert launch_rate.saved_rate(file, "virtual") is None
    launch_rate.save_rate(file, "virtual", 123.44)
    launch_rate.save_rate(file, "process", 9)
    assert launch_rate.saved_rate(file, "virtual") == 123.4
    assert launch_rate.saved_rate(file, "process") == 9
    file.write_text("[]")
    assert launch_rate.saved_rate(file, "process") is None


def test_the_probe_fits_its_nodes() -> None:
    """Only the launches may take time in it."""
    probe = launch_rate.probe("process")
    assert sum(len(app.stages[0].durations_ms) for app in probe.applications) == 90
    assert sum(node.capacity[1] for node in probe.nodes) >= 600
