"""Chaos in small: real JVMs, a real policy process, twenty faults. On a scheduler that is broken on
purpose each check must fail.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loomcard.cluster import paths

ROOT = Path(__file__).parents[3]
JARS = ROOT / "jvm-bridge" / "dist" / "target" / "lib"


def chaos(out: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """Return exit status, report and output of one run."""
    if not JARS.is_dir():
        pytest.fail(f"{JARS} is missing: run `make setup` first")
    command = [sys.executable, "-m", "benchmarks.chaos", "--out", str(out), *options]
    ran = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    report = out / "report.json"
    assert report.is_file(), ran.stderr
    return ran.returncode, json.loads(report.read_text()), ran.stdout + ran.stderr


def test_an_unknown_hadoop_line_names_the_known_ones(tmp_path: Path) -> None:
    """One line says so before anything runs or is written."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.chaos", "--out", str(tmp_path / "out")], cwd=ROOT,
        env=os.environ | {"LOOMCARD_HADOOP": "3.9"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = ", ".join(paths.hadoop_lines())
    said = f"chaos: Hadoop 3.9: no such line: name one of {lines}\n"
    assert (ran.returncode, ran.stderr) == (2, said)
    assert not (tmp_path / "out").exists()


@pytest.mark.cluster
@pytest.mark.slow
def test_twenty_faults_break_nothing(tmp_path: Path) -> None:
    """No invariant is violated, every comparison was made, and the last line is JSON."""
    status, report, said = chaos(tmp_path, "--seed", "123", "--faults", "20", "--every", "10")
    assert report["named"] == [], said
    assert status == 0
    assert report["faults"] == 20
    assert report["comparisons"] >= 4


@pytest.mark.cluster
@pytest.mark.slow
def test_fail_overs_break_nothing(tmp_path: Path) -> None:
    """If the active one is killed or stopped, the other takes its place completely, and back
    again.
    """
    options = ["--ha", "--seed", "301", "--kinds", "rm", "--faults", "4", "--every", "2"]
    status, report, said = chaos(tmp_path, *options)
    assert report["named"] == [], said
    assert status == 0
    for kind in ("rm.failover", "rm.fence"):
        assert report["kinds"][kind]["faults"] == 2
        assert report["kinds"][kind]["not_done"] == 0, said
    log = (tmp_path / "log.jsonl").read_text()
    assert '"rm2 after rm1"' in log, log
    assert '"rm1 after rm2"' in log, log


BREAKS = {
    "allocate-twice": "allocated twice",
    "freeze": "stall",
    "skip-usage": "usage of queues",
    "tell-wrong-size": "containers of the mirror",
    "leak-heap": "growth of heap_mb",
    "leak-threads": "growth of threads",
    "leak-files": "growth of files",
    "leak-children": "growth of children",
}
"""These breaks do not disturb each other, so one run shows them all."""
MORE_BREAKS = {
    "forget-release": "containers of the nodes",
    "return-twice": "negative usage",
    "lose-ask": "asks",
}


SILENT_BREAKS = {"no-watchdog": "stall", "spill-capsules": "capsules"}
LONG_SILENCE = 287
"""The seed whose last silent policy is silent for 8 s without the machine's part: 5 s are no
violation.
"""


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.parametrize(
    ("breaks", "kind"),
    [(BREAKS, "swap.good"), (MORE_BREAKS, "swap.good"), (SILENT_BREAKS, "silent.always")],
    ids=["first", "second", "silent"],
)
def test_each_check_fails_on_a_broken_scheduler(
    tmp_path: Path, breaks: dict[str, str], kind: str
) -> None:
    """Each check finds the break that it exists for: a check that cannot fail proves nothing."""
    options = ["--kinds", kind, "--faults", "5", "--patience", "0.15"]
    if breaks is SILENT_BREAKS:
        options += ["--seed", str(LONG_SILENCE)]
    status, report, said = chaos(tmp_path, "--break", ",".join(breaks), *options)
    assert status == 1, said
    assert set(breaks.values()) <= set(report["violations_by_kind"]), said
