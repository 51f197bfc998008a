"""What the simulator makes of a run's jobs, beside what the cluster made of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from msgspec.structs import replace

from loomcard.experiments.replay_runs import as_scenario
from loomcard.results.metrics import summary
from loomcard.results.record import RunRecord
from loomcard.simulator import simulate
from loomcard.workload.scenario import Scenario

NAME = "{} (foretold)"
HEARTBEAT_MS = 1000
"""Of simulated nodes, for policies that place where a node has just spoken."""


def foretell(
    journal: Path, setup: Mapping[str, Any], measured: RunRecord, names: Mapping[str, str]
) -> RunRecord:
    """The run simulated: the same jobs at the same times, each container as long as it was.

    `names`: the measured jobs' ids by their YARN ids; whatever else the journal holds is left out.
    An AM takes the median of what the measured ones took from their start to their first container.
    Raises JournalError and what `simulate` raises.
    """
    scenario = _of_run(as_scenario(journal, measured.seed), measured, names)
    if "heartbeats" in setup.get("needs", ()):  # such policies place by them
        scenario = replace(scenario, heartbeat_ms=HEARTBEAT_MS)
    found = simulate(scenario, setup, policy=NAME.format(measured.policy))
    found.workload, found.seed = measured.workload, measured.seed
    found.queues = measured.queues
    return found


def _of_run(scenario: Scenario, measured: RunRecord, names: Mapping[str, str]) -> Scenario:
    jobs = {each.id: each for each in measured.applications}
    applications = [
        replace(
            app,
            id=names[app.id],
            submit_ms=max(0, jobs[names[app.id]].submitted_ms),
            tags=jobs[names[app.id]].tags,
        )
        for app in scenario.applications
        if app.id in names
    ]
    applications.sort(key=lambda app: (app.submit_ms, app.id))
    return replace(
        scenario,
        name=measured.workload,
        applications=applications,
        am_start_ms=_am_start_ms(measured),
    )


def _am_start_ms(measured: RunRecord) -> int:
    masters = {row.application: row.started_ms for row in measured.containers if row.is_am}
    first: dict[str, int] = {}
    for row in measured.containers:
        if not row.is_am and row.allocated_ms is not None:
            known = first.get(row.application, row.allocated_ms)
            first[row.application] = min(known, row.allocated_ms)
    took = [
        first[name] - started
        for name, started in masters.items()
        if started is not None and name in first
    ]
    return max(0, int(median(took))) if took else 0


def beside(measured: RunRecord, foretold: RunRecord) -> list[dict[str, Any]]:
    """A row a job: its completion time on the cluster and in the simulator, in ms, and by how many
    percent the simulator is off; None where one of them is not known.
    """
    simulated = {each["id"]: each["completion_ms"] for each in summary(foretold)["applications"]}
    rows = []
    for each in summary(measured)["applications"]:
        real, told = each["completion_ms"], simulated.get(each["id"])
        error = None if not real or told is None else round(100 * (told - real) / real, 1)
        rows.append(
            {
                "id": each["id"],
                "measured_ms": real,
                "foretold_ms": told,
                "error_percent": error,
            }
        )
    return rows
