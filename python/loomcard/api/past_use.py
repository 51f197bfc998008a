"""What queues used in the past, less the longer ago it was: Slurm's decayed usage.

Slurm's fair tree orders siblings by their use over their share, where use is an integral over time
that halves with every `PriorityDecayHalfLife`. Here the integral is exact, not sampled: use changes
only at events and in rounds, and both have their times. It is kept in minutes, so that what a queue
uses now, for one more minute, can be added to what it has used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import log
from typing import Any

from loomcard.api.fill_tree import Level
from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView, applications_below
from loomcard.model.events import ContainerAdded, ContainerCompleted, ContainerResized
from loomcard.model.objects import Container, Member
from loomcard.model.queue import Queue

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
LEAST = 0.5
"""Less than this, in amounts x minutes, is not kept of a queue that is gone."""

Amounts = list[float]


@dataclass
class Row:
    """What one queue had used at a time, in amounts x minutes, and what it uses since then."""

    at_ms: int
    past: Amounts
    used: list[int]


@dataclass
class PastUse:
    """What each queue of a scope has used, by its path. Plain data, for a policy's memory."""

    half_life_ms: float
    epoch_ms: int
    """The engine's zero; what is saved has wall-clock times."""
    at_ms: int
    """When it was last brought up to date."""
    rows: dict[str, Row] = field(default_factory=dict)

    def past(self, queue: Queue, now_ms: int) -> Amounts:
        """The decayed use of a queue, in amounts x minutes; zeros for the scope itself."""
        row = self.rows.get(queue.path)
        return [0.0] * len(queue.used) if row is None else self._until(row, now_ms)

    def charged(self, queue: Queue, now_ms: int) -> Amounts:
        """What a queue uses now, for a minute, and what it has used in the past."""
        return [u + p for u, p in zip(queue.used, self.past(queue, now_ms), strict=True)]

    def _share(self, queue: Queue, view: ClusterView) -> float:
        pairs = zip(self.charged(queue, view.now_ms), view.cluster_capacity, strict=True)
        return max((amount / whole for amount, whole in pairs if whole), default=0.0)

    def order(self, plan: Plan) -> Callable[[Member], float]:
        """Bring it up to date, and return the order by dominant share in which a queue is charged
        its past use as well.
        """
        self.update(plan.view)

        def charged_share(member: Member) -> float:
            if not isinstance(member, Queue):
                return plan.dominant_share(member)
            return self._share(member, plan.view) / member.weight

        return charged_share

    def update(self, view: ClusterView) -> None:
        """Add what was used since the last call: allocations count from the round in which they
        were made, endings and changes of size from their own times.
        """
        if view.now_ms == self.at_ms:
            return
        changed = self._changes(view)
        for queue in _below(view.queue):
            row = self.rows.get(queue.path)
            if row is None:
                row = self.rows[queue.path] = Row(view.now_ms, [0.0] * len(queue.used), [])
            steps = changed.get(queue, ())
            if not steps and row.used == queue.used:
                continue
            self._run(row, self.at_ms)  # until the last round it used what was known then
            row.used = _less(queue.used, (delta for _, delta in steps))
            for at_ms, delta in steps:
                self._run(row, at_ms)
                row.used = [u + d for u, d in zip(row.used, delta, strict=True)]
            row.used = list(queue.used)
        self.at_ms = view.now_ms

    def save(self) -> dict[str, Any]:
        """What survives a restart: the wall-clock time, and by path what was used until then."""
        past = {path: list(self._until(row, self.at_ms)) for path, row in self.rows.items()}
        return {"at_ms": self.epoch_ms + self.at_ms, "past": past}

    @classmethod
    def restored(cls, half_life_ms: float, view: ClusterView, saved: Any) -> PastUse:
        """Return what was saved, with what the live containers used since then. What ended while no
        policy ran is not known.
        """
        found = cls(half_life_ms, view.epoch_ms, view.now_ms)
        saved, width = saved or {"at_ms": 0, "past": {}}, len(view.zero)
        saved_ms = min(saved["at_ms"] - view.epoch_ms, view.now_ms)
        for path, past in saved["past"].items():
            if any(p >= LEAST for p in past) and len(past) == width:
                found.rows[path] = Row(saved_ms, [float(p) for p in past], [0] * width)
        for queue in _below(view.queue):
            row = found.rows.setdefault(queue.path, Row(saved_ms, [0.0] * width, [0] * width))
            began = [(max(row.at_ms, c.allocated_ms), c.size) for c in _containers(queue)]
            for at_ms, size in sorted(began):
                found._run(row, at_ms)
                row.used = [u + s for u, s in zip(row.used, size, strict=True)]
            found._run(row, view.now_ms)
            row.used = list(queue.used)
        return found

    def _run(self, row: Row, until_ms: int) -> None:
        if until_ms > row.at_ms:
            row.past, row.at_ms = self._until(row, until_ms), until_ms

    def _until(self, row: Row, now_ms: int) -> Amounts:
        """Past use decays, and what was used since adds its integral over the decay."""
        passed = now_ms - row.at_ms
        if passed <= 0:
            return row.past
        left = 2.0 ** (-passed / self.half_life_ms)
        minutes = (1.0 - left) * self.half_life_ms / (log(2.0) * MINUTE_MS)
        return [left * p + minutes * u for p, u in zip(row.past, row.used, strict=True)]

    def _changes(self, view: ClusterView) -> dict[Queue, list[tuple[int, Sequence[int]]]]:
        """By queue, when its use changed since the last call other than by allocation, and by how
        much. A moved application counts where it is now.
        """
        found: dict[Queue, list[tuple[int, Sequence[int]]]] = {}
        for change in view.changes:
            if isinstance(change, ContainerCompleted):
                delta = [-amount for amount in change.container.size]
            elif isinstance(change, ContainerAdded):
                delta = list(change.container.size)
            elif isinstance(change, ContainerResized):
                delta = [n - o for n, o in zip(change.new, change.old, strict=True)]
            else:
                continue
            queue: Queue | None = change.container.application.queue
            while queue is not None and queue is not view.queue:
                found.setdefault(queue, []).append((change.at_ms, delta))
                queue = queue.parent
        return found


def _less(used: Sequence[int], deltas: Iterable[Sequence[int]]) -> list[int]:
    *_, least = accumulate(
        deltas, lambda left, delta: [u - d for u, d in zip(left, delta, strict=True)],
        initial=list(used),
    )  # fmt: skip
    return least


def _below(scope: Queue) -> Iterable[Queue]:
    for child in scope.children:
        yield child
        yield from _below(child)


def _containers(queue: Queue) -> list[Container]:
    return [c for app in applications_below(queue) for c in app.containers]


class LiveLevel(Level):
    """A level whose order changes with time: every member is keyed again in each call."""

    def update(self, view: ClusterView) -> None:
        """Key every member again."""
        self.refresh(view.capacity_version, self.order, rebuild=True)


@dataclass(frozen=True, kw_only=True)
class PastUseOptions:
    """The option of a policy that shares by past use as well.

    ``half_life_hours``: after how many hours what a queue has used counts half; 0: only what it
    uses now counts.
    """

    half_life_hours: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.half_life_hours < float("inf"):
            raise ValueError("half_life_hours is at least 0")

    def restored(self, view: ClusterView, saved: Any) -> PastUse | None:
        """Return the past use to begin with; None without a half-life."""
        if not self.half_life_hours:
            return None
        return PastUse.restored(self.half_life_hours * HOUR_MS, view, saved)
