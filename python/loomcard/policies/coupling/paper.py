"""The Coupling Scheduler (Tan, Meng, Zhang, INFOCOM 2013) as functions: when a job's next reduce
may start, where it waits for a place, and how likely a remote map starts (docs/papers/coupling.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any, Generic, Protocol, TypeVar

J = TypeVar("J")
V = TypeVar("V")
Lists = tuple[list[V], list[V], list[V]]
"""L1, L2 and L3: rank 1, ranks 2 and 3, and the rest."""

LARGEST_THRESHOLD = 1 / log(4 / 3)
"""With a larger one a single reduce has a delta of 1/4 or less, and the mismatch of a job with
pending maps could reach the 4 that stands for exhausted ones (4-4)."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """What Algorithm 1 counts of one job. Running maps are neither finished nor pending."""

    maps: int
    """desiredMaps, M."""
    reduces: int
    """desiredReduces, R; 0 where it is not known: then nothing starts before the last map has."""
    finished_maps: int
    pending_maps: int
    launched_reduces: int
    """finishedReduces + runningReduces."""
    pending_reduces: int


def launch_fraction(reduces: int, threshold: float = 3.0) -> float:
    """delta = 1 - exp(-R / threshold): the part of maps by which all reduces should be launched."""
    return 1 - exp(-reduces / threshold)


def unit(maps: int, reduces: int, threshold: float = 3.0) -> float:
    """delta * M / R: so many finished maps let one more reduce start."""
    return launch_fraction(reduces, threshold) * maps / reduces


def mismatch(job: Tasks, threshold: float = 3.0) -> float:
    """How far reduces lag behind maps (Algorithm 1). One may be launched where it is above 0.

    Maps that are exhausted put a job above every other: (4, 5], fewest pending reduces first.
    """
    if job.pending_reduces <= 0:
        return 0.0
    if job.pending_maps <= 0:
        return 4 + 1 / job.pending_reduces
    if job.reduces <= 0 or job.maps <= 0:
        return 0.0
    earned = job.finished_maps / unit(job.maps, job.reduces, threshold)
    return (earned - (job.launched_reduces + 1)) / job.reduces


def cost(data: Mapping[V, float], hop: Callable[[V, V], float], v: V) -> float:
    """C_i(v), Eq 1: what it costs to bring the job's intermediate ``data`` (by node) to ``v``."""
    return sum(amount * hop(u, v) for u, amount in data.items())


def ranked(costs: Iterable[tuple[float, Any, V]], d: int = 7) -> Lists[V]:
    """The ``d`` cheapest of (cost, tie, node), as L1, L2 and L3; each may be empty (4-11)."""
    kept = [v for _, _, v in sorted(costs, key=lambda row: row[:2])[:d]]
    return kept[:1], kept[1:3], kept[3:]


@dataclass(slots=True)
class Waiting(Generic[J]):
    """The state of Algorithm 2: the job that waits for a place, and the heartbeats since."""

    candidate: J | None = None
    wait: int = 0

    def reset(self) -> None:
        """Nobody waits."""
        self.candidate, self.wait = None, 0

    def round(self, n: int) -> int:
        """1 to 3: the list that is looked at, of ``n`` nodes; 4: any node; 5: the time is over."""
        return min(5, (self.wait - 1) // n + 1)


class Reduces(Protocol[J, V]):
    """What Algorithm 2 asks of the jobs."""

    def may(self, job: J) -> bool:
        """It lives, a reduce of it is pending, and its mismatch is above 0."""

    def select(self) -> J | None:
        """The job of the largest mismatch above 0; None if there is none."""

    def lists(self, job: J) -> Lists[V]:
        """L1, L2 and L3 among the nodes that have room now."""

    def runs(self, job: J, v: V) -> bool:
        """A reduce of the job runs on the node."""


def on_heartbeat(state: Waiting[J], v: V, n: int, jobs: Reduces[J, V]) -> bool:
    """Algorithm 2 at a heartbeat of ``v``, one of ``n`` nodes: whether a reduce of the candidate
    may be launched there now. The caller reports the outcome: ``attempted``.
    """
    if state.candidate is not None and not jobs.may(state.candidate):
        state.reset()  # 4-5
    if state.candidate is None:
        state.candidate, state.wait = jobs.select(), 0
        return False
    state.wait += 1
    if state.round(n) == 5:
        state.reset()
    return takes(state, v, n, jobs)


def takes(state: Waiting[J], v: V, n: int, jobs: Reduces[J, V]) -> bool:
    """Whether the candidate waits for ``v``, one of ``n`` nodes, in the round that it is in."""
    job, number = state.candidate, state.round(n)
    if job is None or not jobs.may(job):
        return False
    return number > 3 or (v in jobs.lists(job)[number - 1] and not jobs.runs(job, v))


def attempted(state: Waiting[J], n: int, launched: bool) -> None:
    """What became of the launch: another is chosen, or, refused, the next round begins (4-7)."""
    if launched:
        state.reset()
    elif (number := state.round(n)) < 4:
        state.wait = number * n + 1


def peek(k1: int, k2: int, k: int, n: int) -> tuple[float, float]:
    """pm = K1/K and nm = N*K2/K: of the K sampled nodes, K1 have input of the job's pending maps,
    and K2 others than the node at hand have room for a map (4-23).
    """
    return k1 / k, n * k2 / k


def beta(pending_maps: int, nm: float, least: float = 0.1) -> float:
    """The exponent of Eq 3: near 1 for a large backlog, near ``least`` for a small one."""
    return least + (1 - least) * (1 - exp(-pending_maps / max(nm, 1)))


def probability(local: bool, pm: float, nm: float, alpha: float, exponent: float) -> float:
    """p_j, Eq 3: how likely a map of the job is launched on the node at hand."""
    if local:
        return 1.0
    likely: float = pm**exponent * (1 - exp(-nm))
    return min(1.0, max(0.0, 1 - alpha * likely))
