"""Clusters for tests of H-DRF: a short form of a queue tree, one application per leaf, and
churn.
"""

from collections import Counter
from typing import Any

import yaml

from loomcard.testing.cluster import Cluster

GPU = ("memory_mb", "vcores", "gpu")


def grown(
    policy: str, tree: dict[str, Any], *nodes: tuple[int, ...], types=GPU, **options: Any
) -> Cluster:
    """Return a cluster under ``policy`` over ``tree``, which is {queue: {queue: ...}}. A queue's
    dict may also contain the keys of a configuration.
    """
    queues = {name: _queue(below) for name, below in tree.items()}
    text = {"version": 1, "policy": policy, "options": options, "queues": queues}
    return Cluster(yaml.safe_dump(text, sort_keys=False), nodes=nodes, resource_types=types)


KEYS = {"weight", "policy", "options", "guaranteed", "maximum", "user_limit", "am_share"}


def _queue(spec: dict[str, Any]) -> dict[str, Any]:
    below = {name: _queue(child) for name, child in spec.items() if name not in KEYS}
    keys = {name: value for name, value in spec.items() if name in KEYS}
    return keys | ({"queues": below} if below else {})


def wants(made: Cluster, app: int, queue: str, size: tuple[int, ...], count: int = 10_000) -> None:
    """Add application ``app`` to a leaf queue, with one ask."""
    made.now += 1
    made.add_app(app, f"root.{queue}")
    made.ask(app, count, size)


def held(made: Cluster) -> dict[int, int]:
    """Return the number of containers of each application."""
    return dict(sorted(Counter(g.app for g in made.containers.values()).items()))


def churn(made: Cluster, times: int, *apps: int) -> None:
    """End the oldest container of each application in turn; after each one, a round shares the free
    room again.
    """
    for _ in range(times):
        for app in apps:
            mine = [g.number for g in made.containers.values() if g.app == app]
            if mine:
                made.complete(mine[0])
                made.round()
