"""A demo's runs with figures that can be worked out by hand, without a cluster."""

from pathlib import Path

import pytest

from loomcard.cluster.container_times import ContainerRun, JobTimes
from loomcard.demo.real_jobs import RealJobs
from loomcard.report.runs import Study, read_study
from loomcard.results.container_rows import ContainerRow
from loomcard.results.manifest import manifest
from loomcard.results.record import ApplicationRecord, RunRecord
from loomcard.results.run_folder import write_run

WAITS_S = {"stock:capacity": 8, "dress": 2, "hdrf": 4, "carbyne": 8}
"""How long the one small job of `record` waits, by scheduler."""


def record(policy: str, wait_s: int) -> RunRecord:
    """Return ten seconds in which shop's large job uses three quarters of the memory and lab's one
    task a quarter of the vcores; shop's small job has a task of 1 s after its wait.
    """
    found = RunRecord(
        policy, "w", 1, "local", ["memory_mb", "vcores"], [(0, (8192, 8))], ended_ms=10_000
    )
    for name, queue, size, started, ended in (
        ("large", "root.shop.web", (6144, 1), 0, 10_000),
        ("small", "root.shop.web", (1024, 1), 1000 * wait_s, 1000 * wait_s + 1000),
        ("other", "root.lab.train", (1024, 2), 0, 10_000),
    ):
        found.applications.append(
            ApplicationRecord(name, queue, 0, [name], [(0, ended)], "SUCCEEDED")
        )
        found.containers.append(
            ContainerRow(name, "s", 0, 1, "n1", False, size, started, started, ended, "completed")
        )
    return found


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Return what `record` gives, under four schedulers."""
    records = [record(policy, wait_s) for policy, wait_s in WAITS_S.items()]
    write_run(tmp_path / "run", records, manifest({}))
    return read_study([tmp_path / "run"], "stock:capacity")


@pytest.fixture
def real_jobs() -> RealJobs:
    """Return two jobs with a master and a task each; the swap comes after the first task has
    begun.
    """
    jobs = tuple(
        JobTimes(f"a{i}", name, "fifo, then drf", "SUCCEEDED", 1_000, 2_000, 9_000)
        for i, name in enumerate(("pi", "wordcount"))
    )
    runs = tuple(
        ContainerRun(f"c{i}{j}", f"a{i}", "n1", j == 0, 256, 1, at_ms, 10_000)
        for i in range(2)
        for j, at_ms in enumerate((2_000, 3_000 + 2_000 * i))
    )
    return RealJobs(jobs, runs, 4_000, {"policy": 4, "fallback": 0}, 0)
