"""The page, the terminal's tables and the files are complete, self-contained and readable."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from rich.console import Console

from loomcard.report import drawing, series
from loomcard.report.files import write_page, write_tables
from loomcard.report.page import LARGEST, page
from loomcard.report.runs import read_study
from loomcard.report.terminal import Numbers, numbers, short, tables
from loomcard.report.trends import trends
from loomcard.results.manifest import manifest
from loomcard.results.record import RunRecord
from loomcard.results.run_folder import write_run

VOID = {"meta", "br"}


class Checked(HTMLParser):
    """Every tag is closed in order, and every id occurs once."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(text: str) -> None:
    """It is well-formed, without script, link, or address except the namespaces of SVG."""
    checked = Checked()
    checked.feed(text)
    assert checked.open == []
    assert len(checked.ids) == len(set(checked.ids))
    assert not {"script", "link", "img", "iframe", "object"} & set(checked.seen)
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+[^\s\"'<>]*", text))
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"url\((?!#f\d+-)", text)
    assert "@import" not in text
    for each in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(each)  # noqa: S314 - our own text
    assert len(text.encode()) < LARGEST


def test_every_plot_says_what_it_shows(text: str) -> None:
    """Each has a caption, with units, and n or the seed."""
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", text, re.DOTALL)
    assert len(captions) == text.count("<svg") == 5
    assert text.count('<div class="scroll"><svg') == 5  # on a phone plots stay readable
    assert all(re.search(r"n = \d|seed \d", caption) for caption in captions)
    assert all(re.search(r"seconds|minutes|No units", caption) for caption in captions)
    for said in ("tiny", "By hand.", "SHA-256 of inputs", "versions", "seeds", "w.yml: 2d711642b"):
        assert said in text


def test_names_are_text_and_not_markup(folder: Path) -> None:
    """An application's name cannot add markup to the page."""
    file = folder / "results.json"
    evil = "<script>alert(1)</script>"
    file.write_text(file.read_text().replace('"workload":"w"', f'"workload":"{evil}"'))
    text = page(numbers(read_study([folder])))
    assert evil not in text
    assert "&lt;script&gt;" in text


def test_too_many_plots_are_left_out_with_a_note(
    plots_of: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page stays small enough for a mail."""
    monkeypatch.setattr("loomcard.report.page._TEXT", LARGEST - 40_000)
    text = page(plots_of)
    assert 0 < text.count("<svg") < 5
    assert "found no room" in text


def test_tables_are_legible_at_80_columns(plots_of: Numbers) -> None:
    """No line is longer, and nothing is cut off."""
    console = Console(width=80, record=True, file=io.StringIO())
    for table in tables(plots_of):
        console.print(table)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for said in ("old *", "waiting", "against old", "by class", "2/1/0", "4/1/1", "18.0"):
        assert said in text


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, ""),
        (1, "1 run was stopped before its end and is left out: old on w, seed 1."),
        (2, "2 runs were stopped before their end and are left out: old on w, seed 1; old on w,"),
    ],
)
def test_stopped_runs_are_named_on_page_and_terminal(folder: Path, count: int, said: str) -> None:
    """They count in no figure, so readers must see which are missing."""
    file = folder / "results.json"
    runs = json.loads(file.read_text())
    for each in runs[:count]:
        each["finished"] = False
    file.write_text(json.dumps(runs))
    report = numbers(read_study([folder]))
    out = Console(width=200, file=io.StringIO())
    for table in tables(report):
        out.print(table)
    assert isinstance(out.file, io.StringIO)
    for text in (page(report), out.file.getvalue()):
        assert said in text
        assert ("left out:" in text) == bool(said)


def test_many_stopped_runs_are_counted(folder: Path) -> None:
    study = read_study([folder])
    many = replace(study, stopped=study.runs * 2)
    assert many.left_out.startswith("12 runs were stopped")
    assert many.left_out.endswith("; and 2 more.")


def test_the_bound_of_the_makespan_is_shown(folder: Path, plots_of: Numbers) -> None:
    """It is the median over seeds, each seed once; nothing is shown if the results contain no
    bound.
    """
    assert plots_of.bound("w") == ""
    file = folder / "results.json"
    runs = json.loads(file.read_text())
    for run in runs:
        run["bounds"] = {"makespan_ms": run["seed"] * 10_000}
    file.write_text(json.dumps(runs))
    assert numbers(read_study([folder])).bound("w") == (
        "no schedule has a makespan below 20.0 s (a lower bound, median of 3 seeds)"
    )


def test_a_run_without_containers_has_its_other_plots(folder: Path) -> None:
    """Figures need no containers."""
    for file in folder.rglob("containers.parquet"):
        file.unlink()
    assert page(numbers(read_study([folder]))).count("<svg") == 3


def test_numbers_go_to_files(plots_of: Numbers, text: str, tmp_path: Path) -> None:
    """There are CSV and Parquet of the same numbers beside the page, which has the same bytes each
    time.
    """
    write_page(plots_of, tmp_path / "deep" / "r.html")
    assert (tmp_path / "deep" / "r.html").read_text("utf-8") == text
    written = write_tables(plots_of, tmp_path / "deep" / "r.html")
    assert {file.name for file in written} == {
        f"r-{name}.{ending}"
        for name in ("summary", "applications", "comparison")
        for ending in ("csv", "parquet")
    }
    csv = pl.read_csv(tmp_path / "deep" / "r-comparison.csv")
    assert csv["wins"].to_list() == plots_of.comparison["wins"].to_list()
    assert json.loads(pl.read_parquet(written[1]).write_json())[0]["setting"] == "w"


@pytest.mark.parametrize(
    ("value", "want"),
    [(0.123, "0.12"), (9.999, "10.0"), (99.96, "100"), (9999.4, "9999"), (86_400, "86.4k")],
)
def test_short_numbers(value: float, want: str) -> None:
    """They have about four characters, and no digit without meaning."""
    assert short(value) == want


SPANS = st.lists(st.tuples(st.integers(0, 900), st.integers(1, 300), st.integers(1, 9)), min_size=1)


@given(SPANS, st.integers(1, 12))
@settings(deadline=None)
def test_what_is_held_in_a_step_is_its_mean(spans: list[tuple[int, int, int]], steps: int) -> None:
    """Sums over sorted arrays equal the integral of each container over each step."""
    frame = pl.DataFrame(
        {
            "started_ms": [begin for begin, _, _ in spans],
            "finished_ms": [begin + length for begin, length, _ in spans],
        }
    )
    borders = np.linspace(0, 1200, steps + 1)
    found = series.held(frame, [float(amount) for _, _, amount in spans], borders)
    for value, low, high in zip(found, borders, borders[1:], strict=False):
        inside = (max(0.0, min(b + n, high) - max(b, low)) * amount for b, n, amount in spans)
        assert value == pytest.approx(sum(inside) / (high - low), abs=1e-6)


def test_capacity_in_a_step_is_its_mean() -> None:
    """The case is a node that is lost half way through a step."""
    facts = {"capacity": [[0, [8]], [150, [4]]]}
    assert series.capacity(facts, 0, np.array([0.0, 100, 200, 300])).tolist() == [8, 6, 4]


def test_a_varied_parameter_has_a_plot_of_its_own(folder: Path, plots_of: Numbers) -> None:
    """Its values are on the axis, and not in the lines' names."""
    file = folder / "results.json"
    runs = json.loads(file.read_text())
    more = [run | {"parameters": {"workload.size": size}} for size in (1, 2) for run in runs]
    file.write_text(json.dumps(more))
    found = list(trends(numbers(read_study([folder])), lambda: 7))
    assert [plot.title for plot in found] == ["With size"]
    assert "n = 3 seeds" in found[0].caption
    assert ">old, w</text>" in found[0].svg
    assert "size=1" not in found[0].svg
    assert list(trends(plots_of, lambda: 1)) == []


def test_no_line_leaves_its_plot(
    tmp_path: Path, run_of: Callable[..., RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plots of several policies have one axis for all of them, and a run's line ends where the run
    ended.
    """
    low, high = run_of("old", 1), run_of("new", 1)
    low.containers = [row._replace(size=(512, 1)) for row in low.containers]
    write_run(tmp_path, [low, high], manifest({}))
    figures: list[Figure] = []
    monkeypatch.setattr(drawing, "svg", lambda figure, _: figures.append(figure) or "")
    page(numbers(read_study([tmp_path])))
    lines = [(axes, line) for figure in figures for axes in figure.axes for line in axes.lines]
    assert lines
    for axes, line in lines:
        if len(line.get_ydata()) > 1 and line.get_transform() == axes.transData:
            assert max(line.get_ydata()) <= axes.get_ylim()[1]
