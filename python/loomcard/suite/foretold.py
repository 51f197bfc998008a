"""The simulator's prediction of a run's jobs, beside the cluster's measurements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from loomcard.experiments.replay_runs import as_scenario
from loomcard.results.metrics import summary
from loomcard.results.record import RunRecord
from loomcard.simulator import simulate
from loomcard.workload.scenario import Scenario

NAME = "{} (foretold)"
HEARTBEAT_MS = 1000
"""The heartbeat interval of simulated nodes, for policies that place on the node that has just sent
one.
"""


def foretell(
    journal: Path, config: Mapping[str, Any], measured: RunRecord, names: Mapping[str, str]
) -> RunRecord:
    """Simulate the run: the same jobs at the same times, each container as long as measured, and
    each AM asking as long after its start as measured. `names`: the measured jobs' ids by their
    YARN ids; other applications in the journal are left out. Raises JournalError and what
    `simulate` raises.
    """
    scenario = _of_run(as_scenario(journal, measured.seed), measured, names)
    if "heartbeats" in config.get("needs", ()):  # such policies place by heartbeats
        scenario = replace(scenario, heartbeat_ms=HEARTBEAT_MS)
    found = simulate(scenario, config, policy=NAME.format(measured.policy))
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
    return replace(scenario, name=measured.workload, applications=applications)


def beside(measured: RunRecord, foretold: RunRecord) -> list[dict[str, Any]]:
    """Return a row per job: its completion time on the cluster and in the simulator, in ms, and the
    simulator's error in percent; None if one of them is not known.
    """
    simulated = {each["id"]: each["completion_ms"] for each in summary(foretold)["applications"]}
    rows = []
    for each in summary(measured)["applications"]:
        real, predicted = each["completion_ms"], simulated.get(each["id"])
        error = None if not real or predicted is None else round(100 * (predicted - real) / real, 1)
        rows.append(
            {
                "id": each["id"],
                "measured_ms": real,
                "foretold_ms": predicted,
                "error_percent": error,
            }
        )
    return rows
