"""What applications still have to do: remaining work, and the critical path of their stages.

Durations come from the hint ``LOOMCARD_DAG``; tasks that finished do not count. Without a hint, the
work is the outstanding asks at the mean duration of the application's finished tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mypy_extensions import mypyc_attr

from loomcard.api.policy import saved_rows
from loomcard.api.stages.dag_hint import Dag, read_dag
from loomcard.api.view import ClusterView
from loomcard.model.events import ApplicationRemoved, ContainerCompleted
from loomcard.model.objects import Application, Ask, AskKey
from loomcard.model.resource import Resource

Finished = dict[str, dict[str, list[int]]]
"""By application id, then stage index (as text; "-1": no stage of the hint): count of finished
tasks, and their total ms. Plain data: the memory of the policies that weigh work."""

UNKNOWN_STAGE = "-1"


def part_of_cluster(size: Sequence[int], capacity: Sequence[int]) -> float:
    """sum_r size_r / capacity_r: how much of the cluster a container is, all resources added."""
    return sum(s / c for s, c in zip(size, capacity, strict=True) if c)


def unit_work(dag: Dag, capacity: Sequence[int]) -> list[float]:
    """The work of one task of each stage: ms * sum_r size_r / capacity_r."""
    rows = zip(dag.stages, dag.sizes, strict=True)
    return [stage.ms * part_of_cluster(size, capacity) for stage, size in rows]


def critical_path_ms(dag: Dag, done: Mapping[int, int] | None = None) -> float:
    """The longest chain of stages, one task's ms for each stage: no schedule is faster.

    A stage counts 0 if all its tasks are ``done``.
    """
    ends: list[float] = []
    for i, stage in enumerate(dag.stages):
        over = done is not None and done.get(i, 0) >= stage.tasks
        start = max((ends[parent] for parent in stage.after), default=0.0)
        ends.append(start + (0.0 if over else stage.ms))
    return max(ends, default=0.0)


def asked_work(asks: Iterable[Ask], mean_ms: float, capacity: Sequence[int]) -> float:
    """The work of an application without a hint: its asks, ``mean_ms`` for each container."""
    return mean_ms * sum(ask.count * part_of_cluster(ask.size, capacity) for ask in asks)


@mypyc_attr(allow_interpreted_subclasses=True)
class Estimates:
    """Remaining work and critical paths of a scope's applications, updated once per call.

    Each figure depends only on its application and the cluster's capacity, so that it can serve as
    an order. ``assumed_ms``: the duration of a task if nothing is known about it.
    """

    def __init__(self, assumed_ms: float) -> None:
        self.assumed_ms = assumed_ms
        self.finished: Finished = {}
        self.capacity: Sequence[int] = Resource()
        self._dags: dict[Application, Dag | None] = {}
        self._units: dict[Application, list[float]] = {}
        self._work: dict[Application, float] = {}  # of DAGs, until a task finishes
        self._paths: dict[Application, float] = {}

    @staticmethod
    def of(view: ClusterView, finished: Finished, assumed_ms: float) -> Estimates:
        """Return the estimates of an instance, updated with what happened since its last call.
        ``finished`` is its memory, which is updated too.
        """
        found = view.cache("estimates", lambda: Estimates(assumed_ms))
        if found.finished is not finished:
            found.finished = finished
            found._work.clear()
        if found.capacity != view.cluster_capacity:
            found.capacity = view.cluster_capacity
            found._units.clear()
            found._work.clear()
        for change in view.changes:
            found._apply(change)
        return found

    def _apply(self, change: Any) -> None:
        if isinstance(change, ContainerCompleted):
            container = change.container
            if change.kind == "completed" and change.exit_status == 0 and not container.is_am:
                began = container.started_ms
                ran = change.at_ms - (container.allocated_ms if began is None else began)
                dag = self.dag(container.application)
                tasks = self.finished.setdefault(container.application.id, {})
                key = UNKNOWN_STAGE if dag is None else _unfinished(dag, container.ask_key, tasks)
                count, ms = tasks.get(key, (0, 0))
                tasks[key] = [count + 1, ms + ran]
                self._work.pop(container.application, None)
        elif isinstance(change, ApplicationRemoved):
            self.finished.pop(change.application.id, None)
            self._dags.pop(change.application, None)
            self._units.pop(change.application, None)
            self._work.pop(change.application, None)
            self._paths.pop(change.application, None)

    def dag(self, app: Application) -> Dag | None:
        """The stages that its hint lists."""
        if app not in self._dags:
            self._dags[app] = read_dag(app.hints, len(self.capacity))
        return self._dags[app]

    def done(self, app: Application) -> dict[int, int]:
        """Its finished tasks by stage index."""
        return {int(key): row[0] for key, row in self.finished.get(app.id, {}).items()}

    def mean_ms(self, app: Application) -> float:
        """The mean duration of its finished tasks; ``assumed_ms`` before the first."""
        rows = self.finished.get(app.id, {}).values()
        count = sum(row[0] for row in rows)
        return sum(row[1] for row in rows) / count if count else self.assumed_ms

    def work(self, app: Application) -> float:
        """What an application still has to do, in ms of the whole cluster: with a hint the sum over
        stages of (tasks - finished) * ``unit_work``, otherwise ``asked_work``. A running task
        counts in full until it ends.
        """
        dag = self.dag(app)
        if dag is None:
            return asked_work(app.asks, self.mean_ms(app), self.capacity)
        found = self._work.get(app)
        if found is None:
            found = self._work[app] = self._dag_work(app, dag)
        return found

    def _dag_work(self, app: Application, dag: Dag) -> float:
        units = self._units.get(app)
        if units is None:
            units = self._units[app] = unit_work(dag, self.capacity)
        rows = self.finished.get(app.id, {})
        work = 0.0
        for i, stage in enumerate(dag.stages):
            row = rows.get(str(i))
            left = stage.tasks if row is None else stage.tasks - row[0]
            if left > 0:
                work += left * units[i]
        return work

    def critical_path_ms(self, app: Application) -> float:
        """The critical path of the whole DAG, finished or not; without a hint, the mean duration of
        the application's tasks.
        """
        dag = self.dag(app)
        if dag is None:
            return self.mean_ms(app)
        found = self._paths.get(app)
        if found is None:
            found = self._paths[app] = critical_path_ms(dag)
        return found


def _unfinished(dag: Dag, key: AskKey, done: Mapping[str, Sequence[int]]) -> str:
    """Of the stages with the key, the first with unfinished tasks, as the text in ``finished``.
    Stages with the same key run in the order of the hint.
    """
    found = dag.stages_of(key)
    for i in found:
        row = done.get(str(i))
        if row is None or row[0] < dag.stages[i].tasks:
            return str(i)
    return str(found[-1]) if found else UNKNOWN_STAGE


@mypyc_attr(allow_interpreted_subclasses=True)
class WeighsWork:
    """The memory of a policy that weighs work: which tasks have finished. It is saved whole."""

    def initial(self, view: ClusterView, saved: Finished | None) -> Finished:
        """Return what was saved, or an empty memory."""
        return _copy(saved_rows(saved or {}, view))

    def save(self, memory: Finished) -> Finished:
        """Return a copy of all of it."""
        return _copy(memory)


def _copy(finished: Finished) -> Finished:
    return {app: {k: list(row) for k, row in rows.items()} for app, rows in finished.items()}
