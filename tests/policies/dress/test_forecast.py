"""Equations 9, 5 and 1 (specification 2.5, worked example 4.3, property 11)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomcard.policies.dress import (
    Phase,
    Tracker,
    available,
    forecast,
    phase_cum,
    phase_expected,
    phase_release,
)
from loomcard.policies.dress.forecast import amounts, job_release


def phase(gamma=100, dps=5, c=10, running=None):
    """A phase that releases, of which all run unless said."""
    tasks = dict.fromkeys(range(c if running is None else running), (1,))
    return Phase(0, starts=[0, dps], c=c, dps=dps, gamma=gamma, running=tasks, size=(1,))


@pytest.mark.parametrize(
    ("t", "literal", "expected"),
    [(100, 0, 2), (101, 2, 2), (103, 6, 2), (105, 10, 0), (106, 0, 0)],
)
def test_equation_9_by_hand(t, literal, expected):
    """Worked example 4.3: gamma=100, dps=5, c=10."""
    assert phase_release(t, 0, 100, 5, 10) == literal
    assert phase_expected(t, 1, 0, phase()) == expected


def test_nothing_is_released_before_the_job_or_after_it():
    """t < alpha, t > beta, no gamma yet, not started."""
    assert phase_release(103, 104, 100, 5, 10) == 0
    assert phase_release(103, 0, 100, 5, 10, beta=102) == 0
    assert phase_release(103, 0, None, 5, 10) == phase_release(103, None, 100, 5, 10) == 0
    assert phase_cum(103, 0, None, 5, 10) == phase_cum(100, 0, 100, 5, 10) == 0
    assert phase_cum(1000, 0, 100, 5, 10) == 10


def test_tasks_that_started_together_are_released_within_a_tick():
    """dps = 0 counts as tau (defect 16)."""
    assert phase_release(101, 0, 100, 0, 10) == 10
    assert phase_expected(100, 1, 0, phase(dps=0)) == 10


def test_no_more_is_expected_than_still_runs():
    """Eight of ten are gone already."""
    assert phase_expected(100, 5, 0, phase(running=2)) == 2


def test_an_open_phase_is_forecast_by_its_variation_so_far():
    """Short tasks end before the last one has started."""
    early = phase()
    early.starts, early.dps = [0, 4], None
    assert phase_expected(100, 1, 0, early) == 2.5


def test_a_category_is_the_sum_of_its_jobs_phases():
    """Eqs 5 and 1: jobs that have started and not ended, all phases; A_c is added once."""
    one = Tracker([phase(), phase(gamma=101)], alpha=0)
    waits, over = Tracker([phase()]), Tracker([phase()], alpha=0, beta=90)
    assert forecast(101, 1, [one, waits, over]) == 4
    assert forecast(101, 1, [one], "literal") == 4 + 2
    assert forecast(101, 1, [one], "none") == 0
    assert available(3, 4, 1.5) == 8.5


def test_releases_are_amounts_of_what_runs():
    """The mean size of a phase's running tasks; of its last one where none runs (literal)."""
    mixed = phase(running=0)
    mixed.running = {1: (1000, 1), 2: (3000, 3)}
    assert amounts(job_release(100, 1, Tracker([mixed], alpha=0)), 2) == [4000, 4]
    gone = phase(running=0)
    gone.size = (500, 1)
    assert amounts(job_release(100, 1, Tracker([gone], alpha=0), "literal"), 2) == [1000, 2]


@given(
    gamma=st.integers(0, 50), dps=st.integers(0, 40), c=st.integers(0, 30), gone=st.integers(0, 30)
)
def test_forecasts_stay_within_the_phase(gamma, dps, c, gone):
    """Property 11: 0 <= expected <= running; over all ticks at most c; literal within [0, c]."""
    each = phase(gamma, dps, c, max(0, c - gone))
    found = [phase_expected(t, 1, 0, each) for t in range(100)]
    assert all(0 <= x <= len(each.running) for x in found)
    assert sum(found) <= c + 1e-9
    assert all(0 <= phase_release(t, 0, gamma, dps, c) <= c for t in range(100))
