"""Tests of Algorithms 1 and 2: bursts, trailing and heading tasks, small phases (2.4; property
12).
"""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loomcard.policies.dress import Tracker, Windows, phases

TENTHS = Windows(window_ms=100)  # the times below are tenths of a second; the window is 10 s


def play(starts, ends=(), until=300, windows=TENTHS, waiting=None):
    """Return a tracker after ticks of a second. Tasks are numbered by their place in ``starts``."""
    job = Tracker()
    for task, at in enumerate(starts):
        job.note_start(at, task)
    for task, at in ends:
        job.note_finish(at, task)
    for t in range(0, until + 1, 10):
        left = sum(at > t for at in starts) if waiting is None else waiting
        job.advance(t, lambda left=left: left, windows)
    return job


def facts(job):
    """Return (c, psf, psl, dps, gamma) of each phase."""
    return [(p.c, p.psf, p.psl, p.dps, p.gamma) for p in job.phases]


def test_a_burst_of_starts_is_a_phase():
    """More than t_s starts within the window open a phase, and a window without a start closes
    it.
    """
    job = play([5, 7, 9, 12, 20, 21, 35])
    assert facts(job) == [(7, 5, 35, 30, None)]
    assert job.alpha == 5
    assert job.forming is None


def test_the_next_burst_is_the_next_phase():
    """The maps are one phase and, after a quiet window, the reduces are the next."""
    maps, reduces = [1, 2, 3, 4, 5, 6, 7], [200, 202, 204, 206, 208, 210]
    assert facts(play(maps + reduces, until=400, waiting=0)) == [
        (7, 1, 7, 6, None),
        (6, 200, 210, 10, None),
    ]


def test_a_phase_that_trickles_swallows_the_next():
    """12 tasks come 3 s apart, then 12 more at t=80. They are one phase with c=24 and dps=81.1 s (a
    limit that remains).
    """
    starts = [30 * i for i in range(12)] + [800 + i for i in range(12)]
    assert facts(play(starts, until=1200))[0][:4] == (24, 0, 811, 811)


def test_four_reduces_are_a_phase():
    """As printed, four tasks never exceed 5. Here the threshold of a phase of four is 3."""
    assert facts(play([0, 1, 2, 3])) == [(4, 0, 3, 3, None)]


def test_tasks_that_are_still_awaited_widen_a_phase():
    """If six tasks were asked for together, the first three starts are no burst yet."""
    assert [p.burst for p in play([0, 1, 2], until=10, waiting=3).phases] == [False]
    assert [p.burst for p in play([0, 1, 2], until=10, waiting=0).phases] == [True]


def test_a_heading_task_does_not_set_gamma():
    """The task ended long before the burst of ends, and gamma is the least value of that window
    alone.
    """
    ends = [(0, 13), *((task, 180 + task) for task in range(1, 8))]
    [phase] = play([0] * 8, ends).phases
    assert phase.gamma == 181


def test_trailing_tasks_count_to_the_next_phase():
    """Two of eight tasks still run when a window passes without an end. No earlier phase takes them
    over, only one that begins later.
    """
    ends = [(task, 50 + task) for task in range(6)]
    windows = Windows(window_ms=100, finish=4)
    alone = play([0] * 8, ends, windows=windows)
    assert [p.c for p in alone.phases] == [6]
    assert sorted(alone.carry) == [6, 7]
    later = play([0] * 8 + [200] * 6, ends, windows=windows, waiting=0)
    assert [p.c for p in later.phases] == [6, 8]
    assert later.carry == {}
    assert later.phases[1].w == 6  # they never start again


def test_a_phase_passes_tasks_on_once():
    """Tasks that a phase receives afterwards stay with it (docs/papers/dress.md 3-12)."""
    job = play([0] * 8 + [200] * 6, windows=TENTHS, until=400, waiting=0)
    first, second = job.phases
    first.gamma, second.gamma, second.moved = 300, 310, True
    job.evaluate(500, lambda: 0, TENTHS)
    assert (first.running, len(second.running), second.c, job.carry) == ({}, 14, 14, {})


def test_a_carried_task_only_leaves():
    """The end of a carried task changes no phase."""
    ends = [(task, 50 + task) for task in range(6)] + [(6, 220), (7, 221)]
    job = play([0] * 8, ends, windows=Windows(window_ms=100, finish=4), until=220)
    assert sorted(job.carry) == [7]
    assert [p.fins for p in job.phases] == [[]]


def test_an_end_of_a_task_that_never_ran_frees_its_container_alone():
    """The task was killed before RUNNING, or ended in the millisecond in which it began."""
    job = play([0, 5], [(1, 5), (77, 9)])
    assert job.phases[0].c == 1
    assert list(job.owner) == [0]


def test_a_task_that_failed_is_no_end_of_the_phase():
    """The task frees its container but does not count towards the burst of ends."""
    job = Tracker()
    for task in range(4):
        job.note_start(0, task)
        job.note_finish(50, task, ok=task == 0)
    job.advance(60, lambda: 0, TENTHS)
    assert (job.phases[0].fins, job.phases[0].running, job.phases[0].gamma) == ([50], {}, None)


TASKS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(1, 200), st.booleans(), st.booleans()), max_size=40
)


def events_of(tasks):
    """Return what a tracker is told of the tasks: time, method, arguments."""
    events = []
    for task, (start, ran, ends, ok) in enumerate(tasks):
        events.append((start, Tracker.note_start, (task,)))
        if ends:
            events.append((start + ran, Tracker.note_finish, (task, ok)))
    return events


@example(  # a task begins in the second in which a carried one ends
    tasks=[(71, 1, True, True), (172, 200, True, False), (371, 1, False, False)],
    order=Random(1),  # noqa: S311 - an order, not a secret
)
@given(tasks=TASKS, order=st.randoms(use_true_random=False))
def test_the_tracker_loses_no_task(tasks, order):
    """Property 12: the sum of c and carry is the number of starts less the tasks that ended while
    carried; psf <= psl; gamma is set once, and tasks move once. Events of equal times may come in
    any order.
    """
    events = events_of(tasks)
    windows = Windows(window_ms=100, start=2, finish=2)
    runs = []
    for shuffled in (events, order.sample(events, len(events))):
        job, carried, history = Tracker(), 0, []
        for at, note, arguments in sorted(shuffled, key=lambda event: event[0]):
            note(job, at, *arguments)
        for t in range(0, 800, 10):
            for now in sorted({at for at, _, _ in events if t - 10 < at <= t}):
                ended = {e[2][0] for e in events if e[:2] == (now, Tracker.note_finish)}
                carried += len(ended & set(job.carry))  # a task that starts takes the others over
                job.apply(now)
            job.advance(t, lambda: 0, windows)
            started = sum(e[0] <= t for e in events if e[1] is Tracker.note_start)
            assert sum(p.c for p in job.phases) + len(job.carry) == started - carried
            history.append([(p.gamma, p.moved) for p in job.phases])
        runs.append(job)
        for phase in job.phases:
            assert phase.psl is None or phase.psf <= phase.psl
        for before, after in pairwise(history):
            for (gamma, moved), (later, still) in zip(before, after, strict=False):
                assert gamma in (None, later)
                assert still >= moved
    assert runs[0] == runs[1]


@given(tasks=TASKS, rounds=st.sets(st.integers(0, 600)))
def test_events_that_are_applied_between_ticks_count_as_those_applied_at_the_tick(tasks, rounds):
    """Property 12's tasks, which start before they end."""
    events = events_of(tasks)
    windows = Windows(window_ms=100, start=2, finish=2)
    early, late = Tracker(), Tracker()
    for t in sorted(rounds | set(range(0, 700, 10))):
        for tracker in (early, late):
            for at, note, arguments in [each for each in events if each[0] <= t]:
                note(tracker, at, *arguments)
        events = [each for each in events if each[0] > t]
        if t % 10 == 0:
            for tracker in (early, late):
                tracker.advance(t, lambda: 0, windows)
            assert early == late
        else:
            early.apply(t)


@given(st.integers(0, 1 << 30))
def test_phases_that_are_over_leave_no_trace(seed):
    """A service has one burst after the other: dropping the first ones changes no forecast."""
    random, kept, all_ = Random(seed), Tracker(), Tracker()  # noqa: S311 - examples
    running, t = [], 0
    for task in range(600):
        for job in (kept, all_):
            job.note_start(t, task)
        running.append(task)
        if random.random() < 0.3:
            t += random.choice([10, 110, 300])
            ended = [each for each in running if random.random() < 0.8]
            running = [each for each in running if each not in ended]
            for job, most in ((kept, 2), (all_, 1 << 30)):
                for each in ended:
                    job.note_finish(t, each)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(phases, "MOST_OVER", most)
                    job.advance(t, lambda: 0, TENTHS)
    assert kept.dropped > 0
    assert all_.dropped == 0
    assert facts(kept) == facts(all_)[kept.dropped :]
    assert [p.running for p in kept.phases] == [p.running for p in all_.phases[kept.dropped :]]
    assert kept.carry == all_.carry
    assert not any(p.running for p in all_.phases[: kept.dropped])
