"""Algorithm 3, in containers and over several resources (2.6, 2.8; 4.4; properties 1, 5 to 8)."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loomcard.policies.dress import (
    Outlook,
    Rule,
    adjust,
    adjust_delta,
    quotas,
    split_available,
    split_vectors,
)

FREE, SHARES = st.integers(0, 60), st.floats(0.05, 0.95)
ASKS = st.lists(st.integers(0, 40), max_size=6)
RULE = Rule(0.02, 0.98)


@pytest.mark.parametrize(
    ("ac", "f", "sd", "ld", "leftover", "want"),
    [
        pytest.param((10, 0), (0, 0), [4], [30], "net", 0.08, id="SD has too much"),
        pytest.param((1, 20), (1, 0), [5], [10], "net", 0.40, id="LD has too much"),
        pytest.param((3, 6), (0, 0), [2, 5], [25], "net", 0.28, id="pack: four are moved"),
        pytest.param((3, 6), (0, 0), [2, 5], [25], "gross", 0.30, id="pack as printed"),
        pytest.param((3, 6), (0, 0), [], [], "net", 0.20, id="idle"),
        pytest.param((2, 0), (0, 6), [2, 5], [25], "net", 0.30, id="F2 counts for LD (defect 17)"),
        pytest.param((5, 5), (0, 0), [5, 5], [20], "net", 0.30, id="an exact fit fits (19)"),
        pytest.param((0, 9), (0, 0), [4], [5, 9], "net", 0.28, id="all jobs are looked at (18)"),
    ],
)
def test_algorithm_3_by_hand(ac, f, sd, ld, leftover, want):
    """Worked example 4.4, tot=50, delta=0.20; and a defect's mending in each further row."""
    found = adjust_delta(0.20, 50, *ac, *f, sd, ld, 0.02, 0.98, leftover)
    assert found == pytest.approx(want)


@st.composite
def situations(draw):
    """delta, tot, ac1, ac2, f1, f2, pending demands of SD and LD."""
    tot = draw(st.integers(2, 100))
    used1, used2 = draw(st.integers(0, tot)), draw(st.integers(0, tot))
    delta = draw(SHARES)
    ac = max(0, tot - used1 - used2)
    ac1, ac2 = split_available(ac, quotas(delta, tot)[0], used1)
    f1, f2 = draw(st.integers(0, used1)), draw(st.integers(0, used2))
    return delta, tot, ac1, ac2, f1, f2, draw(ASKS), draw(ASKS), used1


@given(each=situations())
def test_delta_stays_within_its_bounds(each):
    """Property 1; and 5: idle keeps it, with one side silent it moves to the other."""
    *each, _ = each
    delta, tot, ac1, _, f1, _, sd, ld = each
    dmin, dmax = 1 / tot, 1 - 1 / tot
    delta = each[0] = min(max(delta, dmin), dmax)
    found = adjust_delta(*each, dmin, dmax)
    assert dmin <= found <= dmax
    assert tot < 3 or 0 < found < 1
    if not sum(sd):
        assert found <= delta
        assert sum(ld) or found == delta
    elif not sum(ld) and ac1 + f1 < sum(sd):
        assert found >= delta


@given(each=situations())
def test_packing_never_takes_from_small_jobs(each):
    """Property 6: with no small job that fits the leftovers delta is the same."""
    delta, _, ac1, ac2, f1, f2, sd, ld, _ = each
    assume(ac1 + f1 < sum(sd) and ac2 + f2 < sum(ld))
    found = adjust_delta(*each[:8], 0, 1)
    assert found >= delta
    if min(r for r in sd if r) > ac1 + f1 + ac2 + f2:
        assert found == delta


@given(each=situations(), sd=st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_more_small_demand_never_shrinks_the_share(each, sd):
    """Property 7, in branch 1: what is free and forecast suffices for it."""
    delta, tot, _, ac2, f1, f2, _, ld, _ = each
    shares = [
        adjust_delta(delta, tot, sum(sd), ac2, f1, f2, sd[:n], ld, 0, 1)
        for n in range(1, len(sd) + 1)
    ]
    assert shares == sorted(shares)


@given(each=situations())
def test_what_is_free_for_small_jobs_is_given_to_them(each):
    """Property 8: where ac1 >= p1 and no forecast, the new quota has room for all that is pending;
    with ``floor_demand``, whatever is forecast, unless it was too little before.
    """
    delta, tot, ac1, ac2, f1, f2, _, ld, used1 = each
    sd = [ac1 - ac1 // 2, ac1 // 2]
    without = adjust_delta(delta, tot, ac1, ac2, 0, f2, sd, ld, 1 / tot, 1 - 1 / tot)
    look = one_type(tot, ac1, ac2, f1, f2, sd, ld, used1)
    floored = adjust(delta, look, Rule(1 / tot, 1 - 1 / tot, floor_demand=True)).delta
    for found in (without, floored):
        assert not ac1 or quotas(found, tot)[0] - used1 >= min(ac1, tot - 1 - used1)


def one_type(tot, ac1, ac2, f1, f2, sd, ld, used1=0, shape=(1.0,)):
    """The same as vectors: each container is ``shape``."""

    def of(x):
        return [x * part for part in shape]

    asks = ([of(r) for r in sd], [of(r) for r in ld])
    return Outlook(of(tot), (of(ac1), of(ac2)), (of(f1), of(f2)), asks, of(used1))


@given(each=situations(), leftover=st.sampled_from(["net", "gross"]))
def test_vectors_of_equal_containers_are_the_papers_count(each, leftover):
    """With one type, and with containers of the cluster's own shape and a type that is absent."""
    *plain, used1 = each
    want = adjust_delta(*plain, 0.02, 0.98, leftover)
    for shape in ((1.0,), (1024.0, 1.0), (2.0, 0.0)):
        look = one_type(*plain[1:], used1, shape)
        assert adjust(plain[0], look, Rule(0.02, 0.98, leftover)).delta == pytest.approx(want)


@given(each=situations(), slim=st.floats(0.1, 1))
def test_a_resource_that_never_runs_out_changes_nothing(each, slim):
    """Equal containers that need less of a second type than the cluster has beside the first, and
    both categories within their quotas: the paper's count.
    """
    delta, tot, _, _, f1, f2, sd, ld, used1 = each
    (q1, q2), used2 = quotas(delta, tot), f2
    assume(used1 <= q1 and used2 <= q2)
    total, small, large = (tot, tot), (used1, used1 * slim), (used2, used2 * slim)
    ac = [max(0.0, t - a - b) for t, a, b in zip(total, small, large, strict=True)]
    free = split_vectors(ac, (q1, q1), small)
    ac1, ac2 = split_available(max(0, tot - used1 - used2), q1, used1)
    asks = tuple([(r, r * slim) for r in side] for side in (sd, ld))
    look = Outlook(total, free, ((f1, f1 * slim), (f2, f2 * slim)), asks, small)
    want = adjust_delta(delta, tot, ac1, ac2, f1, f2, sd, ld, 0.02, 0.98)
    assume(ac1 + f1 >= sum(sd) or ac2 + f2 >= sum(ld))
    assert adjust(delta, look, RULE).delta == pytest.approx(want)


def test_several_resources_by_hand():
    """Surplus is the scarcest; "enough" is meant of every type; what moves counts by its dominant
    share.
    """
    shrink = Outlook((100, 100), ((20, 10), (0, 0)), ((0, 0), (0, 0)), ([(5, 5)], [(9, 9)]), (0, 0))
    assert adjust(0.3, shrink, RULE) == adjust(0.25, shrink, replace(RULE, dmin=0.25))
    assert adjust(0.3, shrink, RULE).delta == pytest.approx(0.25)
    pack = Outlook((100, 100), ((2, 9), (9, 9)), ((0, 0), (0, 0)), ([(4, 6)], [(1, 50)]), (0, 0))
    found = adjust(0.3, pack, RULE)
    assert found.branch == "pack"
    assert found.delta == pytest.approx(0.32)
    part = Outlook((100, 100), ((0, 2), (9, 4)), ((0, 0), (0, 0)), ([(8, 10)], [(1, 50)]), (0, 0))
    assert adjust(0.3, part, RULE).delta == pytest.approx(0.30)
    half = adjust(0.3, part, replace(RULE, pack="partial"))
    assert half.delta == pytest.approx(0.34)  # half of the (8, 8) that it lacks
    grow = Outlook((100, 100), ((2, 2), (9, 8)), ((0, 0), (0, 0)), ([(4, 6)], [(1, 3)]), (0, 0))
    assert adjust(0.3, grow, RULE).delta == pytest.approx(0.35)


def small_waits(free=(0, 9), f=(0, 0), sd=(4,), ld=(30,), used1=10):
    """Of 100 containers."""
    return one_type(100, *free, *f, sd, ld, used1)


@pytest.mark.parametrize(
    ("rule", "look", "want"),
    [
        pytest.param({"growth": "shortage"}, small_waits(ld=()), 0.24, id="no more than lacks"),
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
        pytest.param({"rate": 0.01}, small_waits(), 0.21, id="a step at a time, up"),
        pytest.param({"rate": 0.01}, small_waits((10, 0)), 0.19, id="a step at a time, down"),
        pytest.param({"dead_band": 0.05}, small_waits(), 0.20, id="too small a change"),
        pytest.param({"dead_band": 0.04}, small_waits(), 0.24, id="a change as large as the band"),
        pytest.param({}, small_waits((0, 0), (9, 0)), 0.15, id="a forecast that is relied on"),
        pytest.param({"floor_need": True}, small_waits((0, 0), (9, 0), used1=17), 0.15,
                     id="the projected need itself"),
        pytest.param({"floor_need": True}, small_waits((0, 0), (9, 0), used1=23), 0.18,
                     id="not below the projected need"),
        pytest.param({"floor_demand": True}, small_waits((4, 0), (6, 0), used1=16), 0.20,
                     id="free for all that is pending: no forecast is relied on"),
    ],
)  # fmt: skip
def test_what_goes_beyond_the_paper_by_hand(rule, look, want):
    """Each extension changes what it says, from delta=0.20."""
    assert adjust(0.20, look, replace(RULE, **rule)).delta == pytest.approx(want)


@given(each=situations(), rate=st.floats(0.001, 0.5), band=st.floats(0, 0.5))
def test_delta_moves_within_rate_and_dead_band(each, rate, band):
    """A change is at most the rate, and none at all below the band, bounds aside."""
    *plain, used1 = each
    look = one_type(*plain[1:], used1)
    found = adjust(plain[0], look, Rule(0, 1, rate=rate, dead_band=band)).delta
    wanted = adjust(plain[0], look, Rule(0, 1)).delta
    assert abs(found - plain[0]) <= rate + 1e-12
    if abs(wanted - plain[0]) < band - 1e-6:
        assert found == plain[0]
