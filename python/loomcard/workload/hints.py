"""The hints that an application of a scenario gives the scheduler."""

from __future__ import annotations

from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.workload.scenario import ScenarioApplication, Stage


def hints(application: ScenarioApplication) -> dict[str, str]:
    """Return the hint ``LOOMCARD_DAG``: every stage with the mean of its tasks' times. An
    application of kind spark asks only for executors. Its hint has one stage, the executors, which
    lasts as long as all tasks need on all their slots.
    """
    if application.executors is not None:
        return {HINT: write_dag([_executors(application)])}
    return {
        HINT: write_dag(
            [
                DagStage(
                    id=stage.id,
                    priority=stage.priority,
                    tasks=len(stage.durations_ms),
                    ms=round(_mean(stage), 3),
                    size=stage.size,
                    after=stage.after,
                    request=stage.request_id,
                )
                for stage in application.stages
            ]
        )
    }


def _mean(stage: Stage) -> float:
    return sum(stage.durations_ms) / len(stage.durations_ms)


def _executors(application: ScenarioApplication) -> DagStage:
    held = application.executors
    assert held is not None
    work = sum(
        sum(stage.durations_ms) / max(1, held.size[1] // max(1, stage.size[1]))
        for stage in application.stages
    )
    ms = round(work / held.count, 3)
    return DagStage(id="executors", priority=20, tasks=held.count, ms=ms, size=held.size, request=0)
