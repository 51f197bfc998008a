"""Carbyne on real YARN: the scenarios, and the figures, on runs made by hand and simulated ones."""

import os

import pytest

from benchmarks.papers_on_yarn import carbyne, tables
from benchmarks.papers_on_yarn.deciding import DecidingObserver, Sample, cpu_ms
from loomcard.config import compile_config
from loomcard.simulator import simulate
from loomcard.workload.hints import hints


def simulated(scenario, policy):
    return simulate(scenario, compile_config(f"version: 1\npolicy: {policy}\n", "x"), policy=policy)


@pytest.mark.parametrize("name", list(carbyne.FIG2))
def test_figure_2_behind_its_gate(name):
    """The simulator gives the figure's means, as YARN should; heartbeats add a little."""
    policy, asks, paper = carbyne.FIG2[name]
    ends = carbyne.gated_ends(simulated(carbyne.gated(asks), policy))
    assert sum(ends) / 2 == pytest.approx(paper, abs=0.1)


def test_a_job_that_comes_after_the_gate_is_no_measurement():
    """Such a job's time 0 would differ from the other job's."""
    record = simulated(carbyne.gated("unmarked"), "drf")
    record.applications[1].demanding[0] = (20_000, 30_000)
    with pytest.raises(ValueError, match="j1 is SUCCEEDED and asked from 20000 ms on; the gate"):
        carbyne.gated_ends(record)


def test_fifty_come_at_once_and_every_second_plans_itself():
    made = carbyne.fifty_jobs(1)
    assert [app.asks for app in made.applications] == ["unmarked", "altruistic"] * 25
    assert {app.submit_ms for app in made.applications} == {0}
    assert (made.heartbeat_ms, made.am_heartbeat_ms) == (1000, 1000)
    assert all(len(str(hints(app))) < 100_000 for app in made.applications)


def test_jobs_are_compared_with_drf_seed_by_seed(tmp_path, monkeypatch):
    """The jobs are simulated, not played: the parts of the table have the same seed."""
    played, gaps = [], []

    def play(scenario, config, *, folder):
        played.append((folder.name, config.read_text()))
        gaps.append(scenario.applications[-1].submit_ms - scenario.applications[-2].submit_ms)
        return simulate(scenario, compile_config(config.read_text(), "x"), policy="x")

    monkeypatch.setattr(carbyne, "play", play)
    monkeypatch.setattr(carbyne, "JOBS", 4)
    rows = {"drf": "", "P = 0.5": "{altruism: 0.5}"}
    found = carbyne.compare(rows, tmp_path, [1, 2], 20, lambda _: None)
    assert [name for name, _ in played] == ["1-drf", "1-P=0.5", "2-P=0.5", "2-drf"]
    assert "policy: carbyne\noptions: {altruism: 0.5}" in played[1][1]
    assert found["rows"]["drf"]["completion"] == [1, 1, 1]
    low, middle, high = found["rows"]["P = 0.5"]["completion"]
    assert 0.3 < low <= middle <= high < 3
    for figure in ("completion", "makespan"):  # what is played here is the prediction itself
        assert found["rows"]["P = 0.5"][f"{figure}_predicted"] == found["rows"]["P = 0.5"][figure]
    assert "| P = 0.5 |" in tables.compared(found)
    assert not any(gaps)
    carbyne.compare({"drf": ""}, tmp_path, [1], 20, lambda _: None, gap_ms=carbyne.GAP_MS)
    assert gaps[-1] > 0


def test_what_deciding_cost_while_enough_ran():
    """The cost is the policy process's CPU time divided by the time that passed; 250 ms in a second
    is a quarter.
    """
    seen = DecidingObserver()
    seen.samples = [Sample(1000, 100, 3), Sample(2000, 200, 50), Sample(4000, 700, 48)]
    seen.samples += [Sample(6000, 900, 44)]
    assert seen.cpu_part(seen.while_running(45)) == 0.25
    assert seen.cpu_part(seen.samples) == 0.16
    with pytest.raises(ValueError, match="60 applications never ran"):
        seen.while_running(60)


def test_the_cpu_time_of_a_process_is_what_the_system_says():
    before = cpu_ms(os.getpid())
    sum(range(10**6))
    assert before <= cpu_ms(os.getpid()) <= 1000 * sum(os.times()[:2]) + 20
    with pytest.raises(FileNotFoundError):
        cpu_ms(2**22 + 1)


def test_tables_hold_minimum_median_and_maximum():
    figures = {"paper": 1.55, "j1": [2.1, 2.15, 2.2], "j2": [1, 1.1, 1.2], "mean": [1.5, 1.6, 1.7]}
    assert "| carbyne | 1.55 | 2.1 / 2.15 / 2.2 | 1 / 1.1 / 1.2 |" in tables.fig2(
        {"carbyne": figures}
    )
    keys = ("succeeded", "containers", "fallback", "refused_percent", "deciding_percent")
    document = {key: [1, 2, 1234] for key in (*keys, "deciding_percent_whole", "makespan_s")}
    assert "| containers | 1 / 2 / 1234 |" in tables.fifty({"applications": 50} | document)
