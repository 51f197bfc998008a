"""The Coupling Scheduler (Tan, Meng, Zhang, INFOCOM 2013) as functions: when a job's next reduce
may start, where it waits for a place, and how likely a remote map starts (docs/papers/coupling.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any, NamedTuple, Protocol, TypeVar

V = TypeVar("V")
Lists = tuple[list[V], list[V], list[V]]
"""L1, L2 and L3: rank 1, ranks 2 and 3, and the rest."""

LARGEST_THRESHOLD = 1 / log(4 / 3)
"""With a larger threshold a single reduce has a delta of 1/4 or less. The mismatch of a job with
pending maps could then reach 4, which means exhausted maps (4-4)."""


class Tasks(NamedTuple):
    """What Algorithm 1 counts for one job. Running maps are neither finished nor pending."""

    maps: int
    """desiredMaps, M."""
    reduces: int
    """desiredReduces, R; 0 if unknown: then no reduce starts before the last map has started."""
    finished_maps: int
    pending_maps: int
    launched_reduces: int
    """finishedReduces + runningReduces."""
    pending_reduces: int


def launch_fraction(reduces: int, threshold: float = 3.0) -> float:
    """Return delta = 1 - exp(-R / threshold): all reduces should be launched when this part of the
    maps has finished.
    """
    return 1 - exp(-reduces / threshold)


def unit(maps: int, reduces: int, threshold: float = 3.0) -> float:
    """Return delta * M / R: how many finished maps let one more reduce start."""
    return launch_fraction(reduces, threshold) * maps / reduces


def mismatch(job: Tasks, threshold: float = 3.0) -> float:
    """Return how far reduces lag behind maps (Algorithm 1). Above 0, one may be launched.

    A job without pending maps ranks above every other: (4, 5], fewest pending reduces first.
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
    """Return C_i(v), Eq 1: the cost to bring the job's intermediate ``data`` (by node) to ``v``."""
    return sum(amount * hop(u, v) for u, amount in data.items())


def ranked(costs: Iterable[tuple[float, Any, V]], d: int = 7) -> Lists[V]:
    """Return the ``d`` cheapest of (cost, tie, node) as L1, L2 and L3; each may be empty (4-11)."""
    kept = [v for _, _, v in sorted(costs, key=lambda row: row[:2])[:d]]
    return kept[:1], kept[1:3], kept[3:]


@dataclass(slots=True)
class Waiting:
    """The state of Algorithm 2: the job, by id, that waits for a place; the heartbeats since."""

    candidate: str | None = None
    wait: int = 0

    def reset(self) -> None:
        """Note that no job waits."""
        self.candidate, self.wait = None, 0

    def round(self, n: int) -> int:
        """Return the round on ``n`` nodes: 1 to 3: the list in use; 4: any node; 5: give up."""
        return min(5, (self.wait - 1) // n + 1)


class Reduces(Protocol[V]):
    """What Algorithm 2 needs to know of the jobs."""

    def may(self, job: str) -> bool:
        """Return whether the job lives, has a pending reduce, and a mismatch above 0."""

    def select(self) -> str | None:
        """Return the job with the largest mismatch above 0, or None."""

    def lists(self, job: str) -> Lists[V]:
        """Return L1, L2 and L3 among the nodes that have room now."""

    def runs(self, job: str, v: V) -> bool:
        """Return whether a reduce of the job runs on the node."""


def on_heartbeat(state: Waiting, v: V, n: int, jobs: Reduces[V]) -> bool:
    """Run Algorithm 2 at a heartbeat of ``v``, one of ``n`` nodes: return whether a reduce of the
    candidate may be launched there now. The caller then reports the outcome with ``attempted``.
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


def takes(state: Waiting, v: V, n: int, jobs: Reduces[V]) -> bool:
    """Return whether the candidate accepts ``v``, one of ``n`` nodes, in its current round."""
    job, number = state.candidate, state.round(n)
    if job is None or not jobs.may(job):
        return False
    return number > 3 or (v in jobs.lists(job)[number - 1] and not jobs.runs(job, v))


def attempted(state: Waiting, n: int, launched: bool) -> None:
    """Note the outcome of a launch: another job is chosen next, or, if refused, the next round
    begins (4-7).
    """
    if launched:
        state.reset()
    elif (number := state.round(n)) < 4:
        state.wait = number * n + 1


def peek(k1: int, k2: int, k: int, n: int) -> tuple[float, float]:
    """Return pm = K1/K and nm = N*K2/K: of the K sampled nodes, K1 have input of the job's pending
    maps, and K2 have room for a map, without the current node unless an option says so (4-23).
    """
    return k1 / k, n * k2 / k


def beta(pending_maps: int, nm: float, least: float = 0.1) -> float:
    """Return the exponent of Eq 3: near 1 for a large backlog, near ``least`` for a small one."""
    return least + (1 - least) * (1 - exp(-pending_maps / max(nm, 1)))


def probability(local: bool, pm: float, nm: float, alpha: float, exponent: float) -> float:
    """Return p_j, Eq 3: the probability that a map of the job is launched on the current node."""
    if local:
        return 1.0
    likely: float = pm**exponent * (1 - exp(-nm))
    return min(1.0, max(0.0, 1 - alpha * likely))
