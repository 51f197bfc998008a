"""Tests of Carbyne's functions: the worked examples of section 3 and the properties of section 5 of
docs/papers/carbyne.md.
"""

from bisect import bisect_right
from collections import Counter
from math import inf, isclose
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loomcard.policies.carbyne import (
    inter_job,
    intra_job,
    leftover,
    pack,
    packing,
    reverse,
    right_shift,
    water_filling,
)
from loomcard.policies.carbyne.waves import (
    Profile,
    Stage,
    TooLongError,
    Wants,
    Wave,
    envelope,
    starts_by,
)

# Fig. 2: two DAGs on one resource of capacity 1.
J1 = [Stage(2, [0.04], 1.0), Stage(3, [0.21], 1.0), Stage(1, [0.1], 0.1, [0, 1])]
J2 = [Stage(2, [0.29], 1.0)]
NEAR = 1e-6

SIZES = st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.7])
DIRECTIONS = st.lists(st.integers(1, 9), min_size=2, max_size=2)


@st.composite
def dags(draw, running=False, types=2):
    """Draw up to six stages, each after some of the earlier ones; their sizes are within a unit
    cluster.
    """
    stages = []
    for i in range(draw(st.integers(1, 6))):
        size = [draw(SIZES) for _ in range(types)]
        parents = sorted(draw(st.sets(st.integers(0, i - 1), max_size=2))) if i else []
        roots = running and not parents
        lefts = st.tuples(st.sampled_from([0.5, 1.0, 2.5]), st.just(1))
        held = draw(st.lists(lefts, max_size=2)) if roots else []
        dur = draw(st.sampled_from([1.0, 2.0, 3.0, 0.7]))
        stages.append(Stage(draw(st.integers(1, 7)), size, dur, parents, held))
    return stages


SHARES = st.lists(st.sampled_from([0.2, 0.5, 0.75, 1.0]), min_size=2, max_size=2)
UNIT = [1.0, 1.0]


def check_feasible(stages, share, end, waves):
    """Check that each task runs once, that no task starts before its parents end, that the waves
    stay within the envelope (except what ran before), and that all end by ``end``.
    """
    count = Counter()
    for wave in waves:
        count[wave.stage] += wave.tasks
        assert wave.start >= 0
        assert wave.pinned or wave.end <= end + NEAR
        if not wave.pinned:
            for parent in stages[wave.stage].parents:
                ends = [other.end for other in waves if other.stage == parent]
                assert max(ends, default=0.0) <= wave.start + NEAR
    assert count == {
        i: n for i, s in enumerate(stages) if (n := s.tasks + sum(held for _, held in s.running))
    }
    room = envelope(stages, share)
    for started in waves:
        if not started.pinned:
            alive = [w for w in waves if w.start <= started.start + NEAR < w.end - NEAR]
            for r, most in enumerate(room):
                used = sum(w.tasks * stages[w.stage].size[r] for w in alive)
                assert used <= most + NEAR


def test_figure_2_shares():
    assert inter_job([[1.7], [0.58]], [1, 1], [1.0]) == ([[0.5], [0.5]], [0.0])


@pytest.mark.parametrize(("job", "end"), [(J1, 2.1), (J2, 2.0)])
def test_figure_2_completion_inside_the_share(job, end):
    assert pack(job, [0.5], [1.0])[1] == pytest.approx(end)


@pytest.mark.parametrize("how", ["reversed", "right shift"])
def test_figure_2_latest_starts_and_must_starts(how):
    """The latest starts are 0, 1, 1 for S1, 1, 1 for S0 and 2 for S2. One task of S1 must start,
    and one of J2's.
    """
    forward, end = pack(J1, [0.5], [1.0])
    late = right_shift(J1, forward, end, [0.5], [1.0])
    if how == "reversed":
        late = intra_job(J1, [0.5], [1.0]).late
    starts = sorted((w.stage, w.start) for w in late for _ in range(w.tasks))
    expected = [(0, 1), (0, 1), (1, 0), (1, 1), (1, 1), (2, 2)]
    assert [(i, pytest.approx(start)) for i, start in expected] == starts
    assert starts_by(late, 0.0) == {1: 1}
    assert starts_by(intra_job(J2, [0.5], [1.0]).late, 0.0) == {0: 1}


def test_figure_2_leftover_and_who_gets_it():
    """The leftover is 0.29 + 0.21. J2's second task gets it first, then one of J1's S1; nothing is
    left.
    """
    left = (0.5 - 0.21) + (0.5 - 0.29)
    work = [2 * 0.04 + 3 * 0.21 + 0.01, 2 * 0.29]
    jobs = [Wants(work[0], [([0.04], 2), ([0.21], 2)]), Wants(work[1], [([0.29], 1)])]
    assert list(leftover(jobs, [left], [1.0])) == [(1, 0), (0, 1)]


def test_reverse_packing_that_wants_more_than_greedy_is_not_taken():
    """In the case of 2.5-6, both tasks of s1 must start if packed backwards, and one of s0 if
    packed greedily.
    """
    job = [
        Stage(2, [0.6], 3.0), Stage(2, [0.5], 3.0),
        Stage(1, [0.3], 3.0, [0, 1]), Stage(1, [0.3], 3.0, [0]),
    ]  # fmt: skip
    schedule = intra_job(job, [1.0], [1.0])
    assert starts_by(schedule.late, 0.0) <= starts_by(schedule.forward, 0.0) == {0: 1}


@pytest.mark.parametrize(("jobs", "arrivals"), [(4, 0), (4, 4)])
def test_altruism_arithmetic(jobs, arrivals):
    """With one resource each job gets 1/n; after m arrivals each gets 1/(n + m)."""
    n = jobs + arrivals
    shares, left = inter_job([[3.0]] * n, [1] * n, [1.0])
    assert shares == [[1 / n]] * n
    assert left == [0.0]


def test_a_task_larger_than_the_share_is_planned_alone():
    """T is finite, whatever the share is (2.5-3)."""
    assert pack([Stage(2, [0.8], 1.0)], [0.1], [1.0])[1] == 2.0


def test_a_large_stage_costs_by_its_waves():
    """A hundred thousand tasks, a thousand at a time, make a hundred waves, and no more than the
    limit allows.
    """
    job = [Stage(100_000, [0.001], 1.0)]
    assert [w.tasks for w in pack(job, [1.0], [1.0])[0]] == [1000] * 100
    with pytest.raises(TooLongError):
        pack(job, [1.0], [1.0], most=50)


STAGGERED = Stage(20_000, [0.01], 9.0, [], [(1.7 * k + 0.4, 20) for k in range(5)])


def test_the_far_part_of_a_long_schedule_may_be_coarse():
    """A third of the waves, the same tasks, an end within a hundredth; near waves are the same."""
    exact, end = pack([STAGGERED], [1.0], [1.0])
    waves, coarse_end = pack([STAGGERED], [1.0], [1.0], coarse=0.05)
    assert end <= coarse_end <= 1.01 * end
    assert len(exact) > 1000 > 350 > len(waves)
    assert waves[:100] == exact[:100]
    assert sum(wave.tasks for wave in waves) == sum(wave.tasks for wave in exact)
    check_feasible([STAGGERED], [1.0], coarse_end, waves)


def test_a_profile_counts_the_times_that_it_looks_at():
    """Three tasks, of which the second is inside the first and the third after both."""
    profile = Profile([1.0], 1e-9)
    for start, end, steps in [(0.0, 4.0, 1), (1.0, 2.0, 2), (4.0, 5.0, 3)]:
        profile.take(start, end, [0.1], 1)
        assert profile.steps == steps


USES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 6) | st.just(inf), SIZES, st.integers(1, 3)),
    max_size=8,
)


@given(USES)
def test_a_profile_is_filled_as_if_one_after_the_other(rows):
    """What is free at each time is the same; a use may have no end."""
    uses = [(float(start), start + length, [size], tasks) for start, length, size, tasks in rows]
    filled, taken = Profile([1.0], 1e-9), Profile([1.0], 1e-9)
    filled.fill(uses)
    for use in uses:
        taken.take(*use)

    def free(profile, time):
        return profile.free[bisect_right(profile.at, time) - 1][0]

    assert filled.at == taken.at
    assert all(isclose(free(filled, t), free(taken, t), abs_tol=1e-9) for t in range(14))


WEIGHTED = st.lists(st.tuples(DIRECTIONS, st.sampled_from([1.0, 2.0, 0.5])), min_size=1, max_size=6)


@given(WEIGHTED)
def test_1_drf_equal_and_2_shares_feasible(jobs):
    demands, weights = [d for d, _ in jobs], [w for _, w in jobs]
    whole = [40.0, 10.0]
    shares, left = inter_job(demands, weights, whole)
    filled, left_too = water_filling(demands, weights, whole)
    assert [pytest.approx(a) for a in shares] == filled
    assert left_too == pytest.approx(left, abs=NEAR)
    dominant = [max(a / c for a, c in zip(s, whole, strict=True)) for s in shares]
    per_weight = [d / w for d, w in zip(dominant, weights, strict=True)]
    assert max(per_weight) == pytest.approx(min(per_weight))
    used = [sum(s[r] for s in shares) for r in (0, 1)]
    assert all(u <= c + NEAR for u, c in zip(used, whole, strict=True))
    assert all(amount >= 0 for amount in left)
    assert any(isclose(u, c) for u, c in zip(used, whole, strict=True))


@given(WEIGHTED)
def test_1_a_job_that_reaches_its_cap_leaves_the_rest_to_the_others(jobs):
    """A job is filled up to its cap. The others get what they would get without it from the
    rest.
    """
    demands, weights = [d for d, _ in jobs], [w for _, w in jobs]
    caps = [[4.0, 4.0], *([[100.0, 100.0]] * (len(jobs) - 1))]
    shares, _ = water_filling(demands, weights, [10.0, 10.0], caps)
    assert all(a <= c + NEAR for s, cap in zip(shares, caps, strict=True)
               for a, c in zip(s, cap, strict=True))  # fmt: skip
    assume(len(jobs) > 1)
    used = [sum(s[r] for s in shares) for r in (0, 1)]
    assert max(used) == pytest.approx(10.0)


def test_1_a_job_that_needs_nothing_of_a_full_type_goes_on():
    shares, left = water_filling([[1, 0], [1, 1], [0, 1]], [1, 1, 1], [12.0, 24.0])
    assert shares == [[6.0, 0.0], [6.0, 6.0], [0.0, 18.0]]
    assert left == [0.0, 0.0]


@given(dags(), SHARES)
def test_3_leftover_is_not_negative(stages, share):
    """What must start of a job that has not started is within its envelope."""
    must = starts_by(intra_job(stages, share, UNIT).late, 0.0)
    for r, most in enumerate(envelope(stages, share)):
        assert sum(n * stages[i].size[r] for i, n in must.items()) <= most + NEAR


@given(dags(running=True), SHARES)
def test_4_own_envelope(stages, share):
    """Both schedules stay within the envelope, keep the order of stages, and end at T; also where
    completions that are near each other count as one.
    """
    with patch.object(packing, "EXACT_WAVES", 0):
        coarse, coarse_end = pack(stages, share, UNIT, coarse=0.2)
    check_feasible(stages, share, coarse_end, coarse)
    forward, end = pack(stages, share, UNIT)
    check_feasible(stages, share, end, forward)
    schedule = intra_job(stages, share, UNIT)
    check_feasible(stages, share, end, schedule.late)
    check_feasible(stages, share, end, right_shift(stages, forward, end, share, UNIT))
    assert max(wave.end for wave in schedule.late) <= end + NEAR


@given(st.lists(st.tuples(st.integers(1, 9), SIZES, SIZES, st.integers(1, 5)), max_size=6),
       st.sampled_from(["srtf", "pack"]))  # fmt: skip
def test_6_work_conserving_and_11_srtf_order(rows, rule):
    """No job starts a task while a shorter job has one that fits; at the end nothing fits."""
    jobs = [Wants(work, [([a, b], n)]) for work, a, b, n in rows]
    room, left = [1.0, 1.0], [n for *_, n in rows]

    def fits(k):
        return left[k] and all(s <= f + NEAR for s, f in zip(rows[k][1:3], room, strict=True))

    for k, i in leftover(jobs, room, UNIT, rule):
        assert i == 0
        assert fits(k)
        if rule == "srtf":
            assert not any(fits(j) for j, job in enumerate(jobs) if job.work < jobs[k].work)
        left[k] -= 1
        room = [f - s for f, s in zip(room, rows[k][1:3], strict=True)]
    assert not any(fits(k) for k in range(len(rows)))


@given(dags(running=True), SHARES)
def test_8_must_starts_are_minimal(stages, share):
    """No task that must start could begin a tick later while all others stay where they are."""
    schedule = intra_job(stages, share, UNIT)
    tick = 1e-4
    for wave in schedule.late:
        if wave.pinned or wave.start > 0:
            continue
        rest = [w for w in schedule.late if w is not wave]
        if wave.tasks > 1:
            rest.append(wave._replace(tasks=wave.tasks - 1))
        moved = wave._replace(start=tick, end=wave.end + tick, tasks=1)
        with pytest.raises(AssertionError):
            check_moved(stages, share, schedule.end, rest, moved)


def check_moved(stages, share, end, rest, moved):
    check_feasible(stages, share, end, [*rest, moved])
    check_interval(stages, share, [*rest, moved], moved)


def check_interval(stages, share, waves, moved):
    """Check the envelope at each change within ``moved``, tasks that began before it included."""
    for time in sorted({moved.start, *(w.start for w in waves), moved.end - 1e-5}):
        if moved.start <= time < moved.end:
            alive = [w for w in waves if w.start <= time < w.end - NEAR]
            for r, most in enumerate(envelope(stages, share)):
                used = sum(w.tasks * stages[w.stage].size[r] for w in alive)
                assert used <= most + NEAR


@given(dags(running=True), SHARES)
def test_10_altruism_is_monotone(stages, share):
    """A job that yields starts no more of any stage than one that takes all it can."""
    schedule = intra_job(stages, share, UNIT)
    assert starts_by(schedule.late, 0.0) <= starts_by(schedule.forward, 0.0)


@given(st.integers(1, 60), SIZES, st.sampled_from([0.5, 0.75, 1.0]))
def test_12_a_flat_job_yields_the_slack_of_its_last_wave(tasks, size, share):
    """It also yields the part of its share that is too small for a task."""
    stages = [Stage(tasks, [size], 1.0)]
    at_once = max(1, int((share + NEAR) / size))
    must = starts_by(intra_job(stages, [share], [1.0]).late, 0.0)[0]
    slack = -tasks % at_once
    assert must == at_once - slack


@given(dags())
def test_13_reverse_duality(stages):
    assert reverse(reverse(stages)) == stages


@given(st.lists(st.tuples(st.integers(1, 5), SIZES, st.sampled_from([1.0, 2.0])), min_size=1),
       SHARES)  # fmt: skip
def test_13_a_chain_takes_as_long_backwards(rows, share):
    stages = [Stage(n, [s, s], d, [i - 1] if i else []) for i, (n, s, d) in enumerate(rows)]
    forward, end = pack(stages, share, UNIT)
    assert pack(reverse(stages), share, UNIT)[1] == pytest.approx(end)
    assert {w.stage for w in forward} == set(range(len(rows)))


@given(dags(running=True), SHARES, st.sampled_from([0.001, 7.0, 4096.0]))
def test_15_scale(stages, share, by):
    """If all amounts, or all times, are scaled, only the units change."""
    plain = intra_job(stages, share, UNIT)
    larger = [s._replace(size=[a * by for a in s.size]) for s in stages]
    scaled = intra_job(larger, [a * by for a in share], [by, by])
    assert starts_by(scaled.late, 0.0) == starts_by(plain.late, 0.0)
    assert scaled.end == pytest.approx(plain.end)
    longer = [
        s._replace(dur=s.dur * by, running=[(left * by, n) for left, n in s.running])
        for s in stages
    ]
    stretched = intra_job(longer, share, UNIT)
    assert stretched.end == pytest.approx(plain.end * by)
    assert starts_by(stretched.late, 0.0) == starts_by(plain.late, 0.0)


@given(WEIGHTED, st.randoms(use_true_random=False))
def test_16_names_change_nothing(jobs, rng):
    """Jobs in another order get the same shares and the same part of the leftover."""
    order = rng.sample(range(len(jobs)), len(jobs))
    shares = inter_job([d for d, _ in jobs], [w for _, w in jobs], [9.0, 7.0])[0]
    mixed = [jobs[k] for k in order]
    others = inter_job([d for d, _ in mixed], [w for _, w in mixed], [9.0, 7.0])[0]
    assert [pytest.approx(shares[k]) for k in order] == others
    wants = [Wants(k + 1.0, [(d, 3)]) for k, (d, _) in enumerate(jobs)]
    got = [order.index(k) for k, _ in leftover(wants, [9.0, 7.0], [9.0, 7.0])]
    assert got == [k for k, _ in leftover([wants[k] for k in order], [9.0, 7.0], [9.0, 7.0])]


def test_what_runs_stays_where_it_is():
    """A running task that uses more than the share delays what does not fit beside it."""
    job = [Stage(1, [0.4], 1.0, (), [(2.0, 2)])]
    schedule = intra_job(job, [0.5], [1.0])
    assert schedule.forward[0] == Wave(0.0, 2.0, 0, 2, True)
    assert schedule.end == 3.0
    assert starts_by(schedule.late, 0.0) == {}
