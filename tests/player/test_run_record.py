"""From the player's log to the record of a run."""

from typing import Any

from loomcard.cluster.container_times import ContainerRun
from loomcard.player.run_record import (
    allocations,
    application_records,
    container_rows,
    counts,
    refusals,
    stalls,
)
from loomcard.results.container_rows import ContainerRow
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

ZERO = 1_700_000_000_000
YARN = "application_1700000000000_0002"


def container(number: int) -> str:
    return f"container_1700000000000_0002_01_{number:06}"


def event(at_ms: int, what: str, **more: Any) -> dict[str, Any]:
    return {"at_ms": ZERO + at_ms, "event": what, **more}


def ran(number: int, started_ms: int, ended_ms: int | None, is_am: bool = False) -> ContainerRun:
    ended = None if ended_ms is None else ZERO + ended_ms
    return ContainerRun(container(number), YARN, "n1", is_am, 0, 0, ZERO + started_ms, ended)


SCENARIO = Scenario(
    "s",
    1,
    ["memory_mb", "vcores"],
    [ScenarioNode("n1", "/r1", (1024, 4))],
    [
        ScenarioApplication(
            "a", 10, "root.default", "u", "plain", [Stage("map", (512, 1), 20, 1, [100])],
            am=(128, 1),
        ),
        ScenarioApplication("never", 99, "root.default", "u", "plain", []),
    ],
)  # fmt: skip

EVENTS = [
    event(-200, "zero", zero_ms=ZERO),
    event(12, "submitted", application="a", yarn=YARN),
    event(50, "demand", application="a", on=True),
    event(90, "allocated", application="a", container=container(2), node="n1", stage="map", task=0,
          attempt=1),
    event(300, "ended", application="a", container=container(2), kind="failed", exit=1),
    event(400, "allocated", application="a", container=container(3), node="n1", stage="map", task=0,
          attempt=2),
]  # fmt: skip


def test_a_row_joins_what_player_node_and_resource_manager_saw() -> None:
    """Times come from the nodes and the journal, minus the zero. Without a journal, the moment when
    the AM heard of it counts as the allocation. A container that still runs has no end.
    """
    runs = [ran(1, 20, None, is_am=True), ran(2, 120, 220), ran(3, 450, None)]
    allocated = {(YARN, 1, 2): ZERO + 70}
    assert container_rows(SCENARIO, EVENTS, runs, allocated) == [
        ContainerRow("a", "", -1, 1, "n1", True, (128, 1), 20, 20, None, ""),
        ContainerRow("a", "map", 0, 1, "n1", False, (512, 1), 70, 120, 220, "failed"),
        ContainerRow("a", "map", 0, 2, "n1", False, (512, 1), 400, 450, None, ""),
    ]


def test_an_application_is_recorded_as_far_as_it_came() -> None:
    """Submission is by the ResourceManager's clock when that is known; open demand lasts to the
    end.
    """
    first, never = application_records(SCENARIO, EVENTS)
    assert (first.submitted_ms, first.demanding, first.state) == (12, [(50, 400)], "")
    assert (never.submitted_ms, never.demanding, never.state) == (99, [], "")
    closed = event(600, "closed", application="a", state="FAILED", submitted_ms=ZERO + 11)
    over = event(500, "demand", application="a", on=False)
    first, _ = application_records(SCENARIO, [*EVENTS, over, closed])
    assert (first.submitted_ms, first.demanding, first.state) == (11, [(50, 500)], "FAILED")


def test_counts_refusals_stalls_and_allocations() -> None:
    """Without observations the counts are zero; a stock scheduler reports none of the others."""
    assert counts(EVENTS)["allocated"] == 2
    assert counts(EVENTS)["done"] == 0
    assert refusals({"schedulerInfo": {"refusals": {"STALE": 2, "LATE": 1}}}) == {
        "LATE": 1,
        "STALE": 2,
    }
    assert refusals({"schedulerInfo": {"type": "capacityScheduler"}}) == {}
    assert stalls({"schedulerInfo": {"bridge": {"stalls": 3}}}) == 3
    assert stalls({"schedulerInfo": {"type": "capacityScheduler"}}) == 0
    assert allocations({"schedulerInfo": {"allocations": {"policy": 4, "fallback": 0}}}) == {
        "policy": 4,
        "fallback": 0,
    }
    assert allocations({"schedulerInfo": {"type": "capacityScheduler"}}) == {}
