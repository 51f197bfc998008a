"""A cluster under DRESS in a few words, and what its policy remembers and shows."""

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
    """One queue under dress; a hundred containers of 1024 MB and a core."""
    return Cluster(flat("dress", **options), nodes=nodes)


def memory(cluster: Cluster) -> Memory:
    """What the policy remembers."""
    return cluster.session.tree.instances[1].memory


def pools(cluster: Cluster) -> Pools:
    """Its two pools."""
    return cluster.session.tree.instances[1].view._cache.values["pools"][0]


def used(cluster: Cluster) -> tuple[int, int]:
    """Cores that small and large jobs hold."""
    return pools(cluster).held(SMALL)[1], pools(cluster).held(LARGE)[1]


def come(cluster: Cluster, **counts: int) -> None:
    """Applications a<number> that ask for so many containers."""
    for name, count in counts.items():
        cluster.now += 1
        cluster.add_app(int(name[1:]))
        cluster.ask(int(name[1:]), count)


def begin(cluster: Cluster, allocated: list[Allocated]) -> None:
    """The nodes report them RUNNING."""
    for each in allocated:
        cluster.send(r.ContainerStartedRecord(cluster.now, each.number))


def of(allocated: list[Allocated], app: int) -> list[Allocated]:
    """Those of one application."""
    return [each for each in allocated if each.app == app]


def shown(cluster: Cluster, queue: str = "root.default") -> dict[str, Any]:
    """The last report."""
    for _, text in reversed(cluster.history):
        reports = r.read_reply(text).reports
        if queue in reports:
            return values_of(reports[queue])
    raise AssertionError("nothing was reported")


def full(**options: Any) -> Cluster:
    """A large job holds all and wants more; a small one waits for nine since the last tick."""
    cluster = dress(**{"reading": "printed", **options})
    come(cluster, a1=120)
    cluster.round()
    cluster.round(SECOND)
    come(cluster, a2=9)
    assert used(cluster) == (0, 100)
    cluster.round(SECOND)
    assert used(cluster) == (0, 100)
    return cluster
