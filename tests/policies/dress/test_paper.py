"""Tests of the paper's rules: which jobs are small, Equation 9, Algorithm 3 in containers and over
several resources (docs/papers/dress.md 2.2, 2.5, 2.6, 2.8, 4.3, 4.4; properties 1, 5 to 8, 11, 13).
"""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loomcard.policies.dress import (
    LARGE,
    SMALL,
    DeltaInputs,
    Phase,
    Rule,
    adjust,
    classify,
    phase_cum,
    phase_expected,
    split,
)

COUNTS, SHARES = st.integers(0, 500), st.floats(0.05, 0.95)
ASKS = st.lists(st.integers(0, 40), max_size=6)
RULE = Rule(0.02, 0.98)


@pytest.mark.parametrize(
    ("r", "tot", "theta", "want"),
    [
        pytest.param(10, 100, 0.1, SMALL, id="the border itself is small"),
        pytest.param(11, 100, 0.1, LARGE, id="one more is large"),
        pytest.param(29, 100, 0.29, SMALL, id="0.29 * 100 is 29, whatever floating point says"),
        pytest.param(0, 100, 0.1, SMALL, id="nothing asked for"),
    ],
)
def test_a_job_is_large_when_it_demands_more_than_its_part(r, tot, theta, want):
    """A job is large if it demands strictly more than theta * tot."""
    assert classify([r], [tot], theta) == want


@given(r=COUNTS, tot=st.integers(1, 500), theta=st.floats(0.01, 0.99), factor=st.integers(1, 50))
def test_classification_depends_on_the_ratio_alone(r, tot, theta, factor):
    """Property 13: scaling demand and cluster by one factor changes nothing, except exactly at the
    border.
    """
    if abs(r - theta * tot) > 1e-6:
        assert classify([r * factor], [tot * factor], theta) == classify([r], [tot], theta)


def test_the_dominant_share_decides_over_several_resources():
    """A job that demands much of one resource is large. A resource that it does not ask for does
    not count; one that the cluster does not have does.
    """
    assert classify((1024, 1, 0), (10240, 10, 0), 0.1) == SMALL
    assert classify((1024, 2, 0), (10240, 10, 0), 0.1) == LARGE
    assert classify((1024, 1, 1), (10240, 10, 0), 0.1) == LARGE


def phase(gamma=100, dps=5, c=10, running=None):
    """Return a phase that releases tasks, all of which run unless ``running`` says otherwise."""
    tasks = dict.fromkeys(range(c if running is None else running), (1,))
    return Phase(psf=0, psl=dps, c=c, dps=dps, gamma=gamma, running=tasks)


@pytest.mark.parametrize(
    ("t", "released", "expected"),
    [(100, 0, 2), (101, 2, 2), (103, 6, 2), (105, 10, 0), (106, 10, 0)],
)
def test_equation_9_by_hand(t, released, expected):
    """The values are those of worked example 4.3: gamma=100, dps=5, c=10."""
    assert phase_cum(t, 0, 100, 5, 10) == released
    assert phase_expected(t, 1, 0, phase()) == expected


def test_nothing_is_released_before_the_job():
    """Nothing is released without a gamma or before the start."""
    assert phase_cum(103, None, 100, 5, 10) == 0
    assert phase_cum(103, 0, None, 5, 10) == phase_cum(100, 0, 100, 5, 10) == 0
    assert phase_cum(1000, 0, 100, 5, 10) == 10


def test_tasks_that_started_together_are_released_within_a_tick():
    """A dps of 0 counts as tau (docs/papers/dress.md 3-16)."""
    assert phase_cum(101, 0, 100, 0, 10) == 10
    assert phase_expected(100, 1, 0, phase(dps=0)) == 10


def test_no_more_is_expected_than_still_runs():
    """Eight of ten tasks have ended already."""
    assert phase_expected(100, 5, 0, phase(running=2)) == 2


def test_an_open_phase_is_forecast_by_its_variation_so_far():
    """Short tasks end before the last task has started."""
    early = phase()
    early.psl, early.dps = 4, None
    assert phase_expected(100, 1, 0, early) == 2.5


@given(
    gamma=st.integers(0, 50), dps=st.integers(0, 40), c=st.integers(0, 30), gone=st.integers(0, 30)
)
def test_forecasts_stay_within_the_phase(gamma, dps, c, gone):
    """Property 11: 0 <= expected <= running, and over all ticks the sum is at most c."""
    each = phase(gamma, dps, c, max(0, c - gone))
    found = [phase_expected(t, 1, 0, each) for t in range(100)]
    assert all(0 <= x <= len(each.running) for x in found)
    assert sum(found) <= c + 1e-9


def listing(delta, tot, ac1, ac2, f1, f2, sd, ld, dmin=0.0, dmax=1.0):
    """Return the new delta by Algorithm 3 in containers, line by line; ``adjust`` is compared with
    it.
    """
    small, large = sorted(r for r in sd if r > 0), sorted(r for r in ld if r > 0)
    p1, p2 = sum(small), sum(large)
    a1, a2 = ac1 + f1, ac2 + f2
    if p1 == 0 and p2 == 0:
        pass
    elif a1 >= p1:
        delta -= (a1 - p1) / tot
    elif a2 >= p2:
        delta += (a2 - p2) / tot
    else:
        i = 0
        while i < len(small) and small[i] <= a1:
            a1 -= small[i]
            i += 1
        for r in large:
            if r > a2:
                break
            a2 -= r
        while i < len(small) and small[i] <= a1 + a2:
            moved = max(0.0, small[i] - a1)
            a1 = max(0.0, a1 - small[i])
            a2 -= moved
            delta += moved / tot
            i += 1
    return min(max(delta, dmin), dmax)


def one_type(tot, ac1, ac2, f1, f2, sd, ld, shape=(1.0,)):
    """Return numbers of containers as vectors; each container is ``shape``."""

    def of(x):
        return [x * part for part in shape]

    asks = ([of(r) for r in sd], [of(r) for r in ld])
    return DeltaInputs(of(tot), (of(ac1), of(ac2)), (of(f1), of(f2)), asks)


def adjusted(delta, *situation, rule=RULE, shape=(1.0,)):
    """Return the new delta by Algorithm 3 over vectors, from a situation in containers."""
    return adjust(delta, one_type(*situation, shape=shape), rule)[0]


@pytest.mark.parametrize(
    ("ac", "f", "sd", "ld", "want"),
    [
        pytest.param((10, 0), (0, 0), [4], [30], 0.08, id="SD has too much"),
        pytest.param((1, 20), (1, 0), [5], [10], 0.40, id="LD has too much"),
        pytest.param((3, 6), (0, 0), [2, 5], [25], 0.28, id="pack: four are moved"),
        pytest.param((3, 6), (0, 0), [], [], 0.20, id="idle"),
        pytest.param((2, 0), (0, 6), [2, 5], [25], 0.30, id="F2 counts for LD (3-17)"),
        pytest.param((5, 5), (0, 0), [5, 5], [20], 0.30, id="an exact fit fits (19)"),
        pytest.param((0, 9), (0, 0), [4], [5, 9], 0.28, id="all jobs are looked at (18)"),
    ],
)
def test_algorithm_3_by_hand(ac, f, sd, ld, want):
    """The cases are those of docs/papers/dress.md 4.4 with tot=50 and delta=0.20; each further row
    shows the repair of a defect.
    """
    situation = (50, *ac, *f, sd, ld)
    assert listing(0.20, *situation, 0.02, 0.98) == pytest.approx(want)
    assert adjusted(0.20, *situation) == pytest.approx(want)


@st.composite
def situations(draw):
    """Draw delta, tot, ac1, ac2, f1, f2, the pending demands of SD and LD, and what SD uses."""
    tot = draw(st.integers(2, 100))
    used1, used2 = draw(st.integers(0, tot)), draw(st.integers(0, tot))
    delta = draw(SHARES)
    ac = max(0, tot - used1 - used2)
    reading = draw(st.sampled_from(["printed", "share"]))
    [ac1], [ac2] = split([ac], delta, [delta * tot], [used1], reading)
    f1, f2 = draw(st.integers(0, used1)), draw(st.integers(0, used2))
    return delta, tot, ac1, ac2, f1, f2, draw(ASKS), draw(ASKS), used1


@given(ac=st.tuples(COUNTS, COUNTS), used=st.tuples(COUNTS, COUNTS), delta=SHARES)
def test_what_is_free_is_split_without_rest(ac, used, delta):
    """Property 2: ac1 + ac2 = ac, and neither is below 0. With ``printed`` ac1 is at most what
    SMALL's quota leaves, with ``share`` it is delta of ac.
    """
    quota = [delta * 500] * 2
    for reading in ("printed", "share"):
        one, two = split(ac, delta, quota, used, reading)
        assert [a + b for a, b in zip(one, two, strict=True)] == pytest.approx(list(ac))
        assert min(*one, *two) >= -1e-9
        if reading == "share":
            assert one == [delta * each for each in ac]
        else:
            rows = zip(one, quota, used, strict=True)
            assert all(a <= max(0.0, q - u) for a, q, u in rows)


@given(each=situations())
def test_delta_stays_within_its_bounds(each):
    """Properties 1 and 5: with both sides idle delta stays; with one side silent it moves to the
    other.
    """
    delta, tot, ac1, ac2, f1, f2, sd, ld, _ = each
    found = adjusted(delta, tot, ac1, ac2, f1, f2, sd, ld, rule=Rule(0.05, 0.95))
    assert 0.05 <= found <= 0.95
    if not sum(sd):
        assert found <= delta
        assert sum(ld) or found == delta
    elif not sum(ld) and ac1 + f1 < sum(sd):
        assert found >= delta


@given(each=situations())
def test_packing_never_takes_from_small_jobs(each):
    """Property 6: if no small job fits the leftovers, delta stays the same."""
    delta, tot, ac1, ac2, f1, f2, sd, ld, _ = each
    assume(ac1 + f1 < sum(sd) and ac2 + f2 < sum(ld))
    found = adjusted(delta, tot, ac1, ac2, f1, f2, sd, ld, rule=Rule())
    assert found >= delta
    if min(r for r in sd if r) > ac1 + f1 + ac2 + f2:
        assert found == delta


@given(each=situations(), sd=st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_more_small_demand_never_shrinks_the_share(each, sd):
    """Property 7 in branch 1: what is free and forecast is enough for the demand."""
    delta, tot, _, ac2, f1, f2, _, ld, _ = each
    shares = [
        adjusted(delta, tot, sum(sd), ac2, f1, f2, sd[:n], ld, rule=Rule())
        for n in range(1, len(sd) + 1)
    ]
    assert shares == sorted(shares)


@given(each=situations())
def test_what_is_free_for_small_jobs_is_given_to_them(each):
    """Property 8 as printed: if ac1 >= p1 and nothing is forecast, the new quota has room for all
    that is pending.
    """
    delta, tot, _, _, _, f2, _, ld, used1 = each
    ac1 = max(0.0, delta * tot - used1)
    sd = [ac1 / 2, ac1 / 2]
    found = adjusted(delta, tot, ac1, tot, 0, f2, sd, ld, rule=Rule())
    assert not ac1 or found * tot - used1 >= ac1 - 1e-6


@given(each=situations())
def test_vectors_of_equal_containers_are_the_papers_count(each):
    """This holds for one type, and for containers of the cluster's own shape with a type that is
    absent.
    """
    plain = each[:8]
    want = listing(*plain, 0.02, 0.98)
    for shape in ((1.0,), (2.0, 0.0)):
        assert adjusted(*plain, shape=shape) == pytest.approx(want)


@given(each=situations(), slim=st.floats(0.1, 1))
def test_a_resource_that_never_runs_out_changes_nothing(each, slim):
    """If equal containers need less of a second type than the cluster has, and both categories are
    within their quotas, the result is the paper's count.
    """
    delta, tot, _, _, f1, f2, sd, ld, used1 = each
    quota, used2 = [delta * tot] * 2, f2
    assume(used1 <= quota[0] and used2 <= tot - quota[0])
    total, small, large = (tot, tot), (used1, used1 * slim), (used2, used2 * slim)
    ac = [max(0.0, t - a - b) for t, a, b in zip(total, small, large, strict=True)]
    free = split(ac, delta, quota, small)
    (ac1,), (ac2,) = split([max(0, tot - used1 - used2)], delta, quota[:1], [used1])
    asks = tuple([(r, r * slim) for r in side] for side in (sd, ld))
    look = DeltaInputs(total, free, ((f1, f1 * slim), (f2, f2 * slim)), asks)
    want = listing(delta, tot, ac1, ac2, f1, f2, sd, ld, 0.02, 0.98)
    assume(ac1 + f1 >= sum(sd) or ac2 + f2 >= sum(ld))
    assert adjust(delta, look, RULE)[0] == pytest.approx(want)


def test_several_resources_by_hand():
    """The surplus is that of the scarcest type, "enough" refers to every type, and what moves
    counts by its dominant share.
    """
    nothing = ((0, 0), (0, 0))
    shrink = DeltaInputs((100, 100), ((20, 10), (0, 0)), nothing, ([(5, 5)], [(9, 9)]))
    assert adjust(0.3, shrink, RULE) == (pytest.approx(0.25), "shrink")
    pack = DeltaInputs((100, 100), ((2, 9), (9, 9)), nothing, ([(4, 6)], [(1, 50)]))
    assert adjust(0.3, pack, RULE) == (pytest.approx(0.32), "pack")
    part = DeltaInputs((100, 100), ((0, 2), (9, 4)), nothing, ([(8, 10)], [(1, 50)]))
    assert adjust(0.3, part, RULE) == (pytest.approx(0.30), "pack")
    half, _ = adjust(0.3, part, replace(RULE, pack="partial"))
    assert half == pytest.approx(0.34)  # half of the (8, 8) that are missing
    grow = DeltaInputs((100, 100), ((2, 2), (9, 8)), nothing, ([(4, 6)], [(1, 3)]))
    assert adjust(0.3, grow, RULE) == (pytest.approx(0.35), "grow")


def small_waits(free=(0, 9), f=(0, 0), sd=(4,), ld=(30,)):
    """Return a situation of 100 containers in which a small job waits."""
    return one_type(100, *free, *f, sd, ld)


@pytest.mark.parametrize(
    ("rule", "look", "want"),
    [
        pytest.param({}, small_waits(ld=()), 0.29, id="all that is too much"),
        pytest.param({}, small_waits(sd=(4, 12)), 0.24, id="whole demands alone"),
        pytest.param({"pack": "partial"}, small_waits(sd=(4, 12)), 0.29, id="and part of the next"),
        pytest.param({"pack": "partial"}, small_waits((3, 5), sd=(12, 13)), 0.25,
                     id="of one job alone, all that is left"),
        pytest.param({"pack": "partial"}, small_waits(ld=(5, 30), sd=(12,)), 0.24,
                     id="what is left after large jobs that fit"),
        pytest.param({"pack": "partial", "lends": False}, small_waits(sd=(12,)), 0.20,
                     id="nor a part where nothing is lent"),
        pytest.param({"lends": False}, small_waits(), 0.20, id="a large job has waited too long"),
        pytest.param({}, small_waits((0, 0), (9, 0)), 0.15, id="a forecast that is relied on"),
    ],
)  # fmt: skip
def test_what_goes_beyond_the_paper_by_hand(rule, look, want):
    """Each extension changes what its name says, from delta=0.20."""
    assert adjust(0.20, look, replace(RULE, **rule))[0] == pytest.approx(want)
