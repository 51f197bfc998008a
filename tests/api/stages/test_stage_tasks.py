"""Numbers of tasks by stage that are kept between calls equal those of a new count."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from compiled import flat
from loomcard import ClusterView, ContainerCompleted, Plan, register
from loomcard.advanced import StageTasks, read_dag
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.testing.cluster import Cluster

SLOT = (1024, 1)
STAGES = [DagStage("a", 1, 6, 1000, SLOT), DagStage("b", 2, 4, 1000, SLOT, [0])]


def figures(tasks: StageTasks) -> tuple[Any, ...]:
    return (
        tasks.running, tasks.asked, tasks.waiting, tasks.done, tasks.masters, tasks.tasks,
    )  # fmt: skip


@register("test-counts")
class Counts:
    """Serves first come, first served. It compares its counts with new ones before and after it
    allocates.
    """

    leaf_only = True

    def decide(self, view: ClusterView, memory: None) -> tuple[Plan, None]:
        plan = Plan(view)
        kept: dict[int, StageTasks] = view.cache("kept", dict)
        done: dict[int, dict[int, int]] = view.cache("done", dict)
        for change in view.changes:
            own = None
            if isinstance(change, ContainerCompleted):
                own = kept.get(change.container.application.number)
            if own is not None:
                own.ended(change.container)
                stage = own.stage_of(change.container.ask_key)
                if stage is not None and change.kind == "completed":
                    finished = done.setdefault(own.app.number, {})
                    finished[stage] = finished.get(stage, 0) + 1
        for app in view.applications:
            dag, finished = read_dag(app.hints), done.get(app.number, {})
            own = kept.setdefault(app.number, StageTasks(app, dag))
            own.count(finished)
            self.compare(own, finished)
            for ask in app.asks:
                while ask.count > 0 and (node := plan.place(ask)) is not None:
                    plan.allocate(ask, node)
                    own.allocated(ask)
            own.count(finished)
            self.compare(own, finished)
        return plan, memory

    def compare(self, own: StageTasks, finished: dict[int, int]) -> None:
        new = StageTasks(own.app, own.dag)
        new.count(finished)
        assert figures(own) == figures(new)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_kept_is_what_a_new_count_finds(seed):
    """The counts stay right while asks come and go, containers complete, fail and are refused, and
    a node is lost.
    """
    draw, refused = Random(seed), Random(seed + 100)  # noqa: S311
    made = Cluster(
        flat("test-counts"), nodes=[(3072, 3)] * 2,
        refuse=lambda _: "NODE_GONE" if refused.random() < 0.2 else None,
    )  # fmt: skip
    for number in (1, 2):
        made.add_app(number, hints={HINT: write_dag(STAGES)} if number == 1 else {})
    for _ in range(40):
        made.ask(draw.choice([1, 2]), draw.randrange(4), SLOT, priority=draw.choice([1, 2, 3]))
        for container in list(made.containers):
            if draw.random() < 0.3:
                made.complete(container, draw.choice(["completed", "killed"]))
        made.round(1000)
    made.lose_node(2)
    made.round(1000)
    assert made.rounds >= 40


def test_an_am_is_no_task():
    """The resources of an AM are known, and its ask is not counted among the tasks."""
    made = Cluster(flat("test-counts"), nodes=[(4096, 4)])
    made.add_app(1)
    made.ask(1, 1, SLOT, priority=0, is_am=True)
    made.ask(1, 2, SLOT)
    [app] = made.state.applications.values()
    tasks = StageTasks(app, None)
    tasks.count({})
    assert (tasks.tasks, tasks.masters) == (2, [0, 0])
    made.round(0)
    tasks.count({})
    assert (tasks.tasks, tasks.masters) == (2, list(SLOT))


def test_when_an_am_has_ended_its_resources_are_counted_no_more():
    """Also if one task is left, as after the first attempt of an AM that keeps its containers."""
    made = Cluster(flat("test-counts"), nodes=[(4096, 4)])
    made.add_app(1)
    made.ask(1, 1, (512, 1), priority=0, is_am=True)
    made.ask(1, 1, SLOT)
    made.round()
    [app] = made.state.applications.values()
    tasks = StageTasks(app, None)
    tasks.count({})
    assert (tasks.tasks, tasks.masters) == (1, [512, 1])
    [am] = [container for container in app.containers if container.is_am]
    made.complete(am.number)
    tasks.ended(am)
    tasks.count({})
    assert (tasks.tasks, tasks.masters) == (1, [0, 0])
