"""Who keeps the scheduler's lock, and for how long, in a large cluster with one user at every
bound.

A lock that records how long it is kept replaces YARN's (`LockHolds.java`); the policy is the real
one, behind the real bridge. Run it with `make locks`; docs/benchmarks/speed.md says more.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.speed.bridge import JVM_LIMIT_S, TARGET
from loomcard.config import canonical_json, compile_config

MAIN = "org.loomcard.yarn.bench.LockBenchmark"
FULL = {"nodes": 5000, "slots": 20, "applications": 10_000, "queues": 1000}
QUICK = {"nodes": 200, "slots": 20, "applications": 200, "queues": 20}
SHOWN = 6
BEFORE, CROWD = "at rest", "one user at every bound"


class Hold(msgspec.Struct):
    """All holds of the lock from one place in one phase."""

    where: str
    mode: str
    holds: int
    longest_ms: float
    longest_cpu_ms: float
    sum_ms: float


class Phase(msgspec.Struct):
    """What was seen in one phase."""

    phase: str
    waits: int
    median_wait_ms: float
    longest_wait_ms: float
    by_fallback: int
    holds: list[Hold]

    def longest_write_ms(self) -> float:
        """Return the longest time for which no other thread could do anything."""
        return max((h.longest_ms for h in self.holds if h.mode == "write"), default=0.0)

    def longest_write_cpu_ms(self) -> float:
        """Return the most CPU time of one such hold, which does not depend on the machine's other
        work.
        """
        return max((h.longest_cpu_ms for h in self.holds if h.mode == "write"), default=0.0)


def phases(load: dict[str, int], heap: str) -> Iterator[Phase]:
    """Yield the phases, as the JVM reaches them."""
    queues = "".join(f"  q{i}: {{}}\n" for i in range(load["queues"]))
    yaml = f"version: 1\nkind: policy\npolicy: drf\nqueues:\n{queues}"
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    jars = [*map(str, sorted(TARGET.glob("loomcard-bench-*.jar")))]
    classes = os.pathsep.join([*jars, (TARGET / "classpath.txt").read_text()])
    with tempfile.TemporaryDirectory(prefix="loomcard-locks-") as folder:
        config, policy = Path(folder, "setup.json"), Path(folder, "policy.yml")
        config.write_text(canonical_json(compile_config(yaml, "policy.yml")))
        policy.write_text(yaml + "# applied again by refreshQueues\n")
        command = [str(java), f"-Xms{heap}", f"-Xmx{heap}", "-cp", classes, MAIN]
        command += ["scheduler=loomcard-watched", f"folder={folder}"]
        command += [f"{name}={value}" for name, value in load.items()]
        command += [f"conf:loomcard.setup.path={config}", f"conf:loomcard.policy.file={policy}"]
        command += [f"conf:loomcard.python={sys.executable}"]
        command += ["conf:yarn.scheduler.maximum-allocation-mb=16777216"]
        # As in `make bench`: a slow machine shall not end in the fallback.
        command += ["conf:loomcard.round.deadline-ms=30000"]
        command += ["conf:loomcard.round.hard-deadline-ms=60000"]
        command += ["conf:loomcard.start.grace-ms=60000"]
        log = Path(folder, "stderr")
        with log.open("w") as errors:
            jvm = subprocess.Popen(  # noqa: S603
                command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, text=True
            )
            try:
                assert jvm.stdout is not None
                for line in jvm.stdout:
                    yield msgspec.json.decode(line, type=Phase)
                status = jvm.wait(timeout=JVM_LIMIT_S)
            finally:
                jvm.kill()
                jvm.wait()
        if status:
            last = "\n".join(log.read_text().splitlines()[-30:])
            typer.echo(f"locks: the JVM ended with {status}:\n{last}", err=True)
            raise typer.Exit(1)


def table(phase: Phase) -> Table:
    """Return the longest holds of one phase."""
    waited = (
        f"; {phase.waits} containers waited {phase.median_wait_ms:.0f} ms, at most "
        f"{phase.longest_wait_ms:.0f} ms" if phase.waits else ""
    )  # fmt: skip
    result = Table(title=f"{phase.phase}{waited}", title_justify="left")
    for title in ("taken in", "mode", "holds", "longest ms", "CPU ms", "sum ms"):
        result.add_column(title, justify="left" if title in ("taken in", "mode") else "right")
    for hold in phase.holds[:SHOWN]:
        figures = (f"{hold.holds:,}", f"{hold.longest_ms:.1f}", f"{hold.longest_cpu_ms:.1f}")
        result.add_row(hold.where, hold.mode, *figures, f"{hold.sum_ms:,.0f}")
    return result


def main(
    quick: Annotated[bool, typer.Option(help="A smoke run on a small cluster.")] = False,
    heap: Annotated[str, typer.Option(help="Heap of the JVM.")] = "4g",
) -> None:
    """Print the longest holds of the scheduler's lock; the last line is JSON."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    seen = {}
    for phase in phases(QUICK if quick else FULL, heap):
        seen[phase.phase] = phase
        console.print(table(phase))
    crowd, before = seen[CROWD], seen[BEFORE]
    figures = {
        "longest_write_ms": round(max(p.longest_write_ms() for p in seen.values()), 1),
        "longest_write_cpu_ms": round(max(p.longest_write_cpu_ms() for p in seen.values()), 1),
        "longest_write_ms_by_phase": {
            p.phase: round(p.longest_write_ms(), 1) for p in seen.values()
        },
        "median_wait_ratio": round(crowd.median_wait_ms / before.median_wait_ms, 2),
        "longest_wait_ms": round(crowd.longest_wait_ms),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    typer.run(main)
