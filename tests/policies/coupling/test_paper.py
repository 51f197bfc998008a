"""Tests of coupling's functions: the worked examples of section 5 and properties of section 7 of
docs/papers/coupling.md.
"""

from math import isclose

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from loomcard.advanced import draw
from loomcard.policies.coupling.paper import (
    LARGEST_THRESHOLD,
    Tasks,
    beta,
    cost,
    launch_fraction,
    mismatch,
    peek,
    probability,
    ranked,
    unit,
)

counts = st.integers(0, 500)
thresholds = st.floats(0.1, LARGEST_THRESHOLD)


def tasks(maps, reduces, finished, launched, *, pending=1, pending_reduces=None):
    left = reduces - launched if pending_reduces is None else pending_reduces
    return Tasks(maps, reduces, finished, pending, launched, left)


@st.composite
def running(draws):
    """Return a job with pending maps and pending reduces."""
    maps, reduces = draws(st.integers(1, 500)), draws(st.integers(1, 100))
    finished = draws(st.integers(0, maps - 1))
    return tasks(maps, reduces, finished, draws(st.integers(0, reduces - 1)))


@pytest.mark.parametrize(
    ("reduces", "delta"),
    [(1, 0.283), (2, 0.487), (3, 0.632), (5, 0.811), (6, 0.865), (8, 0.931), (12, 0.982),
     (15, 0.993), (27, 0.99988)],
)  # fmt: skip
def test_delta_of_the_examples(reduces, delta):
    assert launch_fraction(reduces) == pytest.approx(delta, abs=0.0006)
    assert launch_fraction(reduces) > 0.25


def test_a_job_of_148_maps_and_6_reduces():
    """The k-th reduce may start at the first count of finished maps above k units."""
    assert unit(148, 6) == pytest.approx(21.33, abs=0.01)
    first = [
        next(f for f in range(149) if mismatch(tasks(148, 6, f, k)) > 0) for k in range(6)
    ]  # fmt: skip
    assert first == [22, 43, 64, 86, 107, 128]
    assert mismatch(tasks(148, 6, 64, 1)) == pytest.approx(0.167, abs=0.001)


def test_no_pending_reduce_no_mismatch():
    assert mismatch(tasks(10, 4, 10, 4)) == 0
    assert mismatch(tasks(10, 4, 10, 4, pending=0)) == 0


def test_a_job_of_unknown_reduces_waits_for_its_last_map():
    assert mismatch(tasks(10, 0, 9, 0, pending_reduces=3)) == 0
    assert mismatch(tasks(10, 0, 9, 0, pending=0, pending_reduces=4)) == 4.25


def test_a_job_without_maps_is_exhausted():
    """With M = 0 the exception for exhausted jobs applies before the division."""
    assert mismatch(tasks(0, 3, 0, 1, pending=0)) == 4.5


@given(running(), thresholds)
def test_what_is_launched_follows_the_curve(job, threshold):
    """If the k-th reduce may be launched, k units of maps have finished: y <= x/delta, and none is
    launched before the first map has.
    """
    if mismatch(job, threshold) > 0:
        k = job.launched_reduces + 1
        assert k * unit(job.maps, job.reduces, threshold) < job.finished_maps
        y, x = k / job.reduces, job.finished_maps / job.maps
        assert y <= x / launch_fraction(job.reduces, threshold)


@given(running(), st.integers(1, 100), thresholds)
def test_who_has_exhausted_its_maps_goes_first(job, pending, threshold):
    """The mismatch of such a job is in (4, 5]. That is above every job with pending maps, whose
    mismatch is below 1/delta; among exhausted jobs, fewer pending reduces go first.
    """
    exhausted = tasks(5, pending, 5, 0, pending=0)
    assert 4 < mismatch(exhausted, threshold) <= 5
    assert mismatch(job, threshold) < 1 / launch_fraction(job.reduces, threshold)
    assert mismatch(job, threshold) < mismatch(exhausted, threshold)
    assert mismatch(exhausted) > mismatch(tasks(5, pending + 1, 5, 0, pending=0))


@given(running(), thresholds)
def test_mismatch_rises_with_maps_and_falls_with_reduces(job, threshold):
    more = tasks(job.maps, job.reduces, job.finished_maps + 1, job.launched_reduces)
    assert mismatch(more, threshold) > mismatch(job, threshold)
    if job.pending_reduces > 1:
        fewer = tasks(job.maps, job.reduces, job.finished_maps, job.launched_reduces + 1)
        assert mismatch(fewer, threshold) < mismatch(job, threshold)


def test_fewer_reduces_end_earlier_and_begin_later():
    """The last reduce needs x > delta, the first x > delta/R."""
    first = [launch_fraction(r) / r for r in (1, 6, 15)]
    assert first == pytest.approx([0.283, 0.144, 0.066], abs=0.0006)
    last = [launch_fraction(r) for r in (1, 6, 15)]
    assert last == sorted(last)


@given(st.integers(1, 500), st.integers(1, 100), thresholds)
def test_all_may_start_when_the_last_map_has_been_launched(maps, reduces, threshold):
    for launched in range(reduces):
        assert mismatch(tasks(maps, reduces, 0, launched, pending=0), threshold) > 0


amounts = st.dictionaries(st.integers(0, 19), st.floats(1, 1e6), min_size=1)


def rack_hop(u, v):
    return 0 if u == v else 2 if u % 3 == v % 3 else 4


def test_the_cheapest_node_is_where_most_data_is():
    """Eq 1 is worked out by hand for 3 units on node 0 and 1 on node 1 of another rack."""
    data = {0: 3.0, 1: 1.0}
    assert [cost(data, rack_hop, v) for v in (0, 1, 3)] == [4.0, 12.0, 3 * 2 + 1 * 4]


@given(amounts, st.sets(st.integers(0, 19)), st.integers(1, 9), st.floats(0.5, 8))
def test_lists(data, able, kept, scale):
    """The lists are disjoint and have at most 1, 2 and the rest of D nodes, cheapest first; the
    scale of w does not matter.
    """
    rows = [(cost(data, rack_hop, v), v, v) for v in able]
    one, two, rest = ranked(rows, kept)
    every = [*one, *two, *rest]
    assert len(one) <= 1
    assert len(two) <= 2
    assert len(every) == len(set(every)) == min(kept, len(able))
    costs = [cost(data, rack_hop, v) for v in every]
    assert costs == sorted(costs)
    if able:
        assert costs[0] == min(cost(data, rack_hop, v) for v in able)
    scaled = {u: w * 2.0 ** round(scale) for u, w in data.items()}
    assert ranked([(cost(scaled, rack_hop, v), v, v) for v in able], kept) == (one, two, rest)


@pytest.mark.parametrize(("nodes", "sizes"), [(0, (0, 0, 0)), (1, (1, 0, 0)), (3, (1, 2, 0)),
                                              (4, (1, 2, 1)), (20, (1, 2, 4))])  # fmt: skip
def test_lists_are_empty_by_rank(nodes, sizes):
    assert tuple(map(len, ranked((1.0, v, v) for v in range(nodes)))) == sizes


def test_a_peek_counts_shares_of_the_sample():
    """A peek gives K1/K, and N*K2/K of the other nodes."""
    assert peek(2, 2, 4, 12) == (0.5, 6.0)


@pytest.mark.parametrize(("exponent", "p"), [(0.1, 0.074), (0.5, 0.317)])
def test_peeking_at_7_of_15_nodes(exponent, p):
    assert probability(False, 7 / 15, 8, 1.0, exponent) == pytest.approx(p, abs=0.001)


def test_a_peek_without_the_own_node():
    """With room on this node alone, p is 1. If the node counted itself, p would be 0.705."""
    assert probability(False, 7 / 15, 0, 1.0, 1.0) == 1
    assert probability(False, 7 / 15, 1, 1.0, 1.0) == pytest.approx(0.705, abs=0.001)


parts = st.floats(0, 1)
rooms = st.floats(0, 5000)


@given(parts, rooms, parts, parts, counts)
def test_probability_bounds(pm, nm, alpha, least, pending):
    exponent = beta(pending, nm, least)
    assert least <= exponent <= 1
    p = probability(False, pm, nm, alpha, exponent)
    assert max(0, 1 - alpha) - 1e-12 <= p <= 1
    assert probability(True, pm, nm, alpha, exponent) == 1
    assert probability(False, pm, 0, alpha, exponent) == 1
    assert probability(False, 0, nm, alpha, max(exponent, 0.1)) == 1
    assert isclose(probability(False, pm, 1e9, alpha, exponent), max(0, 1 - alpha * pm**exponent))


@given(parts, parts, rooms, parts, parts, counts)
def test_probability_falls_and_rises(pm, other, nm, alpha, beta_, pending):
    """p falls with pm, nm and alpha, and beta rises with the pending maps."""
    low, high = sorted((pm, other))
    assert probability(False, low, nm, alpha, beta_) >= probability(False, high, nm, alpha, beta_)
    assert probability(False, pm, nm, low, beta_) >= probability(False, pm, nm, high, beta_)
    assert probability(False, pm, nm, alpha, beta_) >= probability(False, pm, nm + 1, alpha, beta_)
    few, many = beta(pending, nm), beta(pending + 5, nm)
    assert few <= many
    assert probability(False, pm, nm, alpha, few) <= probability(False, pm, nm, alpha, many)


def test_launches_come_at_the_rate_of_p():
    """The launches are a Bernoulli sequence with rate p: one comes after 1/p heartbeats on
    average.
    """
    p = probability(False, 7 / 15, 8, 1.0, 0.5)
    hits = [i for i in range(20_000) if draw(1, "j/v", i) < p]
    assert len(hits) / 20_000 == pytest.approx(p, abs=0.01)
    assert hits[-1] / len(hits) == pytest.approx(1 / p, rel=0.04)


@given(st.integers(1, 200), st.floats(0.01, LARGEST_THRESHOLD))
def test_delta_stays_above_a_quarter(reduces, threshold):
    assume(threshold < LARGEST_THRESHOLD)
    assert launch_fraction(reduces, threshold) > 0.25
