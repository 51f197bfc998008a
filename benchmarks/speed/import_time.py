"""CPU time of importing and of `--help`, beside importing typer and rich: `make bench-import`.

Each command runs in processes of its own, in turn with the others; user and system time of the
process are counted, not the clock. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from loomcard.cli.commands import COMMANDS

_COMMAND: Final = "from loomcard.cli import main; main()"
BESIDE: Final = "import typer, rich"
MEASURED: Final[Mapping[str, Sequence[str]]] = {
    BESIDE: ["-c", BESIDE],
    "python alone": ["-c", "pass"],
    "import loomcard": ["-c", "import loomcard"],
    "from loomcard import fill": ["-c", "from loomcard import fill"],
    "loomcard --help": ["-c", _COMMAND, "--help"],
    "loomcard --version": ["-c", _COMMAND, "--version"],
    **{f"loomcard {name} --help": ["-c", _COMMAND, name, "--help"] for name in COMMANDS},
}


def cpu_ms(arguments: Sequence[str]) -> float:
    """Return the milliseconds of CPU time that Python takes for these arguments."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, *arguments],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, nowhere, 1)],
        )
        _, status, used = os.wait4(child, 0)
    finally:
        os.close(nowhere)
    if status:
        raise SystemExit(
            f"error: {arguments} ended with status {os.waitstatus_to_exitcode(status)}"
        )
    return (used.ru_utime + used.ru_stime) * 1000


def main() -> None:
    """Prints a table and the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    times: dict[str, list[float]] = {name: [] for name in MEASURED}
    for _ in range(repeats + 1):
        for name, arguments in MEASURED.items():
            times[name].append(cpu_ms(arguments))
    for each in times.values():
        del each[0]  # the first run filled the caches
    beside = median(times[BESIDE])
    print(f"CPU time in ms, {repeats} repeats; ratio of medians to `{BESIDE}`")
    print(f"{'':<28}{'min':>8}{'median':>8}{'max':>8}{'ratio':>8}")
    rows = {}
    for name, each in times.items():
        row = {"min": min(each), "median": median(each), "max": max(each)}
        row["ratio"] = row["median"] / beside
        rows[name] = {key: round(value, 2) for key, value in row.items()}
        print(
            f"{name:<28}" + "".join(f"{row[key]:>8.1f}" for key in ("min", "median", "max")), end=""
        )
        print(f"{row['ratio']:>8.2f}")
    print(json.dumps({"repeats": repeats, "cpu_ms": rows, "python": str(Path(sys.executable))}))


if __name__ == "__main__":
    main()
