"""Who is small, and what delta is in containers (specification 2.2, 2.3, 2.8; properties 2, 13)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomcard.policies.dress import (
    LD,
    SD,
    classify,
    classify_vector,
    containers_of,
    predicted_work,
    quotas,
    split_available,
    worth,
)
from loomcard.policies.dress.quotas import filled, times, within

COUNTS = st.integers(0, 500)


@pytest.mark.parametrize(
    ("r", "tot", "theta", "want"),
    [
        pytest.param(10, 100, 0.1, SD, id="the border itself is small"),
        pytest.param(11, 100, 0.1, LD, id="one more is large"),
        pytest.param(29, 100, 0.29, SD, id="0.29 * 100 is 29, whatever floating point says"),
        pytest.param(0, 100, 0.1, SD, id="nothing asked for"),
    ],
)
def test_a_job_is_large_when_it_demands_more_than_its_part(r, tot, theta, want):
    """Strictly more than theta * tot."""
    assert classify(r, tot, theta) == want


@given(r=COUNTS, tot=st.integers(1, 500), theta=st.floats(0.01, 0.99), factor=st.integers(1, 50))
def test_classification_depends_on_the_ratio_alone(r, tot, theta, factor):
    """Property 13: scaling demand and cluster alike changes nothing, off the very border."""
    if abs(r - theta * tot) > 1e-6:
        assert classify(r * factor, tot * factor, theta) == classify(r, tot, theta)


def test_the_dominant_share_decides_over_several_resources():
    """Much of one resource is large; what nobody asks for does not count; what is nowhere does."""
    assert classify_vector((1024, 1, 0), (10240, 10, 0), 0.1) == SD
    assert classify_vector((1024, 2, 0), (10240, 10, 0), 0.1) == LD
    assert classify_vector((1024, 1, 1), (10240, 10, 0), 0.1) == LD


def test_long_tasks_make_a_job_larger():
    """Demand by how long its tasks run; without a past on either side the demand stands."""
    assert predicted_work((8,), 3000, 1000) == [24]
    assert predicted_work((8,), None, 1000) == predicted_work((8,), 3000, None) == [8]


@pytest.mark.parametrize(
    ("delta", "tot", "want"),
    [(0.145, 100, (15, 85)), (0.144, 100, (14, 86)), (0.0, 2, (1, 1)), (1.0, 6, (5, 1))],
)
def test_quotas_round_half_up_and_leave_everybody_one(delta, tot, want):
    """0.145 * 100 is 14.5 and rounds to 15, though floating point has less."""
    assert quotas(delta, tot) == want


@given(
    delta=st.floats(0, 1), tot=st.integers(2, 10_000), ac=COUNTS, used1=COUNTS, q1=COUNTS
)  # fmt: skip
def test_quotas_and_what_is_free_add_up(delta, tot, ac, used1, q1):
    """Property 2: q1 + q2 = tot, both at least 1; ac1 + ac2 = ac, none below 0."""
    assert sum(quotas(delta, tot)) == tot
    assert min(quotas(delta, tot)) >= 1
    ac1, ac2 = split_available(ac, q1, used1)
    assert ac1 + ac2 == ac
    assert min(ac1, ac2) >= 0


def test_the_cluster_is_counted_in_whole_containers_of_each_node():
    """What is left over on a node holds none; no more than the queue is entitled to count."""
    nodes = [(2500, 8), (2500, 1), (900, 8)]
    assert containers_of((1000, 1), nodes, (5900, 17)) == 3
    assert containers_of((1000, 1), nodes, (2000, 17)) == 2
    assert containers_of((1000, 0), nodes, (5900, 0)) == 4
    assert containers_of((1000, 1), [], (0, 0)) == 0


@given(
    unit=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    nodes=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=5),
    delta=st.floats(0.01, 0.99),
)
def test_equal_containers_are_counted_exactly(unit, nodes, delta):
    """Of containers of the unit a category may hold its quota, and not one more."""
    capacity = tuple(map(sum, zip(*nodes, strict=True)))
    tot = containers_of(unit, nodes, capacity)
    if tot < 2:
        return
    for count in quotas(delta, tot):
        quota, held = times(worth(unit, capacity), count), 0
        while within(unit, times(unit, held), quota):
            held += 1
        assert held == count
        assert filled(times(unit, count), quota) == pytest.approx(1)


def test_a_category_may_have_its_first_of_anything():
    """A quota below one does not keep it from the first; nor one of what it does not need."""
    assert within((1024, 1), (0, 5), (10, 9.5))
    assert within((1024, 0), (5, 9), (10, 0.5))
    assert not within((1024, 1), (5, 1), (10, 0.5))
    assert filled((1, 0), (0, 0)) == float("inf")
