"""The bench of Carbyne: CPU time of a whole decision compared with ``tetris`` on the same cluster
(E10).

A thousand nodes are full of jobs of the workload ``carbyne-tpcds``, and a given number of their
tasks wait at all times. Nodes and AMs report once per second, each at its own millisecond; what a
heartbeat frees is given out again. docs/benchmarks/speed.md says what is measured. Run it with
`make bench-carbyne`.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, quantiles
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.speed.loads import (
    BEAT_MS,
    far,
    freeze,
    in_turns,
    policy_config,
    ratio,
    spreads,
    timed,
)
from loomcard.simulator.engine import Simulation
from loomcard.workload.loading import load
from loomcard.workload.scenario import Scenario

NODES = 1_000
PENDING = (10_000, 50_000)
LIVE = 200
"""About this many jobs live at a time, whatever the count of waiting tasks: with more tasks the
jobs are wider.
"""
WIDE = 10_000
"""With the workload's own widths, ``LIVE`` jobs have about this many waiting tasks."""
WARM_MS = 40_000
"""The cluster runs this long under `drf` before the policy that is measured: rounds are cheap, and
then every job has containers.
"""


def scenario(nodes: int, pending: int, seed: int = 1) -> Scenario:
    """Return the cluster, and more jobs than a run needs; the load decides when they come."""
    wide = max(1.0, pending / WIDE)
    vary = {"jobs": LIVE * 6, "servers": nodes, "width": 16 * wide, "widest": 600 * wide}
    found = load(Path("carbyne-tpcds"), seed=seed, vary=vary)
    return msgspec.structs.replace(far(found), heartbeat_ms=BEAT_MS, am_heartbeat_ms=BEAT_MS)


class Load:
    """A full cluster under ``policy``, in which about ``pending`` tasks wait: new jobs come when
    others end.

    ``decide_ms`` and ``answer_ms`` are CPU times, one per round: of the policy, and of the policy
    process (with the mirror, without the messages' text).
    """

    def __init__(self, policy: str, nodes: int, pending: int, warm_ms: int = WARM_MS) -> None:
        self.policy, self.pending = policy, pending
        self.simulation: Any = Simulation(scenario(nodes, pending), policy_config("drf"))
        self.rm = self.simulation.rm
        self.coming = iter(self.simulation.masters)
        self.decide_ms: list[float] = []
        self.answer_ms: list[float] = []
        while self.simulation.clock.now < warm_ms:
            self.step()
        self.rm.apply(policy_config(policy))
        self.rm.round()
        timed(self.rm.session.tree, "run", self.decide_ms)
        timed(self.rm.session, "answer", self.answer_ms)

    def step(self) -> None:
        """Advance to the next millisecond at which anything happens."""
        while self.rm.state.pending_total < self.pending:
            self.simulation._submit(next(self.coming))
        self.simulation.clock.advance()
        self.simulation._settle()

    def rounds(self, count: int) -> dict[str, float]:
        """Run this many rounds that had something to decide. Return their mean CPU times and what
        they did.
        """
        self.decide_ms.clear()
        self.answer_ms.clear()
        first, began_ms = self.rm._next_container, self.simulation.clock.now
        while len(self.decide_ms) < count:
            self.step()
        return {
            "decide_ms": fmean(self.decide_ms),
            "p99_ms": quantiles(self.decide_ms, n=100)[98],
            "answer_ms": fmean(self.answer_ms),
            "allocated": (self.rm._next_container - first) / len(self.decide_ms),
            "rounds_per_s": len(self.decide_ms) * 1000 / (self.simulation.clock.now - began_ms),
            "pending": self.rm.state.pending_total,
            "jobs": len(self.rm.state.applications),
            "running": len(self.rm.state.containers),
        }


def measure(policies: list[str], nodes: int, pending: int, repeats: int, rounds: int) -> Any:
    """Measure one count of waiting tasks: the policies take turns, each on its own cluster."""
    loads = [Load(policy, nodes, pending) for policy in policies]
    freeze()
    for each in loads:
        each.rounds(rounds)  # the first schedules of all jobs
    found = in_turns(loads, repeats, lambda each: each.rounds(rounds))
    base = found[policies[0]]
    return [
        {"policy": policy, "waiting": pending, "ratio": ratio(rows, base, "decide_ms")}
        | spreads(rows)
        for policy, rows in found.items()
    ]


def table(cells: list[dict[str, Any]]) -> Table:
    """Return minimum / median / maximum over repeats for the times, and medians for the counts."""
    result = Table(title="CPU ms of a decision: minimum / median / maximum over repeats")
    names = ("waiting", "policy", "decide", "ratio", "p99", "with mirror", "allocated", "jobs")
    for name in (*names, "running"):
        result.add_column(name, justify="right")
    for cell in cells:
        times = [" / ".join(f"{v:.2f}" for v in cell[name].values())
                 for name in ("decide_ms", "ratio", "p99_ms", "answer_ms")]  # fmt: skip
        there = [f"{cell[name]['median']:,.4g}" for name in ("allocated", "jobs")]
        running = f"{cell['running']['median']:,}"
        result.add_row(f"{cell['pending']['median']:,}", cell["policy"], *times, *there, running)
    return result


def main(
    policies: Annotated[str, typer.Option(help="the first is what others are divided by")]
    = "tetris,carbyne",
    pending: Annotated[str, typer.Option(help="counts of waiting tasks")]
    = ",".join(map(str, PENDING)),
    nodes: Annotated[int, typer.Option(min=1)] = NODES,
    repeats: Annotated[int, typer.Option(min=1)] = 5,
    rounds: Annotated[int, typer.Option(min=2, help="of a repeat")] = 1_500,
) -> None:  # fmt: skip
    """Print a table, and one line of JSON at the end."""
    cells: list[dict[str, Any]] = []
    for count in map(int, pending.split(",")):
        cells += measure(policies.split(","), nodes, count, repeats, rounds)
    Console(width=140).print(table(cells))
    print(json.dumps(cells))


if __name__ == "__main__":
    typer.run(main)
