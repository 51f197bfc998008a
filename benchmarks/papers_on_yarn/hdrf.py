"""H-DRF on a real ResourceManager: the shares of Figures 8 and 9, and ten minutes of the churn that
starves a leaf of Figure 4 under per-level DRF.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from benchmarks.agreement.stock_schedulers import split
from benchmarks.papers_on_yarn.occupancy import Observer, Occupancy
from benchmarks.papers_on_yarn.progress import play
from loomcard.results.record import RunRecord
from loomcard.simulator import Progress
from loomcard.workload.loading import load

SHARES: Final = """\
version: 1
kind: policy
policy: {policy}
queues:
  n1: {{weight: 4, queues: {{n1_1: {{}}, n1_2: {{}}}}}}
  n2: {{weight: 1, queues: {{n2_1: {{}}, n2_2: {{}}}}}}
"""
"""The queues of Figure 8."""
CHURN: Final = """\
version: 1
kind: policy
policy: {policy}
queues:
  n1: {{queues: {{n1_1: {{}}}}}}
  n2: {{queues: {{n2_1: {{}}, n2_2: {{}}}}}}
"""
"""The queues of Figure 4."""
POLICIES: Final = ("hdrf", "per_level_drf")

STEADY_MS: Final = 60_000
CPUS: Final = 196
WANTED: Final[Sequence[Mapping[str, float]]] = (
    {"n1_1": 0.8 * CPUS, "n1_2": CPUS, "n2_1": 0.1 * CPUS, "n2_2": 0.1 * CPUS},
    {"n1_2": CPUS, "n2_1": 0.5 * CPUS, "n2_2": 0.5 * CPUS},
    {"n1_2": CPUS, "n2_1": CPUS},
)
"""Containers by leaf, in each of the three phases; 196 CPUs and 196 GPUs, one per container."""
LEAVERS: Final = ("n1_1", "n2_2")
"""The leaves whose end begins the next phase."""

CHURN_MS: Final = 600_000
SETTLED_MS: Final = 20_000
"""The time when the first generation of tasks, which came into an empty cluster, has ended."""
STARVED_MS: Final = 60_000
GUARANTEES: Final = {"n1_1": 20.0, "n2_1": 10.0, "n2_2": 10.0}
"""How many containers each leaf's guaranteed share (1/2, 1/4, 1/4) of 40 CPUs or GPUs is."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One steady phase. ``window_ms``: its window. By leaf, as medians over the window: the paper's
    containers, those ``held`` by the ResourceManager's state, and those ``running`` by the
    NodeManagers'. ``apart``: the largest difference of what was held from the paper's.
    """

    window_ms: tuple[int, int]
    wanted: dict[str, float]
    held: dict[str, float]
    running: dict[str, float]
    apart: float


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf over the churn: its guaranteed containers, the least and the median count of its
    containers, the longest time below half of its guarantee, whether that is starving, and its mean
    count per ten seconds.
    """

    guaranteed: float
    least: int
    median: float
    below_half_ms: int
    starves: bool
    series: list[float]


def shares(policy: str, folder: Path, seed: int) -> dict[str, Any]:
    """Run Figures 8 and 9 under ``policy``. Raises as ``play`` and ``phases`` do."""
    record, seen = _run("shares", SHARES, policy, folder, seed, _after_the_third_phase)
    found = phases(record, seen)
    return {
        "policy": policy,
        "within_one": all(phase.apart <= 1 for phase in found),
        "phases": [asdict(phase) for phase in found],
        "started_per_second": started_per_second(record),
        "refusals": record.refusals,
    }


def churn(policy: str, folder: Path, seed: int, churn_ms: int = CHURN_MS) -> dict[str, Any]:
    """Run Figure 4's tree under ``policy`` for ten minutes."""
    record, seen = _run("churn", CHURN, policy, folder, seed, lambda now, _: now > churn_ms)
    found = leaves(seen, (SETTLED_MS, churn_ms))
    return {
        "policy": policy,
        "starved": [name for name, leaf in found.items() if leaf.starves],
        "leaves": {name: asdict(leaf) for name, leaf in found.items()},
        "started_per_second": started_per_second(record),
        "refusals": record.refusals,
    }


def phases(record: RunRecord, seen: Occupancy) -> list[Phase]:
    """Return the last sixty seconds of each phase. A phase begins when the previous leaver has
    given back its last container, and ends when the next leaver was allocated its last one. Raises
    ValueError if a phase was shorter than that.
    """
    allocated = _last(record, "allocated_ms")
    ended = _last(record, "finished_ms")
    begins = [0, *(ended[leaver] for leaver in LEAVERS)]
    staying = [allocated[name] for name in WANTED[-1]]
    ends = [*(allocated[leaver] for leaver in LEAVERS), min(*staying, seen.samples[-1][0])]
    found = []
    for wanted, begin, end in zip(WANTED, begins, ends, strict=True):
        if end - begin < STEADY_MS:
            raise ValueError(f"a phase from {begin} to {end} ms is shorter than {STEADY_MS} ms")
        window = (end - STEADY_MS, end)
        held = {name: seen.median(name, window) for name in wanted}
        running_in = split(record, record.policy, window)
        apart = max(abs(held[name] - wanted[name]) for name in wanted)
        running = {name: running_in.applications[name] for name in wanted}
        found.append(Phase(window, dict(wanted), held, running, round(apart, 1)))
    return found


def leaves(seen: Occupancy, window_ms: tuple[int, int]) -> dict[str, Leaf]:
    """Return the figures of each leaf in the window."""
    found = {}
    for name, guaranteed in GUARANTEES.items():
        below = seen.longest_below_ms(name, guaranteed / 2, window_ms)
        found[name] = Leaf(
            guaranteed,
            seen.least(name, window_ms),
            seen.median(name, window_ms),
            below,
            below > STARVED_MS,
            seen.series(name, 10_000),
        )
    return found


def started_per_second(record: RunRecord) -> float:
    """Return how many containers began to run per second of the run."""
    started = sum(1 for row in record.containers if row.started_ms is not None)
    return round(1000 * started / max(1, record.ended_ms), 1)


def _run(
    workload: str,
    tree: str,
    policy: str,
    folder: Path,
    seed: int,
    over: Callable[[int, Occupancy], bool],
) -> tuple[RunRecord, Occupancy]:
    room = Path(str(files("benchmarks.papers_on_yarn"))) / "workloads"
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / f"{policy}.yml"
    config.write_text(tree.format(policy=policy), "utf-8")
    observer = Observer()

    def follow(progress: Progress) -> None:
        observer.look(progress)
        if over(progress.now_ms, observer.occupancy):
            raise KeyboardInterrupt

    scenario = load(room / f"{workload}.yml", seed=seed)
    record = play(scenario, config, folder=folder, on_progress=follow, on_up=observer.meet)
    (folder / "occupancy.json").write_text(json.dumps(observer.occupancy.samples) + "\n")
    return record, observer.occupancy


def _after_the_third_phase(now_ms: int, seen: Occupancy) -> bool:
    gone_ms = seen.gone_ms(LEAVERS[-1])
    return gone_ms is not None and now_ms > gone_ms + STEADY_MS + 10_000


def _last(record: RunRecord, moment: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in record.containers:
        at_ms = getattr(row, moment)
        if at_ms is not None:
            found[row.application] = max(at_ms, found.get(row.application, 0))
    return found
