"""A report's numbers against ones worked out by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from loomcard.report.figures import application_wins, compare, interval, samples, summarise
from loomcard.report.runs import Study, read_study
from loomcard.results.run_folder import ResultError


def row(table: pl.DataFrame, **where: str) -> dict[str, Any]:
    """Return the one row that matches; class is all unless given."""
    found = table
    for name, value in ({"class": "all"} | where).items():
        found = found.filter(pl.col(name) == value)
    assert found.height == 1, found
    return found.row(0, named=True)


@pytest.fixture
def study(folder: Path) -> Study:
    return read_study([folder])


def rewritten(folder: Path, **changes: Any) -> None:
    """Return results.json with these facts in every run."""
    file = folder / "results.json"
    runs = [run | changes for run in json.loads(file.read_text())]
    file.write_text(json.dumps(runs))


def test_figures_of_a_run_then_the_median_over_seeds(study: Study) -> None:
    """old completes in (10, 20), (12, 24), (8, 40): the means are 15, 18, 24, and their median is
    18.
    """
    table = summarise(samples(study))
    mean = row(table, policy="old", figure="completion", statistic="mean")
    assert (mean["value"], mean["seeds"]) == (18.0, 3)
    assert mean["p95"] == pytest.approx(24 - 0.1 * 6)  # linear between 18 and 24
    assert row(table, policy="old", figure="waiting", statistic="median")["value"] == 3.0
    # the 95th percentile of (10, 20) is 19.5, of (12, 24) 23.4, of (8, 40) 38.4
    assert row(table, policy="old", figure="completion", statistic="p95")["value"] == 23.4
    assert row(table, policy="new", figure="makespan", statistic="value")["value"] == 16.0


def test_slowdown_is_against_the_shortest_that_any_policy_gave(study: Study) -> None:
    """a in seed 1 takes 10 s under old and 5 s under new, which no policy beats."""
    frame = study.applications.filter((pl.col("seed") == 1) & (pl.col("id") == "a"))
    assert dict(frame.select("policy", "slowdown").iter_rows()) == {"old": 2.0, "new": 1.0}
    assert "shortest that any policy" in study.ideal


def test_slowdown_is_against_the_ideal_where_results_hold_it(folder: Path) -> None:
    """Then it does not depend on which policies are compared."""
    file = folder / "results.json"
    runs = json.loads(file.read_text())
    for run in runs:
        for each in run["applications"]:
            each["ideal_ms"] = 4000
    file.write_text(json.dumps(runs))
    study = read_study([folder])
    assert study.applications["slowdown"].to_list()[:2] == [2.5, 5.0]
    assert "lower bound" in study.ideal


def test_classes_are_first_tags(study: Study) -> None:
    """Only b is large."""
    table = summarise(samples(study))
    large = {"class": "large", "figure": "completion", "statistic": "median"}
    assert row(table, policy="old", **large)["value"] == 24.0
    assert row(table, policy="new", **large)["value"] == 12.0


def test_policies_are_compared_seed_by_seed(study: Study) -> None:
    """Makespans are 20, 16, 16... of new against 20, 24, 40 of old: ratios 1, 1/2, 2/5."""
    found = row(compare(study, samples(study)), policy="new", figure="makespan", statistic="value")
    assert found["pairs"] == 3
    assert found["difference"] == pytest.approx((0 - 12 - 24) / 3)
    assert found["ratio"] == pytest.approx((1 * 0.5 * 0.4) ** (1 / 3))
    assert (found["wins"], found["ties"], found["losses"]) == (2, 1, 0)
    assert found["ratio_low"] == pytest.approx(0.4)
    assert found["ratio_high"] == pytest.approx(1.0)


def test_more_is_better_for_fairness(folder: Path) -> None:
    """A policy wins if it is fairer, and if it uses more; of the times, the lower one wins."""
    file = folder / "results.json"
    runs = json.loads(file.read_text())
    for run in runs:
        run["jain"]["mean"] = 0.9 if run["policy"] == "new" else 0.5
        run["utilization"]["vcores"] = 0.2 if run["policy"] == "new" else 0.4
    file.write_text(json.dumps(runs))
    study = read_study([folder])
    table = compare(study, samples(study))
    fair = row(table, policy="new", figure="jain", statistic="value")
    used = row(table, policy="new", figure="utilization vcores", statistic="value")
    assert (fair["wins"], fair["ties"], fair["losses"]) == (3, 0, 0)
    assert (used["wins"], used["ties"], used["losses"]) == (0, 0, 3)


def test_applications_are_counted_one_by_one(study: Study) -> None:
    """a is sooner, sooner, later; b is the same, sooner, sooner."""
    assert application_wins(study).row(0) == ("w", "new", 4, 1, 1)


def test_a_wait_of_nothing_has_a_difference_and_no_ratio(folder: Path) -> None:
    """A division by 0 gives no ratio."""
    file = folder / "results.json"
    runs = json.loads(file.read_text())
    for run in runs:
        for each in run["applications"]:
            each["waiting_ms"] = 0
    file.write_text(json.dumps(runs))
    study = read_study([folder])
    found = row(compare(study, samples(study)), policy="new", figure="waiting", statistic="mean")
    assert (found["ratio"], found["difference"]) == (None, 0.0)


def test_intervals_are_seeded_and_hold_the_value() -> None:
    """The same figure has the same resampling; there is none for one seed; the interval narrows
    with more seeds.
    """
    values = np.array([3.0, 5.0, 4.0, 8.0, 6.0])
    low, high = interval(values, np.median, "x")
    assert (low, high) == interval(values, np.median, "x")
    assert low is not None
    assert high is not None
    assert 3.0 <= low <= 5.0 <= high <= 8.0
    assert interval(values[:1], np.median, "x") == (None, None)
    wide = interval(values, np.mean, "x")
    narrow = interval(np.tile(values, 20), np.mean, "x")
    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 2  # type: ignore[operator]


def test_what_did_not_end_is_left_out_and_counted(folder: Path) -> None:
    """A failed application completes nothing, a stopped run has no makespan."""
    file = folder / "results.json"
    runs = json.loads(file.read_text())
    runs[0]["applications"][0]["state"] = "FAILED"
    runs[1]["finished"] = False
    file.write_text(json.dumps(runs))
    study = read_study([folder])
    assert [run.seed for run in study.stopped] == [2]
    first = study.applications.filter((pl.col("policy") == "old") & (pl.col("seed") == 1))
    assert first["completion_ms"].to_list() == [None, 20_000]
    assert first["ended"].to_list() == [False, True]


def test_the_baseline_comes_from_the_experiment_or_the_command(folder: Path) -> None:
    """It is named by policy or by its file; an unknown one is an error that lists the known
    ones.
    """
    assert read_study([folder]).baseline == "old"
    assert read_study([folder], "new").baseline == "new"
    assert read_study([folder], "policies/new.yml").baseline == "new"
    assert read_study([folder]).policies() == ["old", "new"]
    assert read_study([folder], "new").policies() == ["new", "old"]
    with pytest.raises(ResultError, match=r"no policy 'nwe' .*known are old, new"):
        read_study([folder], "nwe")


def test_parameters_part_settings_from_policies(folder: Path) -> None:
    """A varied parameter of the workload makes a setting, one of the policy makes a policy."""
    rewritten(folder, parameters={"policy.theta": 0.5, "workload.small_share": 0.1})
    study = read_study([folder])
    assert study.settings == ["w, small_share=0.1"]
    assert study.policies() == ["old theta=0.5", "new theta=0.5"]
    assert study.baseline == "old theta=0.5"


def test_a_folder_without_results_is_an_error(tmp_path: Path, folder: Path) -> None:
    """The error names the folder and what writes one, also if nothing has ended."""
    with pytest.raises(ResultError, match=r"holds no results\.json"):
        read_study([tmp_path])
    rewritten(folder, finished=False)
    with pytest.raises(ResultError, match="no run in there has ended"):
        read_study([folder])


def test_the_same_folder_twice_counts_once(folder: Path) -> None:
    """Equal runs count as one run."""
    assert len(read_study([folder, folder / ".." / folder.name]).runs) == 6
