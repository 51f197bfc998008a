"""Tests of options that change what DRESS does, and of options that are refused."""

import pytest

from compiled import flat
from dressed import HUNDRED, SECOND, come, dress, full, memory, of, used
from loomcard.api.registry import register
from loomcard.policies.dress.phases import Windows
from loomcard.policies.dress.policy import Dress
from loomcard.testing.cluster import Cluster


def test_the_smallest_demand_goes_first_where_the_order_says_so():
    """The smallest demand is first within a category; otherwise the first submitted is."""
    for order, first in (("submission", 1), ("demand", 2)):
        cluster = dress(dmin=0.06, dmax=0.06, order=order)
        come(cluster, a1=9, a2=4)
        assert cluster.round()[0].app == first


def test_the_windows_are_those_of_the_options():
    """Window, t_s and t_e come from their own options."""
    options = Dress(phase_window_ms=7000, start_threshold=3, finish_threshold=4)
    assert options.windows == Windows(7000, start=3, finish=4)


@pytest.mark.parametrize(("pack", "held"), [("whole", [0, 1, 1]), ("partial", [0, 3, 6])])
def test_what_is_too_little_for_a_small_job_adds_up(pack, held):
    """Three containers end each second, and the small job waits for nine. As printed it gets only
    its first container; with ``pack: partial`` it gets all that is free each time.
    """
    cluster, found = full(pack=pack), []
    for first in (1, 4, 7):
        found.append(used(cluster)[0])
        for number in range(first, first + 3):
            cluster.complete(number)
        cluster.round(SECOND)
    assert found == held


def test_a_large_job_that_waited_too_long_is_not_delayed_further():
    """With ``age_ms`` the leftovers of its category are kept for it once it is old enough."""
    deltas = []
    for age_ms in (0, 5 * SECOND):
        cluster = full(age_ms=age_ms)
        come(cluster, a3=40)
        cluster.round()
        for _ in range(6):
            cluster.round(SECOND)
        for number in sorted(cluster.containers)[:19]:
            cluster.complete(number)
        cluster.round(SECOND)
        deltas.append(memory(cluster).delta)
    assert deltas == pytest.approx([0.09, 0.0])


def test_a_large_job_without_a_task_is_not_delayed_further_either():
    """The same holds for a job that had tasks before: it asked long ago, and has none now."""
    deltas = []
    for age_ms in (0, 5 * SECOND):
        cluster = dress(reading="printed", age_ms=age_ms)
        come(cluster, a3=40)
        for each in cluster.round():
            cluster.complete(each.number)
        come(cluster, a1=120)
        cluster.round()
        cluster.round(SECOND)
        come(cluster, a2=9)
        cluster.round(SECOND)
        cluster.ask(3, 40)
        for _ in range(6):
            cluster.round(SECOND)
        for number in sorted(cluster.containers)[:19]:
            cluster.complete(number)
        cluster.round(SECOND)
        deltas.append(memory(cluster).delta)
    assert deltas[1] == 0.0 < deltas[0]


@register("dress-unchecked")
class Unchecked(Dress):
    """Dress with options that no configuration may have."""

    def __post_init__(self) -> None:
        """Skip the checks."""


@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_with_one_category_it_is_first_in_first_out(theta):
    """Property 15: the first job to come is the first to be served."""
    cluster = Cluster(flat("dress-unchecked", theta=theta, order="submission"), nodes=HUNDRED)
    come(cluster, a1=30, a2=50, a3=40)
    allocated = cluster.round()
    assert [len(of(allocated, app)) for app in (1, 2, 3)] == [30, 50, 20]
    assert [each.app for each in allocated] == sorted(each.app for each in allocated)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"theta": 0.0}, "theta lies between"),
        ({"delta": 1.0}, "delta lies between"),
        ({"dmin": 0.5, "dmax": 0.2}, "dmin is at most dmax"),
        ({"phase_window_ms": 500}, "at least tick_ms"),
        ({"start_threshold": -1}, "start_threshold is at least 0"),
        ({"waiting_ams": 0.0}, "waiting_ams is above 0"),
        ({"waiting_ams": 0.6}, "waiting_ams is above 0 and at most 0.5"),
        ({"reading": "best"}, "printed, share"),
        ({"reserve_after_ms": -1}, "reserve_after_ms is at least 0"),
        ({"pack": "half"}, "whole, partial"),
    ],
)
def test_options_that_cannot_be_are_refused(options, says):
    """The error names the option and what is expected."""
    with pytest.raises(ValueError, match=says):
        Dress(**options)
