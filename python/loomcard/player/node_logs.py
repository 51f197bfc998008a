"""When containers ran, according to NodeManagers' logs, for clusters where our listener does not
record it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from loomcard.cluster.container_times import ContainerRun
from loomcard.player.container_ids import container_key

_STEP = re.compile(
    r"(?P<service>[\w-]+)\s+\| (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) .*"
    r"Container (?P<container>container_\w+) transitioned from (?P<before>\w+) to (?P<after>\w+)$"
)
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # compose clears the line even in a pipe
_ENDED = {"EXITED_WITH_SUCCESS", "EXITED_WITH_FAILURE", "CONTAINER_CLEANEDUP_AFTER_KILL", "DONE"}


def runs_in(
    lines: Iterable[str], hosts: dict[str, str], tasks: Collection[str]
) -> list[ContainerRun]:
    """Every container that ran, by time of start, from RUNNING to the end of its process.

    `lines` as `docker compose logs nodemanager` prints them, in UTC; `hosts`: a node's name by what
    stands before each of its lines. `tasks`: the containers that application masters were
    allocated; others are AMs'. Sizes do not stand there, and are 0.
    """
    started: dict[str, tuple[int, str]] = {}
    ended: dict[str, int] = {}
    for line in lines:
        found = _STEP.match(_CONTROL.sub("", line.rstrip()))
        if found is None:
            continue
        at_ms, name = _ms(found["time"]), found["container"]
        if found["after"] == "RUNNING":
            started.setdefault(name, (at_ms, found["service"]))
        elif found["after"] in _ENDED:
            ended.setdefault(name, at_ms)
    runs = [
        ContainerRun(
            container=name,
            application=container_key(name)[0],
            node=hosts.get(service, service),
            is_am=name not in tasks,
            memory_mb=0,
            vcores=0,
            started_ms=at_ms,
            ended_ms=ended.get(name),
        )
        for name, (at_ms, service) in started.items()
    ]
    return sorted(runs, key=lambda run: (run.started_ms, run.container))


def _ms(text: str) -> int:
    whole, _, ms = text.partition(",")
    at = datetime.strptime(whole, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    return int(at.timestamp()) * 1000 + int(ms)
