"""The bench of Carbyne: its cluster stays full, the given number of tasks wait, and it prints its
results.
"""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.speed import carbyne
from benchmarks.speed.carbyne import Load, scenario


@pytest.mark.parametrize("policy", ["tetris", "carbyne"])
def test_a_round_gives_out_what_heartbeats_freed(policy):
    """The cluster stays full, at least the given number of tasks wait, and each round was timed
    once.
    """
    load = Load(policy, 20, 300, 5_000)
    found = load.rounds(40)
    assert len(load.decide_ms) == len(load.answer_ms) >= 40
    assert 0 < found["decide_ms"] <= found["answer_ms"]
    assert found["allocated"] > 0.2
    assert load.rm.state.pending_total >= 300 * 0.9
    free, whole = load.rm.state.free, load.rm.state.capacity
    assert any(left <= 0.1 * all_ for left, all_ in zip(free, whole, strict=True))
    assert not load.rm.refusals


def test_policies_are_measured_from_the_same_cluster():
    """The running tasks at the begin of a measurement do not depend on the policy."""
    loads = [Load(policy, 20, 300, 5_000) for policy in ("tetris", "carbyne")]
    started = [
        sorted(c.number for c in load.rm.state.containers.values() if c.allocated_ms < 5_000)
        for load in loads
    ]
    assert len(started[0]) > 100
    assert started[0] == started[1]


def test_more_waiting_tasks_are_wider_jobs():
    """With ten times as many waiting tasks there are about as many jobs."""
    few, many = scenario(10, 10_000), scenario(10, 100_000)
    assert len(few.applications) == len(many.applications)
    tasks = [
        sum(len(s.durations_ms) for a in x.applications for s in a.stages) for x in (few, many)
    ]
    assert 5 < tasks[1] / tasks[0] < 20


def test_the_bench_prints_one_line_of_json_with_ratios():
    """Results are by count of waiting tasks and policy; the first policy's ratio is 1."""
    words = ["--nodes", "10", "--pending", "100", "--repeats", "2", "--rounds", "5"]
    app = carbyne.typer.Typer()
    app.command()(carbyne.main)
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0
    cells = json.loads(result.output.splitlines()[-1])
    assert [(cell["waiting"], cell["policy"]) for cell in cells] == [
        (100, "tetris"),
        (100, "carbyne"),
    ]
    assert cells[0]["ratio"] == {"min": 1, "median": 1, "max": 1}
    assert cells[1]["ratio"]["median"] > 0
