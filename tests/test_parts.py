"""The runner of `make test`: it counts, names what failed, and leaves no process behind."""

import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import parts
import pytest
from rich.console import Console

from waiting import wait_until

ROOT = Path(__file__).parents[1]
PASSES = ["printf", "..F [ 40%%]\n... [100%%]\n== 5 passed, 1 skipped in 2.50s ==\n"]
FAILS = ["sh", "-c", "echo 'E  two is not three'; echo '1 failed, 4 passed in 2.50s'; exit 1"]


@pytest.fixture
def said(monkeypatch, tmp_path):
    """Run parts made of these commands; return the exit status and the output."""
    monkeypatch.setattr(parts, "ROOT", tmp_path)
    monkeypatch.setattr(parts, "LOGS", tmp_path / "build" / "test")
    monkeypatch.setattr(parts, "TICK_S", 0.01)

    def run(**commands):
        monkeypatch.setitem(parts.PARTS, "some", commands)
        console = Console(record=True, width=300, force_terminal=False)
        status = parts.run("some", console)
        return status, console.export_text()

    return run


def test_one_line_closes_parts_that_pass(said):
    status, text = said(python=[PASSES], style=[["true"]])
    assert status == 0
    [line] = text.splitlines()
    assert line.startswith("make some: 5 passed, 1 skipped in ")
    assert "python 5 in" in line
    assert "style ok in" in line


def test_the_cpu_time_of_a_part_is_that_of_all_its_processes(said):
    """A command uses next to none itself; what it starts and waits for uses half a second."""
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    status, text = said(python=[["sh", "-c", f'"{sys.executable}" -c "{burn}"; true']] * 2)
    assert status == 0
    used = re.search(r"ok in \d+ s, (\d+) s of CPU", text)
    assert used is not None
    assert int(used[1]) >= 1


def test_how_far_it_is_counts_each_test_that_has_ended(tmp_path, monkeypatch):
    """A line of progress that long tests keep open counts, too."""
    monkeypatch.setattr(parts, "LOGS", tmp_path)
    part = parts.Part("python", [])
    part.log.write_text("created: 2/2 workers\n")
    assert part.progress() == "python runs"
    part.log.write_text("2 workers [9 items]\n\n..xF [ 44%]\n.s")
    assert part.progress() == "python 6 of 9 tests"
    part.log.write_text("2 workers [9 items]\n\n..xF [ 44%]\n.s... [100%]\nsome words\n")
    assert part.progress() == "python ends"


def test_a_part_that_fails_shows_its_log_and_the_others_end(said):
    """The commands after the one that failed are not run."""
    status, text = said(python=[FAILS], style=[["false"], ["echo", "not reached"]], java=[PASSES])
    assert status == 1
    lines = text.splitlines()
    assert "E  two is not three" in lines
    assert "not reached" not in text
    assert lines[-1].startswith("make some: 1 failed, 4 passed in ")
    assert "python FAILED (build/test/python.log)" in lines[-1]
    assert "style FAILED (build/test/style.log)" in lines[-1]


def test_ctrl_c_ends_what_the_parts_started(tmp_path):
    """The parts have process groups of their own, so the runner must pass Ctrl-C on."""
    pid = tmp_path / "pid"
    source = f"""\
        import parts
        from pathlib import Path
        from rich.console import Console
        parts.LOGS = Path({str(tmp_path)!r})
        parts.PARTS["some"] = {{"long": [["sh", "-c", "sleep 600 & echo $! > {pid}; wait"]]}}
        raise SystemExit(parts.run("some", Console()))
        """
    runner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(source)], cwd=ROOT / "tests", stdout=subprocess.PIPE,
        # A shell's background jobs ignore Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    wait_until(lambda: pid.is_file() and pid.read_text().strip(), "it started something")
    runner.send_signal(signal.SIGINT)
    output, _ = runner.communicate(timeout=60)
    assert (runner.returncode, output.strip()) == (130, b"interrupted")
    left = Path(f"/proc/{pid.read_text().strip()}")
    wait_until(lambda: not left.exists(), "what it started has ended")
