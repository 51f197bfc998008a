"""Named distributions: what a workload may write in place of a number, and how a uniform number
becomes a draw.

Every draw is the inverse of the cumulative distribution at one uniform number. So a task uses one
number whatever the distribution, and the draws of the tasks after it do not change.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import accumulate
from random import Random
from statistics import NormalDist
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

Quantile = Callable[[float], float]
"""From a uniform number in [0, 1) to a draw."""

_NORMAL: Final = NormalDist()
_EDGE: Final = 2.0**-53


class Part(BaseModel):
    """A part of a workload: typed strictly, no unknown keys, not to be changed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _form(value: object) -> str:
    return "<distribution>" if isinstance(value, dict | Distribution) else "<number>"


class Shape(Part):
    """The fields of all distributions: bounds to which draws are moved."""

    at_least: Value | None = Field(None, description="Draws below it become it.", examples=[100])
    at_most: Value | None = Field(None, description="Draws above it become it.", examples=[60000])


class Uniform(Shape):
    """Every number from ``low`` to ``high`` is equally likely."""

    low: Value = Field(description="The smallest number.", examples=[1])
    high: Value = Field(description="The largest number.", examples=[9])


class Exponential(Shape):
    """``P(x > t) = exp(-t / mean)``."""

    mean: Value = Field(description="The mean; with 0 all draws are 0.", examples=[5000])


class LogNormal(Shape):
    """``median * exp(sigma * z)`` with z standard normal."""

    median: Value = Field(description="The median, above 0.", examples=[20000])
    sigma: Value = Field(description="The deviation of the logarithm.", examples=[0.3])


class Normal(Shape):
    """The normal distribution under the condition that the draw is not negative."""

    mean: Value = Field(description="The mean before the condition.", examples=[20000])
    deviation: Value = Field(description="The standard deviation before it.", examples=[2000])


class Pareto(Shape):
    """``P(x > t) = (minimum / t) ** shape`` for t of at least ``minimum``."""

    minimum: Value = Field(description="The smallest draw, above 0.", examples=[1000])
    shape: Value = Field(description="The tail's exponent, above 0.", examples=[1.5])


class Weibull(Shape):
    """``P(x > t) = exp(-(t / scale) ** shape)``."""

    scale: Value = Field(description="The scale, above 0.", examples=[20000])
    shape: Value = Field(description="The shape, above 0; 1 is exponential.", examples=[0.8])


class Choice(Shape):
    """One of ``values``, with the probability that its weight gives."""

    values: list[float] = Field(min_length=1, description="What is drawn.", examples=[[1, 2, 4]])
    weights: list[float] | None = Field(
        None, description="One a value; default: all alike.", examples=[[5, 3, 2]]
    )


class Drawn(Shape):
    """One of the application's ``numbers``, which is drawn once: two places that name the same one
    get the same draw, multiplied by ``times``.
    """

    name: str = Field(description="Which of the application's numbers.", examples=["width"])
    times: Value = Field(1, description="What it is multiplied by.", examples=[0.25])


class Distribution(Part):
    """A distribution by its name. Exactly one is named. Its own numbers may be distributions, which
    are drawn once for each application.
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    constant: Value | None = Field(None, description="Always this number.", examples=[1000])
    uniform: Uniform | None = Field(None, examples=[{"low": 1, "high": 9}])
    exponential: Exponential | None = Field(None, examples=[{"mean": 5000}])
    lognormal: LogNormal | None = Field(None, examples=[{"median": 20000, "sigma": 0.3}])
    normal: Normal | None = Field(None, examples=[{"mean": 20000, "deviation": 2000}])
    pareto: Pareto | None = Field(None, examples=[{"minimum": 1000, "shape": 1.5}])
    weibull: Weibull | None = Field(None, examples=[{"scale": 20000, "shape": 0.8}])
    choice: Choice | None = Field(None, examples=[{"values": [1, 2, 4], "weights": [5, 3, 2]}])
    drawn: Drawn | None = Field(None, examples=[{"name": "width", "times": 0.25}])

    @model_validator(mode="after")
    def _one(self) -> Distribution:
        if len(self.model_fields_set) != 1:
            known = ", ".join(Distribution.model_fields)
            message = "expected a number, or exactly one distribution of {known}"
            raise PydanticCustomError("distribution", message, {"known": known})
        return self


Value = Annotated[
    Annotated[float, Tag("<number>"), Field(allow_inf_nan=False)]
    | Annotated[Distribution, Tag("<distribution>")],
    Discriminator(_form),
]
"""A number, or a distribution from which it is drawn."""

Count = Annotated[
    Annotated[int, Tag("<number>"), Field(ge=0, lt=2**53)]
    | Annotated[Distribution, Tag("<distribution>")],
    Discriminator(_form),
]
"""A whole number that is not negative, or a distribution whose draws are rounded to one."""

_SHAPES: Final = (Uniform, Exponential, LogNormal, Normal, Pareto, Weibull, Choice, Drawn)
for _model in (*_SHAPES, Distribution):
    _model.model_rebuild()


def resolve(value: float | Distribution, rng: Random) -> float:
    """Return a number unchanged, or one draw. Raises ValueError for impossible numbers of the
    distribution.
    """
    return quantile(value, rng)(rng.random()) if isinstance(value, Distribution) else value


def put_numbers(part: Any, numbers: Mapping[str, float], rng: Random) -> Any:
    """Return a part of a workload in which every ``drawn`` is replaced by the number that it names,
    if ``numbers`` has it.
    """
    if isinstance(part, Distribution) and part.drawn is not None:
        given = part.drawn
        if given.name not in numbers:
            return part
        inner = {key: resolve(getattr(given, key), rng) for key in _bounds_of(given)}
        number = numbers[given.name] * resolve(given.times, rng)
        return Distribution.model_validate({"constant": _bounded(lambda _: number, inner)(0.0)})
    if isinstance(part, BaseModel):
        held = {key: getattr(part, key) for key in part.model_fields_set}
        held |= part.model_extra or {}
        put = {key: put_numbers(value, numbers, rng) for key, value in held.items()}
        changed = {key: value for key, value in put.items() if value is not held[key]}
        return part.model_copy(update=changed) if changed else part
    if isinstance(part, list):
        items = [put_numbers(item, numbers, rng) for item in part]
        return items if any(a is not b for a, b in zip(items, part, strict=True)) else part
    return part


def _bounds_of(given: Shape) -> list[str]:
    return [key for key in Shape.model_fields if getattr(given, key) is not None]


def quantile(value: Distribution, rng: Random) -> Quantile:
    """Return the function from a uniform number to a draw; inner distributions are drawn now.
    Raises ValueError.
    """
    (name,) = value.model_fields_set
    given = getattr(value, name)
    if not isinstance(given, Shape):
        number = resolve(given, rng)
        return lambda _: number
    # In the order of the class, which is the order of sampling.
    numbers = {
        key: resolve(item, rng)
        for key in type(given).model_fields
        if isinstance(item := getattr(given, key), float | int | Distribution)
    }
    return _bounded(_plain(given, numbers), numbers)


def _plain(given: Shape, n: dict[str, float]) -> Quantile:
    match given:
        case Uniform():
            _check(n["low"] <= n["high"], "uniform: high must not be below low")
            return lambda u: n["low"] + (n["high"] - n["low"]) * u
        case Exponential():
            _check(n["mean"] >= 0, "exponential: mean must not be negative")
            return lambda u: -n["mean"] * math.log1p(-u)
        case LogNormal():
            _check(n["median"] > 0, "lognormal: median must be above 0")
            _check(n["sigma"] >= 0, "lognormal: sigma must not be negative")
            return lambda u: n["median"] * math.exp(n["sigma"] * _NORMAL.inv_cdf(max(u, _EDGE)))
        case Normal():
            return _truncated(n["mean"], n["deviation"])
        case Pareto():
            _check(min(n["minimum"], n["shape"]) > 0, "pareto: minimum and shape must be above 0")
            return lambda u: n["minimum"] * (1 - u) ** (-1 / n["shape"])
        case Weibull():
            _check(min(n["scale"], n["shape"]) > 0, "weibull: scale and shape must be above 0")
            return lambda u: n["scale"] * (-math.log1p(-u)) ** (1 / n["shape"])
        case Drawn():
            raise ValueError(f"drawn: there is no number {given.name!r} here")
    assert isinstance(given, Choice)
    return _chosen(given)


def _truncated(mean: float, deviation: float) -> Quantile:
    _check(deviation >= 0, "normal: deviation must not be negative")
    if deviation == 0:
        return lambda _: max(0.0, mean)
    _check(mean / deviation > -8, "normal: mean is so far below 0 that nothing is left above it")
    whole = NormalDist(mean, deviation)
    below = whole.cdf(0)
    return lambda u: max(0.0, whole.inv_cdf(min(max(below + (1 - below) * u, _EDGE), 1 - _EDGE)))


def _chosen(given: Choice) -> Quantile:
    weights = given.weights or [1.0] * len(given.values)
    _check(len(weights) == len(given.values), "choice: as many weights as values are needed")
    _check(
        min(weights) >= 0 and sum(weights) > 0, "choice: weights must not be negative, nor all 0"
    )
    sums = list(accumulate(weights))
    last = len(sums) - 1
    return lambda u: given.values[min(bisect_right(sums, u * sums[-1]), last)]


def _bounded(plain: Quantile, n: dict[str, float]) -> Quantile:
    low, high = n.get("at_least", -math.inf), n.get("at_most", math.inf)
    _check(low <= high, "at_most must not be below at_least")
    if low == -math.inf and high == math.inf:
        return plain
    return lambda u: min(max(plain(u), low), high)


def _check(right: bool, message: str) -> None:
    if not right:
        raise ValueError(message)
