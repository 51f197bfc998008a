"""A study as tables for the terminal, legible at 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl
from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from loomcard.report.figures import ALL, application_wins, compare, figures_of, samples, summarise
from loomcard.report.paper_tables import PaperComparison, paper_comparisons
from loomcard.report.runs import Study

Row = dict[str, Any]
COLUMNS = (
    ("median\nwaiting", "waiting", "median"),
    ("mean\ncomple-\ntion", "completion", "mean"),
    ("median\ncomple-\ntion", "completion", "median"),
    ("p95", "completion", "p95"),
    ("median\nslow-\ndown", "slowdown", "median"),
    ("make-\nspan", "makespan", "value"),
    ("Jain", "jain", "value"),
)
"""Heading, figure, statistic; utilization of the fullest resource comes before Jain's index."""


@dataclass(frozen=True)
class Numbers:
    """A study's tables of numbers: over seeds, against the baseline, beside papers' figures."""

    study: Study
    summary: pl.DataFrame
    comparison: pl.DataFrame
    papers: list[PaperComparison]

    def find(
        self, table: pl.DataFrame, setting: str, policy: str, figure: str, statistic: str,
        tag: str = ALL,
    ) -> Row | None:  # fmt: skip
        """Return the row of one figure; None if there is none."""
        found = table.filter(
            (pl.col("setting") == setting)
            & (pl.col("policy") == policy)
            & (pl.col("class") == tag)
            & (pl.col("figure") == figure)
            & (pl.col("statistic") == statistic)
        )
        return found.row(0, named=True) if found.height else None

    def bound(self, setting: str) -> str:
        """Return a sentence about the makespan that no schedule can beat; "" if the results have
        none.
        """
        here = [run for run in self.study.runs if run.setting == setting]
        by_seed = {run.seed: run.facts.get("bounds", {}).get("makespan_ms") for run in here}
        known = [value / 1000 for value in by_seed.values() if value is not None]
        if not known:
            return ""
        over = f", median of {len(known)} seeds" if len(known) > 1 else ""
        return f"no schedule has a makespan below {short(median(known))} s (a lower bound{over})"

    def classes(self, setting: str) -> list[str]:
        """Return the classes of a setting besides all."""
        here = self.summary.filter(pl.col("setting") == setting)
        return [tag for tag in here["class"].unique(maintain_order=True) if tag != ALL]


def numbers(study: Study) -> Numbers:
    """All the numbers of a study."""
    values = samples(study)
    return Numbers(study, summarise(values), compare(study, values), paper_comparisons(study))


def tables(report: Numbers) -> Iterator[RenderableType]:
    """Return for each setting the figures, the comparison with the baseline, and the classes."""
    for setting in report.study.settings:
        seeds = len(report.study.seeds(setting))
        over = f"median of {seeds} seeds, 95 % interval below" if seeds > 1 else "one seed"
        yield Text(f"\n{setting}", style="bold") + Text(f" (times in s; {over})", style="dim")
        yield _overview(report, setting)
        applications = report.study.applications.filter(pl.col("setting") == setting)
        lost = applications.filter(~pl.col("ended")).height
        if bound := report.bound(setting):
            yield Text(bound, style="dim")
        if lost:
            said = f"{lost} of {applications.height} applications did not succeed: left out above"
            yield Text(said, style="yellow")
        if report.study.baseline in report.study.policies(setting)[:1] and _rivals(report, setting):
            said = " (ratio, 95 % interval; seeds, then jobs, better/same/worse)"
            yield Text(f"against {report.study.baseline}", style="bold") + Text(said, style="dim")
            yield _against(report, setting)
        if report.classes(setting):
            yield Text("by class", style="bold") + Text(" (median completion in s)", style="dim")
            yield _by_class(report, setting)
    if report.study.left_out:
        yield Text(f"\n{report.study.left_out}", style="yellow")
    if report.papers:
        said = " (ours: mean over seeds if not said, 95 % interval below)"
        yield Text("\nbeside the paper", style="bold") + Text(said, style="dim")
        yield _papers(report.papers)


def _rivals(report: Numbers, setting: str) -> list[str]:
    return [policy for policy in report.study.policies(setting) if policy != report.study.baseline]


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False)
    table.add_column("policy", overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def columns(report: Numbers, setting: str) -> list[tuple[str, str, str]]:
    """The columns of the overview: heading, figure, statistic."""
    rows = report.summary.filter(
        (pl.col("setting") == setting) & pl.col("figure").str.starts_with("utilization ")
    )
    if not rows.height:
        return list(COLUMNS)
    fullest = rows.sort("value", descending=True, maintain_order=True)["figure"][0]
    name = str(fullest).removeprefix("utilization ").removesuffix("_mb")
    return [*COLUMNS[:-1], (f"{name}\nused", str(fullest), "value"), COLUMNS[-1]]


def _overview(report: Numbers, setting: str) -> Table:
    shown = columns(report, setting)
    table = _table(*(heading for heading, _, _ in shown))
    for policy in report.study.policies(setting):
        cells = [report.find(report.summary, setting, policy, f, s) for _, f, s in shown]
        table.add_row(_marked(report, policy), *(_value(report, cell) for cell in cells))
    return table


def _against(report: Numbers, setting: str) -> Table:
    shown = [(h, f, s) for h, f, s in columns(report, setting) if f != "slowdown"]
    table = _table(*(heading for heading, _, _ in shown), "jobs")
    wins = {(s, p): rest for s, p, *rest in application_wins(report.study).iter_rows()}
    for policy in _rivals(report, setting):
        cells = [report.find(report.comparison, setting, policy, f, s) for _, f, s in shown]
        counts = "/".join(map(str, wins.get((setting, policy), [0, 0, 0])))
        table.add_row(policy, *(_ratio(cell) for cell in cells), counts)
    return table


def _by_class(report: Numbers, setting: str) -> Table:
    tags = report.classes(setting)
    table = _table(*tags)
    for policy in report.study.policies(setting):
        cells = [
            report.find(report.summary, setting, policy, "completion", "median", tag)
            for tag in tags
        ]
        table.add_row(_marked(report, policy), *(_value(report, cell) for cell in cells))
    return table


def _papers(rows: list[PaperComparison]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False)
    for heading in ("figure", "what", "paper", "ours", "sign", "agrees"):
        right = heading in ("paper", "ours")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        spread = [None if end is None else short(end) for end in (row.low, row.high)]
        ours = ours_text(row) + (
            "" if None in spread else f"\n[dim]{spread[0]} to {spread[1]}[/dim]"
        )
        agrees = row.agrees + (f"\n[dim]{escape(row.because)}[/dim]" if row.agrees == "no" else "")
        cells = (row.figure, row.what, row.paper)
        table.add_row(*map(escape, cells), ours, signs_text(row), agrees.rstrip())
    return table


def ours_text(row: PaperComparison) -> str:
    """Return our figure with its unit."""
    percent = " %" if row.unit == "%" else f" {row.unit}" if row.unit == "s" else ""
    return "-" if row.ours is None else short(row.ours) + percent


def signs_text(row: PaperComparison) -> str:
    """Return the sign of the comparison and our value."""
    return f"{row.sign_paper}, {row.sign_ours}" if row.sign_ours else row.sign_paper or "-"


def _marked(report: Numbers, policy: str) -> str:
    return f"{policy} *" if policy == report.study.baseline else policy


def _value(report: Numbers, cell: Row | None) -> str:
    if cell is None:
        return "-"
    unit = next(f.unit for f in figures_of(report.study) if f.key == cell["figure"])
    percent = "%" if unit == "%" else ""
    return f"{short(cell['value'])}{percent}" + _interval(cell["low"], cell["high"])


def _ratio(cell: Row | None) -> str:
    if cell is None:
        return "-"
    counts = f"\n{cell['wins']}/{cell['ties']}/{cell['losses']}"
    if cell["ratio"] is None:
        return f"{short(cell['difference'], '+')} s{counts}"
    return f"{cell['ratio']:.3g}x" + _interval(cell["ratio_low"], cell["ratio_high"]) + counts


def _interval(low: float | None, high: float | None) -> str:
    """Return the interval on a line of its own, or on two if it is long."""
    if low is None or high is None:
        return ""
    text = f"{short(low)}-{short(high)}"
    text = text if len(text) <= 8 else text.replace("-", "-\n", 1)
    return f"\n[dim]{text}[/dim]"


def short(value: float, sign: str = "") -> str:
    """Return a number in about four characters."""
    if abs(value) >= 9_999.5:
        return f"{value / 1000:{sign}.1f}k"
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:{sign}.{digits}f}"
