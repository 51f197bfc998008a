"""Papers' figures beside ours, on runs with figures that are worked out by hand."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from loomcard.report.expectation import applications_of, starvation_ms, weighted
from loomcard.report.files import write_tables
from loomcard.report.page import page
from loomcard.report.paper_tables import PaperComparison, paper_comparisons
from loomcard.report.papers import as_markdown, paper_figures
from loomcard.report.runs import read_study
from loomcard.report.terminal import numbers, tables
from loomcard.results.container_rows import ContainerRow
from loomcard.results.manifest import manifest
from loomcard.results.record import ApplicationRecord, RunRecord
from loomcard.results.run_folder import write_run

Judge = Callable[..., PaperComparison]
ENTRY = {"figure": "Fig. 1", "paper": -10, "measure": "completion", "policy": "new",
         "against": "old", "as": "change_percent"}  # fmt: skip


@pytest.fixture
def judge(folder: Path) -> Judge:
    """Judge one entry on the runs of conftest: old completes a in 10, 12, 8 s, new in 5, 6, 16."""

    def one(**changes: Any) -> PaperComparison:
        entry = {key: value for key, value in (ENTRY | changes).items() if value is not None}
        file = folder / "manifest.json"
        made = json.loads(file.read_text())
        made["experiment"]["expect"] = [entry]
        file.write_text(json.dumps(made))
        [found] = paper_comparisons(read_study([folder]))
        return found

    return one


def test_a_change_is_the_mean_over_seeds_of_each_seeds_change(judge: Judge) -> None:
    """The changes of a are -50 %, -50 %, +100 %, with an interval over the three and the raw means
    beside it.
    """
    found = judge(of="a")
    assert found.ours == pytest.approx(0.0)
    assert (found.low, found.high) == (pytest.approx(-50), pytest.approx(100))
    assert (found.policy, found.against, found.seeds) == (9.0, 10.0, 3)
    assert (found.sign_paper, found.sign_ours, found.agrees) == ("less", "equal", "no")
    assert found.what == "mean completion of a: new against old, change in %"


def test_a_paper_that_states_medians_is_compared_with_our_median(
    folder: Path, judge: Judge
) -> None:
    """Of changes of -50 %, -50 % and +100 %, -50 %; of completions of 5, 6 and 16 s, 6 s."""
    file = folder / "manifest.json"
    made = json.loads(file.read_text())
    made["experiment"]["over_seeds"] = "median"
    file.write_text(json.dumps(made))
    found = judge(of="a")
    assert found.ours == pytest.approx(-50)
    assert (found.policy, found.against) == (6.0, 10.0)
    assert found.what.endswith("change in %, median over seeds")


def test_the_letter_and_the_default_stand_in_one_row(folder: Path) -> None:
    """What is stated of one reading is measured of the other too. a completes in 5, 6, 16 s by the
    letter, in 10, 12, 8 s by default, and the paper says 10 s.
    """
    results, file = folder / "results.json", folder / "manifest.json"
    results.write_text(results.read_text().replace('"policy":"new"', '"policy":"paper"'))
    made = json.loads(file.read_text())
    entry = ENTRY | {"policy": "old", "paper": 10, "as": "value", "of": "a", "because": "jobs"}
    entry |= {"yarn": "9.5"}
    made["experiment"] |= {"name": "old-fig1", "expect": [entry]}
    file.write_text(json.dumps(made))
    study = read_study([folder])
    [row] = paper_figures([study])
    assert row.letter is not None
    assert row.default is not None
    assert (row.letter.ours, row.default.ours) == (9.0, 10.0)
    text = as_markdown([row], {"old-fig1": 61.2})
    assert "| old-fig1 | Fig. 1 | 10 | 9.00 s (other sign) | 10.0 s | 9.5 | equal | jobs |" in text
    assert "Runs took 61 s of one core: old-fig1 61 s." in text
    both = entry | {"against": "paper", "as": "ratio"}
    made["experiment"]["expect"] = [both]
    file.write_text(json.dumps(made))
    [row] = paper_figures([read_study([folder])])
    assert row.letter is None
    assert row.default is not None


@pytest.mark.parametrize(
    ("changes", "ours", "agrees"),
    [
        # b: old 20, 24, 40 s and new 20, 12, 10 s
        pytest.param({"of": "b"}, (0 - 50 - 75) / 3, "yes", id="an application"),
        pytest.param({"of": "large"}, (0 - 50 - 75) / 3, "yes", id="a tag"),
        pytest.param({"of": "root.b"}, (0 - 50 - 75) / 3, "yes", id="a queue"),
        pytest.param({"of": "b", "as": "ratio", "paper": 0.5}, 1.75 / 3, "yes", id="ratio"),
        pytest.param({"of": "b", "as": "difference", "paper": -3}, -14, "yes", id="difference"),
        # 20/20-1 = 0, 24/12-1 = 100 %, 40/10-1 = 300 %
        pytest.param({"of": "b", "as": "improvement", "paper": 77}, 400 / 3, "yes", id="better"),
        # a: 10/5-1 = 100 %, 100 %, and a third as -(16/8-1) = -100 %
        pytest.param({"of": "a", "as": "improvement", "paper": 77}, 100 / 3, "yes", id="worse"),
        pytest.param({"as": "value", "against": None, "paper": 12, "within": 0.6, "of": "a",
                      "policy": "old"}, 10, "no", id="value"),
        pytest.param({"as": "value", "against": None, "paper": 9.5, "within": 0.5, "of": "a",
                      "policy": "old"}, 10, "yes", id="value within"),
        pytest.param({"as": "value", "against": None, "paper": 9.5, "sign": "more", "of": "a",
                      "policy": "old"}, 10, "yes", id="value above"),
        # medians of two are means of two: 15, 18, 24 and 12.5, 9, 13
        pytest.param({"statistic": "median", "as": "difference"}, -22.5 / 3, "yes", id="median"),
        pytest.param({"statistic": "max", "as": "difference"}, (0 - 12 - 24) / 3, "yes", id="max"),
        pytest.param({"statistic": "min", "as": "difference", "sign": "equal", "within": 1},
                     (-5 - 6 + 2) / 3, "no", id="min"),
        pytest.param({"measure": "waiting", "of": "a", "as": "difference", "paper": 0.1,
                      "within": 0.5}, -1 / 3, "yes", id="waiting, equal within"),
        pytest.param({"measure": "makespan", "as": "difference"}, -36 / 3, "yes", id="makespan"),
        pytest.param({"measure": "makespan", "of": "a", "as": "difference", "sign": "less"},
                     -1, "yes", id="makespan of some"),
        pytest.param({"measure": "completed", "as": "value", "paper": 2}, 2, "yes", id="completed"),
        # old over new: a 2, 2, 0.5 and b 1, 2, 4
        pytest.param({"measure": "speedup", "as": "ratio", "paper": 1.9},
                     (1.5 + 2 + 2.25) / 3, "yes", id="speedup"),
        pytest.param({"measure": "speedup", "as": "ratio", "paper": 0.6, "statistic": "min"},
                     (1 + 2 + 0.5) / 3, "no", id="least speedup"),
        pytest.param({"measure": "speedup", "as": "value", "paper": 2, "of": "b", "within": 0.4},
                     7 / 3, "yes", id="speedup of one, as a value"),
        pytest.param({"measure": "speedup", "as": "value", "paper": 60, "above": 1,
                      "sign": "more"}, (50 + 100 + 50) / 3, "yes", id="part above"),
        pytest.param({"measure": "speedup", "as": "value", "paper": 20, "below": 0.8,
                      "sign": "less"}, 50 / 3, "yes", id="part below"),
        pytest.param({"measure": "speedup", "as": "ratio", "of": "nobody"}, None, "not run",
                     id="speedup of nobody"),
        pytest.param({"of": "nobody"}, None, "not run", id="nobody"),
        pytest.param({"policy": "stock:fair"}, None, "not run", id="not run"),
        pytest.param({"against": "stock:fair"}, None, "not run", id="nothing to compare with"),
        pytest.param({"workload": "w2"}, None, "not run", id="not that workload"),
    ],
)  # fmt: skip
def test_every_way_of_measuring(
    judge: Judge, changes: dict[str, Any], ours: float | None, agrees: str
) -> None:
    """The expected values are computed by hand from the times in conftest."""
    found = judge(**changes)
    assert found.ours == (None if ours is None else pytest.approx(ours))
    assert found.agrees == agrees


def test_jains_index_over_windows(folder: Path, judge: Judge) -> None:
    """It is the statistic of each run's windows, then the mean over seeds."""
    file = folder / "results.json"
    runs = json.loads(file.read_text())
    for run in runs:
        run["jain_windows"] = [1.0, 0.5, 0.6] if run["policy"] == "new" else [0.9, 0.9, 0.9]
    file.write_text(json.dumps(runs))
    changes = {"measure": "jain", "as": "difference", "paper": -0.2}
    assert judge(**changes).ours == pytest.approx(-0.2)
    assert judge(**changes, statistic="min").ours == pytest.approx(-0.4)
    assert judge(**changes, statistic="median").ours == pytest.approx(-0.3)
    for run in runs:
        run["capped_jain_windows"] = [0.8, 0.6] if run["policy"] == "new" else [0.9, 0.9]
    file.write_text(json.dumps(runs))
    assert judge(**changes | {"measure": "capped_jain"}).ours == pytest.approx(-0.2)
    found = judge(measure="jain", policy="new", against=None, paper=0.7, **{"as": "value"})
    assert (found.ours, found.agrees) == (pytest.approx(0.7), "yes")
    assert found.what == "mean jain: new"


def test_a_figure_without_a_measure_is_shown_and_not_judged(judge: Judge) -> None:
    """Experiments before this one stated them in this way."""
    found = judge(measure=None, policy=None, against=None, sign="less", **{"as": None})
    assert (found.agrees, found.ours, found.sign_paper) == ("not judged", None, "less")


def over_time(folder: Path) -> RunRecord:
    """Return two queues on 4 GB and 4 vcores: a has 1 container, then 3; b has 2 vcores, later
    nothing.
    """
    record = RunRecord("p", "w", 1, "simulator", ["memory_mb", "vcores"], [(0, (4096, 4))])
    spans = {"a": [(0, 10_000), (12_000, 20_000)], "b": [(2_000, 8_000)]}
    record.applications = [
        ApplicationRecord(name, f"root.{name}", 0, [], demanding, "SUCCEEDED")
        for name, demanding in spans.items()
    ]

    def row(name: str, start: int, end: int, size: tuple[int, int], am: bool = False) -> None:
        record.containers.append(
            ContainerRow(name, "s", 0, 1, "n", am, size, start, start, end, "completed")
        )

    row("a", 0, 20_000, (1024, 0), am=True)
    row("a", 0, 10_000, (1024, 1))
    for _ in range(3):
        row("a", 12_000, 20_000, (512, 1))
    row("b", 2_000, 5_000, (0, 2))
    record.ended_ms = 20_000
    write_run(folder, [record], manifest({}))
    return record


@pytest.mark.parametrize(
    ("what", "ours"),
    [
        # a demands 18 s: 10 of them with one task, 8 with three; its AM is no task
        ({"measure": "running", "of": "root.a"}, 1),
        ({"measure": "running", "of": "root.a", "statistic": "mean"}, (10 + 24) / 18),
        ({"measure": "running", "of": "root.a", "statistic": "p95"}, 3),
        ({"measure": "running", "of": "a", "statistic": "mean", "from_s": 8, "to_s": 14}, 8 / 6),
        # b demands from 2 to 8 s, and holds two vcores' worth in one container for half of it
        ({"measure": "running", "of": "b", "statistic": "mean"}, 0.5),
        # both demand from 2 to 8 s; a holds 2 of 4 GB, b half of the vcores for 3 s of 6
        ({"measure": "share", "of": "a"}, 0.5),
        ({"measure": "share", "of": "a", "resource": "vcores"}, 0.25),
        ({"measure": "share", "of": "b", "statistic": "mean"}, 0.25),
        ({"measure": "share", "statistic": "max"}, 0.75),
        ({"measure": "share", "of": "root", "from_s": 12, "to_s": 20}, 0.75),
        ({"measure": "share", "of": "a", "from_s": 5, "statistic": "mean"},
         (5 * 0.5 + 2 * 0.25 + 8 * 0.75) / 15),
        ({"measure": "share", "of": "a", "resource": "gpu"}, None),
    ],
)  # fmt: skip
def test_what_is_held_over_time(tmp_path: Path, what: dict[str, Any], ours: float | None) -> None:
    """Task containers count over demanding time, shares over a window or while all demand."""
    over_time(tmp_path)
    file = tmp_path / "manifest.json"
    entry = {"figure": "f", "paper": 1, "policy": "p", "as": "value"} | what
    file.write_text(json.dumps({"experiment": {"name": "x", "expect": [entry]}}))
    [found] = paper_comparisons(read_study([tmp_path]))
    assert found.ours == (None if ours is None else pytest.approx(ours))


def test_varied_values_are_paired_and_picked(tmp_path: Path, run_of: Callable[..., Any]) -> None:
    """A parameter that both have must be equal; ``where`` picks runs; one that the baseline lacks
    is ignored.
    """
    records = []
    for share, longer in ((0.1, 0), (0.3, 10_000)):
        for policy in ("old", "new"):
            record = run_of(policy, 1, **{"workload.share": share})
            *others, last = record.containers
            record.containers = [*others, last._replace(finished_ms=last.finished_ms + longer)]
            if policy == "new":
                record.parameters["policy.theta"] = 0.5
            records.append(record)
    entry = ENTRY | {"of": "b", "as": "difference"}
    expect = [
        entry, entry | {"where": {"workload.share": 0.3, "policy.theta": 0.5}},
        entry | {"where": {"policy.theta": 0.7}},
    ]  # fmt: skip
    vary = {"workload.share": [0.1, 0.3], "policy.theta": [0.5, 0.7]}
    said = {"experiment": {"name": "x", "vary": vary, "expect": expect}}
    write_run(tmp_path, records, manifest({}) | said)
    found = paper_comparisons(read_study([tmp_path]))
    assert [(each.ours, each.policy, each.against) for each in found] == [
        (0.0, 25.0, 25.0), (0.0, 30.0, 30.0), (None, None, None),
    ]  # fmt: skip
    assert found[1].what.endswith("(share=0.3, theta=0.5)")


def test_terminal_page_and_files_show_them(judge: Judge, folder: Path) -> None:
    """They show the figure, ours with its interval, both signs, and why it is not reproduced."""
    judge(of="a", because="too <few> [seeds]")
    plots_of = numbers(read_study([folder]))
    screen = Console(width=120, file=StringIO())
    for table in tables(plots_of):
        screen.print(table)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    for said in ("beside the paper", "less, equal", "too <few> [seeds]", "-50.0 to 100"):
        assert said in shown
    text = page(plots_of)
    for said in (
        "Beside the paper",
        "too &lt;few&gt; [seeds]",
        "9.00 against 10.0",
        "-50.0 to 100",
    ):
        assert said in text
    written = {file.name for file in write_tables(plots_of, folder / "report.html")}
    assert {"report-papers.csv", "report-papers.parquet"} <= written
    row = pl.read_csv(folder / "report-papers.csv").row(0, named=True)
    assert (row["figure"], row["policy"], row["agrees"]) == ("Fig. 1", 9.0, "no")


@pytest.mark.parametrize(
    ("of", "found"),
    [("", "jkl"), ("small", "j"), ("root.n", "l"), ("root.n.*", "jk"), ("root.n.a", "j"),
     ("root", "jkl"), ("l", "l"), ("[jl]", "jl"), ("root.x", "")],
)  # fmt: skip
def test_who_is_meant(of: str, found: str) -> None:
    """A name means first a tag, then a queue, then an id; a queue includes all below it."""
    facts = [
        ("j", "root.n.a", ["small"]),
        ("k", "root.n.b", ["large"]),
        ("l", "root.m", ["root.n"]),
    ]
    rows = [{"id": name, "queue": queue, "tags": tags} for name, queue, tags in facts]
    assert "".join(each["id"] for each in applications_of(rows, of)) == found


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=20))
def test_weights_are_repetitions(pairs: list[tuple[int, int]]) -> None:
    """A value of weight three counts like three equal values."""
    values, weights = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    repeated = np.repeat(values, weights.astype(int))
    if not len(repeated):
        assert weighted(values, weights, "mean") is None
        return
    assert weighted(values, weights, "mean") == pytest.approx(repeated.mean())
    assert weighted(values, weights, "max") == repeated.max()
    median = weighted(values, weights, "median")
    assert median is not None
    assert (repeated <= median).mean() >= 0.5
    assert (repeated >= median).mean() >= 0.5


def test_starvation_is_of_reduces_that_start_after_the_last_map() -> None:
    """For a, maps end at 5 and 8 s and reduces start at 6, 9 and 12 s: (1 + 4)/2. b has no late
    reduce, and c is not included.
    """
    rows = [
        ("a", "map", 0, 5_000), ("a", "map", 1_000, 8_000), ("a", "reduce", 6_000, 9_000),
        ("a", "reduce", 9_000, 9_500), ("a", "reduce", 12_000, 13_000), ("a", "reduce", None, None),
        ("b", "map", 0, 3_000), ("b", "reduce", 1_000, 4_000), ("c", "map", 0, 1_000),
    ]  # fmt: skip
    names = ["application", "stage", "started_ms", "finished_ms"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    assert sorted(starvation_ms(frame, ["a", "b"])) == [0.0, 2_500.0]
