"""The bench of Coupling: CPU time of the policy process per second of a cluster whose nodes send a
heartbeat once per second, compared with ``fair`` on the same cluster.

Five thousand nodes are full of MapReduce jobs; their number is the same at all times. Coupling gets
every heartbeat, ``fair`` gets only the changes. docs/benchmarks/speed.md says what is measured. Run
it with `make bench-coupling`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

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
from loomcard.workload.loading import build
from loomcard.workload.scenario import Scenario

NODES = 5_000
SLOTS = 4
"""Containers of one size per node."""
JOBS = 50
"""Number of jobs that live at a time."""
WARM_MS = 15_000
"""Jobs come and the cluster fills for this long, under the policy that is measured."""
WORKLOAD = """
version: 1
kind: workload
cluster:
  heartbeat_ms: {beat}
  am_heartbeat_ms: {beat}
  nodes:
{racks}
generate:
  name: j
  count: {jobs}
  classes:
    - id: job
      application:
        kind: mapreduce
        slowstart: 0
        reduce_asks: all
        stages:
          - id: map
            tasks: {maps}
            memory_mb: 1024
            duration_ms: {{lognormal: {{median: 30000, sigma: 0.9}}}}
            nodes: {{replicas: 3}}
            remote_factor: 1.3
          - id: reduce
            tasks: {reduces}
            memory_mb: 1024
            duration_ms: {{lognormal: {{median: 30000, sigma: 0.3}}}}
"""


def scenario(nodes: int) -> Scenario:
    """Return racks of forty nodes, and more jobs than a run needs. Each has so many maps that the
    jobs that live fill the cluster one and a half times.
    """
    racks = "\n".join(
        f"    - {{name: r{first}x, count: {min(40, nodes - first)}, rack: r{first},"
        f" memory_mb: {1024 * SLOTS}, vcores: {SLOTS}}}"
        for first in range(0, nodes, 40)
    )
    maps = max(1, nodes * SLOTS * 3 // 2 // JOBS)
    reduces = min(20, max(1, nodes * SLOTS // (4 * JOBS)))  # together they leave room for maps
    text = WORKLOAD.format(beat=BEAT_MS, racks=racks, jobs=JOBS * 4, maps=maps, reduces=reduces)
    return build(text, "bench", Path(), seed=1)


class Load:
    """A full cluster under ``policy``, on which ``JOBS`` jobs live at a time."""

    def __init__(self, policy: str, wanted: Scenario, warm_ms: int = WARM_MS) -> None:
        self.policy = policy
        self.simulation: Any = Simulation(far(wanted), policy_config(policy))
        self.rm = self.simulation.rm
        self.coming = iter(self.simulation.masters)
        self.decide_ms: list[float] = []
        self.answer_ms: list[float] = []
        self.run(warm_ms)
        timed(self.rm.session.tree, "run", self.decide_ms)
        timed(self.rm.session, "answer", self.answer_ms)

    def run(self, ms: int) -> None:
        """Run the cluster for that long. Raises RuntimeError if nothing happens any more."""
        until = self.simulation.clock.now + ms
        while self.simulation.clock.now < until:
            while len(self.rm.state.applications) < JOBS:
                self.simulation._submit(next(self.coming))
            if not self.simulation.clock.advance():
                raise RuntimeError(f"nothing happens any more under {self.policy}")
            self.simulation._settle()

    def window(self, ms: int) -> dict[str, float]:
        """Run the cluster for that long. Return the CPU ms per second of its time, and counts of
        what it did.
        """
        self.decide_ms.clear()
        self.answer_ms.clear()
        first, refused = self.rm._next_container, sum(self.rm.refusals.values())
        self.run(ms)
        seconds = ms / 1000
        return {
            "decide_ms": sum(self.decide_ms) / seconds,
            "answer_ms": sum(self.answer_ms) / seconds,
            "rounds": len(self.answer_ms) / seconds,
            "allocated": (self.rm._next_container - first) / seconds,
            "refused": (sum(self.rm.refusals.values()) - refused) / seconds,
            "running": len(self.rm.state.containers),
        }


def measure(policies: list[str], nodes: int, repeats: int, ms: int, warm_ms: int) -> Any:
    """Measure the policies in turns, each on a cluster of its own."""
    wanted = scenario(nodes)
    loads = [Load(policy, wanted, warm_ms) for policy in policies]
    freeze()
    found = in_turns(loads, repeats, lambda each: each.window(ms))
    base = found[policies[0]]
    cells = []
    for policy, rows in found.items():
        ratios = {f"{name}_ratio": ratio(rows, base, name) for name in ("decide_ms", "answer_ms")}
        cells.append({"policy": policy, "nodes": nodes, **ratios, **spreads(rows)})
    return cells


def table(cells: list[dict[str, Any]]) -> Table:
    """Return minimum / median / maximum over repeats for the times, and medians for the counts."""
    result = Table(title="CPU ms for each second of the cluster: minimum / median / maximum")
    for name in ("policy", "decide", "ratio", "with mirror", "its ratio", "rounds", "allocated",
                 "running"):  # fmt: skip
        result.add_column(name, justify="right")
    for cell in cells:
        times = [
            " / ".join(f"{value:,.4g}" for value in cell[name].values())
            for name in ("decide_ms", "decide_ms_ratio", "answer_ms", "answer_ms_ratio")
        ]
        done = [f"{cell[name]['median']:,.5g}" for name in ("rounds", "allocated", "running")]
        result.add_row(cell["policy"], *times, *done)
    return result


def main(
    policies: Annotated[str, typer.Option(help="the first is what others are divided by")]
    = "fair,coupling",
    nodes: Annotated[int, typer.Option(min=1)] = NODES,
    repeats: Annotated[int, typer.Option(min=1)] = 5,
    ms: Annotated[int, typer.Option(min=1, help="of the cluster's time, of a repeat")] = 1_000,
    warm_ms: Annotated[int, typer.Option(min=1, help="of the cluster's time")] = WARM_MS,
) -> None:  # fmt: skip
    """Print a table, and one line of JSON at the end."""
    cells = measure(policies.split(","), nodes, repeats, ms, warm_ms)
    Console(width=160).print(table(cells))
    print(json.dumps(cells))


if __name__ == "__main__":
    typer.run(main)
