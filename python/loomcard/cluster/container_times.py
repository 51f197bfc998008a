"""When containers ran, and what follows for jobs.

Container times are the NodeManagers' own (org.loomcard.yarn.embedded.ContainerTimes records them),
so that Loomcard and stock schedulers are measured in the same way. Submission times are the
ResourceManager's. All are milliseconds since 1970.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loomcard.cluster.embedded import ClusterError


@dataclass(frozen=True)
class ContainerRun:
    """One container from RUNNING on its node to the end of its process (None: not ended)."""

    container: str
    application: str
    node: str
    is_am: bool
    memory_mb: int
    vcores: int
    started_ms: int
    ended_ms: int | None


@dataclass(frozen=True)
class JobTimes:
    """One job's waiting and completion time.

    waiting: from submission until the first container other than the AM's is RUNNING. completion:
    from submission to the end of the last such container. None if there was no such container.
    """

    id: str
    name: str
    policy: str
    state: str
    submitted_ms: int
    waiting_ms: int | None
    completion_ms: int | None


def read_runs(file: Path) -> list[ContainerRun]:
    """Return every container that ever ran on the cluster, by time of start. Raises ClusterError
    when the file is damaged, for example by a full disk.
    """
    started: dict[str, dict[str, Any]] = {}
    ended: dict[str, int] = {}
    if file.exists():
        for line in file.read_text().split("\n")[:-1]:  # the last may not be complete yet
            try:
                event = json.loads(line)
            except ValueError:
                raise ClusterError(f"{file} has half a line", "is the disk full?") from None
            if event["event"] == "running":
                started.setdefault(event["container"], event)
            else:
                ended.setdefault(event["container"], event["at_ms"])
    runs = [
        ContainerRun(
            container=name,
            application=event["application"],
            node=event["node"],
            is_am=event["am"],
            memory_mb=event["memory_mb"],
            vcores=event["vcores"],
            started_ms=event["at_ms"],
            ended_ms=ended.get(name),
        )
        for name, event in started.items()
    ]
    return sorted(runs, key=lambda run: (run.started_ms, run.container))


def job_times(
    application: dict[str, Any], name: str, policy: str, runs: Iterable[ContainerRun]
) -> JobTimes:
    """Return the times of one job; `application` is the ResourceManager's document of it."""
    submitted = int(application["startedTime"])
    tasks = [run for run in runs if run.application == application["id"] and not run.is_am]
    ends = [run.ended_ms for run in tasks if run.ended_ms is not None]
    finished = bool(ends) and len(ends) == len(tasks)
    return JobTimes(
        id=application["id"],
        name=name,
        policy=policy,
        state=application["finalStatus"],
        submitted_ms=submitted,
        waiting_ms=min(run.started_ms for run in tasks) - submitted if tasks else None,
        completion_ms=max(ends) - submitted if finished else None,
    )


def containers_over_time(
    runs: Sequence[ContainerRun], from_ms: int, to_ms: int, points: int
) -> dict[str, list[int]]:
    """Count each application's running containers at each of `points` times of the interval."""
    width = max(to_ms - from_ms, 1)
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * points)
    for run in runs:
        end = to_ms if run.ended_ms is None else run.ended_ms
        for i in range(points):
            at = from_ms + width * i // max(points - 1, 1)
            if run.started_ms <= at < end:
                counts[run.application][i] += 1
    return dict(counts)
