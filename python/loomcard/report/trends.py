"""What changes with a parameter that an experiment varied: one plot per parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from loomcard.report import drawing
from loomcard.report.drawing import Plot
from loomcard.report.runs import Run
from loomcard.report.terminal import Numbers

SHOWN = (
    ("waiting", "mean", "mean waiting, s"),
    ("completion", "mean", "mean completion, s"),
    ("makespan", "value", "makespan, s"),
)
Point = tuple[float, dict[str, Any]]


def trends(numbers: Numbers, number: Callable[[], int]) -> Iterator[Plot]:
    """Return for each parameter with several numbers the figures over it: one line per policy and
    combination of the other parameters.
    """
    runs = list({(run.setting, run.policy): run for run in numbers.study.runs}.values())
    keys = dict.fromkeys(key for run in runs for key in run.facts.get("parameters", {}))
    with drawing.styled():
        for key in keys:
            with_it = [run for run in runs if _number(run.facts["parameters"].get(key))]
            if len({run.facts["parameters"][key] for run in with_it}) > 1:
                yield _trend(numbers, key, with_it, number())


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _trend(numbers: Numbers, key: str, runs: list[Run], number: int) -> Plot:
    figure, panels = drawing.panels(1, len(SHOWN), 3.2)
    labels = list(dict.fromkeys(_label(run, key) for run in runs))
    for panel, (name, statistic, title) in zip(panels, SHOWN, strict=True):
        for index, label in enumerate(labels):
            mine = [run for run in runs if _label(run, key) == label]
            points = [
                (run.facts["parameters"][key], cell)
                for run in mine
                if (cell := numbers.find(numbers.summary, run.setting, run.policy, name, statistic))
            ]
            _line(panel, sorted(points, key=lambda point: point[0]), label, index)
        panel.set_title(title)
        panel.set_xlabel(key.partition(".")[2])
        panel.set_ylim(bottom=0)
    drawing.legend(figure, panels[0])
    seeds = max(len(numbers.study.seeds(run.setting)) for run in runs)
    caption = (
        f"Median over n = {seeds} seeds, with its 95 % bootstrap interval (none for one seed), in"
        f" seconds, by {key}."
    )
    return Plot(f"With {key.partition('.')[2]}", caption, drawing.svg(figure, number))


def _label(run: Run, key: str) -> str:
    """Return the run's policy and setting without the parameter that is on the axis."""
    said = f"{key.rpartition('.')[2]}={run.facts['parameters'][key]}"
    option = f"{key.removeprefix('policy.')}={run.facts['parameters'][key]}"
    policy = " ".join(word for word in run.policy.split(" ") if word != option)
    setting = ", ".join(word for word in run.setting.split(", ") if word != said)
    return f"{policy}, {setting}"


def _line(panel: Any, points: list[Point], label: str, index: int) -> None:
    if not points:
        return
    x = [value for value, _ in points]
    y = [cell["value"] for _, cell in points]
    spread = [
        (0.0, 0.0) if cell["low"] is None else (value - cell["low"], cell["high"] - value)
        for value, (_, cell) in zip(y, points, strict=True)
    ]
    marker = drawing.MARKERS[index % len(drawing.MARKERS)]
    look = drawing.line(index)
    panel.errorbar(
        x,
        y,
        yerr=list(zip(*spread, strict=True)),
        label=label,
        marker=marker,
        markersize=4,
        capsize=2,
        **look,
    )
