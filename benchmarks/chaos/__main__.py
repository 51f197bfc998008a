"""Chaos on the real shim: seeded, overlapping faults of policy, disk, nodes, users and
ResourceManager under continuous load, and what must hold afterwards.

docs/benchmarks/chaos.md says which faults and which checks. Run it with `make chaos`.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.chaos.cluster import Cluster, read_lines, wait_until
from benchmarks.chaos.conf import RM_IDS, WATCHDOG, prepare, unmount
from benchmarks.chaos.jvm import ChaosError, of_folder
from benchmarks.chaos.pair import PairCluster
from benchmarks.chaos.report import summary, table
from benchmarks.chaos.run import Log, Run
from benchmarks.chaos.schedule import PAIR_KINDS, PLAIN_KINDS
from loomcard.cluster import paths
from loomcard.cluster.hadoop_jars import JarSourceError
from loomcard.config.shipped import PlaceError

BREAKS = (
    "allocate-twice", "forget-release", "skip-usage", "return-twice", "freeze", "lose-ask",
    "tell-wrong-size", "leak-heap", "leak-threads", "leak-files", "leak-children",
    "spill-capsules", WATCHDOG,
)  # fmt: skip
"""What the broken build can do wrong; each entry exists to show that a check can fail."""


JVM_LOGS = ("rm.log", "load.log", "zookeeper.log", *(f"{rm_id}.log" for rm_id in RM_IDS))
LAST_WORDS_S = 15
"""How long a policy process may live after its ResourceManager."""


def kinds_of(wanted: str, known: tuple[str, ...] = PLAIN_KINDS) -> tuple[str, ...]:
    """Return the known kinds whose name begins with one of the words; all if the text is empty."""
    words = tuple(word for word in wanted.split(",") if word)
    found = tuple(kind for kind in known if not words or kind.startswith(words))
    if not found:
        raise ChaosError(f"no kind of fault begins with {wanted!r}; known: {', '.join(known)}")
    return found


def first_fault(out: Path, seed: int, resume: bool, count: int) -> int:
    """Return the number of the first fault to do. Begin a new log if there is nothing to resume:
    resuming was not requested, or all ``count`` faults are done.
    """
    log = out / "log.jsonl"
    lines = read_lines(log) if resume else []
    done = max((line["index"] + 1 for line in lines if line["line"] == "fault"), default=0)
    if not 0 < done < count:
        out.mkdir(parents=True, exist_ok=True)
        for name in ("log.jsonl", "report.json", *JVM_LOGS):
            (out / name).unlink(missing_ok=True)
        return 0
    if any(line["seed"] != seed for line in lines):
        raise ChaosError(f"{log} is of seed {lines[0]['seed']}: resume with --seed that")
    return done


def run(
    seed: int, faults: int, minutes: float, out: Path, first: int, every: int,
    kinds: tuple[str, ...], broken: str, patience: float, pair: bool,
) -> None:  # fmt: skip
    """Make a cluster, do the faults, end the cluster. Nothing of the cluster stays, whatever
    happens.
    """
    console = Console(stderr=True)
    log = Log(out / "log.jsonl", seed)

    def show(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    work = Run(log, seed, kinds, show, patience)
    end = time.monotonic() + 60 * minutes
    files = prepare(out, broken, pair)
    try:
        work.cluster = (PairCluster if pair else Cluster)(files, seed, work.event)
        work.cluster.start()
        work.go(first, faults, every, end)
    finally:
        if work.cluster is not None:
            work.cluster.stop()
        unmount(files.disk)
    try:
        wait_until("all processes to end", lambda: not of_folder(files.state), LAST_WORDS_S)
    except ChaosError:
        text = f"{of_folder(files.state)} outlived the ResourceManager"
        work.violation("processes left", text)


def main(
    seed: Annotated[int, typer.Option(help="What comes when follows from it.")] = 1,
    faults: Annotated[int, typer.Option(help="How many in all.", min=1)] = 500,
    minutes: Annotated[float, typer.Option(help="No new fault after so long.", min=0.1)] = 60,
    every: Annotated[int, typer.Option(help="Faults between two comparisons.", min=1)] = 50,
    out: Annotated[Path, typer.Option(help="Folder of the log.")] = Path("run/chaos"),
    resume: Annotated[
        bool, typer.Option(help="Go on after the log's last fault, if any is left to do.")
    ] = False,
    kinds: Annotated[str, typer.Option(help="Only these, e.g. 'policy,rm.kill'.")] = "",
    broken: Annotated[
        str, typer.Option("--break", help=f"Break the scheduler: {', '.join(BREAKS)}.")
    ] = "",
    patience: Annotated[
        float, typer.Option(help="Factor on how long a check waits for agreement.", min=0.01)
    ] = 1,
    ha: Annotated[
        bool, typer.Option("--ha", help="Two ResourceManagers and ZooKeeper; rm.failover.")
    ] = False,
) -> None:
    """Do the faults of a seed and check; the last line is JSON, the status 1 after a violation."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    out, known = out.resolve(), PAIR_KINDS if ha else PLAIN_KINDS
    try:
        unknown = [word for word in broken.split(",") if word and word not in BREAKS]
        if unknown:
            raise ChaosError(f"--break: unknown {unknown}; known: {', '.join(BREAKS)}")
        wanted = kinds_of(kinds, known)
        paths.jars()  # fetched before a fault begins
        first = first_fault(out, seed, resume, faults)
    except (ChaosError, JarSourceError, PlaceError) as error:
        hint = f": {error.hint}" if isinstance(error, JarSourceError | PlaceError) else ""
        typer.echo(f"chaos: {error}{hint}", err=True)
        raise typer.Exit(2) from None
    try:
        run(seed, faults, minutes, out, first, every, wanted, broken, patience, ha)
    except ChaosError as error:
        typer.echo(f"chaos: {error}; the logs lie in {out}", err=True)
        raise typer.Exit(1) from None
    found = summary(read_lines(out / "log.jsonl"))
    (out / "report.json").write_text(json.dumps(found, indent=1) + "\n")
    Console(width=None if sys.stdout.isatty() else 120).print(table(found))
    for one in found["named"]:
        print(f"seed {one['seed']}, fault {one['index']}: {one['kind']}: {one['text']}")
    print(json.dumps({key: found[key] for key in found if key not in ("kinds", "named")}))
    raise typer.Exit(1 if found["violations"] else 0)


if __name__ == "__main__":
    typer.run(main)
