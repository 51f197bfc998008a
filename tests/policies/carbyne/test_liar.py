"""A hint that lies hurts nobody but its application, whatever ``loan`` says: up to three liars say
anything of their stages, ask for anything else, and come and go. An honest job without a hint keeps
its share.
"""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from carbyne_clusters import carbyne, held
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag

SLOT, SLOTS, SECOND = (1024, 1), 8, 1000
HONEST, LIARS = 1, 3
LONGEST_MS = 3 * SECOND
"""How long tasks of liars run at the longest; those of the honest job take a second."""

SIZES = st.tuples(st.sampled_from([0, 1, 1024, 4096]), st.integers(0, 4)).filter(any)
STAGES = st.lists(
    st.tuples(st.integers(0, 1000), st.sampled_from([1.0, 1000.0, 30_000.0, 1e9]), SIZES,
              st.booleans()),
    min_size=1, max_size=5,
)  # fmt: skip


class Liars(RuleBasedStateMachine):
    """The cluster, and when the number of jobs changed for the last time."""

    loan = "free"
    looks: ClassVar[list[int]] = []  # when the honest job's share was looked at

    def __init__(self) -> None:
        super().__init__()
        self.made = carbyne(SLOTS // 2, SLOTS // 2, loan=self.loan, most_borrowed=0)
        self.made.add_app(HONEST)
        self.made.ask(HONEST, 100, SLOT)
        self.wants: dict[int, tuple[int, int]] = {}  # of each liar: a stage, and how many tasks
        self.last, self.since_ms = HONEST, 0
        self.began: dict[int, int] = {}

    @precondition(lambda self: len(self.wants) < LIARS)
    @rule(rows=STAGES)
    def come(self, rows):
        """A job comes whose hint is a lie."""
        self.last += 1
        hint = [
            DagStage("", 20, tasks, ms, size, [i - 1] if i and chained else [], i + 1)
            for i, (tasks, ms, size, chained) in enumerate(rows)
        ]
        self.made.add_app(self.last, hints={HINT: write_dag(hint)})
        self.wants[self.last], self.since_ms = (1, 99), self.made.now

    @precondition(lambda self: self.wants)
    @rule(which=st.integers(0, LIARS), stage=st.integers(1, 6), count=st.sampled_from([99, 2, 0]))
    def ask(self, which, stage, count):
        """A liar asks for tasks of a stage that it has, or has not, again and again."""
        liar = sorted(self.wants)[which % len(self.wants)]
        self.made.ask(liar, 0, SLOT, request_id=self.wants[liar][0])
        self.wants[liar] = stage, count

    @precondition(lambda self: self.wants)
    @rule(which=st.integers(0, LIARS))
    def go(self, which):
        """A liar leaves."""
        liar = sorted(self.wants)[which % len(self.wants)]
        self.made.end_app(liar)
        del self.wants[liar]
        self.since_ms = self.made.now

    @rule(which=st.integers(0, SLOTS), kind=st.sampled_from(["completed", "failed"]))
    def end(self, which, kind):
        """A task of a liar ends sooner than its time."""
        own = sorted(n for n, c in self.made.containers.items() if c.attempt != HONEST)
        if own:
            self.made.complete(own[which % len(own)], kind)

    @rule(seconds=st.sampled_from([1, 2, 8]))
    def pass_time(self, seconds):
        """Tasks end in their time; the honest job asks on."""
        for _ in range(seconds):
            now = self.made.now + SECOND
            for number, one in list(self.made.containers.items()):
                ran_ms = now - self.began.get(number, now)
                if ran_ms >= (SECOND if one.attempt == HONEST else LONGEST_MS):
                    self.made.complete(number)
            self.made.ask(HONEST, 100, SLOT)
            for liar, (stage, count) in self.wants.items():
                self.made.ask(liar, count, SLOT, request_id=stage)
            self.made.round(SECOND)
            self.began |= {n: now for n in self.made.containers if n not in self.began}
            if now - self.since_ms > LONGEST_MS + SECOND:
                self.looks.append(now)
                assert held(self.made)[HONEST] >= SLOTS // (1 + len(self.wants))


@pytest.mark.parametrize("loan", ["free", "guarded", "preempt"])
def test_a_lie_takes_nothing_of_an_honest_jobs_share(loan):
    """Once what ran before has ended, the honest job has its share, in whole tasks."""
    few = settings(max_examples=20, stateful_step_count=20, deadline=None)
    machine = type("Liars", (Liars,), {"loan": loan, "looks": []})
    run_state_machine_as_test(machine, settings=few)
    assert len(machine.looks) > 100
