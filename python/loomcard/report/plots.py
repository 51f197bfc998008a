"""The plots of one setting of a study: distributions, and use over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from loomcard.report import drawing, series
from loomcard.report.drawing import Plot
from loomcard.report.policy_series import reported_plots
from loomcard.report.runs import Run, Study, time_unit
from loomcard.report.series import Floats
from loomcard.report.terminal import Numbers

STEPS, AREAS, PANELS, POINTS = 200, 100, 8, 200
TOP = 9


def plots(report: Numbers, setting: str, number: Callable[[], int]) -> Iterator[Plot]:
    """The plots of a setting, each drawn on demand. ``number``: returns unused numbers."""
    study, runs = report.study, report.study.first(setting)
    with drawing.styled():
        yield _distributions(study, setting, number())
        if study.baseline and len(study.policies(setting)) > 1:
            yield _ratios(report, setting, number())
        yield _over_time(runs, number())
        held = [(run, frame) for run in runs[:PANELS] if (frame := run.containers()).height]
        if held:
            yield _containers(held, number())
            yield _shares(held, number())
        yield from reported_plots(runs[:PANELS], number)


def distributions(study: Study, setting: str) -> Figure:
    """Draw waiting and completion of a setting's applications in seconds, one cumulative line per
    policy. Call it, and show the result, in ``styled()``.
    """
    figure, panels = drawing.panels(1, 2, 3.4, sharey=True)
    frame = study.applications.filter(pl.col("setting") == setting)
    for panel, column in zip(panels, ("waiting_ms", "completion_ms"), strict=True):
        whole: list[Floats] = []
        for index, policy in enumerate(study.policies(setting)):
            values = frame.filter(pl.col("policy") == policy)[column].drop_nulls().sort() / 1000
            whole.append(values.to_numpy())
            if len(values):
                _steps(panel, whole[-1], policy, index)
        _scale(panel, np.concatenate(whole))
        panel.set_xlabel(f"{column.removesuffix('_ms')} time, s")
        panel.set_ylim(0, 1.02)
        panel.yaxis.set_major_formatter(PercentFormatter(1))
    panels[0].set_ylabel("part of the applications")
    drawing.legend(figure, panels[0])
    return figure


def _distributions(study: Study, setting: str, number: int) -> Plot:
    figure = distributions(study, setting)
    frame = study.applications.filter(pl.col("setting") == setting)
    ended, came = frame.filter(pl.col("ended")).height, frame.height
    caption = (
        "Cumulative distribution of waiting (submission to the first container that is not the"
        " AM's RUNNING) and completion (submission to the end of the last such container), in"
        f" seconds. n = {ended} of {came} runs of an application, all seeds and policies together;"
        " those that did not succeed are left out."
    )
    return Plot("Waiting and completion", caption, drawing.svg(figure, number))


def _steps(panel: Axes, values: Floats, label: str, index: int) -> None:
    """Return a cumulative distribution as steps; of very many values, evenly chosen ones."""
    part = np.arange(1, len(values) + 1) / len(values)
    chosen = np.unique(np.linspace(0, len(values) - 1, min(len(values), POINTS)).astype(int))
    x, y = values[chosen], part[chosen]
    panel.step(
        np.concatenate([x[:1], x]), np.concatenate([[0.0], y]), where="post", label=label,
        **drawing.line(index),
    )  # fmt: skip


def _scale(panel: Axes, values: Floats) -> None:
    """Use a logarithmic axis if the long values would hide the short ones."""
    above = values[values > 0]
    if len(above) and np.quantile(above, 0.95) > 20 * np.quantile(above, 0.1):
        if len(above) < len(values):
            panel.set_xscale("symlog", linthresh=max(1.0, float(above.min())))
            panel.set_xlim(left=0)
        else:
            panel.set_xscale("log")


RATIOS = (
    ("waiting", "mean", "mean waiting"),
    ("completion", "mean", "mean completion"),
    ("completion", "median", "median completion"),
    ("completion", "p95", "p95 completion"),
    ("slowdown", "mean", "mean slowdown"),
    ("makespan", "value", "makespan"),
)


def _ratios(report: Numbers, setting: str, number: int) -> Plot:
    rivals = [p for p in report.study.policies(setting) if p != report.study.baseline]
    figure, (panel,) = drawing.panels(1, 1, 1.5 + 0.1 * len(RATIOS) * max(2.5, len(rivals)))
    height = 0.8 / len(rivals)
    for index, policy in enumerate(rivals, 1):
        for row, (key, statistic, _) in enumerate(RATIOS):
            cell = report.find(report.comparison, setting, policy, key, statistic)
            if cell is None or cell["ratio"] is None:
                continue
            y = row - 0.4 + height * (index - 0.5)
            look = drawing.line(index)
            low, high = cell["ratio_low"] or cell["ratio"], cell["ratio_high"] or cell["ratio"]
            panel.plot([low, high], [y, y], color=look["color"], linewidth=1.4)
            marker = drawing.MARKERS[index % len(drawing.MARKERS)]
            panel.plot(
                [cell["ratio"]], [y], marker, color=look["color"], markersize=5,
                label=policy if row == 0 else None,
            )  # fmt: skip
    for row in range(0, len(RATIOS), 2):
        panel.axhspan(row - 0.5, row + 0.5, color="#f4f4f4", zorder=0)
    panel.axvline(1, color="black", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_yticks(range(len(RATIOS)), [name for _, _, name in RATIOS])
    panel.set_ylim(len(RATIOS) - 0.5, -0.5)
    panel.set_xlabel(f"ratio to {report.study.baseline}; left of 1 is better")
    _plain_ticks(panel)
    drawing.legend(figure, panel)
    pairs = max(report.comparison.filter(pl.col("setting") == setting)["pairs"], default=0)
    caption = (
        f"Each policy's figure divided by that of {report.study.baseline} on the same seed: the"
        f" geometric mean over n = {pairs} seeds, with its 95 % bootstrap interval (none for one"
        " seed). No units."
    )
    return Plot(f"Against {report.study.baseline}", caption, drawing.svg(figure, number))


def _plain_ticks(panel: Axes) -> None:
    """Use 0.5, 1, 2 instead of powers of ten, of which a narrow range may contain none."""
    low, high = panel.get_xlim()
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    wide = high / low > 100
    steps = (1,) if wide else (1, 2, 5) if high / low > 4 else (1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)
    ticks = [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high]
    panel.set_xticks(ticks or [1.0], [f"{tick:g}" for tick in ticks or [1.0]])
    panel.set_xticks([], minor=True)


def _over_time(runs: list[Run], number: int) -> Plot:
    figure, panels = drawing.panels(2, 1, 4.6, sharex=True)
    resource = max(
        range(len(runs[0].facts["resource_types"])),
        key=lambda r: [*runs[0].facts["utilization"].values()][r],
        default=0,
    )
    name = runs[0].facts["resource_types"][resource]
    unit, longest = time_unit(runs)
    for index, run in enumerate(runs):
        look = drawing.line(index)
        frame = run.containers()
        if frame.height:
            borders = series.edges(run.facts, frame, STEPS)
            used = series.held(frame, frame[name].to_list(), borders)
            whole = series.capacity(run.facts, resource, borders)
            part = np.divide(used, whole, out=np.zeros(STEPS), where=whole > 0)
            _stairs(panels[0], part, borders / longest, run.policy, look)
        windows = np.array(run.facts.get("jain_windows", []))
        begin = min((a["submitted_ms"] for a in run.facts["applications"]), default=0)
        times = begin + run.facts.get("window_ms", 60_000) * np.arange(len(windows) + 1)
        if len(windows):
            if run.facts.get("makespan_ms"):
                times[-1] = min(times[-1], begin + run.facts["makespan_ms"])
            _stairs(panels[1], *_thinned(windows, times / longest), run.policy, look)
    panels[0].set_ylabel(f"{name} used")
    panels[0].yaxis.set_major_formatter(PercentFormatter(1))
    panels[1].set_ylabel("Jain's index")
    panels[1].set_xlabel(f"{unit} since the run's start")
    for panel in panels:
        panel.set_ylim(0, 1.04)
    drawing.legend(figure, panels[1] if not panels[0].lines else panels[0])
    caption = (
        f"Above: the part of the cluster's {name} that running containers held, AMs' included, mean"
        f" over {STEPS} steps. Below: Jain's index of dominant share over fair share, a value a"
        f" window of 60 s. One run a policy, seed {runs[0].seed}; time in {unit}."
    )
    return Plot("Utilization and fairness over time", caption, drawing.svg(figure, number))


def _stairs(panel: Axes, values: Floats, borders: Floats, label: str, look: dict[str, Any]) -> None:
    panel.step(borders, np.append(values, values[-1]), where="post", label=label, **look)


def _thinned(values: Floats, borders: Floats) -> tuple[Floats, Floats]:
    """Return means of neighbours if there are more values than can be seen."""
    every = -(-len(values) // STEPS)
    groups = [values[i : i + every].mean() for i in range(0, len(values), every)]
    return np.array(groups), np.append(borders[:-1:every], borders[-1])


def _containers(held: list[tuple[Run, pl.DataFrame]], number: int) -> Plot:
    names = _largest(held[0][1])
    figure, panels = _grid(len(held))
    unit, longest = time_unit([run for run, _ in held])
    for panel, (run, frame) in zip(panels, held, strict=False):
        borders = series.edges(run.facts, frame, AREAS)
        rest = ~pl.col("application").is_in(names)
        parts = [frame.filter(pl.col("application") == name) for name in names]
        parts += [frame.filter(rest)] if frame.filter(rest).height else []
        rows = [series.held(part, [1.0] * part.height, borders) for part in parts]
        labels = [*names, f"{frame.filter(rest)['application'].n_unique()} others"][: len(rows)]
        _stack(panel, rows, borders / longest, labels)
        panel.set_title(run.policy)
    _label(panels, len(held), "containers", f"{unit} since the run's start")
    drawing.legend(figure, panels[0], 5)
    caption = (
        f"Running containers over time, AMs' included, stacked by application: the {len(names)}"
        f" with the most container time under {held[0][0].policy}, then all others. Mean over"
        f" {AREAS} steps; one run a policy, seed {held[0][0].seed}; time in {unit}."
    )
    return Plot("Containers over time", caption, drawing.svg(figure, number))


def _shares(held: list[tuple[Run, pl.DataFrame]], number: int) -> Plot:
    figure, panels = _grid(len(held))
    unit, longest = time_unit([run for run, _ in held])
    said = ""
    for panel, (run, frame) in zip(panels, held, strict=False):
        groups, said = _groups(run, _largest(held[0][1]))
        borders = series.edges(run.facts, frame, AREAS)
        marked = frame.with_columns(
            pl.Series("amount", series.dominant(run.facts, frame), dtype=pl.Float64)
        )
        for index, (name, members) in enumerate(groups.items()):
            part = marked.filter(pl.col("application").is_in(members))
            share = series.held(part, part["amount"].to_list(), borders)
            _stairs(panel, share, borders / longest, name, drawing.line(index))
        panel.set_title(run.policy)
        panel.yaxis.set_major_formatter(lambda part, _: f"{100 * part:.3g}%")
    panels[0].set_ylim(bottom=0)  # after all are drawn: they share one axis
    _label(panels, len(held), "share of the cluster", f"{unit} since the run's start")
    drawing.legend(figure, panels[0], 5)
    caption = (
        f"The sum of the running containers' dominant shares of the cluster, {said}; mean over"
        f" {AREAS} steps; one run a policy, seed {held[0][0].seed}; time in {unit}."
    )
    return Plot("Shares over time", caption, drawing.svg(figure, number))


def _groups(run: Run, largest: list[str]) -> tuple[dict[str, list[str]], str]:
    """Return applications by queue; if there is one queue, by class; otherwise only the largest."""
    applications = run.facts["applications"]
    queues = [each["queue"] for each in applications]
    classes = [(each.get("tags") or ["untagged"])[0] for each in applications]
    for said, keys in (("by queue", queues), ("by class", classes)):
        groups: dict[str, list[str]] = {}
        for key, each in zip(keys, applications, strict=True):
            groups.setdefault(key, []).append(each["id"])
        if 1 < len(groups) <= 12:
            return dict(sorted(groups.items())), said
    return {name: [name] for name in largest}, "of the applications with the most container time"


def _largest(frame: pl.DataFrame) -> list[str]:
    time = (pl.col("finished_ms") - pl.col("started_ms")).sum().alias("time")
    order = ["time", "application"]
    ranked = frame.group_by("application").agg(time).sort(order, descending=[True, False])
    return list(ranked["application"].head(TOP))


def _grid(count: int) -> tuple[Figure, list[Axes]]:
    columns = 1 if count == 1 else 2
    rows = -(-count // columns)
    return drawing.panels(rows, columns, 0.9 + 1.9 * rows, sharex=True, sharey=True)


def _label(panels: list[Axes], count: int, y: str, x: str) -> None:
    for index, panel in enumerate(panels):
        if index >= count:
            panel.set_visible(False)
        if index % (1 if count == 1 else 2) == 0:
            panel.set_ylabel(y)
        if index >= count - 2:
            panel.set_xlabel(x)
            panel.tick_params(labelbottom=True)


def _stack(panel: Axes, rows: list[Floats], borders: Floats, labels: list[str]) -> None:
    """Draw areas from one step's middle to the next one's: half the points that steps would
    need.
    """
    middles = (borders[:-1] + borders[1:]) / 2
    below = np.zeros(len(rows[0]))
    for index, (row, label) in enumerate(zip(rows, labels, strict=True)):
        above = below + row
        panel.fill_between(
            middles, below, above, label=label, linewidth=0.3, edgecolor="white",
            facecolor=drawing.REST if index == TOP else drawing.COLOURS[index % 8],
            hatch=drawing.HATCHES[index % len(drawing.HATCHES)],
        )  # fmt: skip
        below = above
