"""What the policy process of a real cluster costs, and how many applications run at that time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.papers_on_yarn.occupancy import EverySecond
from loomcard.cluster.rm_client import ResourceManagerClient


class Sample(NamedTuple):
    """``cpu_ms``: CPU time of the policy process so far; ``running``: applications."""

    at_ms: int
    cpu_ms: float
    running: int


class DecidingObserver(EverySecond):
    """Looks at the policy process."""

    def __init__(self) -> None:
        super().__init__()
        self.samples: list[Sample] = []
        self.fallback = 0
        """The number of containers that were allocated without a policy's decision."""

    def _sample(self, rest: ResourceManagerClient, now_ms: int) -> None:
        info = rest.scheduler()["schedulerInfo"]
        self.fallback = info["allocations"]["fallback"]
        running = [app for app in rest.applications() if app["state"] == "RUNNING"]
        process = int(info["bridge"]["process"].split()[-1])
        with contextlib.suppress(FileNotFoundError):  # it has ended
            self.samples.append(Sample(now_ms, cpu_ms(process), len(running)))

    def while_running(self, least: int) -> list[Sample]:
        """Return the samples from the first to the last that saw at least that many applications
        running. Raises ValueError if there are fewer than two.
        """
        places = [place for place, each in enumerate(self.samples) if each.running >= least]
        if len(places) < 2:
            raise ValueError(f"{least} applications never ran at a time for two seconds")
        return self.samples[places[0] : places[-1] + 1]

    @staticmethod
    def cpu_part(samples: Sequence[Sample]) -> float:
        """Return the part of one core that was used between the first and the last sample."""
        first, last = samples[0], samples[-1]
        return (last.cpu_ms - first.cpu_ms) / (last.at_ms - first.at_ms)


def cpu_ms(process: int) -> float:
    """Return the CPU time of a process so far, all threads. Raises FileNotFoundError if it has
    ended.
    """
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
