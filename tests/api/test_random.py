"""Random values are alike everywhere, independent of the order of draws, and evenly spread."""

from hypothesis import given
from hypothesis import strategies as st

from loomcard.api.random import draw, pick


def test_a_draw_is_the_same_on_every_machine():
    """The values are fixed: a change here would change every replay."""
    assert [round(draw(7, "application_1_0001", n), 6) for n in (1, 2)] == [0.121346, 0.166927]


@given(st.integers(), st.text(max_size=9), st.integers(0))
def test_a_draw_lies_in_the_unit_interval_and_a_pick_in_its_range(seed, subject, sequence):
    """A draw is at least 0 and below 1; a pick is at least 0 and below the count."""
    assert 0 <= draw(seed, subject, sequence) < 1
    assert 0 <= pick(seed, subject, sequence, 7) < 7


def test_draws_are_evenly_spread():
    """Over 10,000 draws the mean is near a half, and every tenth of the range has about as many."""
    draws = [draw(1, "n1", n) for n in range(10_000)]
    assert abs(sum(draws) / len(draws) - 0.5) < 0.01
    tenths = [sum(1 for d in draws if int(d * 10) == t) for t in range(10)]
    assert max(tenths) - min(tenths) < 200
