"""Run the parts of `make test` or `make rest` side by side: a line of progress, one closing line.

Each part writes to build/test/PART.log. A part that fails shows its log, the others run to their
end, and the exit status is 1. Ctrl-C ends every part with all that it started; then it is 130.

Where at most five tests fail, these run once more, on their own: on a busy machine a deadline can
pass. The closing line names those that passed only then.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.live import Live

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build" / "test"
BIN = Path(sys.executable).parent
MAVEN = ["mvn", "-q", "-B", "-Dstyle.color=never", "-f", "jvm-bridge"]
SLOW = "org.loomcard.yarn.Slow"
RERUN = "-Dsurefire.rerunFailingTestsCount=1"
PYTEST = [str(BIN / "pytest"), "--durations=60", "--durations-min=5", "-n"]
QUICK = "not slow and not docker"
PARTS: dict[str, dict[str, list[list[str]]]] = {
    "test": {
        "python": [[*PYTEST, "2", "-m", QUICK]],
        "java": [[*MAVEN, "test", f"-Dtests.without={SLOW}", RERUN]],
        "style": [["make", "-s", "lint"], ["make", "-s", "docs"]],
        "golden": [["make", "-s", "golden"]],
    },
    "rest": {
        # The lines do not run beside other tests: each is a cluster with its jobs.
        "python": [
            # Two of three workers wait for a cluster.
            [*PYTEST, "3", "-m", f"not ({QUICK})"],
            [sys.executable, "tests/lines.py", "3.1", "3.3", "3.5"],
        ],
        "java": [
            [*MAVEN, "-pl", "shim", "test", f"-Dtests.only={SLOW}", RERUN],
            [*MAVEN, "-Perror-prone", "-pl", "shim", "compile"],
            ["make", "-s", "link"],
        ],
    },
}
"""The commands of each part, in their order."""
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
"""Tests start hundreds of Python processes; without bytecode each compiles all that it imports."""
TICK_S = 1.0
REPORT_S = 60.0
"""Seconds between two lines of progress if the output is not a terminal."""
PATIENCE_S = 30.0
"""Seconds within which a part must end after Ctrl-C."""
COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
ITEMS = re.compile(r"workers \[(\d+) items\]")
BAD = ("failed", "error", "errors")
BROKEN = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?::[^\s\[@]+)", re.MULTILINE)
"""The functions in pytest's summary of what failed, without their parameters."""
FEW = 5
"""The most tests that run once more; where more fail, something is broken."""
LATE = re.compile(r"^(\S+: .*) passed only when run once more$", re.MULTILINE)
"""What tests/lines.py says of a Hadoop line and its tests."""
DONE = re.compile(r"^([.sFExX]+)(?: +\[ *\d+%\])?$", re.MULTILINE)
"""A line of pytest's progress: a character for each test that has ended."""


@dataclass
class Part:
    """One part: its commands run one after the other until one fails."""

    name: str
    commands: list[list[str]]
    begin: float = field(default_factory=time.monotonic)
    process: subprocess.Popen[bytes] | None = None
    status: int | None = None
    seconds: float = 0.0
    cpu_s: float = 0.0
    again: tuple[str, ...] = ()
    """The tests that failed and run once more."""

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name}.log"

    def step(self) -> None:
        """Start the next command if none runs; note the end of the last one."""
        if self.status is not None:
            return
        if self.process is not None:
            self.seconds = time.monotonic() - self.begin
            if (ended := self._ended()) is None:
                return
            if ended and (once_more := self._once_more()):
                self.commands.insert(0, once_more)
            elif ended or not self.commands:
                self.status = ended
                return
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self.commands.pop(0), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True, env=ENVIRONMENT,
            )  # fmt: skip

    def _once_more(self) -> list[str]:
        """Return the command that runs the few tests that failed once more; empty if none does."""
        assert self.process is not None
        args = self.process.args
        if self.again or not isinstance(args, list) or args[: len(PYTEST)] != PYTEST:
            return []
        broken = tuple(dict.fromkeys(BROKEN.findall(self.log.read_text(errors="replace"))))
        if not 0 < len(broken) <= FEW:
            return []
        self.again = broken
        return [*PYTEST, "0", *args[len(PYTEST) + 1 :], *broken]

    def _ended(self) -> int | None:
        """Return the exit status of its command, if that has ended; add the CPU time of it and of
        all processes below it that were waited for.
        """
        assert self.process is not None
        pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
        if not pid:
            return None
        self.cpu_s += used.ru_utime + used.ru_stime
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode

    def interrupt(self) -> None:
        """End its command, and then all processes that the command has left."""
        if self.process is not None and self.process.poll() is None:
            for number in (signal.SIGINT, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(PATIENCE_S)

    def progress(self) -> str:
        """Return how far it is, in a few words."""
        if self.status is not None:
            return f"{self.name} {'ok' if self.status == 0 else 'FAILED'} in {self.seconds:.0f} s"
        return f"{self.name} {self._how_far()}"

    def _how_far(self) -> str:
        if self.name == "java" and (reports := self._reports()):
            return f"{len(reports)} classes"
        said = self.log.read_text(errors="replace")
        if (items := ITEMS.search(said)) is None:
            return "runs"
        done = sum(len(each) for each in DONE.findall(said))
        return f"{done} of {items[1]} tests" if done < int(items[1]) else "ends"

    def _reports(self) -> list[Path]:
        """Return Surefire's reports that are newer than the start of this run."""
        age = time.monotonic() - self.begin
        found = (ROOT / "jvm-bridge").glob("*/target/surefire-reports/TEST-*.xml")
        return [one for one in found if time.time() - one.stat().st_mtime <= age]

    def _suites(self) -> list[ElementTree.Element]:
        """Return what these reports contain, a suite for each class."""
        return [ElementTree.parse(one).getroot() for one in self._reports()]  # noqa: S314 - Maven's

    def counts(self) -> dict[str, int]:
        """Count the tests by outcome: passed, failed, skipped."""
        found = dict.fromkeys(("passed", "failed", "skipped"), 0)
        if self.name == "java":
            for suite in self._suites():
                tests, errors, failures, skipped = (
                    int(suite.get(key, 0)) for key in ("tests", "errors", "failures", "skipped")
                )
                found["failed"] += errors + failures
                found["skipped"] += skipped
                found["passed"] += tests - errors - failures - skipped
            return found
        lines = self.log.read_text(errors="replace").splitlines()
        closing = [line for line in lines if re.search(r" in \d+\.\d+s", line)]
        second = closing.pop() if self.again and len(closing) > 1 else ""
        for number, outcome in COUNTS.findall(closing[-1] if closing else ""):
            found["failed" if outcome in BAD else outcome] += int(number)
        if second:
            left = sum(int(n) for n, outcome in COUNTS.findall(second) if outcome in BAD)
            found["passed"] += found["failed"] - left
            found["failed"] = left
        return found

    def late(self) -> list[str]:
        """Return the names of the tests that passed only when they ran once more."""
        if self.name == "java":
            cases = [case for suite in self._suites() for case in suite.iter("testcase")]
            flaky = [c for c in cases if any(each.tag.startswith("flaky") for each in c)]
            return [f"{case.get('classname')}.{case.get('name')}" for case in flaky]
        of_lines = LATE.findall(self.log.read_text(errors="replace"))
        return [*(() if self.counts()["failed"] else self.again), *of_lines]


def closing_line(parts: Sequence[Part], seconds: float) -> str:
    """Return one line for all parts, like pytest's last line: what failed comes first."""
    counts = {part.name: part.counts() for part in parts}
    sums = {
        key: sum(each[key] for each in counts.values()) for key in ("failed", "passed", "skipped")
    }
    tests = ", ".join(f"{count} {key}" for key, count in sums.items() if count or key == "passed")
    cpu_s = sum(part.cpu_s for part in parts)
    detail = "; ".join(
        f"{part.name} {counts[part.name]['passed'] or 'ok'} in {part.seconds:.0f} s,"
        f" {part.cpu_s:.0f} s of CPU"
        if part.status == 0
        else f"{part.name} FAILED ({part.log.relative_to(ROOT)})"
        for part in parts
    )
    late = ", ".join(name for part in parts for name in part.late())
    detail += f"; passed only when run once more: {late}" if late else ""
    return f"{tests} in {seconds:.2f}s, {cpu_s:.0f} s of CPU ({detail})"


def run(name: str, console: Console) -> int:
    """Run the parts of that name; return the exit status."""
    LOGS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    parts = [Part(each, list(commands)) for each, commands in PARTS[name].items()]
    for part in parts:
        part.log.write_bytes(b"")
    said = begin
    try:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while any(part.status is None for part in parts):
                for part in parts:
                    part.step()
                now = time.monotonic()
                line = f"{now - begin:4.0f} s  " + " | ".join(part.progress() for part in parts)
                if console.is_terminal:
                    live.update(line, refresh=True)
                elif now - said >= REPORT_S:
                    said = now
                    console.print(line, soft_wrap=True)
                time.sleep(TICK_S)
    except KeyboardInterrupt:
        for part in parts:
            part.interrupt()
        console.print("interrupted")
        return 130
    failed = [part for part in parts if part.status]
    for part in failed:
        console.out(part.log.read_text(errors="replace"), highlight=False)
    console.out(f"make {name}: {closing_line(parts, time.monotonic() - begin)}", highlight=False)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1], Console()))
