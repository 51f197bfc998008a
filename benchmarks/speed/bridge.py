"""The bench of the bridge: a policy through the real bridge against YARN's own schedulers.

Each scheduler runs in JVMs of its own, in turns, so that a change in the machine's speed affects
all of them. docs/benchmarks/speed.md says what is measured and what is not. Run it with `make
bench`.
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.speed import ask_trace
from benchmarks.speed.bridge_figures import Window, of_phase, ratios, rows, spread
from benchmarks.speed.traced_process import read_stamps, trace_launcher
from loomcard.api.registry import built_in
from loomcard.cluster import paths
from loomcard.cluster.hadoop_jars import JarSourceError
from loomcard.config import canonical_json, compile_config
from loomcard.config.catalog import catalog
from loomcard.config.shipped import PlaceError

OURS = "loomcard"
THEIRS = ("capacity", "capacity-async")
"""CapacityScheduler: it decides at heartbeats, or in threads of its own (the default of 3.5)."""
MAIN = "org.loomcard.yarn.bench.BridgeBenchmark"
ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "jvm-bridge" / "bench" / "target"
JVM_LIMIT_S = 600

# The task of both schedulers. `full` is warm: the JIT needs 25-40 s of churn on two cores.
FULL = {
    "nodes": 1000, "slots": 40, "applications": 200, "queues": 4, "warm_s": 45, "windows": 4,
    "window_s": 5, "settle_s": 15, "paced_windows": 4, "light_windows": 4, "paced_window_s": 8,
}  # fmt: skip
QUICK = {
    "nodes": 100, "slots": 20, "applications": 20, "queues": 4, "warm_s": 5, "windows": 2,
    "window_s": 2, "settle_s": 12, "paced_windows": 1, "light_windows": 1, "paced_window_s": 4,
}  # fmt: skip

EACH = {"a leaf": ("drf", "{name}"), "members": ("{name}", "{name}"), "a subtree": ("{name}", None)}
"""By what a policy governs: the policy between the queues, and the one in each leaf (None: the same
instance schedules the leaves).
"""
STAGES = [
    {"id": "scan", "priority": 1, "tasks": 20_000, "ms": 9_000, "size": [1024, 1]},
    {"id": "join", "priority": 2, "tasks": 1_000, "ms": 9_000, "size": [1024, 1], "after": [0]},
]
MAPREDUCE = [
    {"id": "map", "priority": 20, "tasks": 20_000, "ms": 9_000, "size": [1024, 1]},
    {"id": "reduce", "priority": 10, "tasks": 2_000, "ms": 9_000, "size": [1024, 1], "after": [0]},
]


def policies() -> dict[str, tuple[str, str | None]]:
    """Return what `--policy` measures: each built-in policy, and `dress` as its paper has it."""
    found = {}
    for entry in catalog():
        if entry.name in built_in():
            root, leaf = EACH[entry.governs]
            found[entry.name] = root.format(name=entry.name), leaf and leaf.format(name=entry.name)
    return found | {"dress_ticks": ("drf", "dress, options: {eager: false}")}


def application_settings(policy: str) -> list[str]:
    """Return what the bench's applications are: maps and reduces for `coupling`, jobs that describe
    their stages for policies that weigh what remains, and plain ones for all others.
    """
    if policy == "coupling":
        stages = _hint(MAPREDUCE)
        return ["application_type=MAPREDUCE", f"stages={stages}", "reduce_every=10"]
    weighs = policy in ("carbyne", "clairvoyant", "sjf", "srtf", "tetris")
    return [f"stages={_hint(STAGES)}"] if weighs else []


def ours_of(wanted: Sequence[str]) -> list[str]:
    """Return our schedulers, one of each policy. Raises BadParameter."""
    for policy in wanted:
        if policy not in policies():
            raise typer.BadParameter(f"{policy!r}: expected one of {', '.join(policies())}")
    if len({"reduce_every=10" in application_settings(policy) for policy in wanted}) > 1:
        raise typer.BadParameter(
            "coupling's applications ask for maps and reduces, the others' do not: "
            "measure it in a run of its own"
        )
    return [f"{OURS}:{policy}" for policy in wanted]


def _hint(stages: Sequence[object]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(stages)).decode().rstrip("=")


class BenchError(Exception):
    """The bench cannot run, or its measurement has no value; the text says why."""


def policy_yaml(policy: str, queues: int) -> str:
    """Return the YAML of one of `policies()` over `queues` leaf queues of equal guarantee."""
    root, leaf = policies()[policy]
    lines = ["version: 1", "kind: policy", f"policy: {root}", "queues:"]
    inside = "" if leaf is None else f"policy: {leaf}, "
    lines += [f"  q{i}: {{{inside}guaranteed: {100 / queues:g}%}}" for i in range(queues)]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Trial:
    """What every JVM gets: the load, its heap, what the applications are for YARN's schedulers, the
    place of our journal, the interpreter of the policy process, where to leave the steps of our
    asks, and the built bench of another tree whose scheduler is measured.
    """

    load: dict[str, int]
    heap: str = "1536m"
    applications: tuple[str, ...] = ()
    journal: Path | None = None
    python: Path = Path(sys.executable)
    trace: Path | None = None
    target: Path | None = None


def java_command(scheduler: str, trial: Trial, folder: Path) -> list[str]:
    """Return the command line that measures one scheduler in one JVM: one of YARN's, or ours with
    the policy named after the colon.
    """
    kind, _, policy = scheduler.partition(":")
    own = sorted(TARGET.glob("loomcard-bench-*.jar"))
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    command = [str(java), f"-Xms{trial.heap}", f"-Xmx{trial.heap}"]
    command += ["-cp", os.pathsep.join([*map(str, own), class_path(trial.target)]), MAIN]
    command += [f"scheduler={kind}", f"folder={folder}"]
    command += [f"{name}={value}" for name, value in trial.load.items()]
    command += application_settings(policy) if kind == OURS else trial.applications
    if kind == OURS:
        config, yaml = folder / "setup.json", policy_yaml(policy, trial.load["queues"])
        config.write_text(canonical_json(compile_config(yaml, "bench.yml")))
        command.append(f"conf:loomcard.setup.path={config}")
        python = trial.python.absolute()
        if trial.trace is not None:
            command.append(f"trace={trial.trace / 'java.trace'}")
            python = trace_launcher(python, trial.trace, ROOT)
        command.append(f"conf:loomcard.python={python}")
        # The bench measures speed: a second of a busy machine shall not end in the fallback.
        command.append("conf:loomcard.round.deadline-ms=10000")
        command.append("conf:loomcard.round.hard-deadline-ms=30000")
        command.append("conf:loomcard.start.grace-ms=30000")
        if trial.journal is not None:
            command.append(f"conf:loomcard.journal.dir={trial.journal.resolve()}")
    return command


def class_path(target: Path | None) -> str:
    """Return the jars of a built bench (None: of this tree), or of the Hadoop line that
    `LOOMCARD_HADOOP` names.
    """
    if target is None and paths.hadoop_line() != paths.BUILT_WITH:
        try:
            return str(paths.jars() / "*")
        except JarSourceError as error:
            raise BenchError(f"{error} ({error.hint})") from None
    jars = (target or TARGET) / "classpath.txt"
    if not jars.is_file():
        raise BenchError(f"{jars} is missing: run `make setup` first")
    return jars.read_text()


def measure(scheduler: str, number: int, trial: Trial) -> Iterator[Window]:
    """Yield the windows of one JVM, as they come."""
    with tempfile.TemporaryDirectory(prefix="loomcard-bench-") as folder:
        log = Path(folder, "stderr")
        with log.open("w") as errors:
            jvm = subprocess.Popen(  # noqa: S603
                java_command(scheduler, trial, Path(folder)),
                stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, text=True,
            )  # fmt: skip
            try:
                assert jvm.stdout is not None
                for line in jvm.stdout:
                    window = msgspec.json.decode(line, type=Window)
                    yield msgspec.structs.replace(window, round=number, scheduler=scheduler)
                status = jvm.wait(timeout=JVM_LIMIT_S)
            finally:
                jvm.kill()
                jvm.wait()
        if status:
            last = "\n".join(log.read_text().splitlines()[-30:])
            raise BenchError(f"the JVM of {scheduler} ended with {status}:\n{last}")


def check(window: Window) -> None:
    """Refuse a window in which our policy did not decide everything itself."""
    if not window.allocations:
        raise BenchError(f"{window.scheduler} allocated nothing in a {window.phase} window")
    if window.decided.get("fallback"):
        raise BenchError(
            f"{window.decided['fallback']} allocations came from the fallback, not Python"
        )


def table(windows: Sequence[Window], schedulers: Sequence[str]) -> Table:
    """Return all figures as minimum / median / maximum over the windows."""
    result = Table(title=f"Hadoop {paths.hadoop_line()}, minimum / median / maximum over windows")
    result.add_column("")
    for scheduler in schedulers:
        result.add_column(scheduler, justify="right")
    for title, phase, figure in rows(windows):
        cells = []
        for scheduler in schedulers:
            values = spread([figure(w) for w in of_phase(windows, scheduler, phase)])
            cells.append(" / ".join(f"{value:,.{_digits(value)}f}" for value in values.values()))
        result.add_row(title, *cells)
    return result


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 10 else 2


def run(schedulers: Sequence[str], rounds: int, trial: Trial) -> Iterator[Window]:
    """Yield the windows of `rounds` rounds; in each round every scheduler has one JVM."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("")
        for number in range(rounds):
            # Every other round runs in reverse order, so that no scheduler is always first.
            for scheduler in schedulers if number % 2 == 0 else list(reversed(schedulers)):
                label = f"round {number + 1} of {rounds}, {scheduler}"
                progress.update(task, description=f"{label}: starting, filling, warming up")
                for window in measure(scheduler, number, trial):
                    check(window)
                    rate = f"{window.allocations_per_s():,.0f} allocations/s"
                    progress.update(task, description=f"{label}: {window.phase}, {rate}")
                    yield window


def main(
    quick: Annotated[
        bool, typer.Option(help="A smoke run of a minute; cold, proves nothing.")
    ] = False,
    rounds: Annotated[int, typer.Option(help="JVMs of each scheduler.", min=1)] = 3,
    fair: Annotated[bool, typer.Option(help="Measure FairScheduler too.")] = False,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A built-in policy, or dress_ticks; repeatable. Default: drf."),
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="NodeManagers.", min=1)] = None,
    applications: Annotated[int | None, typer.Option(help="Running masters.", min=1)] = None,
    slots: Annotated[int | None, typer.Option(help="1 GB slots of a node.", min=5)] = None,
    heap: Annotated[str, typer.Option(help="Heap of each JVM.")] = Trial.heap,
    journal: Annotated[
        Path | None, typer.Option(help="Keep our journal there, to profile a policy; costs CPU.")
    ] = None,
    python: Annotated[
        Path, typer.Option(help="The policy process's interpreter.", exists=True, dir_okay=False)
    ] = Trial.python,
    out: Annotated[
        Path | None, typer.Option(help="Write every window here, as JSON lines.")
    ] = None,
    trace: Annotated[
        bool, typer.Option(help="Show where the time of an ask goes; our scheduler alone, once.")
    ] = False,
) -> None:
    """Measure policies through the bridge against CapacityScheduler; the last line is JSON."""
    wanted = [*dict.fromkeys(policy or ["drf"])]
    ours = ours_of(wanted)
    if trace and len(ours) > 1:
        raise typer.BadParameter("--trace: expected one --policy")
    try:
        class_path(None)
    except (BenchError, PlaceError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(2) from None
    sizes = {"nodes": nodes, "applications": applications, "slots": slots}
    load = (QUICK if quick else FULL) | {k: v for k, v in sizes.items() if v is not None}
    theirs = [*THEIRS, *(["fair"] if fair else [])]
    folder = Path(tempfile.mkdtemp(prefix="loomcard-trace-")) if trace else None
    plain = tuple(application_settings(wanted[0]))
    trial = Trial(load, heap, plain, journal, python, folder)
    schedulers = ours if trace else [*theirs, *ours]
    # If a signal ends the bench, it still ends its JVM.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    windows = []
    try:
        for window in run(schedulers, 1 if quick or trace else rounds, trial):
            windows.append(window)
            if out is not None:
                out.write_bytes(b"".join(msgspec.json.encode(w) + b"\n" for w in windows))
    except BenchError as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    console = Console(width=None if sys.stdout.isatty() else 40 + 27 * len(schedulers))
    console.print(table(windows, schedulers))
    if folder is not None:
        show_trace(folder, console)
        return
    found = {
        name: ratios(windows, scheduler, theirs)
        for name, scheduler in zip(wanted, ours, strict=True)
    }
    print(json.dumps(found))


def show_trace(folder: Path, console: Console) -> None:
    """Print the steps of an ask at each load, and remove the folder."""
    asks = ask_trace.join(folder / "java.trace", read_stamps(folder / "python.trace"))
    for phase, containers in asks.items():
        console.print(ask_trace.table(phase, containers))
    shutil.rmtree(folder)


if __name__ == "__main__":
    typer.run(main)
