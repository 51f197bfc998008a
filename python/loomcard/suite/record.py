"""Make the record that reports read from what clusters report of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from loomcard.cluster.container_times import ContainerRun
from loomcard.cluster.rm_client import Document, ResourceManagerClient
from loomcard.player.container_ids import container_key
from loomcard.player.journal_reports import reported_states
from loomcard.player.run_record import refusals
from loomcard.results.container_rows import ContainerRow
from loomcard.results.record import ApplicationRecord, RunRecord
from loomcard.suite.cluster import Journal
from loomcard.suite.commands import DRIVER_MB, MAPREDUCE_AM_MB, TASK_MB
from loomcard.suite.play import Played, Run

RESOURCES = ["memory_mb", "vcores"]
_EPOCH = 1 << 40  # the upper bits of a number: how often the ResourceManager was started


def amounts(rest: ResourceManagerClient) -> tuple[int, int]:
    """Return the capacity of all nodes together, in MB and vcores."""
    nodes = [each for each in rest.nodes() if each["state"] == "RUNNING"]
    memory = sum(int(each["usedMemoryMB"]) + int(each["availMemoryMB"]) for each in nodes)
    vcores = ("usedVirtualCores", "availableVirtualCores")
    return memory, sum(int(each[name]) for each in nodes for name in vcores)


def allocations(scheduler: Document) -> dict[str, int]:
    """Return how many containers the policy and the fallback have allocated so far; {} under a
    stock scheduler.
    """
    return dict(scheduler["schedulerInfo"].get("allocations", {}))


def record(
    run: Run,
    runs: Sequence[ContainerRun],
    journal: Journal | None,
    capacity: tuple[int, int],
    refused: Mapping[str, int],
) -> RunRecord:
    """Return the run's record; the caller adds who ran it and what queues had. `refused`: the count
    of refusals before the run. A job counts as demanding from its AM's start to the end of its last
    container, because real AMs do not report it.
    """
    owners = {job.yarn: job for job in run.jobs if job.yarn}
    seen = [each for each in runs if each.application in owners]
    rows = [_row(each, owners[each.application], run.zero_ms, journal) for each in seen]
    until_ms = max((row.finished_ms or 0 for row in rows), default=0)
    states = reported_states(journal.folder, run.zero_ms, until_ms) if journal else []
    after = Counter(refusals(run.cluster.rest.scheduler()))
    return RunRecord(
        policy="",
        workload="",
        seed=0,
        engine="",
        resource_types=list(RESOURCES),
        capacity=[(0, capacity)],
        applications=[_application(job, seen, run.zero_ms) for job in run.jobs],
        containers=sorted(rows, key=lambda row: (row.allocated_ms or 0, row.application, row.task)),
        refusals=dict(after - Counter(refused)),
        states=states,
        ended_ms=until_ms,
        finished=run.finished,
    )


def _application(job: Played, runs: Sequence[ContainerRun], zero_ms: int) -> ApplicationRecord:
    own = [each for each in runs if each.application == job.yarn and job.yarn]
    began = min((each.started_ms for each in own), default=None)
    ended = max((each.ended_ms for each in own if each.ended_ms is not None), default=None)
    state = str(job.document.get("finalStatus", "")) or ("FAILED" if job.wrong else "")
    state = "" if state == "UNDEFINED" else state
    if job.wrong and state in ("SUCCEEDED", ""):
        state = "FAILED"
    return ApplicationRecord(
        id=job.arrival.id,
        queue=str(job.document.get("queue") or job.arrival.queue),
        submitted_ms=int(job.document.get("startedTime", zero_ms + job.arrival.at_ms)) - zero_ms,
        tags=list(job.arrival.tags),
        demanding=[] if began is None or ended is None else [(began - zero_ms, ended - zero_ms)],
        state=state,
        diagnostics=job.wrong,
    )


def _row(each: ContainerRun, job: Played, zero_ms: int, journal: Journal | None) -> ContainerRow:
    key = container_key(each.container)
    allocated = journal.allocated_ms.get(key) if journal else None
    is_spark = job.arrival.job.benchmark.framework == "spark"
    stage = "" if each.is_am else "executors" if is_spark else "tasks"
    return ContainerRow(
        application=job.arrival.id,
        stage=stage,
        task=-1 if each.is_am or is_spark else key[2] % _EPOCH - 2,  # 1 is the AM's
        attempt=key[1],
        node=each.node,
        is_am=each.is_am,
        size=_size(each, is_spark=is_spark),
        allocated_ms=(allocated or each.started_ms) - zero_ms,
        started_ms=each.started_ms - zero_ms,
        finished_ms=None if each.ended_ms is None else each.ended_ms - zero_ms,
        kind="" if each.ended_ms is None else "completed",
    )


def _size(each: ContainerRun, *, is_spark: bool) -> tuple[int, int]:
    """Return the containers' sizes as nodes recorded them, otherwise as the suite requested
    them.
    """
    if each.memory_mb:
        return each.memory_mb, each.vcores
    mapreduce_mb = MAPREDUCE_AM_MB if each.is_am else TASK_MB
    return DRIVER_MB if is_spark else mapreduce_mb, 1


def problems(run: Run, allocated: Mapping[str, int]) -> list[str]:
    """Return what is wrong with the run, one line each: results, and allocations that no policy
    made.
    """
    found = [f"{job.arrival.id}: {job.wrong}" for job in run.jobs if job.wrong]
    if allocated.get("fallback"):
        found.append(f"the fallback allocated {allocated['fallback']} containers")
    return found


def allocations_of(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, Any]:
    """Return what was allocated between two counts."""
    return {name: count - before.get(name, 0) for name, count in after.items()}
