"""Attacks on carbyne: asks that cannot be served, loans that are taken back for nothing, jobs that
wait for ever. test_costs.py tests what an attack costs. The numbers are those of the list of known
defects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

from carbyne_clusters import carbyne, held, stages
from compiled import config, queue
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.engine import round as rounds
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

SLOT = (1024, 1)
SECOND = 1000


def rows(made: Cluster) -> dict[int, dict[str, Any]]:
    """Return the queue's report on each job, by the application's number."""
    return {int(row["id"][-4:]): row for row in made.reports["root.default"]["jobs"]}


@contextmanager
def always_reporting() -> Iterator[None]:
    """Let policies report at every call."""
    with patch.object(rounds, "REPORT_EVERY_MS", 0):
        yield


# 2: tasks that run again


def test_2_a_task_that_failed_and_is_asked_for_again_must_start():
    """There are four slots and two jobs. The second stage of the first job waits for a task that
    failed after its plan was made; the second job has less work and would take every free slot.
    """
    made = carbyne(4)
    made.add_app(1, hints=stages((2, 20_000.0, []), (200, 20_000.0, [0])))
    made.ask(1, 2, SLOT, request_id=1)
    made.round(0)
    assert held(made)[1] == 2
    made.add_app(2, hints=stages((100, 1000.0, [])))
    made.ask(2, 100, SLOT, request_id=1)
    made.round(SECOND)
    assert held(made) == {1: 2, 2: 2}
    failed = next(n for n, c in made.containers.items() if c.attempt == 1)
    made.complete(failed, "failed")
    made.ask(1, 1, SLOT, request_id=1)
    made.round(SECOND)
    assert held(made) == {1: 2, 2: 2}


def test_2_tasks_that_a_lost_node_took_with_it_run_again():
    """All tasks of the first stage had ended, but their output is lost, so all run again."""
    made = carbyne(4, 4)
    made.add_app(1, hints=stages((4, 10_000.0, []), (200, 10_000.0, [0])))
    made.add_app(2, hints=stages((100, 1000.0, [])))
    made.ask(1, 4, SLOT, request_id=1)
    made.ask(2, 100, SLOT, request_id=1)
    made.round(0)
    assert held(made) == {1: 4, 2: 4}
    made.now += 9 * SECOND
    for number in [n for n, c in made.containers.items() if c.attempt == 1]:
        made.complete(number)
    made.ask(1, 200, SLOT, request_id=2)
    made.round(SECOND)
    assert held(made) == {1: 4, 2: 4}
    for number in [n for n, c in made.containers.items() if c.attempt == 1]:
        made.complete(number, "lost")
    made.ask(1, 200, SLOT, request_id=2)
    made.ask(1, 4, SLOT, request_id=1)
    made.round(SECOND)
    again = Counter(c.ask for c in made.containers.values() if c.attempt == 1)
    assert again == {(1, 20, 1): 4}


def test_stages_that_share_a_key_are_served_from_the_share():
    """Hints of `loomcard dag spark --stage` have one line per stage, but all executors have one
    priority. It is unknown which stage an ask is for, so none of it waits for a parent.
    """
    made = carbyne(8)
    rows = [DagStage("map", 0, 10, 1000, SLOT), DagStage("reduce", 0, 5, 2000, SLOT, [0])]
    made.add_app(1, hints={HINT: write_dag(rows)})
    made.add_app(2, hints=stages((3, 100.0, [])))
    made.ask(1, 10, SLOT, priority=0)
    made.ask(2, 100, SLOT, request_id=1)
    made.round(SECOND)
    assert held(made) == {1: 4, 2: 4}


# 3: kills for nothing


def preempted(made: Cluster, rounds_: int, step_ms: int = SECOND) -> int:
    """Return how many containers the policy takes back in this many rounds."""
    count = 0
    for _ in range(rounds_):
        plan = made.exchange(step_ms)
        count += sum(isinstance(each, r.Preempt) for each in plan.decisions)
        made.commit(plan)
    return count


def borrower(**options: Any) -> Cluster:
    """Return a cluster in which job 1 uses all eight slots of two nodes."""
    made = carbyne(4, 4, loan="preempt", **options)
    made.add_app(1, hints=stages((20, 600_000.0, [])))
    made.ask(1, 20, SLOT, request_id=1)
    made.round(0)
    assert held(made) == {1: 8}
    return made


@pytest.mark.parametrize("forbidden", [
    "too large", "label", "blacklist",
    "strict host",
])  # fmt: skip
def test_3_nobody_is_killed_for_an_ask_that_no_node_may_serve(forbidden):
    made = borrower()
    slots = 5 if forbidden == "too large" else 1
    made.add_app(2, hints=stages((1, 10_000.0, []), slots=slots))
    keys = {
        "label": {"label": "gpu"},
        "strict host": {"hosts": {"elsewhere": 1}, "racks": {"/far": 1}, "relax": False},
    }
    if forbidden == "blacklist":
        made.blacklist(2, "n1", "n2")
    made.ask(2, 1, (1024 * slots, slots), request_id=1, **keys.get(forbidden, {}))
    assert preempted(made, 30) == 0
    assert held(made) == {1: 8}


def test_3_who_asks_for_the_impossible_besides_has_the_possible():
    """The ask that cannot be served is first in line; room for the other ask is taken back all the
    same.
    """
    made = borrower()
    made.add_app(2, hints=stages((1, 10_000.0, []), (1, 10_000.0, [])))
    made.blacklist(2, "n1", "n2")
    made.add_app(3, hints=stages((4, 10_000.0, [])))
    made.ask(2, 1, SLOT, request_id=1)
    made.round(SECOND)
    made.ask(3, 4, SLOT, request_id=1)
    assert 1 <= preempted(made, 20) <= 2
    assert held(made)[3] >= 1


# 4: idle AMs


def test_4_applications_that_ask_for_nothing_dilute_no_share():
    """Ten AMs idle on half of the slots; each of two jobs gets half of the rest."""
    made = carbyne(20)
    for number in range(1, 11):
        made.add_app(number)
        made.ask(number, 1, SLOT, priority=0, is_am=True)
    made.round(0)
    assert len(made.containers) == 10
    made.add_app(11, hints=stages((100, 10_000.0, [])))
    made.add_app(12, hints=stages((50, 1_000.0, [])))
    made.ask(11, 100, SLOT, request_id=1)
    made.ask(12, 50, SLOT, request_id=1)
    made.round(SECOND)
    assert held(made) == {11: 5, 12: 5}


def test_4_an_am_that_begins_to_ask_has_its_share():
    """The AM was idle for long, and the other job used everything meanwhile."""
    made = carbyne(8)
    made.add_app(1)
    made.ask(1, 1, SLOT, priority=0, is_am=True)
    made.add_app(2)
    made.ask(2, 1000, SLOT)
    made.round(0)
    made.round(60 * SECOND)
    assert held(made) == {2: 7}
    made.ask(1, 8, SLOT)
    for number in [n for n, c in made.containers.items() if c.attempt == 2]:
        made.complete(number)
    made.round(SECOND)
    assert held(made) == {1: 3, 2: 4}


# 5: when tasks must start


@pytest.mark.parametrize(("tolerance_ms", "must"), [(0, 1), (500, 1), (1500, 2)])
def test_5_what_must_start_within_the_tolerance_must_start_now(tolerance_ms, must):
    """A chain of 2 s runs beside a task of 1 s that may wait for a second, in a share of two
    slots.
    """
    made = carbyne(4, tolerance_ms=tolerance_ms)
    made.add_app(1, hints=stages((1, 2000.0, []), (1, 1000.0, [])))
    made.ask(1, 1, SLOT, request_id=1)
    made.ask(1, 1, SLOT, request_id=2)
    made.add_app(2, hints=stages((8, 500.0, [])))
    made.ask(2, 8, SLOT, request_id=1)
    made.round(0)
    assert rows(made)[1]["must"] == must


# 8: the job that waited first, below a policy that shares


def test_8_who_has_waited_longest_is_served_first_below_a_sharing_policy():
    """There are two queues of four slots. In the first one 20 jobs arrive, each with a share of
    less than a slot. The job with the most work came first and runs before the twentieth.
    """
    halves = [queue(f"root.{q}", "carbyne", guaranteed={"ppm": 500_000}) for q in "ab"]
    made = Cluster(config(queue("root", "drf"), *halves))
    made.add_node(1, 8 * 1024, 8)
    for number, path in ((1, "root.a"), (50, "root.b")):
        made.add_app(number, path, hints=stages((200, 5_000.0, [])))
        made.ask(number, 100, SLOT, request_id=1)
    made.add_app(2, "root.a", hints=stages((400, 5_000.0, [])))
    made.round(0)
    first: dict[int, int] = {}
    made.ask(2, 400, SLOT, request_id=1)
    for turn in range(200):
        if turn < 60:
            made.add_app(100 + turn, "root.a", hints=stages((2, 5_000.0, [])))
            made.ask(100 + turn, 2, SLOT, request_id=1)
        for number, allocated in list(made.containers.items()):
            if (number + turn) % 5 == 0:
                made.complete(number)
                assert allocated
        for allocated in made.round(SECOND):
            first.setdefault(allocated.attempt, turn)
    assert first[2] < 30, first


# 10: loans that are taken back


def test_10_nothing_is_taken_back_in_a_round_that_allocated_something():
    """A job that was just served may have to wait, and what was just lent may be needed."""
    made = carbyne(4, loan="preempt")
    made.add_app(1, hints=stages((40, 5_000.0, [])))
    made.add_app(2, hints=stages((1, 1_000.0, []), (40, 4_000.0, [0])))
    made.ask(1, 40, SLOT, request_id=1)
    for turn in range(60):
        if turn == 2:
            made.ask(2, 1, SLOT, request_id=1)
        if turn == 8:
            made.ask(2, 40, SLOT, request_id=2)
        plan = made.exchange(SECOND)
        kinds = {type(each) for each in plan.decisions}
        assert not {r.Preempt, r.Allocate} <= kinds
        made.commit(plan)
        if turn % 3 == 0 and made.containers:
            made.complete(min(made.containers))


@pytest.mark.parametrize("jobs", [2, 4, 8])
@pytest.mark.parametrize("slots", [1, 3])
def test_10_shares_smaller_than_a_task_kill_nobody_for_ever(jobs, slots):
    """Each task is larger than a share, and a task that runs is never killed."""
    made = carbyne(slots, loan="preempt")
    for number in range(1, jobs + 1):
        made.add_app(number, hints=stages((3, 3_000.0, []), slots=slots))
        made.ask(number, 3, (1024 * slots, slots), request_id=1)
    killed, ended, began = 0, 0, {}
    for _ in range(40 * jobs):
        before = set(made.containers)
        plan = made.exchange(SECOND)
        killed += len(before - set(made.containers))
        made.commit(plan)
        for number in made.containers:
            began.setdefault(number, made.now)
        for number in list(made.containers):
            if made.now - began[number] >= 3 * SECOND:
                made.complete(number)
                ended += 1
    assert ended == 3 * jobs
    assert killed == 0


# Suspected


def test_an_application_that_moves_leaves_nothing_behind():
    """Neither its plan nor its finished tasks are kept in the queue that it left."""
    made = Cluster(
        config(queue("root", "drf"), queue("root.a", "carbyne"), queue("root.b", "carbyne"))
    )
    made.add_node(1, 4096, 4)
    made.add_app(1, "root.a", user="alice", name="etl", hints=stages((6, 1_000.0, [])))
    made.ask(1, 6, SLOT, request_id=1)
    made.round(0)
    made.complete(min(made.containers))
    made.round(SECOND)
    app = made.state.applications[1]
    made.send(r.ApplicationChangedRecord(made.now, 1, 2, app.priority))
    made.round(SECOND)
    left = made.memory("root.a")
    assert app.id in made.memory("root.b")["jobs"]
    assert (left["jobs"], left["finished"]) == ({}, {})
    for number in list(made.containers):
        made.complete(number)
    made.round(SECOND)
    made.end_app(1)
    made.round(SECOND)
    for path in ("root.a", "root.b"):
        memory = made.memory(path)
        assert (memory["jobs"], memory["finished"]) == ({}, {})


def test_probability_is_drawn_again_at_each_event_of_one_millisecond():
    """On a full cluster a job that may yield is looked at twenty times in one millisecond."""
    made = carbyne(4, altruism=0.5)
    made.add_app(1, hints=stages((1, 2000.0, []), (1, 1000.0, [])))
    made.add_app(2)
    made.ask(2, 10, SLOT)
    made.round(0)
    made.ask(1, 1, SLOT, request_id=1)
    seen = set()
    with always_reporting():
        for turn in range(20):
            made.ask(1, 1 + turn % 2, SLOT, request_id=2)
            made.round(0)
            seen.add(rows(made)[1]["must"])
    assert len(seen) == 2
