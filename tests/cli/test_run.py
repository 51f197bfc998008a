"""`loomcard run`, `simulate` and `report`: from a workload to a page, and their errors."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from loomcard.cli.app import run
from loomcard.experiments import run as experiments
from loomcard.experiments.inputs import InputError
from waiting import wait_until

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
    """There is one object per run on standard output, the same as in the run folder except for its
    details.
    """
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
    assert list((out / "cells" / "fifo_w_s5" / "journal").iterdir()) != []
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["command"][0] == "loomcard"
    bare = tmp_path / "bare"
    words = ["run", str(workload), "--policy", "fifo", "--no-journal", "--out", str(bare)]
    assert run([*words, "--processes", "1"]) == 0
    assert [each for each in bare.rglob("*") if each.name == "journal"] == []


def test_an_experiment_then_a_report(
    workload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There are tables on the terminal, and a page with the numbers beside it."""
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
    """The exit status is 1; the line names the policy's own error, and its traceback follows."""
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    (tmp_path / "broken.yml").write_text(f"version: 1\npolicy: {file}:Broken\n")
    command = ["run", str(workload), "--policy", str(tmp_path / "broken.yml"), "--processes", "1"]
    assert run([*command, "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("error: broken on w, seed 1: PolicyFaultError: ")
    first, *trace = printed.err.splitlines()
    assert "ZeroDivisionError" in first
    assert trace[0].startswith("Traceback")
    assert "    return 1 // 0" in trace


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        pytest.param(["run", "no-such"], "'no-such' is not a file, nor a workload or experiment"),
        pytest.param(["run", "W"], "a workload needs a policy to run under"),
        pytest.param(
            ["run", "W", "--policy", "stock:fair"], "YARN's own scheduler is not simulated (take fa"
        ),
        pytest.param(["simulate", "W", "--policy", "dfr"], "no policy 'dfr' (did you mean: drf"),
        pytest.param(["simulate", "no.yml", "--policy", "drf"], "no.yml: there is no such file"),
        pytest.param(
            ["simulate", "two-queues", "--policy", "drf"], "drf has no leaf queue 'root.adhoc'"
        ),
        pytest.param(["simulate", "SILENT", "--policy", "coupling"], "heartbeat_ms is 0, and a"),
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
    """The exit status is 2, and no folder is made."""
    silent = tmp_path / "silent.yml"
    silent.write_text(WORKLOAD.replace("cluster: {", "cluster: {heartbeat_ms: 0, "))
    before = sorted(tmp_path.rglob("*"))
    words = {"W": str(workload), "FOLDER": str(tmp_path), "SILENT": str(silent)}
    given = [words.get(word, word) for word in arguments]
    if given[0] != "report":
        given += ["--out", str(tmp_path / "out")]
    assert run(given) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("error: ")
    assert printed in said[0]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_name_is_an_experiments_for_run_and_a_workloads_for_simulate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy's file on the command line is that of the present folder for both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yml").write_text("version: 1\nkind: policy\npolicy: fifo\n")
    seen = []

    def note(prepared: experiments.Prepared, *_: object, **__: object) -> None:
        seen.append([(cell.policy, cell.seed) for cell in prepared.cells])
        raise InputError(["enough is known"])

    monkeypatch.setattr(experiments, "run", note)
    for name in ("simulate", "run"):
        assert run([name, "dress-s", "--policy", "mine.yml"]) == 2
    assert seen == [[("mine", 1)], [("mine", seed) for seed in range(1, 21)]]


def test_simulate_is_run(
    workload: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Both write the same files below run/, with journals, whatever the number of processes; only
    the manifest differs.
    """
    words = [str(workload), "--policy", "drf", "--policy", "fifo", "--seed", "7", "--json"]
    said, files = [], []
    for name, processes in (("simulate", "1"), ("run", "2")):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert run([name, *words, "--processes", processes]) == 0
        said.append(capsys.readouterr().out)
        out = tmp_path / name / "run" / "w"
        found = [file for file in sorted(out.rglob("*")) if file.is_file()]
        files.append({f.relative_to(out): f.read_bytes() for f in found if f.name[0] != "m"})
    assert said[0] == said[1]
    assert files[0] == files[1]
    assert len([file for file in files[0] if file.parts[:3] == ("cells", "drf_w_s7", "journal")])


def test_a_folder_that_cannot_be_written_is_refused_before_the_runs(
    workload: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error comes before an hour of simulation."""
    monkeypatch.setattr(experiments, "run_cells", lambda *_: pytest.fail("it was simulated"))
    words = ["run", str(workload), "--policy", "fifo", "--out"]
    assert run([*words, str(workload / "results")]) == 2
    assert capsys.readouterr().err == f"error: {workload}: no folder (name another with --out)\n"
    folder = tmp_path / "read-only"
    folder.mkdir()
    # The tests may run as root, who may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK or path != folder)
    for place in (folder, folder / "deeper"):
        assert run([*words, str(place)]) == 2
        assert capsys.readouterr().err == f"error: {folder}: Permission denied (check the path)\n"


def test_a_full_disk_names_the_file(
    workload: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error is one line with the remedy."""

    def full(*_: object, **__: object) -> None:
        raise pl.exceptions.ComputeError("parquet: No space left on device (os error 28)")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    out = tmp_path / "out"
    assert run(["run", str(workload), "--policy", "fifo", "--out", str(out)]) == 1
    file = out / "cells.parquet"
    assert capsys.readouterr().err == (
        f"error: {file}: No space left on device (free some space)\n"
    )


def test_applications_that_wait_for_ever_are_counted(
    workload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They appear in no table."""
    (tmp_path / "idle.py").write_text(IDLE)
    (tmp_path / "idle.yml").write_text("version: 1\npolicy: idle.py:Idle\n")
    words = ["run", str(workload), "--policy", str(tmp_path / "idle.yml")]
    assert run([*words, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "idle, seed 1: given up when nothing could happen any more and 4 applications" in printed


IDLE = """from dataclasses import dataclass
from loomcard import Plan
@dataclass(frozen=True)
class Idle:
    def decide(self, view):
        return Plan(view)
"""
QUITS = """
import os
from dataclasses import dataclass
from loomcard import Plan, fill
{imported}
@dataclass(frozen=True)
class Mine:
    def decide(self, view):
        if {when}:
            os._exit(0)
        return fill(Plan(view))
"""


@pytest.mark.parametrize(
    ("imported", "when", "status", "said"),
    [
        ("os._exit(0)", "False", 2, "ended the process that loaded it, with status 0"),
        ("", "True", 2, "ended its process in its first round, with status 0"),
        ("", "view.nodes", 1, "ended, status 0 (either by the policy, as os._exit() or"),
    ],
)
def test_a_policy_that_ends_its_process_does_not_end_the_command(
    workload: Path,
    imported: str,
    when: str,
    status: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """This is true even if all other cells run in the command's own process."""
    file = tmp_path / "mine.py"
    file.write_text(QUITS.format(imported=imported, when=when))
    words = ["run", str(workload), "--policy", f"{file}:Mine", "--processes", "1"]
    assert run([*words, "--out", str(tmp_path / "out")]) == status
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


LONG = """version: 1
kind: workload
cluster: {heartbeat_ms: 0, nodes: [{name: n, memory_mb: 8192, vcores: 8}]}
applications:
  - id: j
    kind: plain
    stages: [{id: s, tasks: 300000, memory_mb: 1024, vcores: 1, duration_ms: 1000}]
"""
LOOPS = """from dataclasses import dataclass
from loomcard import Plan
@dataclass(frozen=True)
class Loops:
    def decide(self, view):
        if not view.nodes: return Plan(view)  # the check's round must end
        open('looping', 'w').close()
        while True: pass
"""


def test_ctrl_c_leaves_the_results_of_what_had_run(tmp_path: Path) -> None:
    """Ctrl-C reaches both processes, as the terminal sends it to all of them."""
    (tmp_path / "long.yml").write_text(LONG)
    words = ["simulate", "long.yml", "--policy", "drf", "--policy", "fifo", "--processes", "2"]
    process = started(words, tmp_path)
    wait_for_files(process, tmp_path / "out" / "cells", "*/journal/*-0000001001.jsonl", 2)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert error == "error: interrupted; the same command continues from out\n"
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [each["finished"] for each in results] == [False, False]
    assert pl.read_parquet(tmp_path / "out" / "containers.parquet").height > 100


@pytest.mark.slow
def test_ctrl_c_to_the_command_alone_ends_a_policy_that_loops_and_keeps_the_rest(
    workload: Path, tmp_path: Path
) -> None:
    """The results that the policy's process has until then are kept too."""
    (tmp_path / "loops.py").write_text(LOOPS)
    (tmp_path / "loops.yml").write_text("version: 1\npolicy: loops.py:Loops\n")
    process = started(["run", "w.yml", "--policy", "drf", "--policy", "loops.yml"], tmp_path)
    wait_for_files(process, tmp_path, "looping")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results[-1] == {**results[-1], "policy": "loops", "finished": False}


def started(words: list[str], folder: Path) -> subprocess.Popen[str]:
    main = "from loomcard.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", main, *words, "--out", "out"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=folder,
        start_new_session=True,
    )  # fmt: skip


def wait_for_files(
    process: subprocess.Popen[str], folder: Path, pattern: str, count: int = 1
) -> None:
    def there() -> bool:
        assert process.poll() is None, process.communicate()
        return len(list(folder.glob(pattern))) >= count

    wait_until(there, pattern, seconds=120)


def test_papers_are_run_one_after_another_and_set_beside_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot run is named, the rest is run; the same command runs nothing again."""
    monkeypatch.setattr(experiments, "of_papers", lambda: ["carbyne-none", "carbyne-fig2"])
    command = ["run", "papers", "--report", "--out", str(tmp_path), "--processes", "1"]
    assert run(command) == 1
    table = (tmp_path / "papers.md").read_text()
    row = "| carbyne-fig2 | Fig. 2, mean under Carbyne, 1.55 | 15.5 | - | 15.5 s | 16.2 s | equal |"
    assert row in table
    assert "carbyne-none" in capsys.readouterr().err
    before = (tmp_path / "carbyne-fig2" / "cells").stat().st_mtime_ns
    assert run(command) == 1
    assert (tmp_path / "carbyne-fig2" / "cells").stat().st_mtime_ns == before
