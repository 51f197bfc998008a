"""How long the tasks of earlier runs took, by user, application name and stage.

Users choose the names. So one user's runs say nothing about another user's applications, and what
is kept is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loomcard.api.stages.dag_hint import Dag
from loomcard.api.stages.remaining_work import UNKNOWN_STAGE
from loomcard.model.objects import Application

STAGES_KEPT = 5_000
"""How many stages are remembered; beyond that, the user with the most loses the oldest run."""

LONGEST_NAME = 100
"""The most characters of an application's or a stage's name; longer ones are not remembered."""

Runs = dict[str, dict[str, dict[str, list[float]]]]
"""By user, application name and stage ("": tasks of no stage): count of tasks, and their total ms.
Plain data, for a policy's memory."""


def remember_run(
    runs: Runs, app: Application, dag: Dag, finished: Mapping[str, Sequence[float]]
) -> None:
    """Add what an application's tasks took, now that it has ended, to the ``runs`` of its name.

    ``finished``: the application's part of `Estimates.finished`.
    """
    if not finished or not 0 < len(app.name) <= LONGEST_NAME:
        return
    own = runs.setdefault(app.user, {})
    known = own.pop(app.name, {})  # the last that ended stands last
    for key, (count, ms) in finished.items():
        name = "" if key == UNKNOWN_STAGE else dag.stages[int(key)].id
        if 0 < len(name) <= LONGEST_NAME:
            before = known.get(name, (0, 0))
            known[name] = [before[0] + count, before[1] + ms]
    own[app.name] = known
    kept = {user: sum(1 + len(run) for run in names.values()) for user, names in runs.items()}
    while sum(kept.values()) > STAGES_KEPT:
        most = max(kept, key=lambda user: kept[user])
        kept[most] -= 1 + len(runs[most].pop(next(iter(runs[most]))))


def mean_of_runs(runs: Runs, app: Application) -> dict[str, float]:
    """The mean ms of a task in the user's earlier runs of that name, by the stage's name."""
    rows = runs.get(app.user, {}).get(app.name, {})
    return {stage: ms / count for stage, (count, ms) in rows.items() if count}
