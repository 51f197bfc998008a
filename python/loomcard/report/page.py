"""A study as one HTML page that needs nothing else: no script, no file, no network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from loomcard.report.drawing import Plot
from loomcard.report.figures import application_wins, figures_of
from loomcard.report.plots import plots
from loomcard.report.terminal import Numbers, Row, columns, ours_text, short
from loomcard.report.trends import trends

LARGEST: Final = 1_500_000
_TEXT: Final = 150_000  # reserved for what is not a plot

Cell = list[str]


@dataclass(frozen=True)
class Line:
    """A row of a table: each cell a list of lines, the first one large."""

    cells: list[Cell]
    baseline: bool = False


@dataclass(frozen=True)
class Table:
    """A table of the page."""

    title: str
    headings: list[str]
    rows: list[Line]
    caption: str


@dataclass(frozen=True)
class Section:
    """The content of the page about one setting."""

    title: str
    tables: list[Table]
    plots: list[Plot] = field(default_factory=list)


def page(report: Numbers) -> str:
    """Return the page's HTML: at most 1.5 MB. Plots beyond that are left out, and a note says
    so.
    """
    study = report.study
    numbering = count(1)
    varied = list(trends(report, lambda: next(numbering)))
    room = LARGEST - _TEXT - sum(len(plot.svg.encode()) for plot in varied)
    sections, left_out = _sections(report, numbering, room)
    experiments = [each.get("experiment", {}) for each in study.manifests.values()]
    names = dict.fromkeys(each["name"] for each in experiments if each.get("name"))
    described = dict.fromkeys(each.get("description", "") for each in experiments)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    text = environment.get_template("page.html.j2").render(
        title=", ".join(names) or "Loomcard report",
        description=" ".join(each for each in described if each),
        counts=_counts(report),
        notes=list(_notes(report, left_out)),
        papers=_papers(report),
        settings=sections,
        trends=varied,
        figures=figures_of(study),
        folders=[
            {"name": Path(name).name or name, "rows": list(_manifest(made))}
            for name, made in study.manifests.items()
        ],
    )
    assert len(text.encode()) <= LARGEST
    return text


def _sections(report: Numbers, numbering: Iterator[int], room: int) -> tuple[list[Section], int]:
    """Return the sections, and how many plots were left out."""
    left_out = 0
    sections = []
    for setting in report.study.settings:
        section = Section(setting, list(_tables(report, setting)))
        room -= sum(300 * len(row.cells) for table in section.tables for row in table.rows)
        if room > 0:
            for plot in plots(report, setting, lambda: next(numbering)):
                size = len(plot.svg.encode())
                left_out += size > room
                if size <= room:
                    section.plots.append(plot)
                    room -= size
        else:
            left_out += 1
        sections.append(section)
    return sections, left_out


def _counts(report: Numbers) -> str:
    runs, study = report.study.runs, report.study
    engines = ", ".join(dict.fromkeys(run.facts.get("engine", "") for run in runs))
    seeds = len({run.seed for run in runs})
    counts = (("policy", "policies"), ("setting", "settings"), ("seed", "seeds"))
    found = (len(study.policies()), len(study.settings), seeds)
    of = [f"{n} {one if n == 1 else more}" for n, (one, more) in zip(found, counts, strict=True)]
    ran = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    came = study.applications.height
    return f"{ran} ({', '.join(of)}) of {came} applications in all; engine: {engines}."


def _notes(report: Numbers, left_out: int) -> Iterator[str]:
    study = report.study
    lost = study.applications.height - study.applications["ended"].sum()
    if lost:
        yield f"{lost} applications did not succeed. They count in no figure of applications."
    if study.stopped:
        yield study.left_out
    if left_out:
        yield f"{left_out} plots found no room on a page of 1.5 MB: report fewer folders at once."


def _tables(report: Numbers, setting: str) -> Iterator[Table]:
    shown = columns(report, setting)
    study = report.study
    seeds = len(study.seeds(setting))
    over = (
        f"the median over n = {seeds} seeds, small its 95 % bootstrap interval"
        if seeds > 1
        else "one seed, so no interval"
    )
    policies = study.policies(setting)
    rows = [
        Line([[p], *(_value(report.find(report.summary, setting, p, f, s)) for _, f, s in shown)],
             p == study.baseline)
        for p in policies
    ]  # fmt: skip
    caption = (
        "Times in s. Means, medians and p95 (95th percentile of completion) are over a run's"
        f" applications; each value is {over}. Utilization in %."
    )
    if bound := report.bound(setting):
        caption += f" {bound[0].upper()}{bound[1:]}."
    yield Table("Figures", ["policy", *(_flat(h) for h, _, _ in shown)], rows, caption)
    rivals = [policy for policy in policies if policy != study.baseline]
    if study.baseline in policies and rivals:
        yield _against(report, setting, rivals)
    tags = report.classes(setting)
    if tags:
        yield _by_class(report, setting, tags)


def _against(report: Numbers, setting: str, rivals: list[str]) -> Table:
    shown = [(h, f, s) for h, f, s in columns(report, setting) if f != "slowdown"]
    wins = {(s, p): rest for s, p, *rest in application_wins(report.study).iter_rows()}
    rows = []
    for policy in rivals:
        cells = [_ratio(report.find(report.comparison, setting, policy, f, s)) for _, f, s in shown]
        sooner, same, later = wins.get((setting, policy), [0, 0, 0])
        rows.append(Line([[policy], *cells, [f"{sooner} / {same} / {later}"]]))
    headings = ["policy", *(_flat(h) for h, _, _ in shown), "applications sooner / same / later"]
    caption = (
        f"Each policy's figure over that of {report.study.baseline} on the same seed: the geometric"
        " mean of the ratios (where one is 0: the mean difference), its 95 % bootstrap interval,"
        " and seeds on which it is better / the same within 0.1 % / worse. The last column counts"
        " applications by completion, seed by seed."
    )
    return Table(f"Against {report.study.baseline}", headings, rows, caption)


def _by_class(report: Numbers, setting: str, tags: list[str]) -> Table:
    kinds = [("waiting", "median"), ("completion", "median"), ("slowdown", "mean")]
    rows = []
    for policy in report.study.policies(setting):
        cells = [
            _value(report.find(report.summary, setting, policy, figure, statistic, tag))
            for tag in tags
            for figure, statistic in kinds
        ]
        rows.append(Line([[policy], *cells], policy == report.study.baseline))
    headings = ["policy", *(f"{tag}: {s} {f}" for tag in tags for f, s in kinds)]
    caption = "By the first tag of an application. Times in s; values and intervals as above."
    return Table("By class", headings, rows, caption)


def _papers(report: Numbers) -> Table | None:
    """Return papers' figures beside ours; None if no experiment states any."""
    if not report.papers:
        return None
    rows = []
    for row in report.papers:
        raw = (row.policy, row.against)
        were = [f"{short(raw[0])} against {short(raw[1])}"] if None not in raw else []  # type: ignore[arg-type]
        why = [row.because] if row.because and row.agrees == "no" else []
        ours = [ours_text(row), *_interval(row.low, row.high), *were]
        signs = [[row.sign_paper or "-"], [row.sign_ours or "-"]]
        rows.append(Line([[row.figure], [row.what], [row.paper], ours, *signs, [row.agrees, *why]]))
    seeds = max(row.seeds for row in report.papers)
    caption = (
        f"Ours: over up to n = {seeds} seeds, if not said the mean, small its 95 % bootstrap"
        " interval and the same of the two that are compared, in their own units. Signs: where the"
        " first stands to the second, or our figure to the paper's."
    )
    headings = ["figure", "what", "paper", "ours", "paper's sign", "our sign", "agrees"]
    return Table("Beside the paper", headings, rows, caption)


def _flat(heading: str) -> str:
    return heading.replace("-\n", "").replace("\n", " ")


def _value(cell: Row | None) -> Cell:
    if cell is None:
        return ["-"]
    percent = " %" if cell["figure"].startswith("utilization") else ""
    return [short(cell["value"]) + percent, *_interval(cell["low"], cell["high"])]


def _ratio(cell: Row | None) -> Cell:
    if cell is None:
        return ["-"]
    counts = f"{cell['wins']} / {cell['ties']} / {cell['losses']}"
    if cell["ratio"] is None:
        low, high = cell["difference_low"], cell["difference_high"]
        return [short(cell["difference"], "+"), *_interval(low, high), counts]
    return [
        f"{cell['ratio']:.3g}\u00a0x",
        *_interval(cell["ratio_low"], cell["ratio_high"]),
        counts,
    ]


def _interval(low: float | None, high: float | None) -> Cell:
    return [] if low is None or high is None else [f"{short(low)} to {short(high)}"]


def _manifest(made: dict[str, Any]) -> Iterator[tuple[str, str | list[str]]]:
    """Return the content of a manifest in the words of a reader."""
    if made.get("command"):
        yield "command", " ".join(made["command"])
    for name in ("engine", "cells"):
        if name in made:
            yield name, str(made[name])
    if made.get("seeds"):
        yield "seeds", ", ".join(map(str, made["seeds"]))
    varied = made.get("experiment", {}).get("vary", {})
    if varied:
        yield "varied", [f"{k}: {', '.join(map(str, v))}" for k, v in varied.items()]
    if "versions" in made:
        yield "versions", ", ".join(f"{k} {v}" for k, v in made["versions"].items())
    if made.get("git"):
        dirty = ", with changes" if made["git"].get("dirty") else ""
        yield "commit", f"{made['git'].get('commit')}{dirty}"
    if made.get("host"):
        yield "host", ", ".join(f"{k} {v}" for k, v in made["host"].items() if v is not None)
    if made.get("made_at"):
        yield "made at", made["made_at"]
    if "inputs" in made:
        yield "SHA-256 of inputs", [f"{name}: {digest}" for name, digest in made["inputs"].items()]
    if made.get("failures"):
        yield "failed", list(made["failures"])
