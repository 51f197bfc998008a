"""Scaled time, and the comparison's figures, on runs made by hand."""

import pytest
import yaml

from benchmarks.papers_on_yarn import dress, tables
from loomcard.config import compile_config
from loomcard.results.metrics import summary
from loomcard.simulator import simulate
from loomcard.workload.scenario import Fault
from scenarios import app, scenario, stage


def run(seed: int, small: tuple[int, int], large: tuple[int, int], makespan: int) -> dress.Run:
    """Return a run of one small and one large application, each with its (wait, completion) in
    ms.
    """
    rows = [("j1", "small", small), ("j2", "large", large)]
    return {
        "seed": seed,
        "makespan_ms": makespan,
        "applications": [
            {"id": name, "tags": [tag], "waiting_ms": times[0], "completion_ms": times[1]}
            for name, tag, times in rows
        ],
    }


def test_scaling_divides_every_time_and_nothing_else():
    job = app("j", stage([70_004, 3], fails_ms={1: [500]}), submit_ms=5000, ms_per_map=40)
    given = scenario(job, heartbeat_ms=1000, am_heartbeat_ms=500, faults=[Fault(9000, "n1", 2000)])
    found = dress.scaled(given, 10)
    only = found.applications[0]
    assert (only.submit_ms, only.ms_per_map) == (500, 4)
    assert only.stages[0].durations_ms == [7000, 1]
    assert only.stages[0].fails_ms == {1: [50]}
    assert (found.heartbeat_ms, found.am_heartbeat_ms, found.launch_delay_ms) == (100, 50, 0)
    assert found.faults == [Fault(900, "n1", 200)]
    assert only.stages[0].size == job.stages[0].size
    assert found.nodes == given.nodes


def test_the_warm_up_comes_before_everything_and_is_in_no_figure():
    job = app("j", stage([1000] * 9), submit_ms=500)
    given = scenario(job, nodes=3, faults=[Fault(900, "n1", 200)])
    found = dress.warmed_up(given)
    assert found.applications[-1] == app("j", stage([1000] * 9), submit_ms=12_500)
    assert found.faults == [Fault(12_900, "n1", 200)]
    assert {each.queue for each in found.applications} == {"root.default"}
    record = simulate(found, compile_config(dress.QUEUES, "x"), policy="capacity")
    assert min(row.started_ms for row in record.containers) < dress.WARM_UP_MS
    kept = summary(dress.without_warm_up(record))
    assert [row["id"] for row in kept["applications"]] == ["j"]
    assert {row.application for row in record.containers} == {"j"}
    plain = summary(simulate(given, compile_config(dress.QUEUES, "x"), policy="capacity"))
    assert kept["makespan_ms"] == plain["makespan_ms"]


def test_a_gain_is_the_change_of_stocks_figure():
    found = dress.gain(
        run(3, small=(10, 60), large=(30, 110), makespan=103),
        run(3, small=(90, 100), large=(10, 100), makespan=100),
    )
    assert found == dress.Gain(3, -0.4, 0.1, 0.03, -0.6, -0.6, -0.15, -0.15)


def test_figures_are_in_the_workloads_own_seconds():
    runs = [run(1, (100, 300), (300, 500), 900), run(2, (300, 500), (500, 700), 1100)]
    assert dress.figures(runs, 10) == {
        "makespan_s": 10.0,
        "mean_wait_s": 3.0,
        "median_wait_s": 3.0,
        "mean_completion_s": 5.0,
        "median_completion_s": 5.0,
        "small_completion_s": 4.0,
        "small_wait_s": 2.0,
    }


def test_each_job_has_a_row_with_both_schedulers():
    both = {
        dress.OURS: [run(1, (100, 300), (300, 500), 900)],
        dress.STOCK: [run(1, (200, 600), (300, 500), 900)],
    }
    rows = dress.jobs(both, 10)
    assert rows[0] == {
        "id": "j1",
        "small_in": 1,
        "dress waiting_s": 1.0,
        "dress completion_s": 3.0,
        "stock:capacity waiting_s": 2.0,
        "stock:capacity completion_s": 6.0,
    }
    assert rows[1]["small_in"] == 0


def test_the_tables_hold_changes_means_and_jobs():
    both = {
        dress.OURS: [run(1, (10, 60), (30, 110), 103)],
        dress.STOCK: [run(1, (90, 100), (10, 100), 100)],
    }
    text = tables.dress(
        {
            "workloads": [
                {
                    "workload": "dress-s",
                    "gains": {
                        "dress": dress.gains(both[dress.OURS], both[dress.STOCK]),
                        "capacity": dress.gains(both[dress.STOCK], both[dress.STOCK]),
                    },
                    "table": {name: dress.figures(runs, 1) for name, runs in both.items()},
                    "jobs": dress.jobs(both, 1),
                }
            ]
        }
    )
    assert "| 1 | dress | -40.0% |" in text
    assert "| **mean** | capacity | **+0.0%** |" in text
    assert "| stock:capacity | 0.1 |" in text
    assert "| j2 | 0 |" in text


def test_stock_gets_the_one_queue_that_dress_has():
    queues = compile_config(dress.QUEUES, "x")["queues"]
    assert [queue["path"] for queue in queues if queue["leaf"]] == ["root.default"]


@pytest.mark.parametrize("by", [1, 10, 20])
@pytest.mark.parametrize("policy", [dress.OURS, dress.LETTER])
def test_ticks_and_windows_go_with_the_time_and_the_letter_keeps_its_options(policy, by):
    options = yaml.safe_load(dress.card(policy, by))["options"]
    letter = {"reading": "printed", "order": "demand", "eager": False}
    scaled = {"tick_ms": 1000 // by, "phase_window_ms": 10_000 // by}
    assert options == (letter if policy == dress.LETTER else {}) | scaled
    compile_config(dress.card(policy, by), "card.yml")
