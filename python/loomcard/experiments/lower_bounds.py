"""What no policy can exceed on a scenario, stored with its results: ideals for slowdown, and
bounds.
"""

from __future__ import annotations

from math import ceil

from loomcard.results import lower_bounds
from loomcard.results.lower_bounds import BoundedJob, BoundedStage
from loomcard.results.record import RunRecord
from loomcard.workload.scenario import Scenario, ScenarioApplication


def keep_bounds(record: RunRecord, scenario: Scenario) -> None:
    """Put the scenario's bounds into the record, in whole ms.

    Each application's ideal is what it takes at least with the whole cluster to itself: the larger
    of its critical path and, for each resource, its work over the cluster's capacity.
    """
    capacity = [sum(amounts) for amounts in zip(*(n.capacity for n in scenario.nodes), strict=True)]
    jobs = {application.id: _job(application) for application in scenario.applications}
    record.ideals_ms = {name: _alone(job, capacity) for name, job in jobs.items()}
    every = list(jobs.values())
    record.bounds = {
        "makespan_ms": int(lower_bounds.makespan_ms(every, capacity)),
        "mean_completion_ms": int(lower_bounds.mean_completion_ms(every, capacity)),
    }


def _alone(job: BoundedJob, capacity: list[int]) -> int:
    work = (lower_bounds.work_ms(job, r, whole) for r, whole in enumerate(capacity))
    return ceil(max(lower_bounds.path_ms(job), *work))


def _job(application: ScenarioApplication) -> BoundedJob:
    """Reduces end after maps, whatever their stage says; tasks of executors share containers."""
    shared = application.executors is not None
    ends_last = application.kind == "mapreduce"
    stages = [
        BoundedStage(
            stage.durations_ms,
            [0] * len(stage.size) if shared else stage.size,
            stage.after or (range(index) if ends_last else ()),
        )
        for index, stage in enumerate(application.stages)
    ]
    return BoundedJob(application.submit_ms, stages)
