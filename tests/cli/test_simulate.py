"""``loomcard simulate`` and ``loomcard replay``, as typed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from loomcard.cli.app import run
from loomcard.cli.runs import simulation
from waiting import wait_until

KEYS = {"policy", "seed", "makespan_ms", "jain", "utilization", "applications"}


def command(*arguments):
    return [sys.executable, "-c", "from loomcard.cli import main; main()", *arguments]


def test_json_is_one_list_with_an_object_a_policy(capsys):
    assert run(["simulate", "demo", "--policy", "drf", "--policy", "fifo", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert set(first) >= KEYS
    assert (first["policy"], second["policy"]) == ("drf", "fifo")
    assert set(first["applications"][0]) >= {
        "id", "queue", "submitted_ms", "first_container_ms", "finished_ms", "waiting_ms",
        "completion_ms",
    }  # fmt: skip
    assert all(app["finished_ms"] is not None for app in first["applications"])


def test_a_full_disk_loses_no_figures(tmp_path, capsys, monkeypatch):
    """The table is printed, then one line names the file and the remedy."""

    def full(*_, **__):
        raise pl.exceptions.ComputeError("parquet: No space left on device (os error 28)")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    assert run(["simulate", "mixed-30", "--policy", "fifo", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "makespan" in printed.out
    file = tmp_path / "containers.parquet"
    assert printed.err == f"error: {file}: No space left on device (free some space)\n"


def test_a_folder_that_cannot_be_written_is_refused_before_the_runs(tmp_path, capsys, monkeypatch):
    """No hour of simulation goes before the error."""
    monkeypatch.setattr(simulation, "simulate_all", lambda *_: pytest.fail("it was simulated"))
    file = tmp_path / "file"
    file.write_text("")
    simulate = ["simulate", "demo", "--policy", "fifo", "--out"]
    assert run([*simulate, str(file / "results")]) == 2
    assert (
        capsys.readouterr().err == f"error: {file / 'results'}: Not a directory (check the path)\n"
    )
    folder = tmp_path / "read-only"
    folder.mkdir()
    # The tests may be root's, who may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK or path != folder)
    assert run([*simulate, str(folder)]) == 2
    assert capsys.readouterr().err == f"error: {folder}: Permission denied (check the path)\n"


def test_the_same_seed_gives_the_same_bytes_whatever_the_processes(tmp_path, capsys):
    for processes in ("1", "2"):
        out = tmp_path / processes
        arguments = ["simulate", "demo", "--policy", "drf", "--policy", "fair", "--seed", "7"]
        assert run([*arguments, "--out", str(out), "--processes", processes]) == 0
    for name in ("results.json", "containers.parquet", "journal/drf-7"):
        one, two = tmp_path / "1" / name, tmp_path / "2" / name
        pairs = [(one, two)]
        if one.is_dir():
            pairs = [(file, two / file.name) for file in one.iterdir()]
        assert pairs
        assert all(mine.read_bytes() == other.read_bytes() for mine, other in pairs)
    assert "drf" in capsys.readouterr().out
    manifest = json.loads((tmp_path / "1" / "manifest.json").read_text())
    assert manifest["seeds"] == [7]
    assert set(manifest["inputs"]) == {"demo.yml", "drf", "fair"}


def test_results_of_another_run_are_not_written_over(tmp_path, capsys):
    out = ["--out", str(tmp_path / "r")]
    assert run(["simulate", "demo", "--policy", "drf", *out]) == 0
    before = (tmp_path / "r" / "results.json").read_bytes()
    assert run(["simulate", "demo", "--policy", "fifo", *out]) == 2
    assert "holds the results of another run" in capsys.readouterr().err
    assert (tmp_path / "r" / "results.json").read_bytes() == before
    assert run(["simulate", "demo", "--policy", "drf", *out]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", "--policy", "stock:fair"], "YARN's own scheduler is not simulated (take fair"),
        (["demo", "--policy", "dfr"], "there is no policy 'dfr' (did you mean: drf"),
        (["nowhere.yml", "--policy", "drf"], "there is no such file"),
        (["two-queues", "--policy", "drf"], "drf has no leaf queue 'root.adhoc'"),
    ],
)
def test_bad_input_is_one_line_that_names_place_and_remedy(arguments, said, capsys):
    assert run(["simulate", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_policy_that_raises_is_reported_with_the_line_that_raised(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Mine:\n"
        "    def decide(self, view):\n"
        "        return view.nodes[999]\n"
    )
    config = tmp_path / "mine.yml"
    config.write_text(f"version: 1\npolicy: {file}:Mine\n")
    assert run(["simulate", "demo", "--policy", str(config)]) == 1
    error = capsys.readouterr().err
    assert "IndexError" in error
    assert "return view.nodes[999]" in error


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
        ("", "view.nodes", 1, "its process ended, status 0 (either by the policy"),
    ],
)
def test_a_policy_that_ends_its_process_does_not_end_the_command(
    imported, when, status, said, tmp_path, capsys
):
    file = tmp_path / "mine.py"
    file.write_text(QUITS.format(imported=imported, when=when))
    assert run(["simulate", "demo", "--policy", f"{file}:Mine", "--processes", "1"]) == status
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_ctrl_c_leaves_the_results_of_what_had_run(tmp_path):
    workload = tmp_path / "long.yml"
    workload.write_text(
        "version: 1\nkind: workload\n"
        "cluster: {heartbeat_ms: 0, nodes: [{name: n, memory_mb: 8192, vcores: 8}]}\n"
        "applications:\n  - id: j\n    kind: plain\n"
        "    stages: [{id: s, tasks: 300000, memory_mb: 1024, vcores: 1, duration_ms: 1000}]\n"
    )
    out = tmp_path / "out"
    process = subprocess.Popen(
        command("simulate", str(workload), "--policy", "drf", "--policy", "fifo",
                "--out", str(out), "--processes", "2"),
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    wait_for_files(process, out / "journal", "*/*-0000001001.jsonl", 2)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert "interrupted" in error
    assert "Traceback" not in error
    results = json.loads((out / "results.json").read_text())
    assert [each["finished"] for each in results] == [False, False]
    assert pl.read_parquet(out / "containers.parquet").height > 100


def test_ctrl_c_to_the_command_alone_ends_a_policy_that_loops_and_keeps_the_rest(tmp_path):
    (tmp_path / "loops.py").write_text(
        "from dataclasses import dataclass\n"
        "from loomcard import Plan\n"
        "@dataclass(frozen=True)\n"
        "class Loops:\n"
        "    def decide(self, view):\n"
        "        if not view.nodes: return Plan(view)\n"  # the check's round is left in peace
        "        open('looping', 'w').close()\n"
        "        while True: pass\n"
    )
    (tmp_path / "loops.yml").write_text("version: 1\npolicy: loops.py:Loops\n")
    process = subprocess.Popen(
        command("simulate", "demo", "--policy", "drf", "--policy", "loops.yml", "--out", "out"),
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=tmp_path,
    )  # fmt: skip
    wait_for_files(process, tmp_path, "looping")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results[-1] == {**results[-1], "policy": "loops", "finished": False}


def wait_for_files(process, folder: Path, pattern: str, count: int = 1) -> None:
    def there() -> bool:
        assert process.poll() is None, process.communicate()
        return len(list(folder.glob(pattern))) >= count

    wait_until(there, pattern, seconds=120)


def test_replay_prints_rounds_and_simulates_to_the_end(tmp_path, capsys):
    out = tmp_path / "run"
    assert run(["simulate", "demo", "--policy", "fifo", "--out", str(out)]) == 0
    journal = str(out / "journal" / "fifo-1")
    capsys.readouterr()
    assert run(["replay", journal, "--policy", "fifo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rounds"]["rounds"] == found["rounds"]["same"] > 0
    recorded, other = found["to_the_end"]
    assert recorded["applications"] == other["applications"]
    assert run(["replay", journal, "--policy", "drf"]) == 0
    said = capsys.readouterr().out
    assert "as recorded" in said
    assert "rounds: drf would have decided" in said


def test_replay_of_no_journal_says_so(tmp_path, capsys):
    assert run(["replay", str(tmp_path), "--policy", "drf"]) == 2
    assert "no journal segment" in capsys.readouterr().err
