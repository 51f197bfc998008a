"""Tests of the properties of docs/papers/carbyne.md 5 that are about the whole policy.

Random jobs of several stages come to several nodes in the simulator. What the policy reports at
each call is compared with what the ResourceManager has. test_paper.py tests the properties of
single functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as replaced

from compiled import config, flat, queue
from loomcard import Plan
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.engine import round as rounds
from loomcard.engine.session import replay
from loomcard.model.resource import Resource
from loomcard.policies.carbyne import intra_job, pack
from loomcard.policies.carbyne.jobs import Jobs
from loomcard.policies.carbyne.policy import Carbyne
from loomcard.policies.carbyne.report import CarbyneState
from loomcard.policies.carbyne.waves import Stage as PaperStage
from loomcard.policies.carbyne.waves import starts_by
from loomcard.simulator.engine import Simulation
from loomcard.stress.predicates import Consistent, Ends, Guarantee
from loomcard.stress.watch import Watch
from loomcard.testing.cluster import Cluster
from loomcard.workload.scenario import Scenario, ScenarioApplication
from loomcard.workload.scenario import Stage as Work
from scenarios import app, scenario, stage

NEAR = 1e-6
SECOND = 1000
FEW = settings(max_examples=20)
LONG_MS = 10_000 * SECOND
"""More time than all tasks of all jobs take one after the other."""


@dataclass
class Call:
    """One call of the policy: the slots that each application used before it, and what was reported
    at its end.
    """

    now_ms: int
    slots: int
    before: dict[str, int]
    jobs: dict[str, Any] = field(default_factory=dict)
    state: Any = None


@dataclass
class Seen:
    """A scenario that was run under carbyne."""

    calls: list[Call] = field(default_factory=list)
    watch: Watch | None = None
    simulation: Simulation | None = None

    def ends(self) -> dict[str, int]:
        """Return the time when each application's last task ended."""
        assert self.simulation is not None
        found: dict[str, int] = {}
        for row in self.simulation.rows:
            found[row.application] = max(found.get(row.application, 0), row.finished_ms or 0)
        return found

    def rows(self, by: int = 1) -> list[tuple[Any, ...]]:
        """Return where and when each task ran, in units of ``by`` ms."""
        assert self.simulation is not None
        return sorted(
            (r.application, r.stage, r.task, r.node, (r.started_ms or 0) / by,
             (r.finished_ms or 0) / by)
            for r in self.simulation.rows
        )  # fmt: skip


def play(wanted: Scenario, compiled: dict[str, Any] | None = None, **options: Any) -> Seen:
    """Run the scenario to its end, comparing all state; let the policy report at every call."""
    seen, decide, report = Seen(), Carbyne.decide, Plan.report

    def noted(self: Carbyne, view: Any, memory: Any) -> Any:
        slots = view.cluster_capacity[1]
        before = {a.id: a.used[1] for a in view.applications}
        seen.calls.append(Call(view.now_ms, slots, before))
        assert len(seen.calls) < 1500, "the policy is called again and again"
        return decide(self, view, memory)

    def kept(self: Plan, about: Any, state: Any) -> None:
        if isinstance(state, CarbyneState):
            seen.calls[-1].state = state
            seen.calls[-1].jobs = {job.id: job for job in state.jobs}
        report(self, about, state)

    largest = {name: Resource((1024, 1)) for name in ("root.a", "root.b") if compiled}
    watch = seen.watch = Watch(largest)
    made = seen.simulation = Simulation(
        wanted, compiled or flat("carbyne", **options), check=True, watch=watch.look
    )
    watch.follow(made)
    with (
        patch.object(Carbyne, "decide", noted), patch.object(Plan, "report", kept),
        patch.object(rounds, "REPORT_EVERY_MS", 0),
    ):  # fmt: skip
        made.run()
    watch.end()
    watch.seen.states = {master.spec.id: master.record.state for master in made.masters}
    watch.seen.refusals = dict(made.rm.refusals)
    assert made.finished == len(made.masters)
    return seen


@st.composite
def works(draw: Any, most: int = 4, width: int = 3) -> list[Work]:
    """Draw stages of tasks that take whole seconds and 1 to ``width`` slots each."""
    found = []
    for i in range(draw(st.integers(1, most))):
        slots = draw(st.integers(1, width))
        after = sorted(draw(st.sets(st.integers(0, i - 1), max_size=2))) if i else []
        ms = SECOND * draw(st.sampled_from([1, 2, 4, 7]))
        tasks = draw(st.integers(1, 6))
        found.append(stage([ms] * tasks, i + 1, size=(1024 * slots, slots), after=after))
    return found


@st.composite
def jobs(draw: Any, most: int = 4, width: int = 3, online: bool = True) -> list[Any]:
    """Draw applications of random stages, which arrive at the beginning or one by one."""
    found, at_ms = [], 0
    for number in range(draw(st.integers(1, most))):
        found.append(app(f"j{number}", *draw(works(width=width)), submit_ms=at_ms))
        at_ms += SECOND * draw(st.sampled_from([0, 0, 1, 3])) if online else 0
    return found


SHAPES = st.sampled_from([(1, 6), (1, 3), (3, 4), (5, 3)])
"""The number of nodes, and the slots of each."""
LOANS = st.sampled_from(["free", "guarded", "preempt"])


def on(apps: list[ScenarioApplication], shape: tuple[int, int], **keys: Any) -> Scenario:
    return scenario(*apps, nodes=shape[0], slots=shape[1], stop_ms=LONG_MS, **keys)


@given(jobs(), SHAPES, LOANS)
@FEW
def test_3_must_starts_keep_to_the_share_and_nothing_is_over_capacity(apps, shape, loan):
    """At every call, what must start fits into the share beside what the job has, or is one task.
    What is given up is not negative. The simulator checks all capacities.
    """
    for call in play(on(apps, shape), loan=loan).calls:
        assert call.state.given >= 0
        for name, job in call.jobs.items():
            if job.must > 1:
                assert (call.before[name] + job.must) / call.slots <= job.fair + NEAR


@given(works(most=3), SHAPES)
@FEW
def test_4_a_job_alone_ends_when_its_schedule_says(stages, shape):
    """On one node the job ends at T of the first call. On several it ends no sooner than the
    longest chain, and never later than twice T, because tasks are not split between nodes.
    """
    seen = play(on([app("j0", *stages)], shape))
    [end] = seen.ends().values()
    planned = next(iter(seen.calls[0].jobs.values())).left_ms
    if shape[0] == 1:
        assert end == pytest.approx(planned)


@given(jobs(), SHAPES, st.sampled_from([1.0, 0.5, 0.0]))
@FEW
def test_6_no_room_is_left_that_a_task_could_use(apps, shape, altruism):
    """After the policy has decided, no ask fits into room that is not reserved."""
    seen = play(on(apps, shape), altruism=altruism)
    assert seen.watch is not None
    assert seen.watch.seen.idle.ms == 0


@given(jobs(width=1), st.integers(1, 12), st.integers(0, 9), SHAPES)
@FEW
def test_7_nobody_starves_and_loans_delay_a_share_by_one_task(apps, tasks, at_s, shape):
    """A job without stages has at least its share, in whole tasks, from the end of the longest task
    that ran when it arrived until it wants no more.
    """
    victim = app("victim", stage([SECOND] * tasks, 1), submit_ms=at_s * SECOND)
    coming = sorted([*apps, victim], key=lambda each: each.submit_ms)
    with patch("loomcard.simulator.application_master.hints", honest_but("victim")):
        seen = play(on(coming, shape))
    assert seen.simulation is not None
    slots = shape[0] * shape[1]
    promised = max(1, slots // len(coming))
    longest = max(max(work.durations_ms) for each in coming for work in each.stages)
    rows = [r for r in seen.simulation.rows if r.application == "victim"]
    last = max(r.started_ms or 0 for r in rows)
    for now in range(at_s * SECOND + longest, last, SECOND // 2):
        running = sum((r.started_ms or 0) <= now < (r.finished_ms or 0) for r in rows)
        assert running >= min(promised, slots // len(coming))


def test_7_loans_that_are_taken_back_come_to_an_end():
    """Four jobs have three slots. Each job's task is larger than its share, and no other may kill
    it.
    """
    tasks = [[SECOND] * 2, [SECOND] * 2, [2 * SECOND], [SECOND] * 2]
    apps = [app(f"j{i}", stage(rows)) for i, rows in enumerate(tasks)]
    seen = play(on(apps, (1, 3)), loan="preempt")
    assert set(seen.ends()) == {"j0", "j1", "j2", "j3"}


def honest_but(*liars: str) -> Any:
    """Return a function that gives every application its own hint, except ``liars``, which get
    none.
    """
    from loomcard.workload.hints import hints

    return lambda one: {} if one.id in liars else hints(one)


def first_round(apps: list[list[Work]], slots: int, **options: Any) -> tuple[Any, list[list[Any]]]:
    """Run all jobs at once on one node; return the report of the first call and the jobs' stages in
    the form of the paper's functions.
    """
    coming = [app(f"j{k}", *rows) for k, rows in enumerate(apps)]
    seen = play(on(coming, (1, slots)), **options)
    call = next(c for c in seen.calls if len(c.jobs) == len(apps))
    found = [
        [PaperStage(len(s.durations_ms), s.size, s.durations_ms[0], s.after) for s in rows]
        for rows in apps
    ]
    return call, found


JOBS_AT_ONCE = st.lists(works(most=3), min_size=1, max_size=4)


@given(JOBS_AT_ONCE, st.integers(3, 6))
@FEW
def test_9_without_altruism_the_start_set_is_greedy_and_10_it_is_the_larger(apps, share_slots):
    """At the first call, what must start of each job is what its schedule starts first. With P = 0
    the schedule is packed, with P = 1 it is as late as possible; the first is never less.
    """
    slots = share_slots * len(apps)
    greedy, paper = first_round(apps, slots, altruism=0.0)
    yielding, _ = first_round(apps, slots)
    share = [1024 * slots / len(apps), slots / len(apps)]
    whole = [1024 * slots, slots]
    for (name, job), stages in zip(sorted(greedy.jobs.items()), paper, strict=True):
        forward = starts_by(pack(stages, share, whole)[0], 0.0).total()
        late = starts_by(intra_job(stages, share, whole).late, 0.0).total()
        assert (job.must, yielding.jobs[name].must) == (forward, late)
        assert job.must >= yielding.jobs[name].must


ROWS = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 4)),
    min_size=2, max_size=5, unique_by=lambda row: row[0] * row[1] * row[2],
)  # fmt: skip


@given(ROWS, st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_11_on_several_nodes_no_job_borrows_before_a_shorter_one_that_fits(rows, nodes):
    """Nothing must start of these jobs: each ends with a long stage that is not asked for."""
    made = Cluster(flat("carbyne", most_borrowed=0))
    for number, slots in enumerate(nodes, 1):
        made.add_node(number, 1024 * slots, slots)
    left, work = {}, {}
    for number, (seconds, width, tasks) in enumerate(rows, 1):
        hint = [(tasks, SECOND * seconds), (1, 10**9)]
        made.add_app(number, hints=hinted(hint, width))
        made.ask(number, tasks, (1024 * width, width), priority=1)
        left[number], work[number] = tasks, tasks * seconds * width + 1e6 * width
    room = dict(enumerate(nodes, 1))
    for allocated in made.round(0):
        for other in left:
            if work[other] < work[allocated.attempt] and left[other]:
                assert rows[other - 1][1] > max(room.values())
        room[allocated.node] -= rows[allocated.attempt - 1][1]
        left[allocated.attempt] -= 1


def hinted(stages: list[tuple[int, float]], width: int) -> dict[str, str]:
    """Return the hint of stages without parents, each given as (tasks, ms of each task)."""
    size = (1024 * width, width)
    rows = [DagStage(f"s{i}", i + 1, n, ms, size) for i, (n, ms) in enumerate(stages)]
    return {HINT: write_dag(rows)}


@given(jobs(), SHAPES, st.sampled_from([2, 10]))
@FEW
def test_15_scale_of_amounts_and_of_times_changes_nothing_but_units(apps, shape, by):
    """If all sizes and nodes, or all times, are multiplied by one number, the schedule is the
    same.
    """
    plain = play(on(apps, shape)).rows()
    larger = [resized(each, by) for each in apps]
    nodes, slots = shape
    assert play(on(larger, (nodes, slots * by))).rows() == plain
    longer = [stretched(each, by) for each in apps]
    slow = play(on(longer, shape), reserve_after_ms=5000 * by)
    usual = play(on(apps, shape), reserve_after_ms=5000)
    assert slow.rows(by) == usual.rows()


def crowd(seed: int) -> list[ScenarioApplication]:
    """Return thirty jobs that come one by one, with some long tasks of unlike sizes each."""
    rng, found = Random(seed), []  # noqa: S311 - no secret
    for number in range(30):
        rows = []
        for i in range(rng.randint(1, 3)):
            size = (1024 * rng.randint(1, 3), rng.randint(0 if number % 5 == 0 else 1, 3))
            tasks = [SECOND * rng.randint(5, 90)] * rng.randint(2, 12)
            rows.append(stage(tasks, i + 1, size=size, after=[i - 1] if i else []))
        at_s = rng.randint(0, 60 + 100 * (seed % 3))
        found.append(app(f"j{number}", *rows, submit_ms=at_s * SECOND))
    return sorted(found, key=lambda one: one.submit_ms)


@pytest.mark.parametrize("seed", [1, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 2))])
def test_a_job_that_is_not_looked_at_again_would_decide_alike(seed):
    """Shares move, and only jobs whose dues, plans and places they change are looked at. A policy
    that looks at all jobs in every call decides alike and reports the same.
    """
    apps, shape = crowd(seed), (4, 8 + 8 * seed)
    loan = "guarded" if seed == 3 else "free"
    options = {"loan": loan, "most_borrowed": 1.5, "learn": seed % 2 > 0}
    without = honest_but(*(f"j{number}" for number in range(0, 30, 3)))
    with patch("loomcard.simulator.application_master.hints", without):
        lazy = play(on(apps, shape), **options)
        with patch.object(Jobs, "_due", lambda self, _view, _first: list(self.by_app)):
            eager = play(on(apps, shape), **options)
    assert lazy.rows() == eager.rows()
    assert [call.state for call in lazy.calls] == [call.state for call in eager.calls]


def test_with_preemption_room_stays_idle_for_seconds_only():
    """Room is not lent for ``reserve_after_ms`` after a task must start and fits nowhere; then it
    is kept on one node. It stayed idle for 72 s as long as all such room was kept.
    """
    watch = play(on(crowd(0), (4, 8)), loan="preempt").watch
    assert watch is not None
    assert watch.seen.idle.ms <= 20 * SECOND


def resized(one: ScenarioApplication, by: int) -> ScenarioApplication:
    works = [replaced(s, size=tuple(a * by for a in s.size)) for s in one.stages]
    return replaced(one, stages=works)


def stretched(one: ScenarioApplication, by: int) -> ScenarioApplication:
    works = [replaced(s, durations_ms=[ms * by for ms in s.durations_ms]) for s in one.stages]
    return replaced(one, stages=works, submit_ms=one.submit_ms * by)


@given(jobs(), SHAPES, st.sampled_from([1.0, 0.5]), LOANS)
@FEW
def test_16_the_same_seed_gives_the_same_schedule_whatever_names_are(apps, shape, altruism, loan):
    """Two runs are the same, and so is a run in which every application has another name."""
    options = {"altruism": altruism, "loan": loan}
    once, twice = play(on(apps, shape), **options), play(on(apps, shape), **options)
    assert once.rows() == twice.rows()
    names = {each.id: f"x{99 - i}" for i, each in enumerate(apps)}
    renamed = play(on([replaced(a, id=names[a.id]) for a in apps], shape), **options).rows()
    assert sorted((names[a], *rest) for a, *rest in once.rows()) == renamed


@given(jobs(), SHAPES, LOANS)
@settings(max_examples=15)
def test_16_every_segment_of_a_journal_is_decided_again_alike(apps, shape, loan):
    """A replay decides alike from the first round on, and from the beginning of each later
    segment.
    """
    with TemporaryDirectory() as folder:
        made = Simulation(on(apps, shape), flat("carbyne", loan=loan), journal=Path(folder))
        made.run()
        assert not list(replay(Path(folder)))


def check_deadlines(seen: Seen, *, grows: bool) -> None:
    """Check that D_k never moves back until the first call at which a share shrank; without
    ``grows``, until the first at which it changed at all.
    """
    before: dict[str, tuple[float, float]] = {}
    over: set[str] = set()
    for call in seen.calls:
        for name, job in call.jobs.items():
            fair, deadline = before.get(name, (job.fair, float("inf")))
            if job.fair < fair - NEAR or (not grows and job.fair > fair + NEAR):
                over.add(name)
            if name not in over and job.left_ms:
                assert call.now_ms + job.left_ms <= deadline + 1
                deadline = call.now_ms + job.left_ms
            before[name] = job.fair, deadline


@given(jobs(width=2), SHAPES)
@FEW
def test_17_a_deadline_is_kept_while_the_share_stays(apps, shape):
    check_deadlines(play(on(apps, shape), learn=False), grows=False)


@given(jobs(), SHAPES)
@example([app("j0", stage([SECOND])), app("j1", stage([SECOND], size=(3072, 3)))], (1, 3))
@FEW
def test_17_a_deadline_is_kept_when_the_share_grows(apps, shape):
    check_deadlines(play(on(apps, shape), learn=False), grows=True)


HALF = {"ppm": 500_000}


@pytest.mark.parametrize("above", ["drf", "hdrf", "fair", "capacity"])
@given(jobs(most=5, width=1), jobs(most=3, width=1), SHAPES)
@FEW
def test_18_altruism_takes_nothing_of_another_queues_share(above, left, right, shape):
    """Two queues have a half each below a policy that shares. While both want more, each has its
    half, less at most one task, once the tasks that ran before have ended.
    """
    apps = [replaced(a, queue="root.a") for a in left]
    apps += [replaced(a, queue="root.b", id=f"r{i}") for i, a in enumerate(right)]
    halves = [queue(f"root.{q}", "carbyne", guaranteed=HALF) for q in "ab"]
    made = config(queue("root", above), *halves)
    seen = play(on(sorted(apps, key=lambda each: each.submit_ms), shape), made)
    assert seen.watch is not None
    broken = Guarantee({"root.a": 0.5, "root.b": 0.5}, 7 * SECOND, most_ms=0)
    said = broken.broken(seen.watch.seen)
    assert said is None or "never wanted" in said
    assert Consistent().broken(seen.watch.seen) is Ends().broken(seen.watch.seen) is None
