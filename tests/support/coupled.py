"""Clusters under coupling: MapReduce jobs, and heartbeats one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from compiled import flat
from loomcard.testing.cluster import Allocated, Cluster
from loomcard.wire import messages as r

SLOT = (1024, 1)
MAP, REDUCE = 20, 10


def coupling(*slots: int, **options: Any) -> Cluster:
    """Return one queue under coupling, with nodes 1, 2, ... of these numbers of slots. The nodes
    are in racks /a and /b in turn.
    """
    made = Cluster(flat("coupling", **options))
    for number, count in enumerate(slots, 1):
        made.add_node(number, 1024 * count, count, rack=("/a", "/b")[(number - 1) % 2])
    return made


def job(made: Cluster, app: int, maps: int, reduces: int, **keys: Any) -> None:
    """Add a MapReduce job that states its numbers of maps and reduces, and asks for all its
    maps.
    """
    tags = keys.pop("tags", [f"maps={maps}", f"reduces={reduces}"])
    made.add_app(app, keys.pop("queue", 1), type="MAPREDUCE", tags=tags)
    made.ask(app, maps, SLOT, MAP, **keys)


def beat(made: Cluster, *nodes: int) -> list[tuple[int, int, int]]:
    """Run a round with these heartbeats, in order. Return (application, priority, node) of each
    allocation.
    """
    for node in nodes:
        made.send(r.NodeHeartbeatRecord(made.now, node))
    return facts(made.round())


def facts(allocated: list[Allocated]) -> list[tuple[int, int, int]]:
    return [(each.attempt, each.ask[1], each.node) for each in allocated]


def finish(made: Cluster, app: int, count: int = 1, priority: int = MAP, node: int = 0) -> None:
    """Let this many of an application's containers end successfully, on one node (0: on any)."""
    for number, each in sorted(made.containers.items()):
        if count and (each.attempt, each.ask[1]) == (app, priority) and node in (0, each.node):
            made.complete(number)
            count -= 1
    assert count == 0


def state(made: Cluster) -> dict[str, Any]:
    """Return the queue's report, as soon as it is due."""
    assert made.round(2_000) == []
    return made.reports["root.default"]


def exhausted(made: Cluster, *apps: int) -> None:
    """Add jobs whose only map has finished and which do not ask for reduces yet."""
    for app in apps:
        job(made, app, 1, 1)
        beat(made, *made.nodes)
        finish(made, app)


def reduces(allocated: Iterable[tuple[int, int, int]]) -> list[int]:
    """Return the applications of the reduces that were allocated."""
    return [app for app, priority, _ in allocated if priority == REDUCE]


def rounds_till(
    made: Cluster, app: int, most: int, each: Callable[[int], None] = lambda _: None
) -> int:
    """Run rounds with heartbeats of all nodes until the application gets its first reduce, and
    return the number of that round, from 0. ``each`` is called before every round with its number.
    Raise AssertionError after ``most`` rounds.
    """
    for number in range(most):
        each(number)
        if app in reduces(beat(made, *made.nodes)):
            return number
    raise AssertionError(f"application {app} got no reduce in {most} rounds")
