"""A study's figures: of each run, of all seeds together, and against a baseline.

A run gives one value per statistic: the mean, median and 95th percentile of waiting, completion and
slowdown over its applications that succeeded, of all and of each class; and one value each for
makespan, utilization and Jain's index. Over seeds the value shown is the median of the runs'
values, with a 95 % percentile-bootstrap interval (seeds drawn with replacement, 2,000 times,
seeded).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl

from loomcard.report.runs import Study

Floats = npt.NDArray[np.float64]
RESAMPLES = 2_000
TIE = 0.001
ALL = "all"
KEYS = ["setting", "policy", "class", "figure", "statistic"]


@dataclass(frozen=True)
class Figure:
    """The name of a figure, how it is measured and judged. ``scale``: from stored to shown
    units.
    """

    key: str
    title: str
    unit: str
    scale: float
    more_is_better: bool
    definition: str


def figures_of(study: Study) -> list[Figure]:
    """The figures of a study, in the order of its tables."""
    types = dict.fromkeys(name for run in study.runs for name in run.facts["utilization"])
    return [
        Figure("waiting", "waiting", "s", 0.001, False,
               "from submission to the first container that is not the AM's RUNNING"),
        Figure("completion", "completion", "s", 0.001, False,
               "from submission to the end of the last such container"),
        Figure("slowdown", "slowdown", "", 1, False,
               f"completion over completion alone, which here is {study.ideal}"),
        Figure("makespan", "makespan", "s", 0.001, False,
               "from the first submission to the last completion"),
        *(
            Figure(f"utilization {name}", f"utilization of {name}", "%", 100, True,
                   "what running containers held over what there was, mean over the makespan")
            for name in types
        ),
        Figure("jain", "Jain's index", "", 1, True,
               "of dominant share over fair share, a value a window of 60 s, mean over windows"),
    ]  # fmt: skip


def samples(study: Study) -> pl.DataFrame:
    """Return one row per run, class, figure and statistic: ``KEYS``, seed, value (in shown
    units).
    """
    frame = study.applications
    classes = [frame.with_columns(pl.lit(ALL).alias("class"))]
    if frame["class"].n_unique() > 1:
        classes.append(frame)
    parts = [_statistics(part, figure) for part in classes for figure in figures_of(study)[:3]]
    rows = []
    for run in study.runs:
        values = {"jain": run.facts["jain"]["mean"], "makespan": run.facts["makespan_ms"]}
        values |= {f"utilization {k}": v for k, v in run.facts["utilization"].items()}
        for figure in figures_of(study)[3:]:
            value = values.get(figure.key)
            shown = None if value is None else value * figure.scale
            rows.append((run.setting, run.policy, ALL, figure.key, "value", run.seed, shown))
    schema = dict.fromkeys(KEYS, pl.String) | {"seed": pl.Int64, "value": pl.Float64}
    parts.append(pl.DataFrame(rows, schema=schema, orient="row"))
    return pl.concat(parts).drop_nulls("value")


def _statistics(frame: pl.DataFrame, figure: Figure) -> pl.DataFrame:
    column = figure.key if figure.key == "slowdown" else f"{figure.key}_ms"
    value = pl.col(column).cast(pl.Float64) * figure.scale
    grouped = frame.group_by("setting", "policy", "class", "seed", maintain_order=True).agg(
        value.mean().alias("mean"),
        value.median().alias("median"),
        value.quantile(0.95, "linear").alias("p95"),
    )
    long = grouped.unpivot(
        ["mean", "median", "p95"],
        index=["setting", "policy", "class", "seed"],
        variable_name="statistic",
    )
    return long.with_columns(pl.lit(figure.key).alias("figure")).select(*KEYS, "seed", "value")


def summarise(values: pl.DataFrame) -> pl.DataFrame:
    """Over seeds: ``KEYS``, seeds (how many), value (their median), low, high (the bootstrap's
    interval; None for one seed), p95 (of the runs' values).
    """
    rows = []
    for keys, group in values.group_by(KEYS, maintain_order=True):
        runs = group.sort("seed")["value"].to_numpy()
        low, high = interval(runs, np.median, "/".join(map(str, keys)))
        p95 = float(np.quantile(runs, 0.95))
        rows.append((*keys, len(runs), float(np.median(runs)), low, high, p95))
    numbers = dict.fromkeys(["value", "low", "high", "p95"], pl.Float64)
    schema = dict.fromkeys(KEYS, pl.String) | {"seeds": pl.Int64} | numbers
    return pl.DataFrame(rows, schema=schema, orient="row")


def interval(
    values: Floats, statistic: Callable[..., Any], key: str
) -> tuple[float | None, float | None]:
    """The 95 % percentile-bootstrap interval of a statistic that takes an axis; (None, None) for
    fewer than two values. ``key`` seeds the resampling, so that a figure's interval is its own.
    """
    if len(values) < 2:
        return None, None
    rng = np.random.Generator(np.random.PCG64(crc32(key.encode())))
    drawn = values[rng.integers(0, len(values), (RESAMPLES, len(values)))]
    low, high = np.quantile(statistic(drawn, axis=1), [0.025, 0.975])
    return float(low), float(high)


def compare(study: Study, values: pl.DataFrame) -> pl.DataFrame:
    """Each policy against the baseline on the same setting, class and seed.

    ``KEYS``, pairs, difference (mean of policy - baseline) and ratio (geometric mean of policy /
    baseline), each with low and high of its bootstrap; wins, ties (within 0.1 %) and losses, by
    seed. Empty without a baseline.
    """
    better = {figure.key: figure.more_is_better for figure in figures_of(study)}
    where = ["setting", "class", "figure", "statistic", "seed"]
    base = values.filter(pl.col("policy") == study.baseline).select(*where, base="value")
    others = values.filter(pl.col("policy") != study.baseline)
    joined = others.join(base, on=where, how="inner", maintain_order="left")
    rows = []
    for keys, group in joined.group_by(KEYS, maintain_order=True):
        group = group.sort("seed")
        value, other = group["value"].to_numpy(), group["base"].to_numpy()
        pair = _pair(value, other, "/".join(map(str, keys)))
        rows.append((*keys, len(group), *pair, *_wins(value, other, better[str(keys[3])])))
    numbers = [f"{name}{end}" for name in ("difference", "ratio") for end in ("", "_low", "_high")]
    schema: dict[str, Any] = dict.fromkeys(KEYS, pl.String) | {"pairs": pl.Int64}
    schema |= dict.fromkeys(numbers, pl.Float64)
    schema |= dict.fromkeys(["wins", "ties", "losses"], pl.Int64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _pair(values: Floats, base: Floats, key: str) -> tuple[float | None, ...]:
    difference = values - base
    estimate = (float(difference.mean()), *interval(difference, np.mean, key + "/difference"))
    if (values <= 0).any() or (base <= 0).any():  # a wait of 0 has no ratio
        return (*estimate, None, None, None)
    logs = np.log(values / base)
    low, high = interval(logs, np.mean, key + "/ratio")
    spread = (None, None) if low is None or high is None else (np.exp(low), np.exp(high))
    return (*estimate, float(np.exp(logs.mean())), *spread)


def _wins(value: Floats, base: Floats, more_is_better: bool) -> tuple[int, int, int]:
    tied = np.abs(value - base) <= TIE * np.abs(base)
    won = ~tied & ((value > base) == more_is_better)
    return int(won.sum()), int(tied.sum()), int((~tied & ~won).sum())


def application_wins(study: Study) -> pl.DataFrame:
    """Return by setting and policy how many applications complete sooner, equally soon (within 0.1
    %) and later than under the baseline with the same seed.
    """
    where = ["setting", "seed", "id"]
    frame = study.applications.drop_nulls("completion_ms")
    base = frame.filter(pl.col("policy") == study.baseline).select(*where, base="completion_ms")
    joined = frame.filter(pl.col("policy") != study.baseline).join(
        base, on=where, how="inner", maintain_order="left"
    )
    change = pl.col("completion_ms") - pl.col("base")
    tied = change.abs() <= TIE * pl.col("base")
    return joined.group_by("setting", "policy", maintain_order=True).agg(
        ((change < 0) & ~tied).sum().alias("sooner"),
        tied.sum().alias("same"),
        ((change > 0) & ~tied).sum().alias("later"),
    )
