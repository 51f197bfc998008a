"""Clusters under carbyne, and hints for the jobs that run there."""

from __future__ import annotations

from collections import Counter

from compiled import flat
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.testing.cluster import Cluster


def carbyne(*nodes: int, policy: str = "carbyne", **options: object) -> Cluster:
    """Return one queue under carbyne with these options, and nodes with these numbers of slots."""
    made = Cluster(flat(policy, **options))
    for number, slots in enumerate(nodes, 1):
        made.add_node(number, 1024 * slots, slots)
    return made


def stages(*rows: tuple[int, float, list[int]], slots: int = 1) -> dict[str, str]:
    """Return the hint of a job whose stages are the rows: (tasks, ms of each task, indexes of the
    stages before it). The request ids are 1, 2, ...
    """
    size = (1024 * slots, slots)
    found = [
        DagStage(f"s{i}", 20, tasks, ms, size, after, i + 1)
        for i, (tasks, ms, after) in enumerate(rows)
    ]
    return {HINT: write_dag(found)}


def held(made: Cluster) -> Counter:
    """Return the number of task containers of each application."""
    return Counter(c.attempt for c in made.containers.values() if not c.is_am)
