"""What policies reported of their state over time: one figure per policy and panel, as small
multiples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from loomcard.report import drawing
from loomcard.report.drawing import Plot
from loomcard.report.runs import Run, time_unit

SHOWN, LINES, STEPS = 8, 8, 240
"""The most queues with a panel, lines in one panel, and moments of a line."""


def reported_plots(runs: list[Run], number: Callable[[], int]) -> Iterator[Plot]:
    """Return a plot for each run and each panel that its policy reported."""
    for run in runs:
        frame = run.states()
        for panel in frame["panel"].unique(maintain_order=True) if frame.height else ():
            yield _plot(run, str(panel), frame.filter(pl.col("panel") == panel), number())


def _plot(run: Run, panel: str, frame: pl.DataFrame, number: int) -> Plot:
    """Draw figures of one queue in one panel; one figure of several queues together."""
    queues = list(frame["queue"].unique(maintain_order=True))
    labels = list(frame["label"].unique(maintain_order=True))
    single = len(labels) == 1
    lines, boxes = ("queue", "label") if single else ("label", "queue")
    names = _most_moving(frame, boxes)[:SHOWN]
    drawn = _most_moving(frame, lines)[:LINES]
    unit, length = time_unit([run])
    columns = 1 if len(names) == 1 else 2
    rows = -(-len(names) // columns)
    figure, panels = drawing.panels(rows, columns, 1.0 + 1.7 * rows, sharex=True, sharey=True)
    for box, name in zip(panels, names, strict=False):
        here = frame.filter(pl.col(boxes) == name)
        for index, line in enumerate(drawn):
            _line(box, here.filter(pl.col(lines) == line), line, index, length)
        box.set_title(name)
    _axes(panels, len(names), columns, frame, unit)
    _legend(figure, panels, drawn)
    units = ", ".join(
        f"{label}: {each or 'no unit'}"
        for label, each in frame.select("label", "unit").unique(maintain_order=True).iter_rows()
    )
    caption = f"As {run.policy} reported it ({units}); seed {run.seed}; time in {unit}."
    left_out = max(0, len(queues) - (LINES if single else SHOWN))
    if left_out:
        caption += f" Of {len(queues)} queues, the {len(queues) - left_out} that moved most."
    return Plot(
        f"{panel[:1].upper()}{panel[1:]}, {run.policy}", caption, drawing.svg(figure, number)
    )


def _most_moving(frame: pl.DataFrame, column: str) -> list[str]:
    """Return the names in a column, in their order; if there are too many, those whose values have
    the widest range.
    """
    names = list(frame[column].unique(maintain_order=True))
    if len(names) <= min(SHOWN, LINES):
        return names
    spread = pl.col("value").max() - pl.col("value").min()
    width = dict(frame.group_by(column).agg(spread).iter_rows())
    chosen = sorted(names, key=lambda name: (-width[name], names.index(name)))[: min(SHOWN, LINES)]
    return [name for name in names if name in chosen]


def _line(box: Axes, frame: pl.DataFrame, label: str, index: int, length: float) -> None:
    """Draw one figure's steps; of very many moments the last of each stretch of time."""
    if not frame.height:
        return
    times, values = frame["at_ms"].to_numpy(), frame["value"].to_numpy()
    interval = max(1.0, (times[-1] - times[0]) / STEPS)
    place = (times - times[0]) // interval
    last = np.append(place[1:] != place[:-1], True)
    look: dict[str, Any] = drawing.line(index)
    box.step(times[last] / length, values[last], where="post", label=label, **look)


def _axes(panels: list[Axes], count: int, columns: int, frame: pl.DataFrame, unit: str) -> None:
    shares = set(frame["unit"]) == {"share"}
    lowest = float(frame["value"].to_numpy().min())
    for index, box in enumerate(panels):
        if index >= count:
            box.set_visible(False)
            continue
        if shares:
            box.yaxis.set_major_formatter(PercentFormatter(1))
        if index % columns == 0 and not shares:
            box.set_ylabel(", ".join(frame["unit"].unique(maintain_order=True)))
        if index >= count - columns:
            box.set_xlabel(f"{unit} since the run's start")
            box.tick_params(labelbottom=True)
        if lowest >= 0:
            box.set_ylim(bottom=0)


def _legend(figure: Figure, panels: list[Axes], drawn: list[str]) -> None:
    """Return the labels of all lines, whichever panel contains them."""
    found: dict[str, Any] = {}
    for box in panels:
        handles, labels = box.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    names = [name for name in drawn if name in found]
    figure.legend(
        [found[name] for name in names], names, loc="outside lower left", ncols=min(3, len(names)),
        handlelength=3.2,
    )  # fmt: skip
