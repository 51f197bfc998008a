"""What each policy gained over the stock scheduler in a run, for which applications, and what it
did not gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from loomcard.report.expectation import Measured, measured
from loomcard.report.runs import Run, Study

Value = float | None
"""A figure; None if the run has none, for example if nothing that it measures succeeded."""
_UNITS: Final = {"s": "s", "%": "percent"}
SAME: Final = 0.05
"""Values of one run that differ by less than this part count as equal."""


@dataclass(frozen=True)
class Figure:
    """A row of the table: its name, its unit, and which direction is better."""

    key: str
    name: str
    unit: Literal["s", "%"]
    better: Literal["less", "more"]

    def said(self, value: Value) -> str:
        """The value with its unit."""
        if value is None:
            return "-"
        return f"{value:.1f} s" if self.unit == "s" else f"{value:.0f} %"


SMALL = Figure("small_jobs_wait", "small jobs' mean wait", "s", "less")
LARGE = Figure("large_jobs_completion", "large jobs' mean completion", "s", "less")
LEAST = Figure("least_share", "the smallest share of a queue", "%", "more")
MEAN = Figure("mean_completion", "mean completion of all jobs", "s", "less")
MAKESPAN = Figure("makespan", "the time until all were done", "s", "less")
FIGURES: Final = (SMALL, LARGE, LEAST, MEAN, MAKESPAN)
AIMS: Final[Mapping[str, Figure]] = {"dress": SMALL, "hdrf": LEAST, "carbyne": MEAN}
"""The promise of each policy's paper."""
WHOM: Final[Mapping[Figure, str]] = {SMALL: "small jobs", MEAN: "all jobs together"}
_MEASURES: Final[Mapping[Figure, dict[str, Any]]] = {
    SMALL: {"measure": "waiting", "of": "small"},
    LARGE: {"measure": "completion", "of": "large"},
    MEAN: {"measure": "completion"},
    MAKESPAN: {"measure": "makespan"},
}


@dataclass(frozen=True)
class Figures:
    """The figures of one run: each figure's value, and each queue's mean dominant share, in percent
    of the cluster, while every queue wanted more.
    """

    values: Mapping[Figure, Value]
    shares: Mapping[str, Value]

    def document(self) -> dict[str, Any]:
        """Ready for JSON."""
        figures = {f"{f.key}_{_UNITS[f.unit]}": value for f, value in self.values.items()}
        return figures | {"share_percent": dict(self.shares)}

    @property
    def poorest(self) -> str:
        """The queue with the least share; "" if that is not known."""
        known = {name: value for name, value in self.shares.items() if value is not None}
        return min(known, key=lambda name: known[name], default="")


@dataclass(frozen=True)
class Gain:
    """Whether a policy gained what its paper promises; a sentence about for which applications and
    how much; and a line for each way in which other figures are no better: worse, the same, not
    known.
    """

    policy: str
    gained: bool
    sentence: str
    rest: tuple[str, ...]


def figures_of(run: Run) -> Figures:
    """The figures of one run."""
    of = Measured(run)
    queues = sorted({each["queue"] for each in run.facts["applications"]})
    shares = {queue.removeprefix("root."): _share(of, queue) for queue in queues}
    least = min((value for value in shares.values() if value is not None), default=None)
    values = {figure: _number(of, what) for figure, what in _MEASURES.items()}
    return Figures({figure: values.get(figure, least) for figure in FIGURES}, shares)


def _share(of: Measured, queue: str) -> Value:
    share = _number(of, {"measure": "share", "of": queue, "statistic": "mean"})
    return None if share is None else 100 * share


def _number(of: Measured, what: Mapping[str, Any]) -> Value:
    found = measured(of, what)
    assert not isinstance(found, dict)  # of speedups alone
    return found


def gains(study: Study) -> Iterator[Gain]:
    """Return what each policy of the study gained over its baseline, in the study's order."""
    found = {run.policy: figures_of(run) for run in study.runs}
    for policy, own in found.items():
        if policy in AIMS:
            yield gain(policy, own, found[study.baseline])


def gain(policy: str, own: Figures, stock: Figures) -> Gain:
    """Return the sentences about a policy with the figures ``own``, compared with the stock
    scheduler's ``stock``.
    """
    aim = AIMS[policy]
    gained = _judged(aim, own, stock) == "better"
    verb = "gained" if gained else "gained nothing"
    whom = stock.poorest or "queues" if aim is LEAST else WHOM[aim]
    ours, theirs = _said(aim, own), _said(aim, stock)
    said = (
        f"{policy} {verb} for {whom}: {aim.name} was {ours}, {theirs} under CapacityScheduler"
        f"{_change(aim, own, stock)}"
    )
    return Gain(policy, gained, said, tuple(_rest(aim, own, stock)))


def _rest(aim: Figure, own: Figures, stock: Figures) -> Iterator[str]:
    """Return all figures except the aim that are not better, one line per verdict."""
    judged = {figure: _judged(figure, own, stock) for figure in FIGURES if figure is not aim}
    for verdict in ("worse", "the same", "not known"):
        parts = [
            f"{figure.name} {_said(figure, own)} (CapacityScheduler {_said(figure, stock)}"
            f"{_change(figure, own, stock).replace(' (', ', ') or ')'}"
            for figure in judged
            if judged[figure] == verdict
        ]
        if parts:
            yield f"not gained, {verdict}: {'; '.join(parts)}"


def _judged(figure: Figure, own: Figures, stock: Figures) -> str:
    """Return better, worse, the same, or not known."""
    ours, theirs = own.values[figure], stock.values[figure]
    if ours is None or theirs is None:
        return "not known"
    if abs(ours - theirs) <= SAME * theirs:
        return "the same"
    return "better" if (ours < theirs) == (figure.better == "less") else "worse"


def _change(figure: Figure, own: Figures, stock: Figures) -> str:
    """Return the difference in percent, or of percentages in points; "" if it is not known."""
    ours, theirs = own.values[figure], stock.values[figure]
    if ours is None or not theirs:
        return ""
    if figure.unit == "%":
        return f" ({ours - theirs:+.0f} points)"
    return f" ({100 * (ours / theirs - 1):+.0f} %)"


def _said(figure: Figure, of: Figures) -> str:
    whose = f" ({of.poorest})" if figure is LEAST and of.poorest else ""
    return figure.said(of.values[figure]) + whose
