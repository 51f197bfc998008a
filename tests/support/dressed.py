"""Clusters under DRESS for tests, and what the policy remembers and reports."""

from typing import Any

from compiled import flat
from loomcard.api.report import values_of
from loomcard.policies.dress.jobs import Memory
from loomcard.policies.dress.paper import LARGE, SMALL
from loomcard.policies.dress.pools import Pools
from loomcard.testing.cluster import Allocated, Cluster
from loomcard.wire import messages as r

HUNDRED = [(20 * 1024, 20)] * 5
SECOND = 1000


def dress(nodes=HUNDRED, **options: Any) -> Cluster:
    """Return one queue under dress, with room for a hundred containers of 1024 MB and one core."""
    return Cluster(flat("dress", **options), nodes=nodes)


def memory(cluster: Cluster) -> Memory:
    """Return the memory of the policy."""
    return cluster.session.tree.instances[1].memory


def pools(cluster: Cluster) -> Pools:
    """Return the two pools of the policy."""
    return cluster.session.tree.instances[1].view._cache.values["pools"][0]


def used(cluster: Cluster) -> tuple[int, int]:
    """Return the cores that small jobs use and those that large jobs use."""
    return pools(cluster).held(SMALL)[1], pools(cluster).held(LARGE)[1]


def come(cluster: Cluster, **counts: int) -> None:
    """Add applications a<number>, each of which asks for this many containers."""
    for name, count in counts.items():
        cluster.now += 1
        cluster.add_app(int(name[1:]))
        cluster.ask(int(name[1:]), count)


def begin(cluster: Cluster, allocated: list[Allocated]) -> None:
    """Let the nodes report these containers RUNNING."""
    for each in allocated:
        cluster.send(r.ContainerStartedRecord(cluster.now, each.number))


def of(allocated: list[Allocated], app: int) -> list[Allocated]:
    """Return the allocations of one application."""
    return [each for each in allocated if each.app == app]


def shown(cluster: Cluster, queue: str = "root.default") -> dict[str, Any]:
    """Return the last report of the queue."""
    for _, text in reversed(cluster.history):
        reports = r.read_reply(text).reports
        if queue in reports:
            return values_of(reports[queue])
    raise AssertionError("nothing was reported")


def full(**options: Any) -> Cluster:
    """Return a cluster in which a large job uses everything and wants more, and a small job has
    waited for nine containers since the last tick.
    """
    cluster = dress(**{"reading": "printed", **options})
    come(cluster, a1=120)
    cluster.round()
    cluster.round(SECOND)
    come(cluster, a2=9)
    assert used(cluster) == (0, 100)
    cluster.round(SECOND)
    assert used(cluster) == (0, 100)
    return cluster
