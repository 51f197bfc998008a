"""The gate: does the head use more CPU than another commit, for an allocation or a simulated task?

Both are built as users install them, and take turns on one machine, under the head's own load. Run
it with `make bench-gate COMMIT=...`; docs/benchmarks/speed.md says what fails.
"""

import json
import math
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from benchmarks.speed import bridge, simulator
from benchmarks.speed.bridge_figures import Window, of_phase
from benchmarks.speed.simulator_load import Cell

LOAD = {
    "nodes": 500, "slots": 20, "applications": 100, "queues": 4, "warm_s": 25, "windows": 4,
    "window_s": 4, "settle_s": 12, "paced_windows": 4, "light_windows": 0, "paced_window_s": 5,
}  # fmt: skip
CELLS = [Cell(policy, 100, 20_000) for policy in ("drf", "capacity", "tetris")]
ALLOWED = 1.05
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
"""Student's t for 95 %, by the count of pairs: from two on."""
BENCH = Path("jvm-bridge", "bench", "target")
PYTHON = Path(".venv-compiled", "bin", "python")
(OURS,) = bridge.ours_of(["drf"])

Costs = dict[str, float]
"""Microseconds of CPU, by what is measured."""


@dataclass(frozen=True)
class Ratio:
    """How many times as much the head costs: the mean over pairs, and its 95 % interval."""

    mean: float
    low: float
    high: float

    @staticmethod
    def of(pairs: Sequence[tuple[float, float]]) -> "Ratio":
        """Return the ratio of at least two pairs of costs, the head's first."""
        logs = [math.log(head / base) for head, base in pairs]
        mean = statistics.mean(logs)
        half = STUDENT[min(len(logs), len(STUDENT) + 1) - 2] * statistics.stdev(logs)
        half /= math.sqrt(len(logs))
        return Ratio(*(round(math.exp(x), 3) for x in (mean, mean - half, mean + half)))

    def fails(self) -> bool:
        """Whether the head costs too much, and not by chance."""
        return self.mean > ALLOWED and self.low > 1


def tree_of(commit: str) -> Path:
    """Return a built tree of a commit, below build/gate. Raises BenchError."""
    git = ["git", "-C", str(bridge.ROOT)]
    named = subprocess.run(  # noqa: S603
        [*git, "rev-parse", "--verify", f"{commit}^{{commit}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if named.returncode:
        raise bridge.BenchError(f"COMMIT={commit}: expected a commit of this repository")
    tree = bridge.ROOT / "build" / "gate" / named.stdout.strip()[:12]
    if not tree.is_dir():
        subprocess.run(  # noqa: S603
            [*git, "worktree", "add", "--quiet", "--detach", str(tree), commit], check=True
        )
    made = subprocess.run(  # noqa: S603
        ["make", "-s", "-C", str(tree), "compiled"],  # noqa: S607
        check=False,
        stdout=sys.stderr,
    )
    if made.returncode:
        raise bridge.BenchError(f"{commit} cannot be built: see above")
    return tree


def bridge_costs(tree: Path, number: int) -> Costs:
    """Return the CPU of an allocation of a tree's scheduler, in one JVM: medians over windows."""
    trial = bridge.Trial(LOAD, python=tree / PYTHON, target=tree / BENCH)
    windows = list(bridge.measure(OURS, number, trial))
    for window in windows:
        bridge.check(window)

    def cost(phase: str) -> float:
        chosen = of_phase(windows, OURS, phase)
        return statistics.median(map(Window.cpu_us_per_allocation, chosen))

    return {f"an allocation, {phase}": cost(phase) for phase in ("saturated", "paced")}


def simulator_costs(tree: Path, number: int) -> Costs:
    """Return the CPU of a simulated task with a tree's simulator."""
    costs = {}
    for cell in CELLS:
        repeat = msgspec.structs.replace(cell, repeat=number)
        figures = simulator.measure(repeat, python=tree / PYTHON)
        costs[f"a simulated task, {cell.policy}"] = figures.cpu_seconds / cell.tasks * 1e6
    return costs


def pairs(
    head: Path, base: Path, rounds: int, costs: Callable[[Path, int], Costs]
) -> Iterator[tuple[Costs, Costs]]:
    """Yield the costs of head and base of each round; each is first in every other round."""
    for number in range(rounds):
        order = (head, base) if number % 2 == 0 else (base, head)
        found = {tree: costs(tree, number) for tree in order}
        yield found[head], found[base]


def main(
    commit: Annotated[str, typer.Argument(help="With what the head is compared.")],
    rounds: Annotated[int, typer.Option(help="JVMs of each.", min=2)] = 5,
) -> None:
    """Compare the head with a commit; the last line is JSON, and the exit status 1 if it fails."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    ratios: dict[str, Ratio] = {}
    try:
        base = tree_of(commit)
        for costs in (simulator_costs, bridge_costs):
            found = list(pairs(bridge.ROOT, base, rounds, costs))
            for name in found[0][0]:
                ratios[name] = Ratio.of([(mine[name], theirs[name]) for mine, theirs in found])
    except (bridge.BenchError, simulator.BenchError) as error:
        typer.echo(f"bench-gate: {error}", err=True)
        raise typer.Exit(2) from None
    for name, ratio in ratios.items():
        verdict = "too much" if ratio.fails() else "ok"
        print(f"{name}: {ratio.mean:.3f} ({ratio.low:.3f} to {ratio.high:.3f}), {verdict}")
    print(json.dumps({name: vars(ratio) for name, ratio in ratios.items()}))
    if any(ratio.fails() for ratio in ratios.values()):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
