"""Tests of the named distributions against their known figures."""

import math
from random import Random
from statistics import fmean, median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomcard.workload.distributions import Distribution, quantile, resolve

DRAWS = 20_000


def rng(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - not secrets


def draws(given_: dict[str, Any], count: int = DRAWS) -> list[float]:
    stream = rng(1)
    become = quantile(Distribution.model_validate(given_), stream)
    return [become(stream.random()) for _ in range(count)]


@pytest.mark.parametrize(
    ("form", "mean"),
    [
        ({"constant": 7}, 7),
        ({"uniform": {"low": 2, "high": 4}}, 3),
        ({"exponential": {"mean": 5}}, 5),
        ({"lognormal": {"median": 10, "sigma": 0.5}}, 10 * math.exp(0.125)),
        ({"normal": {"mean": 100, "deviation": 10}}, 100),
        ({"normal": {"mean": 0, "deviation": 1}}, math.sqrt(2 / math.pi)),
        ({"normal": {"mean": 3, "deviation": 0}}, 3),
        ({"pareto": {"minimum": 2, "shape": 3}}, 3),
        ({"weibull": {"scale": 3, "shape": 2}}, 3 * math.gamma(1.5)),
        ({"choice": {"values": [1, 2, 4]}}, 7 / 3),
        ({"choice": {"values": [1, 2], "weights": [3, 1]}}, 1.25),
    ],
)
def test_means(form: dict[str, Any], mean: float) -> None:
    """Each distribution has the mean of the textbook."""
    assert fmean(draws(form)) == pytest.approx(mean, rel=0.03)


@pytest.mark.parametrize(
    ("form", "middle"),
    [
        ({"lognormal": {"median": 10, "sigma": 1.5}}, 10),
        ({"pareto": {"minimum": 2, "shape": 1}}, 4),
        ({"weibull": {"scale": 3, "shape": 0.5}}, 3 * math.log(2) ** 2),
        ({"exponential": {"mean": 5}}, 5 * math.log(2)),
    ],
)
def test_medians(form: dict[str, Any], middle: float) -> None:
    """The median is checked where tails make the mean converge slowly."""
    assert median(draws(form)) == pytest.approx(middle, rel=0.05)


FORMS = st.one_of(
    st.builds(lambda a, b: {"uniform": {"low": min(a, b), "high": max(a, b)}},
              st.floats(0, 1e6), st.floats(0, 1e6)),
    st.builds(lambda m: {"exponential": {"mean": m}}, st.floats(0.1, 1e6)),
    st.builds(lambda m, s: {"lognormal": {"median": m, "sigma": s}},
              st.floats(0.1, 1e6), st.floats(0, 3)),
    st.builds(lambda m, s: {"normal": {"mean": m, "deviation": s}},
              st.floats(0, 1e6), st.floats(0, 1e6)),
    st.builds(lambda m, s: {"pareto": {"minimum": m, "shape": s}},
              st.floats(0.1, 1e6), st.floats(0.5, 5)),
    st.builds(lambda v: {"choice": {"values": v}}, st.lists(st.floats(0, 1e6), min_size=1)),
)  # fmt: skip


@given(FORMS, st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
@settings(max_examples=200, deadline=None)
def test_draws_are_finite_and_grow_with_the_die(form: dict[str, Any], u: float, v: float) -> None:
    """Any die gives a number that is not negative, and a larger die never a smaller number."""
    become = quantile(Distribution.model_validate(form), rng(0))
    low, high = become(min(u, v)), become(max(u, v))
    assert 0 <= low < math.inf
    if "choice" not in form:
        assert low <= high


@given(FORMS, st.integers(0, 100), st.integers(0, 100))
@settings(max_examples=100, deadline=None)
def test_bounds_hold(form: dict[str, Any], a: int, b: int) -> None:
    """A value outside is moved to the bound."""
    (name,) = form
    bounds = {"at_least": min(a, b), "at_most": max(a, b)}
    drawn = draws({name: {**form[name], **bounds}}, 20)
    assert all(min(a, b) <= one <= max(a, b) for one in drawn)


def test_numbers_may_be_drawn_in_turn() -> None:
    """A distribution's own numbers are drawn once, when the distribution is made."""
    form = {"uniform": {"low": {"choice": {"values": [5, 6]}}, "high": 6}}
    lows = {quantile(Distribution.model_validate(form), rng(s))(0.0) for s in range(20)}
    assert lows == {5, 6}
    assert resolve(3, rng(1)) == 3
