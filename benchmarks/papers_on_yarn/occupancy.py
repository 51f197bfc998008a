"""How many containers each application has on a real cluster, from its ResourceManager's REST
API.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

from loomcard.cluster.embedded import LocalCluster
from loomcard.cluster.rm_client import ResourceManagerClient, RestError
from loomcard.simulator import Progress

EVERY_MS: Final = 1_000

Held = dict[str, int]
"""Containers by the name of an application; one that has ended, or has not come yet, is not in
it.
"""


@dataclass
class Occupancy:
    """Samples of a run, in order of time: (ms since its zero, the containers of each application
    then).
    """

    samples: list[tuple[int, Held]] = field(default_factory=list)

    def between(self, window_ms: tuple[int, int]) -> list[Held]:
        """Return the samples in the window; its end does not belong to it."""
        return [held for at_ms, held in self.samples if window_ms[0] <= at_ms < window_ms[1]]

    def median(self, application: str, window_ms: tuple[int, int]) -> float:
        """Return the median count of its containers in the window. Raises ValueError if there is no
        sample.
        """
        return median([held.get(application, 0) for held in self.between(window_ms)])

    def least(self, application: str, window_ms: tuple[int, int]) -> int:
        """Return the least count of its containers in the window. Raises ValueError if there is no
        sample.
        """
        return min(held.get(application, 0) for held in self.between(window_ms))

    def gone_ms(self, application: str) -> int | None:
        """Return when it was first seen to have ended; None if it has not."""
        here = [at_ms for at_ms, held in self.samples if application in held]
        after = [at_ms for at_ms, _ in self.samples if here and at_ms > here[-1]]
        return after[0] if after else None

    def series(self, application: str, step_ms: int) -> list[float]:
        """Return its mean count in each step from zero on; 0 in a step without a sample."""
        steps: dict[int, list[int]] = {}
        for at_ms, held in self.samples:
            steps.setdefault(at_ms // step_ms, []).append(held.get(application, 0))
        found = [steps.get(step, [0]) for step in range(max(steps, default=-1) + 1)]
        return [round(sum(counts) / len(counts), 1) for counts in found]

    def longest_below_ms(self, application: str, least: float, window_ms: tuple[int, int]) -> int:
        """Return the longest time in the window for which every sample showed fewer than
        ``least``.
        """
        longest = since = 0
        inside = [(at, held) for at, held in self.samples if window_ms[0] <= at < window_ms[1]]
        for (at_ms, held), (next_ms, _) in pairwise([*inside, (window_ms[1], Held())]):
            since = since + next_ms - at_ms if held.get(application, 0) < least else 0
            longest = max(longest, since)
        return longest


class EverySecond:
    """Asks the ResourceManager of a run once per second, while the run's progress is reported.

    Give ``meet`` and ``look`` to ``play`` as ``on_up`` and ``on_progress``.
    """

    def __init__(self) -> None:
        self._rest: ResourceManagerClient | None = None
        self._next_ms = 0

    def meet(self, cluster: LocalCluster) -> None:
        """Remember the cluster to observe."""
        self._rest = cluster.rest

    def look(self, progress: Progress) -> None:
        """Take a sample, if the last one is a second old. A request without an answer is left
        out.
        """
        if self._rest is None or progress.now_ms < self._next_ms or progress.now_ms <= 0:
            return
        self._next_ms = (progress.now_ms // EVERY_MS + 1) * EVERY_MS
        with contextlib.suppress(RestError):
            self._sample(self._rest, progress.now_ms)

    def _sample(self, rest: ResourceManagerClient, now_ms: int) -> None:
        raise NotImplementedError


class Observer(EverySecond):
    """Sees how many containers each application has: ``occupancy``."""

    def __init__(self) -> None:
        super().__init__()
        self.occupancy = Occupancy()

    def _sample(self, rest: ResourceManagerClient, now_ms: int) -> None:
        self.occupancy.samples.append((now_ms, holdings(rest.applications())))


def holdings(applications: Sequence[dict[str, object]]) -> Held:
    """Return the containers of each running application by its name, from the document of
    cluster/apps.
    """
    running = [each for each in applications if each["state"] in ("ACCEPTED", "RUNNING")]
    return {str(each["name"]): max(0, int(str(each["runningContainers"]))) for each in running}
