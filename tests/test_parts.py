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


@pytest.fixture
def pytest_that(monkeypatch, tmp_path):
    """Put a program in pytest's place: it notes its arguments and prints what each try says."""

    def make(*tries):
        for number, (text, status) in enumerate(tries):
            (tmp_path / f"try{number}").write_text(text)
            (tmp_path / f"status{number}").write_text(str(status))
        program = tmp_path / "pytest"
        program.write_text(
            f'#!/bin/sh\ncd {tmp_path}\nn=$(ls | grep -c args)\nprintf "%s " "$@" > args$n\n'
            "cat try$n; exit $(cat status$n)\n"
        )
        program.chmod(0o755)
        monkeypatch.setattr(parts, "PYTEST", [str(program), "-n"])
        return [str(program), "-n", "2", "-m", "quick"]

    return make


FAILED = textwrap.dedent("""\
    FAILED tests/a/test_b.py::test_c[1 - 2]@cluster-test_b - assert 1 == 2
    ERROR tests/a/test_d.py::test_e - RuntimeError: no room
    = 1 failed, 7 passed, 1 error in 2.50s =
    """)


def test_the_few_tests_that_failed_run_once_more_on_their_own(said, pytest_that, tmp_path):
    """They pass then; the closing line names them, and the commands after it run."""
    command = pytest_that((FAILED, 1), ("= 2 passed in 0.50s =", 0))
    status, text = said(python=[command, ["touch", str(tmp_path / "after")]])
    assert status == 0
    [line] = text.splitlines()
    assert line.startswith("make some: 9 passed in ")
    names = "tests/a/test_b.py::test_c, tests/a/test_d.py::test_e"
    assert f"; passed only when run once more: {names})" in line
    assert (tmp_path / "args1").read_text().split() == [
        "-n", "0", "-m", "quick", "tests/a/test_b.py::test_c", "tests/a/test_d.py::test_e",
    ]  # fmt: skip
    assert (tmp_path / "after").exists()


def test_a_test_that_fails_twice_is_a_failure(said, pytest_that, tmp_path):
    command = pytest_that((FAILED, 1), ("= 1 failed, 1 passed in 0.50s =", 1))
    status, text = said(python=[command, ["touch", str(tmp_path / "after")]])
    assert status == 1
    line = text.splitlines()[-1]
    assert line.startswith("make some: 1 failed, 8 passed in ")
    assert "once more" not in line
    assert not (tmp_path / "after").exists()
    assert not (tmp_path / "args2").exists()


def test_where_many_tests_fail_none_runs_once_more(said, pytest_that, tmp_path):
    many = "".join(f"FAILED tests/test_a.py::test_{n} - no\n" for n in range(parts.FEW + 1))
    status, text = said(python=[pytest_that((many + "= 6 failed in 1.00s =", 1))])
    assert status == 1
    assert text.splitlines()[-1].startswith("make some: 6 failed, 0 passed in ")
    assert not (tmp_path / "args1").exists()


def test_a_java_test_that_passed_only_when_run_once_more_is_named(said, tmp_path):
    """Surefire runs it itself, and notes the first try in its report."""
    reports = tmp_path / "jvm-bridge" / "shim" / "target" / "surefire-reports"
    report = (
        '<testsuite tests="2" errors="0" failures="0" skipped="0">'
        '<testcase classname="A" name="b"><flakyFailure/></testcase>'
        '<testcase classname="A" name="c"/></testsuite>'
    )
    # A report counts if it is newer than the run, and a file's clock is coarse.
    file = reports / "TEST-A.xml"
    write = f"mkdir -p {reports} && echo '{report}' > {file} && touch -d '+1 hour' {file}"
    status, text = said(java=[["sh", "-c", write]])
    assert status == 0
    assert text.startswith("make some: 2 passed in ")
    assert "; passed only when run once more: A.b)" in text


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
