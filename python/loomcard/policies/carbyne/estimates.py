"""What the tasks of a job's stages need: by the hint, by finished siblings, and by earlier runs of
the same application name (docs/papers/carbyne.md 2.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from loomcard import Application, ApplicationRemoved, ClusterView, Estimates, Event
from loomcard.advanced import UNKNOWN_STAGE, Dag, draw, mean_of_runs, remember_run
from loomcard.policies.carbyne.options import Options

SIBLINGS = 3
"""How many tasks of a stage must finish before their mean replaces the hint."""

HEARTBEAT_MS = 1_000.0
"""The expected time left, in ms, of a task that has run longer than expected."""

Memory = dict[str, Any]
"""Plain data: ``finished`` (see Estimates), ``runs`` (by user, application name and stage: tasks,
ms in all), ``jobs`` (by application id: its demand, its plan, and since when which asks have had to
start), ``rests`` (until when no job is planned again).
"""


def fresh(saved: Memory | None) -> Memory:
    """Return the memory of a new instance: what was saved, without plans."""
    saved = saved or {}
    finished = _copy(saved.get("finished", {}))
    runs = {user: _copy(rows) for user, rows in saved.get("runs", {}).items()}
    return {"finished": finished, "runs": runs, "jobs": {}}


def _copy(rows: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, list[float]]]:
    return {name: {k: list(row) for k, row in each.items()} for name, each in rows.items()}


class Learnt:
    """Durations and sizes of stages, kept up to date with what finishes."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.memory: Memory = fresh(None)
        self.estimates = Estimates(options.assumed_ms)

    def update(self, view: ClusterView, memory: Memory, changes: Iterable[Event]) -> None:
        """Learn what finished since the last call; ``changes``: those of the view."""
        self.memory = memory
        for change in changes:
            if isinstance(change, ApplicationRemoved):
                app = change.application
                if (dag := self.estimates.dag(app)) is not None:
                    remember_run(memory["runs"], app, dag, memory["finished"].get(app.id, {}))
                memory["jobs"].pop(app.id, None)
        self.estimates = Estimates.of(view, memory["finished"], self.options.assumed_ms)

    def durations(self, app: Application, dag: Dag) -> list[float]:
        """Return the ms of one task of each stage."""
        rows = self.memory["finished"].get(app.id, {})
        known = self.memory["jobs"].setdefault(app.id, {})
        if "history" not in known:  # later runs use what is learnt later
            known["history"] = mean_of_runs(self.memory["runs"], app)
        history = known["history"]
        found = []
        for i, stage in enumerate(dag.stages):
            ms = (stage.ms or self.options.assumed_ms) * self._error(app, i)
            if self.options.learn:
                count, total = rows.get(str(i), (0, 0))
                if count >= max(1, min(SIBLINGS, stage.tasks)):
                    ms = total / count
                elif not stage.ms:
                    ms = history.get(stage.id, ms)
            found.append(ms)
        return found

    def sizes(self, app: Application, dag: Dag) -> Sequence[Sequence[float]]:
        """Return the amounts of one task of each stage."""
        if not self.options.error_percent:
            return dag.sizes
        return [[a * self._error(app, i) for a in size] for i, size in enumerate(dag.sizes)]

    def _error(self, app: Application, stage: int) -> float:
        """Return the factor by which an experiment falsifies the estimates of a stage."""
        wrong = self.options.error_percent
        part = self.options.error_part
        if not wrong or (part < 1 and draw(self.options.seed, f"{app.id}/{stage}", 0) >= part):
            return 1.0
        return 1 + wrong / 100

    def work(self, app: Application, durations: list[float]) -> float:
        """Return the remaining work: sum of tasks * ms * sum_r size_r / R_r (2.5-10);
        ``durations``: of its stages.
        """
        dag, capacity = self.estimates.dag(app), self.estimates.capacity
        if dag is None:
            return self.estimates.work(app)
        done, work = self.estimates.done(app), 0.0
        rows = zip(dag.stages, durations, self.sizes(app, dag), strict=True)
        for i, (stage, ms, size) in enumerate(rows):
            left = max(0, stage.tasks - done.get(i, 0))
            work += left * ms * sum(s / c for s, c in zip(size, capacity, strict=True) if c)
        return work

    def error_of(self, app: Application) -> float | None:
        """Return the mean of expected / observed duration, minus 1, over stages with finished
        tasks; None before the first.
        """
        dag = self.estimates.dag(app)
        rows = self.memory["finished"].get(app.id, {})
        if dag is None:
            return None
        found = [
            (dag.stages[int(key)].ms or self.options.assumed_ms)
            * self._error(app, int(key)) * count / ms - 1
            for key, (count, ms) in rows.items() if key != UNKNOWN_STAGE and ms
        ]  # fmt: skip
        return sum(found) / len(found) if found else None
