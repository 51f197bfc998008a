"""A clairvoyant order, for reports: it knows the remaining work of every application exactly.

The order is shortest remaining processing time, on the aggregate cluster (Schrage, 1968). It is
best for the mean completion time on *one* machine that can be divided freely and taken back at any
time. Real containers are whole, stay where they are and wait for stages. So this is a bound of
orders, not of schedules: no order does much better. `outcome.bounds.mean_completion_ms` bounds
every schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from loomcard import Application, ClusterView, Estimates, Finished, Plan, WeighsWork, fill
from loomcard.advanced import Dag


@dataclass(frozen=True)
class Clairvoyant(WeighsWork):
    """Serve the application first that the whole cluster could finish soonest, for comparison.

    Needs the hint LOOMCARD_DAG; applications without it come last. Each call looks at every running
    container of every application: slow if there are many.
    """

    leaf_only = True

    def decide(self, view: ClusterView, memory: Finished) -> tuple[Plan, Finished]:
        """Fill by the current remaining processing time on the aggregate cluster."""
        estimates = Estimates.of(view, memory, 0.0)
        order = partial(_left_ms, estimates, view.now_ms)
        return fill(Plan(view), order=order, live=True), memory


def _left_ms(estimates: Estimates, now_ms: int, app: Application) -> float:
    dag = estimates.dag(app)
    if dag is None:
        return float("inf")
    running: list[list[int]] = [[] for _ in dag.stages]
    for container in app.containers:
        stage = None if container.is_am else dag.stage_of(container.ask_key)
        if stage is not None:
            began = container.started_ms
            running[stage].append(0 if began is None else now_ms - began)
    return left_ms(dag, estimates.done(app), running, estimates.capacity)


def left_ms(
    dag: Dag, done: dict[int, int], running: Sequence[Sequence[int]], capacity: Sequence[int]
) -> float:
    """Return the time in ms that the whole cluster, freely divided, needs for the rest of a DAG.

    max_r of sum over stages of size_r / capacity_r * (ms * (tasks - done - running) + what is left
    of the running tasks). ``running``: for each running task of each stage, how many ms it has run.
    """
    ms = []
    for i, stage in enumerate(dag.stages):
        waiting = max(0, stage.tasks - done.get(i, 0) - len(running[i]))
        ms.append(stage.ms * waiting + sum(max(0.0, stage.ms - ran) for ran in running[i]))
    return max(
        sum(m * size[r] for m, size in zip(ms, dag.sizes, strict=True)) / whole if whole else 0.0
        for r, whole in enumerate(capacity)
    )
