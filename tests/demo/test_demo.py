"""The demo as a user runs it, and what decides its verdict."""

import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from loomcard.cli.app import run
from loomcard.cluster import paths
from loomcard.demo import demo
from loomcard.demo.demo import DemoResult
from loomcard.demo.gains import figures_of, gains
from loomcard.demo.real_jobs import RealJobs
from loomcard.demo.schedulers import POLICIES, STOCK, Played
from loomcard.report.runs import Study, read_study
from loomcard.results.record import ApplicationRecord, RunRecord


def played(scheduler: str, fallback: int = 0, state: str = "SUCCEEDED") -> Played:
    record = RunRecord(scheduler, "w", 1, "local", [], [])
    record.applications = [ApplicationRecord("a", "root.q", 0, state=state)]
    if scheduler == STOCK:  # its allocations are not counted, and it has no journal
        return Played(scheduler, record, None)
    record.allocations = {"policy": 10, "fallback": fallback}
    return Played(scheduler, record, 0)


@pytest.fixture
def good(study: Study, real_jobs: RealJobs, tmp_path: Path) -> DemoResult:
    """Return a demo in which nothing went wrong."""
    runs = tuple(map(played, (STOCK, *POLICIES)))
    return DemoResult(real_jobs, runs, study, tuple(gains(study)), tmp_path / "demo.png", 99.0)


def shown(
    result: DemoResult, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Return exit status and output of a `loomcard demo` with that `result`."""
    monkeypatch.setattr(paths, "jars", lambda: None)
    monkeypatch.setattr(demo, "run_demo", lambda *_: result)
    return run(["demo"]), capsys.readouterr().out


def test_the_output_has_every_sentence_and_one_closing_line(
    good: DemoResult, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The output says what was gained and what was not, the fallback's allocations, and the
    replays' verdict.
    """
    status, text = shown(good, monkeypatch, capsys)
    assert status == 0
    for gain in good.gains:
        assert gain.sentence in text
        assert all(line in text for line in gain.rest)
    assert "by the policies 34, by the fallback 0; 4 journals replayed: identical plans" in text
    assert text.splitlines()[-1] == "demo ok in 99 s"


def test_the_best_of_each_row_is_marked(
    good: DemoResult, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever scheduler it is: the least of times, the most of memory."""
    _, text = shown(good, monkeypatch, capsys)
    row = next(
        line for line in text.splitlines() if "small jobs' mean wait" in line and "│" in line
    )
    assert [cell.strip() for cell in row.split("│")[2:6]] == ["8.0 s", "2.0 s *", "4.0 s", "8.0 s"]


@pytest.mark.parametrize("what", ["fallback", "replay", "application", "job"])
def test_what_must_not_happen_fails_the_demo(
    what: str,
    good: DemoResult,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An allocation of the fallback, a replay with other plans, or a failure gives exit status
    1.
    """
    first, *others = good.played
    bad = {
        "fallback": lambda: replace(good, played=(first, *others[1:], played("dress", fallback=1))),
        "replay": lambda: replace(good, real=replace(good.real, differences=1)),
        "application": lambda: replace(good, played=(first, played("dress", state="FAILED"))),
        "job": lambda: replace(
            good, real=replace(good.real, jobs=(replace(good.real.jobs[0], state="KILLED"),))
        ),
    }[what]()
    status, text = shown(bad, monkeypatch, capsys)
    assert status == 1
    assert text.splitlines()[-1] == "demo FAILED in 99 s"


def test_no_java_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is reported before anything is started or removed."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(demo, "run_demo", lambda *_: pytest.fail("it was started"))
    assert run(["demo"]) == 1
    assert capsys.readouterr().err == "error: no java found (install a JDK 17 or set JAVA_HOME)\n"


def test_ctrl_c_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a demo is removed: `loomcard report` could not read it. Polars and Python each raise
    KeyboardInterrupt for one Ctrl-C, the second while the folder is removed.
    """
    again = iter([KeyboardInterrupt])

    def interrupted(folder: Path, _: object) -> RealJobs:
        folder.mkdir()
        monkeypatch.setattr(demo, "clear", clear)
        raise KeyboardInterrupt

    def clear(folder: Path) -> None:
        for error in again:
            raise error
        shutil.rmtree(folder)

    monkeypatch.setattr(demo.real_jobs, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        demo.run_demo(tmp_path / "run" / "yarn-demo", lambda _: None)
    assert list((tmp_path / "run").iterdir()) == []


def needs_no_java(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command run in the folder without looking for Java or jars."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(paths, "java_home", lambda: None)
    monkeypatch.setattr(paths, "jars", lambda: None)


def test_what_cannot_be_removed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file is in the place of the demo's folder; nothing is started."""
    needs_no_java(tmp_path, monkeypatch)
    Path("run").mkdir()
    file = tmp_path / "run" / "yarn-demo"
    file.touch()
    assert run(["demo"]) == 2
    assert capsys.readouterr().err == f"error: {file}: File exists (check the path)\n"


def test_a_full_disk_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says how much is needed; otherwise the jobs would wait for minutes."""
    needs_no_java(tmp_path, monkeypatch)
    monkeypatch.setattr(demo.real_jobs, "run", lambda *_: pytest.fail("it was started"))
    monkeypatch.setattr(demo.shutil, "disk_usage", lambda _: SimpleNamespace(free=30 << 20))
    assert run(["demo"]) == 1
    said = f"error: {tmp_path}/run/yarn-demo: less than 128 MB free (free some space)\n"
    assert capsys.readouterr().err == said


@pytest.mark.cluster
def test_the_demo_does_what_it_says(tmp_path: Path) -> None:
    """Real jobs succeed while the policy is swapped; four schedulers play one workload. The policy
    decided every container under Loomcard, and every journal replays.
    """
    done = subprocess.run(
        [sys.executable, "-c", "from loomcard.cli import main; main()", "demo"],
        cwd=tmp_path, env=os.environ | {"COLUMNS": "140"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"demo ok in \d+ s", lines[-1])
    for job in ("pi", "wordcount"):
        assert any(re.match(rf"{job}: SUCCEEDED, complete after \d", line) for line in lines)
    swap = re.search(r"swapped from fifo to drf meanwhile: (\d+) .* (\d+) after", done.stdout)
    assert swap is not None
    assert min(map(int, swap.groups())) > 0
    assert re.search(
        r"by the policies \d{4}, by the fallback 0; 4 journals replayed: identical", done.stdout
    )
    folder = tmp_path / "run" / "yarn-demo"
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    study = read_study([folder], STOCK)
    assert [each.policy for each in study.runs] == [STOCK, *POLICIES]
    for each in study.runs:
        values = figures_of(each).values.values()
        assert all(value is not None and math.isfinite(value) for value in values)
    for gain in gains(study):
        assert gain.sentence in lines
