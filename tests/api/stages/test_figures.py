"""Figures of applications by hand: work without a hint, earlier runs, marks of asks."""

from types import SimpleNamespace
from typing import Any

import pytest

from loomcard.api.stages.dag_hint import Dag, DagStage
from loomcard.api.stages.earlier_runs import (
    LONGEST_NAME,
    STAGES_KEPT,
    mean_of_runs,
    remember_run,
)
from loomcard.api.stages.marked_asks import ALTRUISTIC_ASKS, DEFAULT_ASKS, unmarked
from loomcard.api.stages.remaining_work import (
    Estimates,
    asked_work,
    critical_path_ms,
    part_of_cluster,
    unit_work,
)
from loomcard.model.objects import AskKey
from loomcard.model.resource import Resource

CAPACITY = Resource((10_000, 100))


def ask(count: int, *size: int) -> Any:
    return SimpleNamespace(count=count, size=Resource(size))


class Job:
    """What these functions read of an application."""

    def __init__(self, name: str = "job", user: str = "alice", asks: Any = ()) -> None:
        self.id, self.name, self.user, self.asks = "a", name, user, asks
        self.hints: dict[str, str] = {}


def job(*facts: Any, **keys: Any) -> Any:
    return Job(*facts, **keys)


def test_a_container_is_the_sum_of_its_parts_of_the_cluster():
    """A type of which the cluster has nothing does not count."""
    assert part_of_cluster((1000, 20), CAPACITY) == pytest.approx(0.1 + 0.2)
    assert part_of_cluster((1000, 20, 5), (10_000, 100, 0)) == pytest.approx(0.3)
    dag = Dag([DagStage("s", 1, 3, 50.0, (1000, 20)), DagStage("t", 2, 3, 10.0, (0, 0))])
    assert unit_work(dag, CAPACITY) == pytest.approx([15.0, 0.0])


def test_without_a_hint_work_is_what_is_asked_for_at_the_mean_of_finished_tasks():
    """Ten containers of 0.2 and two of 0.5 of the cluster; two tasks took 300 ms together."""
    asks = [ask(10, 1000, 10), ask(2, 3000, 20)]
    assert asked_work(asks, 100.0, CAPACITY) == pytest.approx(100 * (10 * 0.2 + 2 * 0.5))
    estimates, app = Estimates(assumed_ms=7.0), job(asks=asks)
    estimates.capacity = CAPACITY
    assert (estimates.mean_ms(app), estimates.critical_path_ms(app)) == (7.0, 7.0)
    assert estimates.work(app) == pytest.approx(7 * 3)
    estimates.finished = {"a": {"-1": [1, 200], "0": [1, 100]}, "b": {"-1": [9, 9]}}
    assert estimates.done(app) == {-1: 1, 0: 1}
    assert (estimates.mean_ms(app), estimates.critical_path_ms(app)) == (150.0, 150.0)
    assert estimates.work(app) == pytest.approx(150 * 3)


def test_a_stage_is_over_when_its_last_task_is_done():
    dag = Dag([DagStage("s", 1, 3, 50.0, (1,)), DagStage("t", 2, 1, 10.0, (1,), [0])])
    paths = [critical_path_ms(dag, {0: done}) for done in (0, 2, 3, 4)]
    assert paths == [60, 60, 10, 10]
    assert critical_path_ms(dag, {0: 3, 1: 1}) == critical_path_ms(Dag([])) == 0


def test_the_runs_of_a_user_and_name_add_up():
    """By the stage's name; tasks of no stage have the name "". Others' runs are separate."""
    dag = Dag([DagStage("s", 1, 3, 50.0, (1,)), DagStage("t", 2, 1, 10.0, (1,), [0])])
    runs: dict[str, Any] = {}
    remember_run(runs, job(), dag, {"0": [2, 100], "-1": [1, 7]})
    remember_run(runs, job(), dag, {"0": [3, 200], "1": [0, 0]})
    remember_run(runs, job(user="bob"), dag, {"0": [1, 1]})
    assert runs == {
        "alice": {"job": {"s": [5, 300], "t": [0, 0]}},
        "bob": {"job": {"s": [1, 1]}},
    }
    assert mean_of_runs(runs, job()) == {"s": 60.0}
    assert mean_of_runs(runs, job("other")) == mean_of_runs(runs, job(user="eve")) == {}


@pytest.mark.parametrize("name", ["", "x" * (LONGEST_NAME + 1)])
def test_what_has_no_name_or_a_very_long_one_is_not_remembered(name):
    dag, runs = Dag([DagStage(name, 1, 3, 50.0, (1,)), DagStage("t", 2, 1, 1.0, (1,))]), {}
    remember_run(runs, job(name), dag, {"1": [1, 1]})
    remember_run(runs, job(), dag, {})
    assert runs == {}
    longest = "x" * LONGEST_NAME
    remember_run(runs, job(longest), dag, {"0": [1, 1], "1": [1, 5]})
    assert runs == {"alice": {longest: {"t": [1, 5]}}}


def test_the_user_with_the_most_loses_the_run_that_ended_first():
    """A run costs one, and one for each stage. One that ends again is the last."""
    dag = Dag([DagStage("s", 1, 1, 1.0, (1,))])
    runs: dict[str, Any] = {}
    remember_run(runs, job(user="bob"), dag, {"0": [1, 1]})
    fits = STAGES_KEPT // 2 - 1
    for number in range(fits):
        remember_run(runs, job(str(number)), dag, {"0": [1, 1]})
    assert len(runs["alice"]) == fits
    remember_run(runs, job("0"), dag, {"0": [1, 1]})
    remember_run(runs, job("new"), dag, {"0": [1, 1]})
    assert len(runs["alice"]) == fits
    assert "1" not in runs["alice"]
    assert list(runs["alice"])[-2:] == ["0", "new"]
    assert list(runs["bob"]) == ["job"]


def test_a_marked_request_is_that_without_its_mark():
    """At both ends of both ranges, and beside them."""
    for marks in (DEFAULT_ASKS, ALTRUISTIC_ASKS):
        assert [unmarked(marks[0]), unmarked(marks[5]), unmarked(marks[-1])] == [
            0, 5, 2**40 - 1,
        ]  # fmt: skip
    assert [unmarked(0), unmarked(2**40 - 1), unmarked(3 * 2**40)] == [0, 2**40 - 1, 3 * 2**40]


def test_a_key_belongs_to_the_stage_with_its_priority_and_request():
    """A stage without a request has all requests of its priority that no other stage names."""
    dag = Dag(
        [
            DagStage("any", 1, 1, 1.0, (1,)), DagStage("five", 1, 1, 1.0, (1,), request=5),
            DagStage("twin", 2, 1, 1.0, (1,)), DagStage("twin2", 2, 1, 1.0, (1,)),
        ]
    )  # fmt: skip
    assert [dag.stages_of(AskKey(1, 1, 5)), dag.stages_of(AskKey(1, 1, 6))] == [[1], [0]]
    assert dag.stage_of(AskKey(1, 1, DEFAULT_ASKS[5])) == 1
    assert [dag.stage_of(AskKey(1, 2, 0)), dag.stage_of(AskKey(1, 3, 0))] == [None, None]
    assert list(dag.stages_of(AskKey(1, 3, 0))) == []
