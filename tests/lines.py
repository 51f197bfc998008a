"""`make lines`: run the tests of the embedded cluster on each Hadoop line, and print one table.

``python tests/lines.py [LINE...]``, with lines such as 3.3; without one, every line that Loomcard
supports. Its jars come with Maven at the first run, and are kept where `loomcard cluster fetch`
keeps them. When the cluster has ended, its journal replays; it must not say which line recorded it.
``--on docker`` runs the tests of the compose cluster instead, in an image of the line, and
``--on all`` both, in one table; PYTEST_ADDOPTS="-k WORD" runs a part of the tests. A cell is the
time of a test in seconds, or what became of it. Logs, results and the journal are in
build/lines/LINE; what failed is said below the table. Exit status 1 if a test failed on any line.
A line of which at most five tests failed runs once more when the others have ended, on its own: on
a busy machine a deadline can pass. Where only the journal does not replay, it does not.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from parts import FEW
from rich.console import Console
from rich.table import Table

from loomcard.cluster import hadoop_jars
from loomcard.cluster.paths import BUILT_WITH
from loomcard.engine.session import replay_segment
from loomcard.wire.journal import Segment, read_segments
from loomcard.wire.messages import Hello

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "lines"
TESTS = {
    "local": [
        "tests/cluster/test_embedded.py",
        "tests/cluster/test_hadoop_config.py",
        "tests/cluster/test_mixed_lines.py",
    ],
    "docker": ["tests/cluster/test_compose.py"],
}
DEEP = {
    "local": [
        "tests/cluster/test_labels.py",
        "tests/benchmarks/chaos/test_chaos.py::test_twenty_faults_break_nothing",
        "tests/benchmarks/chaos/test_chaos.py::test_fail_overs_break_nothing",
    ],
    "docker": ["tests/cluster/test_compose_ha.py"],
}
"""With ``--deep`` also these: node labels, faults and resizes, a pair of ResourceManagers."""
OF_ANY_LINE = ("third_partys_policy", "two_clusters")
"""Tests of Python alone, which `make test` runs."""
LISTS = ROOT / "hadoop-jars"
FETCH = ROOT / "jvm-bridge" / "lines" / "fetch.sh"
FETCHED = ROOT / "jvm-bridge" / "lines" / "target" / "jars"
JOURNAL = "journal replays"
LINES = {
    "local": ("2.7", "2.10", "3.1", "3.2", "3.3", "3.4", "3.5"),
    "docker": ("2.7", "2.10", "3.3", "3.4", "3.5"),
}
AT_ONCE = {"local": 2, "docker": 1}
"""How many lines run side by side: one embedded cluster leaves half of two cores idle."""
HELLO_RELEASE = 1 + Hello.__struct_fields__.index("hadoop_version")
"""Its place in the handshake's text, after the tag."""
LINES_SAID = 30
"""At most so many lines of a failure's message."""
JOURNAL_SAYS = "journal: "
OUTCOMES = {"failure": "FAILED", "error": "ERROR", "skipped": "skipped"}


def provide(line: str) -> None:
    """Bring the line's jars into the cache: with Maven, which knows this machine's mirrors, unless
    `LOOMCARD_JARS_FROM` names one.
    """
    if line == BUILT_WITH:
        return
    source = os.environ.get("LOOMCARD_JARS_FROM")
    listed = [row.split()[2] for row in (LISTS / f"{line}.txt").read_text().splitlines()]
    kept = hadoop_jars.cache_folder() / "maven"
    if source is None and not all((kept / path).is_file() for path in listed):
        subprocess.run([FETCH, f"{line}.txt"], check=True)
        source = str(FETCHED / line)
    hadoop_jars.fetch(line, source)
    shutil.rmtree(FETCHED / line, ignore_errors=True)


def run(line: str, on: str) -> dict[str, str]:
    """Run the tests on one line; return each test's cell, and the time of all as ``together``."""
    begin = time.monotonic()
    folder = _folder(line, on)
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.xml"
    results.unlink(missing_ok=True)
    if on == "local":
        provide(line)
    left_out = ["-k", " and ".join(f"not {name}" for name in OF_ANY_LINE)]
    chosen = ["-m", "cluster", *left_out] if on == "local" else ["-m", "docker"]
    pytest = [sys.executable, "-m", "pytest", *chosen, "-n", "0", f"--junitxml={results}"]
    with (folder / "log").open("wb") as log:
        subprocess.run(
            [*pytest, f"--basetemp={folder / 'tmp'}", *TESTS[on]], cwd=ROOT,
            env=os.environ | {"LOOMCARD_HADOOP": line}, stdout=log, stderr=subprocess.STDOUT,
            check=False,
        )  # fmt: skip
        cells = read(results) if results.exists() else {}
        if on == "local":
            cells[JOURNAL] = replayed(folder, log)
    return cells | {"together": f"{time.monotonic() - begin:.1f}"}


def replayed(folder: Path, log: IO[bytes]) -> str:
    """Replay the journal that the ended cluster left, as another line's, keep it, and return its
    cell.
    """
    begin = time.monotonic()
    journal = folder / "journal"
    shutil.rmtree(journal, ignore_errors=True)
    try:
        shutil.copytree(folder / "tmp" / "cluster0" / "loomcard" / "journal", journal)
        with policies(folder / "tmp" / "installed0"):
            wrong = [each for segment in read_segments(journal) for each in differences(segment)]
    except Exception as error:  # also whatever a policy raises
        wrong = [f"{type(error).__name__}: {error}"]
    log.write("".join(f"{JOURNAL_SAYS}{each}\n" for each in wrong).encode())
    return "FAILED" if wrong else f"{time.monotonic() - begin:.1f}"


def differences(segment: Segment) -> Iterator[str]:
    """Return what would make a segment depend on the line that recorded it, which only the
    handshake names.
    """
    release = segment.hello.hadoop_version
    named = re.compile(rf"(?<![\d.]){re.escape(release)}(?![\d.])")
    for each in segment:
        if named.search(each.batch_text) or named.search(each.plan_text):
            yield f"{each.batch_place} names Hadoop {release}"
    assert segment.header["hello"][HELLO_RELEASE] == release
    segment.header["hello"][HELLO_RELEASE] = "0.0.0"
    yield from (f"{each.segment}: round {each.round} differs" for each in replay_segment(segment))


@contextmanager
def policies(folder: Path) -> Iterator[None]:
    """Let the policies in a folder be imported."""
    sys.path.append(str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _folder(line: str, on: str) -> Path:
    return FOLDER / (line if on == "local" else f"{line}-{on}")


def read(results: Path) -> dict[str, str]:
    """Return the cell of each test in pytest's XML file, and the time of all."""
    cells = {}
    suite = ElementTree.parse(results).getroot()[0]  # noqa: S314 - pytest's own
    for case in suite.iter("testcase"):
        bad = [OUTCOMES[found.tag] for found in case if found.tag in OUTCOMES]
        name = case.attrib["name"].removeprefix("test_").replace("_", " ")
        cells[name] = bad[0] if bad else f"{float(case.attrib['time']):.1f}"
    return cells


def bad(cells: dict[str, str]) -> list[str]:
    """Return the tests that failed."""
    return [name for name, cell in cells.items() if cell in ("FAILED", "ERROR")]


def failed(cells: dict[str, str]) -> bool:
    """Return whether a line's tests did not all pass; no test at all is a failure too."""
    return len(cells) < 3 or bool(bad(cells))


def complaints(folder: Path) -> Iterator[str]:
    """Return what went wrong on a line: place and message of each test, or the end of the log."""
    log = (folder / "log").read_text(errors="replace").splitlines()
    said = [line for line in log if line.startswith(JOURNAL_SAYS)]
    if (results := folder / "results.xml").exists():
        for case in ElementTree.parse(results).iter("testcase"):  # noqa: S314 - pytest's own
            for bad in (found for found in case if OUTCOMES.get(found.tag, "skipped") != "skipped"):
                place = (bad.text or "").rstrip().rpartition("\n")[2]
                said.append(f"{case.attrib['name']}, {place}")
                said += [f"  {line}" for line in bad.attrib["message"].splitlines()[:LINES_SAID]]
    yield from said or log[-LINES_SAID:]


def table(found: dict[str, dict[str, str]]) -> Table:
    """Return a row per test and a column per line."""
    drawn = Table("seconds", *found)
    rows = dict.fromkeys(name for cells in found.values() for name in cells)
    for name in sorted(rows, key="together".__eq__):
        drawn.add_row(name, *(cells.get(name, "not run") for cells in found.values()))
    return drawn


def report(line: str, on: str, cells: dict[str, str]) -> dict[str, str]:
    """Print whether a line's tests passed; return the cells."""
    folder, word = _folder(line, on), "FAILED" if failed(cells) else "passed"
    print(f"{folder.name}: {word} in {cells['together']} s; {folder}", flush=True)
    return cells


def main() -> int:
    """Run the lines; the table comes last."""
    parser = argparse.ArgumentParser(prog="lines", description="the cluster's tests on each line")
    parser.add_argument("lines", nargs="*", help="such as 3.3")
    parser.add_argument("--on", choices=[*TESTS, "all"], default="local", help="kind of cluster")
    parser.add_argument("--deep", action="store_true", help="also labels, faults and fail-overs")
    given = parser.parse_args()
    found: dict[str, dict[str, str]] = {}
    for on in TESTS if given.on == "all" else [given.on]:
        lines = given.lines or LINES[on]
        if given.on == "all":
            lines = [line for line in LINES[on] if line in lines]
        TESTS[on] += DEEP[on] if given.deep else []
        with ThreadPoolExecutor(AT_ONCE[on]) as pool:
            for line, cells in zip(lines, pool.map(run, lines, repeat(on)), strict=True):
                found[_folder(line, on).name] = report(line, on, cells)
        for line in lines:
            name = _folder(line, on).name
            broken = bad(found[name])
            if 0 < len(broken) <= FEW and broken != [JOURNAL]:
                print(*complaints(_folder(line, on)), sep="\n")
                found[name] = report(line, on, run(line, on))
                if not failed(found[name]):
                    print(f"{name}: {', '.join(broken)} passed only when run once more", flush=True)
    Console(width=200).print(table(found))
    for name, cells in found.items():
        if failed(cells):
            print(f"\n{name} failed; its logs are in {FOLDER / name}")
            print(*complaints(FOLDER / name), sep="\n")
    return int(any(map(failed, found.values())))


if __name__ == "__main__":
    sys.exit(main())
