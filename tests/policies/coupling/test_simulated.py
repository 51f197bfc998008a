"""Coupling in the simulator: the properties of docs/papers/coupling.md 7 that are about whole
runs.
"""

from __future__ import annotations

from collections import defaultdict
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from loomcard.policies.coupling.paper import unit
from loomcard.simulator import Simulation
from scenarios import app, compiled, run, scenario, stage

COUPLED = "version: 1\npolicy: coupling\n"


@st.composite
def jobs(draw):
    """Draw MapReduce jobs and one job of another kind."""
    found = []
    for i in range(draw(st.integers(1, 4))):
        maps = draw(st.lists(st.integers(500, 20_000), min_size=1, max_size=30))
        reduces = draw(st.lists(st.integers(500, 9_000), max_size=8))
        wishes = draw(st.sampled_from([[], ["n1"], ["n1", "n2"]]))
        stages = [stage(maps, id="map", nodes=[wishes] * len(maps))]
        if reduces:
            stages.append(stage(reduces, 2, id="reduce", priority=10, after=[0]))
        came = draw(st.integers(0, 30_000))
        found.append(app(f"j{i}", *stages, kind="mapreduce", slowstart=0.0, submit_ms=came))
    found.append(app("plain", stage([3_000] * 5)))
    return sorted(found, key=lambda each: each.submit_ms)


@settings(max_examples=20, deadline=None)
@given(jobs(), st.integers(2, 4), st.integers(1, 4))
def test_reduces_follow_maps_and_everybody_ends(applications, nodes, slots):
    """When the k-th reduce is launched, more than k units of maps have finished, or all maps were
    launched (property 1). Nothing is taken back, and every job ends (10).
    """
    wanted = scenario(
        *applications, nodes=nodes, slots=slots, heartbeat_ms=1000, am_heartbeat_ms=1000
    )
    record = run(wanted, COUPLED)
    assert {each.state for each in record.applications} == {"SUCCEEDED"}
    rows = defaultdict(list)
    for row in record.containers:
        assert row.kind in ("completed", "released")
        rows[row.application, row.stage].append(row)
    for each in applications:
        maps, reduces = rows[each.id, "map"], rows[each.id, "reduce"]
        last = max((row.allocated_ms for row in maps), default=0)
        for k, row in enumerate(sorted(reduces, key=lambda row: row.allocated_ms), 1):
            ended = sum(one.finished_ms <= row.allocated_ms for one in maps)
            one = unit(len(maps), len(each.stages[1].durations_ms))
            assert row.allocated_ms >= last or ended > k * one


@settings(max_examples=10, deadline=None)
@given(jobs(), st.integers(2, 3))
def test_equal_runs_are_equal(applications, nodes):
    wanted = scenario(*applications, nodes=nodes, heartbeat_ms=1000, am_heartbeat_ms=1000)
    assert run(wanted, COUPLED).containers == run(wanted, COUPLED).containers


def test_a_job_whose_maps_fail_for_ever_holds_nobody_up():
    """The maps of one job fail four times each. The other job ends as if it were alone, except for
    the room that these maps use.
    """
    fails = {str(i): [2_000] * 4 for i in range(4)}
    bad = app(
        "bad", stage([9_000] * 4, id="map", fails_ms={int(k): v for k, v in fails.items()}),
        stage([1_000] * 4, 2, id="reduce", priority=10, after=[0]), kind="mapreduce", slowstart=0.0,
    )  # fmt: skip
    good = app(
        "good", stage([2_000] * 4, id="map"),
        stage([1_000] * 4, 2, id="reduce", priority=10, after=[0]), kind="mapreduce", slowstart=0.0,
    )  # fmt: skip
    record = run(scenario(bad, good, nodes=2, heartbeat_ms=1000, am_heartbeat_ms=1000), COUPLED)
    states = {each.id: each.state for each in record.applications}
    assert states == {"bad": "FAILED", "good": "SUCCEEDED"}
    assert max(row.finished_ms for row in record.containers if row.application == "good") < 30_000


def test_nodes_beat_from_a_swap_to_coupling_on():
    """No node sends heartbeats while fifo governs, at the beginning or later."""
    maps, reduces = stage([5_000] * 12, id="map"), stage([1_000], 2, id="reduce", priority=10)
    job = app("j", maps, reduces, kind="mapreduce", slowstart=1.0)
    simulation = Simulation(
        scenario(job, heartbeat_ms=1000, am_heartbeat_ms=1000), compiled("fifo")
    )
    seen: list[int] = []
    with patch.object(simulation.rm, "heartbeat", wraps=simulation.rm.heartbeat) as beats:
        for at_ms, policy in ((2_900, "coupling"), (7_900, "fifo"), (12_900, "coupling")):
            simulation.clock.at(at_ms, lambda: seen.append(beats.call_count))
            simulation.clock.at(at_ms, simulation.rm.apply, compiled(policy))
        simulation.run()
    assert seen == [0, 5, 5]
    assert [master.record.state for master in simulation.masters] == ["SUCCEEDED"]
