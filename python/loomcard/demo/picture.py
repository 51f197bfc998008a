"""The demo's picture: the real jobs with the swap, and what each policy gained."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from loomcard.cluster.container_times import containers_over_time
from loomcard.demo.gains import AIMS, LEAST, MEAN, SMALL, Gain, figures_of
from loomcard.demo.real_jobs import AFTER, BEFORE, RealJobs
from loomcard.report import drawing, series
from loomcard.report.expectation import applications_of
from loomcard.report.runs import Run, Study
from loomcard.results.containers import resource_columns

_POINTS = 400
_STEPS = 40
_WIDE = 66  # characters of a panel's title in a line
_GREY = "#777777"


def write(real: RealJobs, study: Study, gains: Sequence[Gain], verdict: str, file: Path) -> None:
    """Write the picture, a PNG, to `file`. `verdict`: the line below it."""
    said = {AIMS[gain.policy]: gain.sentence for gain in gains}
    with drawing.styled():
        figure = Figure(figsize=(12, 8), layout="constrained")
        FigureCanvasAgg(figure)
        (jobs, small), (least, whole) = figure.subplots(2, 2)
        _real_jobs(jobs, real)
        _dots(small, study, "waiting_ms", "small")
        _least(least, study)
        _dots(whole, study, "completion_ms", "")
        for panel, aim in ((small, SMALL), (least, LEAST), (whole, MEAN)):
            _title(panel, said.get(aim, aim.name))
        figure.supxlabel(verdict, fontsize=9, color="#444444")
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, dpi=120)


def _title(panel: Axes, text: str) -> None:
    whole = re.sub(r"(\d) (s|%)", "\\1\N{NO-BREAK SPACE}\\2", text)  # a number keeps its unit
    panel.set_title(textwrap.fill(whole, _WIDE), pad=10)


def _real_jobs(panel: Axes, real: RealJobs) -> None:
    """Draw the containers of the real jobs over time, and when the policy was swapped."""
    began = min(job.submitted_ms for job in real.jobs)
    ended = max((run.ended_ms or run.started_ms for run in real.runs), default=began + 1)
    counts = containers_over_time(real.runs, began, ended, _POINTS)
    seconds = np.linspace(0, (ended - began) / 1000, _POINTS)
    rows = [counts.get(job.id, [0] * _POINTS) for job in real.jobs]
    names = [job.name for job in real.jobs]
    panel.stackplot(
        seconds, rows, labels=names, colors=drawing.COLOURS[3:], hatch=["", "///"],
        edgecolor="white", linewidth=0.4,
    )  # fmt: skip
    most = max(map(sum, zip(*rows, strict=True)))
    panel.set_ylim(0, 1.25 * most)
    swapped = (real.swapped_ms - began) / 1000
    panel.axvline(swapped, color="black", linestyle="--", linewidth=1.2)
    panel.text(swapped, 1.23 * most, f"{BEFORE} ", ha="right", va="top")
    panel.text(swapped, 1.23 * most, f" {AFTER}", ha="left", va="top")
    panel.set_xlabel("seconds since the first job was submitted")
    panel.set_ylabel("running containers")
    panel.legend(loc="upper left")
    before, after = real.started
    _title(
        panel,
        f"Two MapReduce jobs while the policy changes: {before} containers started under {BEFORE},"
        f" {after} under {AFTER}",
    )


def _dots(panel: Axes, study: Study, column: str, of: str) -> None:
    """Draw one row per scheduler: a dot for each of its applications, and their mean."""
    for row, run in enumerate(study.runs):
        found = [each[column] for each in applications_of(run.facts["applications"], of)]
        values = np.array([value for value in found if value is not None]) / 1000
        colour, marker = drawing.COLOURS[row], drawing.MARKERS[row]
        panel.plot(
            values, np.full(len(values), row), color=colour, marker=marker, linestyle="",
            alpha=0.45, markeredgewidth=0, markersize=5,
        )  # fmt: skip
        if len(values):
            mean = float(values.mean())
            panel.plot([mean, mean], [row - 0.3, row + 0.3], color=colour, linewidth=2.5)
            panel.text(mean, row - 0.33, f" mean {mean:.1f} s", va="center", fontsize=8)
    panel.set_yticks(range(len(study.runs)), [run.policy for run in study.runs])
    panel.set_ylim(len(study.runs) - 0.5, -0.75)
    panel.set_xlim(left=0)
    whose = f"{of} job" if of else "job"
    panel.set_xlabel(f"{column.removesuffix('_ms')} time in seconds, a dot a {whose}")
    panel.grid(axis="y", visible=False)


def _least(panel: Axes, study: Study) -> None:
    """Draw the share of the queue that had least under the baseline, over time."""
    found = {run.policy: run for run in study.runs}
    stock = figures_of(found[study.baseline])
    for row, run in enumerate(study.runs):
        if run.policy in (study.baseline, "hdrf"):
            seconds, share = _share(run, f"root.{stock.poorest}")
            panel.plot(seconds, share, **drawing.line(row) | {"linewidth": 2}, label=run.policy)
    due = 100 / len(stock.shares)
    panel.axhline(due, color=_GREY, linewidth=1, linestyle=":")
    panel.annotate(
        "due ", (1, due), xycoords=("axes fraction", "data"), color=_GREY, fontsize=8,
        ha="right", va="bottom",
    )  # fmt: skip
    panel.set_ylim(0, 100)
    panel.set_xlim(left=0)
    panel.set_xlabel("seconds since the start")
    panel.set_ylabel(f"{stock.poorest}'s share in %")
    panel.legend(loc="upper left")


def _share(run: Run, queue: str) -> tuple[series.Floats, series.Floats]:
    """Return the middles of steps in seconds, and the dominant share in percent in each."""
    frame = run.containers()
    borders = series.edges(run.facts, frame, _STEPS)
    mine = [each["id"] for each in applications_of(run.facts["applications"], queue)]
    own = frame.filter(pl.col("application").is_in(mine))
    types = run.facts["resource_types"]
    parts = [
        series.held(own, own[name].to_list(), borders) / series.capacity(run.facts, at, borders)
        for at, name in enumerate(resource_columns(types))
    ]
    return (borders[:-1] + borders[1:]) / 2000, 100 * np.max(parts, axis=0)
