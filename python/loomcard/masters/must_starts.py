"""What an AM that plans itself calls DEFAULT: the tasks that must start now so that its job ends
when it would end within its share (docs/papers/carbyne.md 2.3, 2.7).

The simulator's application masters and the player's on a real cluster use the same plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from loomcard.policies.carbyne.paper import intra_job
from loomcard.policies.carbyne.waves import Stage, TooLongError
from loomcard.workload import scenario

MOST_STEPS = 20_000
"""A job whose schedule takes more steps is not planned: it asks for all that it can run, as a job
that knows no stages.
"""
LONGER = 1e-9
"""A plan may end later than the plan before by this fraction without counting as worse."""


class Decision(NamedTuple):
    """How many tasks of each stage must start now, and when the next task must start after now
    (None: unknown).
    """

    must: list[int]
    next_ms: int | None


class MustStarts:
    """The plan of one application, kept from decision to decision.

    ``stages``: the application's; the mean time of their tasks is the estimate. ``capacity``: the
    whole cluster's amounts. ``tolerance_ms``: tasks that must start within it start now (2.5-8).
    """

    def __init__(
        self, stages: Sequence[scenario.Stage], capacity: Sequence[float], tolerance_ms: int
    ) -> None:
        self.means = [sum(s.durations_ms) / len(s.durations_ms) for s in stages]
        self._stages = stages
        self._capacity = capacity
        self._tolerance_ms = tolerance_ms
        self._seen: tuple[object, ...] = ()
        self._share: Sequence[float] = ()
        self._waiting: list[int] = []  # at the time when the plan was made
        self._late: list[tuple[float, int, int]] = []  # latest start of so many tasks of a stage
        self._deadline_ms = 0.0
        self._planned = False

    def decide(
        self, now_ms: int, share: Sequence[float], waiting: Sequence[int],
        running: Sequence[tuple[int, float]],
    ) -> Decision:  # fmt: skip
        """Decide which tasks must start now. ``waiting``: how many tasks of each stage have not
        started; ``running``: for each running task its stage and when it began, in ms.
        """
        ran = Counter(stage for stage, _ in running)
        seen = (tuple(share), tuple(waiting), tuple(ran[i] for i in range(len(waiting))))
        if seen != self._seen:
            self._plan(now_ms, share, waiting, running)
            self._seen = seen
        if not self._planned:
            return Decision(list(waiting), None)
        return self._due(now_ms, waiting)

    def _plan(
        self, now_ms: int, share: Sequence[float], waiting: Sequence[int],
        running: Sequence[tuple[int, float]],
    ) -> None:  # fmt: skip
        lefts: list[Counter[float]] = [Counter() for _ in self._stages]
        for stage, began_ms in running:
            left = max(self.means[stage] - (now_ms - began_ms), self._tolerance_ms, 1.0)
            lefts[stage][left] += 1
        rows = zip(self._stages, waiting, self.means, lefts, strict=True)
        stages = [
            Stage(count, s.size, mean, s.after, sorted(left.items()))
            for s, count, mean, left in rows
        ]
        try:
            made = intra_job(stages, share, self._capacity, self._tolerance_ms, MOST_STEPS)
        except TooLongError:
            self._planned = False
            return
        deadline_ms = now_ms + made.end
        if self._binds(share, waiting) and deadline_ms > self._deadline_ms + LONGER * made.end:
            return  # a list schedule may become longer when it is made again (2.5-5)
        self._share, self._waiting, self._deadline_ms = list(share), list(waiting), deadline_ms
        self._late = sorted((now_ms + w.start, w.stage, w.tasks) for w in made.late if not w.pinned)
        self._planned = True

    def _binds(self, share: Sequence[float], waiting: Sequence[int]) -> bool:
        """Whether the deadline still applies: the share did not shrink, and no work was added."""
        if not self._planned:
            return False
        shrank = any(s < before for s, before in zip(share, self._share, strict=True))
        return not shrank and not any(w > b for w, b in zip(waiting, self._waiting, strict=True))

    def _due(self, now_ms: int, waiting: Sequence[int]) -> Decision:
        due = now_ms + self._tolerance_ms
        must = [0] * len(waiting)
        for start, stage, tasks in self._late:
            if start <= due:
                must[stage] += tasks
        for stage, planned in enumerate(self._waiting):
            must[stage] = min(waiting[stage], max(0, must[stage] - (planned - waiting[stage])))
        coming = (start for start, stage, _ in self._late if start > due and waiting[stage])
        first = next(coming, None)
        return Decision(must, None if first is None else ceil(first) - self._tolerance_ms)
