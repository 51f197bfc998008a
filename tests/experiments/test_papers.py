"""The papers' experiments as they ship: they run by name, on workloads like those of the papers."""

from statistics import fmean, median

import pytest

from loomcard.experiments.engines import simulated
from loomcard.experiments.run import SHIPPED, Request, prepare, run, shipped
from loomcard.report.paper_tables import paper_comparisons
from loomcard.report.runs import read_study
from loomcard.workload import load

PAPERS = [name for name in shipped() if name.startswith(("carbyne", "dress", "hdrf"))]
SMALL = {"dress-s": {4, 5, 7, 9, 10, 12}, "dress-m": {4, 5, 6, 8, 10, 11}, "dress-x10": {6, 8}}
FIT = {"dress-s": 6, "dress-m": 8}


OTHERWISE = (
    "hdrf-e5",
    "carbyne-e11",
    "carbyne-tpch-real",
)  # too large, or of traces that are not here


@pytest.mark.parametrize("name", [name for name in PAPERS if name not in OTHERWISE])
def test_every_one_is_found_by_name_with_all_it_names(name):
    """Configurations, workloads and queues go together, with nothing in the present folder."""
    prepared = prepare(Request(name, seeds=(1,)))
    assert prepared.experiment.name == name
    folder = SHIPPED / name
    used = {cell.source for cell in prepared.cells}
    if folder.is_dir():  # every configuration there is used
        assert {f"{name}/{file.name}" for file in folder.iterdir()} <= used


@pytest.mark.parametrize("name", list(SMALL))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_dress_small_jobs_stand_where_the_paper_has_them(name, seed):
    """Jobs come 5 s apart; the first ones, up to the given number, fill the cluster, and one more
    does not fit.
    """
    jobs = load(name, seed=seed).applications
    widths = [len(job.stages[0].durations_ms) for job in jobs]
    assert [job.submit_ms for job in jobs] == list(range(0, 100_000, 5_000))
    assert {int(job.id[1:]) for job in jobs if job.tags == ["small"]} == SMALL[name]
    for job, width in zip(jobs, widths, strict=True):
        assert width < 10 if job.tags == ["small"] else width >= 20
        if job.executors is not None:
            assert job.executors.count == width
        else:
            assert abs(len(job.stages[1].durations_ms) - width / 4) <= 0.5
    if name in FIT:
        assert sum(widths[: FIT[name]]) == 100 < sum(widths[: FIT[name] + 1])


@pytest.mark.parametrize(("name", "small"), [("dress-x20", 4), ("dress-x30", 6), ("dress-x40", 8)])
def test_dress_mixes_are_half_mapreduce_and_half_spark(name, small):
    """This is true for both classes; their order is random."""
    jobs = load(name, seed=1).applications
    kinds = [(job.tags[0], job.kind) for job in jobs]
    for kind in ("mapreduce", "spark"):
        assert kinds.count(("small", kind)) == small // 2
        assert kinds.count(("large", kind)) == 10 - small // 2
    assert [job.id for job in load(name, seed=2).applications] == [job.id for job in jobs]
    assert load(name, seed=2).applications[0].stages != jobs[0].stages


@pytest.mark.parametrize("name", ["hdrf-e2", "hdrf-e4"])
def test_hdrf_jobs_are_a_heavy_tailed_hundred(name):
    """Ten have more than 500 tasks, on three leaves; most have at most 20, over half of 1.5 GB."""
    jobs = load(name, seed=3).applications
    sizes = [len(job.stages[0].durations_ms) for job in jobs]
    huge = {job.queue for job, size in zip(jobs, sizes, strict=True) if size > 500}
    assert (len(jobs), sum(size > 500 for size in sizes)) == (100, 10)
    assert huge == {"root.n1.n1_1", "root.n1.n1_2", "root.n3.n3_1"}
    small = [job for job, size in zip(jobs, sizes, strict=True) if size <= 20]
    assert len(small) > 70
    assert median(job.stages[0].size[0] for job in small) == 1536
    assert {job.queue for job in small} == {f"root.n2.n2_{i}" for i in (1, 2, 3)}


def test_the_made_up_day_has_more_work_than_the_cluster():
    """A tenth of it is drawn here: tasks have up to 9 GB and 3 CPUs, GPU tasks are in one leaf."""
    day = load("hdrf-e5", seed=1, vary={"jobs": 280})
    tasks = [(s.size, len(s.durations_ms), sum(s.durations_ms)) for a in day.applications
             for s in a.stages]  # fmt: skip
    assert len(day.nodes) == 1200
    assert day.stop_ms == 14_400_000
    assert {size[1] for size, _, _ in tasks} <= {0, 1, 2, 3}
    assert max(size[0] for size, _, _ in tasks) <= 9216
    assert {a.queue for a in day.applications if a.stages[0].size[2]} == {"root.n1.n1_2"}
    cpu_ms = 10 * sum(size[1] * ms for size, _, ms in tasks)
    assert cpu_ms > 0.9 * 19_200 * day.stop_ms


def test_dress_serves_small_jobs_sooner_at_nobodys_cost(tmp_path):
    """In two seeds of X20 small jobs end earlier by tens of percent, and the makespan stays within
    5 %.
    """
    request = Request("dress-x20", policies=("capacity", "dress"), seeds=(1, 2), journal=False)
    prepared = prepare(request)
    done = run(prepared, tmp_path, lambda _: None, processes=1, engine=simulated)
    small = {
        policy: fmean(
            job["completion_ms"] for each in done.runs if each["policy"] == policy
            for job in each["applications"] if "small" in job["tags"]
        )
        for policy in ("capacity", "dress")
    }  # fmt: skip
    spans = [fmean(r["makespan_ms"] for r in done.runs if r["policy"] == p) for p in small]
    assert small["dress"] < 0.8 * small["capacity"]
    assert abs(spans[1] / spans[0] - 1) < 0.05


def test_carbyne_figure_2(tmp_path):
    """The command's own table has means of 2.05 under hard shares and 1.55 under Carbyne."""
    prepared = prepare(Request("carbyne-fig2", journal=False))
    run(prepared, tmp_path, lambda _: None, processes=1, engine=simulated)
    rows = paper_comparisons(read_study([tmp_path]))
    ours = {row.figure: row.ours for row in rows}
    assert ours["Fig. 2, mean under hard shares, 2.05"] == pytest.approx(20.5)
    assert ours["Fig. 2, mean under Carbyne, 1.55"] == pytest.approx(15.5)
    assert {row.agrees for row in rows} == {"yes"}
