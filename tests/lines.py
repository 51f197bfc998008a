"""`make lines`: run the tests of the embedded cluster on each Hadoop line, and print one table.

``python tests/lines.py [LINE...]``, with lines such as 3.3; without one, every line that Loomcard
supports. Each line gets its jars with `loomcard cluster fetch` at the first run. A cell is the time
of a test in seconds, or what became of it. Logs and results are in build/lines/LINE. Exit status 1
if a test failed on any line.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "lines"
TESTS = ["tests/cluster/test_embedded.py"]
LINES = ("2.10", "3.1", "3.2", "3.3", "3.4", "3.5")
OUTCOMES = {"failure": "FAILED", "error": "ERROR", "skipped": "skipped"}


def run(line: str) -> dict[str, str]:
    """Run the tests on one line; return each test's cell, and the time of all as ``together``."""
    folder = FOLDER / line
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.xml"
    results.unlink(missing_ok=True)
    pytest = [sys.executable, "-m", "pytest", "-m", "cluster", "-n", "0", f"--junitxml={results}"]
    with (folder / "log").open("wb") as log:
        subprocess.run(
            [*pytest, *TESTS], cwd=ROOT, env=os.environ | {"LOOMCARD_HADOOP": line}, stdout=log,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    return read(results) if results.exists() else {"together": "no result"}


def read(results: Path) -> dict[str, str]:
    """Return the cell of each test in pytest's XML file, and the time of all."""
    cells = {}
    suite = ElementTree.parse(results).getroot()[0]  # noqa: S314 - pytest's own
    for case in suite.iter("testcase"):
        bad = [OUTCOMES[found.tag] for found in case if found.tag in OUTCOMES]
        name = case.attrib["name"].removeprefix("test_").replace("_", " ")
        cells[name] = bad[0] if bad else f"{float(case.attrib['time']):.1f}"
    return cells | {"together": suite.attrib["time"]}


def failed(cells: dict[str, str]) -> bool:
    """Return whether a line's tests did not all pass; no test at all is a failure too."""
    return len(cells) < 2 or any(cell in ("FAILED", "ERROR") for cell in cells.values())


def table(found: dict[str, dict[str, str]]) -> Table:
    """Return a row per test and a column per line."""
    drawn = Table("seconds", *found)
    rows = dict.fromkeys(name for cells in found.values() for name in cells)
    for name in sorted(rows, key="together".__eq__):
        drawn.add_row(name, *(cells.get(name, "not run") for cells in found.values()))
    return drawn


def main() -> int:
    """Run line after line; the table comes last."""
    parser = argparse.ArgumentParser(prog="lines", description="the cluster's tests on each line")
    parser.add_argument("lines", nargs="*", default=LINES, help="such as 3.3")
    found: dict[str, dict[str, str]] = {}
    for line in parser.parse_args().lines:
        found[line] = run(line)
        word = "FAILED" if failed(found[line]) else "passed"
        print(f"Hadoop {line}: {word} in {found[line]['together']} s; {FOLDER / line}", flush=True)
    Console(width=160).print(table(found))
    return int(any(map(failed, found.values())))


if __name__ == "__main__":
    sys.exit(main())
