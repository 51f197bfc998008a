"""Tests of what absurd jobs cost under carbyne. Calls are counted; time is not measured. The
numbers are those of the list of known defects.
"""

from __future__ import annotations

import sys
from typing import Any
from unittest.mock import patch

import pytest

from carbyne_clusters import carbyne, stages
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.policies.carbyne import planning
from loomcard.policies.carbyne.policy import Carbyne
from loomcard.testing.cluster import Cluster

SLOT = (1024, 1)
SECOND = 1000


WIDE = [DagStage("", 20, 1, 1000 + i, SLOT, [], i) for i in range(3000)]
MANY = [DagStage("s", 20, 10**9, 1000, SLOT, [], 1)]
LAST = [DagStage("", 20, 1, 1000 + i, SLOT, [], i) for i in range(1500)]
LAST.append(DagStage("", 20, 1, 1000, SLOT, list(range(1500)), 1500))
CHAIN = [DagStage("", 20, 3, 1000, SLOT, [i - 1] if i else [], i) for i in range(2000)]
SHAPES = [DagStage("", 20, 50, 999 + i, (1024 + i, 1), [], i) for i in range(1000)]

FIRST_CALLS, CALLS = 1_000_000, 100_000
"""The most Python and C functions that the policy may call to decide: the first time that a hint is
seen, and on average in later rounds. A million are about 150 ms of CPU.
"""


def calls_of(made: Cluster, advance_ms: int = SECOND) -> int:
    """Return how many functions a round of the policy calls."""
    count = 0

    def note(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        plan = made.exchange(advance_ms)
    finally:
        sys.setprofile(None)
    made.commit(plan)
    return count


@pytest.mark.parametrize(
    "hint",
    [
        WIDE, MANY, LAST, CHAIN,
        SHAPES,
    ],
    ids=["wide", "many tasks", "one after all", "chain", "shapes"],
)  # fmt: skip
def test_1_an_absurd_hint_costs_little_in_every_round(hint):
    """The lying job changes its ask in every round and its tasks end, so it counts as changed."""
    made = carbyne(4, 4)
    made.add_app(1, hints={HINT: write_dag(hint)})
    made.add_app(2)
    made.ask(1, 4, SLOT, request_id=1)
    made.ask(2, 100, SLOT)
    seen = []
    for turn in range(20):
        made.ask(1, 4 + turn % 2, SLOT, request_id=1)
        made.ask(1, 1 + turn % 3, SLOT, request_id=2)
        for number in [n for n, c in made.containers.items() if c.attempt == 1][:1]:
            made.complete(number)
        seen.append(calls_of(made))
    assert seen[0] <= FIRST_CALLS
    assert sum(seen[1:]) / len(seen[1:]) <= CALLS


FORK = [
    DagStage("", 20, 2, 1000 + 37 * i % 91, (1024 * (1 + i % 3), 1), [i // 2] if i else [], i)
    for i in range(150)
]


@pytest.mark.parametrize("hint", [WIDE[:100], CHAIN[:100], FORK], ids=["wide", "chain", "fork"])
def test_1_who_changes_its_asks_all_the_time_is_not_planned_all_the_time(hint):
    """There are a hundred heartbeats in a second, each of which asks for more than the hint
    says.
    """
    made = carbyne(8, 8)
    made.add_app(1, hints={HINT: write_dag(hint)})
    made.add_app(2)
    made.ask(2, 100, SLOT)
    made.round()
    seen = []
    for turn in range(100):
        made.ask(1, 10 + turn, SLOT, request_id=1)
        seen.append(calls_of(made, 10))
    assert max(seen) <= FIRST_CALLS
    assert sum(seen) / len(seen) <= CALLS / 5


def coming_and_going(others: int) -> float:
    """Return how many functions the policy calls in the mean when a job comes or goes, beside so
    many jobs that want more than they have.
    """
    made, seen, decide = carbyne(8, 8), [], Carbyne.decide
    for number in range(1, others + 1):
        made.add_app(number, hints=stages((2, 20_000.0, []), (2, 20_000.0 + number, [0])))
        made.ask(number, 2, SLOT, request_id=1)
    made.round()

    def counted(self: Carbyne, view: Any, memory: Any) -> Any:
        before, calls = sys.getprofile(), 0

        def note(_frame: object, event: str, _arg: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            return decide(self, view, memory)
        finally:
            sys.setprofile(before)
            seen.append(calls)

    with patch.object(Carbyne, "decide", counted):
        for number in range(10_000, 10_010):
            made.add_app(number, hints=stages((1, 20_000.0, [])))
            made.ask(number, 1, SLOT, request_id=1)
            made.round(1)
            made.end_app(number)
            made.round(1)
    return sum(seen) / len(seen)


def test_what_a_job_costs_that_comes_and_goes_does_not_grow_with_the_others():
    """All shares move each time; to look at every job would cost five times as much."""
    assert coming_and_going(400) <= 1.1 * coming_and_going(50)


def woken(made: Cluster, until_ms: int) -> int:
    """Return how often the policy's own timers wake it until that time, if nothing else happens."""
    count = 0
    while True:
        plan = made.exchange(0)
        made.commit(plan)
        due = min(made.timers.values(), default=None)
        if due is None or due > until_ms:
            return count
        made.now, count = max(made.now, due), count + 1
        assert count < 1000


def test_7_timers_do_not_lie_a_millisecond_apart():
    """Each of a hundred tasks must start a millisecond after the one before."""
    made = carbyne(200)
    made.add_app(1)
    made.ask(1, 200, SLOT)
    made.round(0)
    made.add_app(2, hints=stages(*((1, 10_000.0 - i, []) for i in range(100))))
    for i in range(100):
        made.ask(2, 1, SLOT, request_id=i + 1)
    assert woken(made, made.now + SECOND) <= 20


def planned_again(made: Cluster, advance_ms: int) -> int:
    """Return how many schedules a round makes."""
    with patch.object(planning, "intra_job", wraps=planning.intra_job) as made_one:
        made.commit(made.exchange(advance_ms))
    return made_one.call_count


@pytest.mark.parametrize(("tasks", "together"), [(400, 1), (40, 6)], ids=["long", "short"])
def test_no_round_makes_the_long_schedules_of_several_jobs(tasks, together):
    """All six jobs are planned again when the cluster shrinks, in order: a round makes one of the
    schedules, unless they are short. None is forgotten.
    """
    made = carbyne(8, 8)
    for number in range(1, 7):
        made.add_app(number, hints={HINT: write_dag([DagStage("", 20, tasks, 1000, SLOT, [], 1)])})
        made.ask(number, tasks, SLOT, request_id=1)
    made.round()
    made.now += 20 * SECOND
    made.lose_node(2)
    counts = [planned_again(made, 100) for _ in range(8)]
    assert sum(counts) == 6
    assert max(counts) == together
