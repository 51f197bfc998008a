"""What an application of a scenario tells the scheduler beside its asks."""

from __future__ import annotations

from loomcard.model.dag import HINT, DagStage, write_dag
from loomcard.workload.scenario import ScenarioApplication, Stage


def hints(application: ScenarioApplication) -> dict[str, str]:
    """Its hints by name: ``LOOMCARD_DAG``, with the mean of each stage's durations as drawn."""
    return {HINT: write_dag([_stage(stage) for stage in application.stages])}


def _stage(stage: Stage) -> DagStage:
    durations = stage.durations_ms
    mean = round(sum(durations) / len(durations), 3) if durations else 0.0
    return DagStage(
        stage.id, stage.priority, len(durations), mean, stage.size, stage.after, stage.request_id
    )
