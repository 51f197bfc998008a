"""`loomcard run` and `loomcard report`: from a workload to a page, and their errors."""

import json
from pathlib import Path

import pytest

from loomcard.cli.app import run

WORKLOAD = """version: 1
kind: workload
cluster: {nodes: [{count: 2, memory_mb: 4096, vcores: 4}]}
generate:
  count: 4
  classes:
    - id: all
      application:
        stages: [{id: s, tasks: 3, memory_mb: 1024, duration_ms: {uniform: {low: 900, high: 9000}}}]
"""
EXPERIMENT = """version: 1
kind: experiment
policies: [fifo, drf]
workloads: [w.yml]
seeds: 2
baseline: fifo
"""
BROKEN = """import dataclasses

@dataclasses.dataclass
class Broken:
    def decide(self, view):
        return 1 // 0
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    (tmp_path / "e.yml").write_text(EXPERIMENT)
    file = tmp_path / "w.yml"
    file.write_text(WORKLOAD)
    return file


def test_a_workload_runs_under_the_policies_named(
    workload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One object a run on standard output, the same as in the run folder but for its details."""
    out = tmp_path / "out"
    policies = ["--policy", "fifo", "--policy", "drf"]
    command = ["run", str(workload), *policies, "--seed", "5", "--seeds", "2", "--out", str(out)]
    assert run([*command, "--processes", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(each["policy"], each["seed"]) for each in shown] == [
        ("fifo", 5),
        ("fifo", 6),
        ("drf", 5),
        ("drf", 6),
    ]
    assert "capacity" not in shown[0]
    kept = json.loads((out / "results.json").read_text())
    assert [each["jain"] for each in kept] == [each["jain"] for each in shown]
    journals = out / "cells" / Path(kept[0]["folder"]).name / "journal" / "fifo-5"
    assert list(journals.iterdir()) != []
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["command"][0] == "loomcard"
    bare = tmp_path / "bare"
    words = ["run", str(workload), "--policy", "fifo", "--no-journal", "--out", str(bare)]
    assert run([*words, "--processes", "1"]) == 0
    assert [each for each in bare.rglob("*") if each.name == "journal"] == []


def test_an_experiment_then_a_report(
    workload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables on the terminal, a page and the numbers beside it."""
    out = tmp_path / "out"
    experiment = str(workload.with_name("e.yml"))
    assert run(["run", experiment, "--out", str(out), "--processes", "1"]) == 0
    printed = capsys.readouterr().out
    assert "against fifo" in printed
    assert f"{out}: results.json" in printed.replace("\n", "")
    assert run(["report", str(out), "--csv", "--baseline", "drf"]) == 0
    printed = capsys.readouterr().out
    assert "against drf" in printed
    assert (out / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert (out / "report-comparison.csv").exists()


def test_cells_that_fail_are_reported_in_a_line_each(
    workload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1, also where nothing else has run; the policy's own error is named."""
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    (tmp_path / "broken.yml").write_text(f"version: 1\npolicy: {file}:Broken\n")
    command = ["run", str(workload), "--policy", str(tmp_path / "broken.yml"), "--processes", "1"]
    assert run([*command, "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("error: broken on w, seed 1: PolicyFaultError: ")
    assert "ZeroDivisionError" in printed.err
    assert len(printed.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        pytest.param(["run", "no-such"], "'no-such' is not a file, nor a workload or experiment"),
        pytest.param(["run", "W"], "a workload needs a policy to run under"),
        pytest.param(["run", "W", "--policy", "stock:fair"], "the simulator has none"),
        pytest.param(["run", "W", "--policy", "x.yml"], "there is no file"),
        pytest.param(
            ["run", "W", "--policy", "drf", "--policy", "drf"], "policy 'drf' is named 2 times"
        ),
        pytest.param(["report", "FOLDER"], "holds no results.json"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(
    workload: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    printed: str,
) -> None:
    """Exit status 2, and no folder."""
    before = sorted(tmp_path.rglob("*"))
    words = {"W": str(workload), "FOLDER": str(tmp_path)}
    given = [words.get(word, word) for word in arguments]
    if given[0] == "run":
        given += ["--out", str(tmp_path / "out")]
    assert run(given) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("error: ")
    assert printed in said[0]
    assert sorted(tmp_path.rglob("*")) == before
