"""The bench of the simulator, its pure parts: cells, load, the last line, and the trace for SLS."""

import json
from itertools import pairwise

import pytest

from benchmarks.speed import kernels, sls
from benchmarks.speed.simulator import bare_kernels, line
from benchmarks.speed.simulator_cell import Figures, measure
from benchmarks.speed.simulator_load import NODE, Cell, cells, config, scenario
from loomcard.simulator import simulate


def test_the_cells_of_one_count_take_turns_before_larger_ones_come():
    """All policies and clusters come once, then once more; then comes the larger count."""
    found = [(c.policy, c.nodes, c.tasks, c.repeat) for c in cells(["a", "b"], [1], {20: 1, 10: 2})]
    assert found == [
        ("a", 1, 10, 0), ("b", 1, 10, 0), ("a", 1, 10, 1), ("b", 1, 10, 1),
        ("a", 1, 20, 0), ("b", 1, 20, 0),
    ]  # fmt: skip


def test_a_scenario_has_the_tasks_it_says_and_keeps_the_cluster_full():
    """Odd counts work too. After the first applications they come one by one, as fast as the
    cluster finishes them.
    """
    given = scenario(Cell("drf", 100, 50_050))
    work = given.applications
    tasks = [d for app in work for d in app.stages[0].durations_ms]
    assert (len(given.nodes), len(tasks)) == (100, 50_050)
    later = [app for app in work if app.submit_ms]
    assert 0 < len(later) < len(work)
    assert all(a.submit_ms < b.submit_ms for a, b in pairwise(later))
    wanted = [
        sum(app.stages[0].size[r] * sum(app.stages[0].durations_ms) for app in later) / NODE[r]
        for r in (0, 1)
    ]
    assert max(wanted) / 100 / later[-1].submit_ms == pytest.approx(1, rel=0.05)


def test_a_small_cell_is_measured():
    """Every task has its container, and the figures are numbers."""
    found = measure(Cell("drf", 5, 200))
    assert found.containers == 200
    assert found.cpu_seconds > 0
    assert 0.5 < found.utilization <= 1
    assert found.peak_mb >= found.before_mb > 0


def test_the_last_line_holds_medians_and_the_largest_peak():
    """Three repeats of a cell are one object, in plain JSON."""
    runs = [
        Figures(Cell("drf", 100, 1000, i), seconds, seconds / 2, 30, peak, 9.0, 1000, 0.9)
        for i, (seconds, peak) in enumerate([(4.0, 41), (1.0, 45), (2.0, 40)])
    ]
    other = Figures(Cell("drf", 5, 1000), 1.0, 1.0, 30, 31, 9.0, 1000, 0.9)
    found = json.loads(json.dumps(line([*runs, other])))
    assert [f["nodes"] for f in found] == [5, 100]
    assert found[1] == {
        "policy": "drf", "nodes": 100, "tasks": 1000, "seconds": 2.0, "cpu_seconds": 1.0,
        "tasks_per_cpu_s": 1000, "peak_mb": 45,
    }  # fmt: skip


def test_both_kernels_do_the_same():
    """Tasks that share slots end at the same time on SimPy and on the Clock."""
    lengths_ms = kernels.lengths(500)
    assert kernels.on_simpy(lengths_ms, 7)[1] == kernels.on_ours(lengths_ms, 7)[1]
    assert bare_kernels(500)["tasks"] == 500


def test_sls_and_ours_get_the_same_trace(tmp_path):
    """Both have as many containers, with the same lengths and sizes; every node in the trace can be
    looked up.
    """
    trace = sls.Trace(nodes=3, jobs=2, maps=4, reduces=2, map_ms=7_000, reduce_ms=5_000)
    ours = sls.scenario(trace, [0, 40])
    tasks = sls.synth(trace)["workloads"][0]["job_classes"][0]["tasks"]
    for stage, task in zip(ours.applications[0].stages, tasks, strict=True):
        assert stage.durations_ms == [task["time"]["val"]] * task["count"]["val"]
        assert stage.size == (task["max_memory"]["val"], task["max_vcores"]["val"])
        assert stage.priority == task["priority"]
    assert len(simulate(ours, config("capacity"), policy="c").containers) == trace.containers
    sls.write_folder(tmp_path, "fair", trace)
    names = (tmp_path / "hosts").read_text()
    assert all(f" node{i}\n" in names for i in (1, 2, 3))
    assert "FairScheduler" in (tmp_path / "sls-runner.xml").read_text()


def test_a_log_of_sls_that_ends_early_is_an_error():
    """The error says how many jobs ended, and the last line."""
    log = [
        "2026-11-22 03:46:41,748 AMSimulator: Submit a new application application_1_0001",
        "2026-11-22 03:47:12,125 AMSimulator: Application application_1_0001 is shutting down.",
    ]
    submitted, _ = sls.follow(log, sls.Trace(jobs=1))
    assert [t.microsecond for t in submitted] == [748_000]
    with pytest.raises(sls.SlsError, match=r"0 of 1 jobs.*thread"):
        sls.follow(['Exception in thread "main" java.lang.Error', *log], sls.Trace(jobs=1))
    with pytest.raises(sls.SlsError, match=r"1 of 2 jobs.*shutting down"):
        sls.follow(log, sls.Trace(jobs=2))
