"""Where tasks may go: how far nodes are from each other, and the ranked lists of a job's reduce."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from loomcard import Application, Ask, ClusterView, LazyOrder, Node, RoomIndex, Topology, draw, pick
from loomcard.policies.coupling.options import Options
from loomcard.policies.coupling.paper import Lists, cost, ranked

Data = Callable[[], Mapping[str, float]]
"""w(u), the intermediate data of a job by host."""
RANKINGS_KEPT = 64
"""More than there are candidates at a time on 5,000 nodes."""


class Places:
    """What Wait Scheduling and Random Peeking ask of the cluster."""

    def __init__(self, view: ClusterView, options: Options) -> None:
        self._view, self._options = view, options
        self.rooms = RoomIndex(view)
        self._topology = Topology(options.distances)
        self._rankings: dict[str, tuple[object, LazyOrder[Node]]] = {}
        self._racks: dict[str, str] = {}
        self._inputs: dict[str, tuple[tuple[object, ...], int]] = {}

    def lists(
        self, ask: Ask, data: Data, version: int, salt: str,
        used: Callable[[Node], bool] = lambda _: False,
    ) -> Lists[Node]:  # fmt: skip
        """L1, L2 and L3 of a reduce among the nodes with room that are not ``used``, ties drawn
        by ``salt``. ``version`` changes with the ``data``.
        """
        able, kept = self.rooms.of((ask.size, ask.label)), self._options.kept_nodes
        ranking = self._ranking(ask, data, version, salt)
        rows = (row for row in ranking if row[2].number in able and not used(row[2]))
        return ranked(islice(rows, kept), kept)

    def _ranking(self, ask: Ask, data: Data, version: int, salt: str) -> LazyOrder[Node]:
        """All nodes that suit the ask, with or without room."""
        wishes = tuple(ask.hosts.items()), tuple(ask.racks.items()), ask.relax_locality
        key = ask.key, wishes, ask.attempt.blacklist, version, self._view.capacity_version
        found = self._rankings.pop(salt, None)
        if found is None or found[0] != key:
            nodes = [node for node in self._view.nodes if suits(ask, node)]
            seed = self._options.seed
            rows = zip(self._costs(nodes, data()), nodes, strict=True)
            found = key, LazyOrder(rows, lambda node: draw(seed, f"{salt}/{node.id}", 0))
        self._rankings[salt] = found  # the one that was used last
        if len(self._rankings) > RANKINGS_KEPT:
            del self._rankings[next(iter(self._rankings))]
        return found[1]

    def _costs(self, nodes: Sequence[Node], data: Mapping[str, float]) -> list[float]:
        """Eq 1 of each node. Without ``distances`` it is what all data would cost from another
        rack, less what that in the node's own rack and on the node itself spares
        (tests/policies/coupling/test_places.py).
        """
        if self._options.distances:
            hop = self._topology.hop
            places = {(host, self.rack_of(host)): amount for host, amount in data.items()}
            return [cost(places, hop, (node.host, node.rack)) for node in nodes]
        in_rack: dict[str, float] = {}
        for host, amount in data.items():
            rack = self.rack_of(host)
            in_rack[rack] = in_rack.get(rack, 0.0) + amount
        hops = Topology.HOPS
        whole, near = hops["remote"] * sum(data.values()), hops["remote"] - hops["rack"]
        spared = {rack: near * amount for rack, amount in in_rack.items()}
        own = data.get
        return [whole - spared.get(n.rack, 0.0) - hops["rack"] * own(n.host, 0.0) for n in nodes]

    def rack_of(self, host: str) -> str:
        """The rack of a host's first node; "" where it has none now."""
        numbers = self._view.hosts.get(host)
        node = self._view.node(numbers[0]) if numbers else None
        return node.rack if node is not None else ""

    def peeked(self, ask: Ask, node: Node, salt: str) -> tuple[int, int, int]:
        """K1, K2 and K of ``peek``: of all nodes, or of ``peeked_nodes`` of them drawn by
        ``salt``.
        """
        able, view, k = self.rooms.of((ask.size, ask.label)), self._view, self._options.peeked_nodes
        if not 0 < k < view.node_count:
            return self._with_input(ask), len(able) - (node.number in able), view.node_count
        left, k1, k2 = list(view.nodes), 0, 0
        for i in range(k):
            at = i + pick(self._options.seed, salt, i, len(left) - i)
            left[i], left[at] = left[at], left[i]
            k1 += bool(ask.hosts.get(left[i].host))
            k2 += left[i] is not node and left[i].number in able
        return k1, k2, k

    def _with_input(self, ask: Ask) -> int:
        """How many nodes have input of the ask's maps."""
        hosts, app = self._view.hosts, ask.application.id
        key = (ask.key, len(ask.hosts), self._view.capacity_version)
        if self._inputs.get(app, ((), 0))[0] != key:
            count = sum(len(hosts.get(host, ())) for host, wanted in ask.hosts.items() if wanted)
            self._inputs[app] = key, count
        return self._inputs[app][1]

    def forget(self, app: Application) -> None:
        """The application has ended, or its asks have changed."""
        self._inputs.pop(app.id, None)


def suits(ask: Ask, node: Node) -> bool:
    """Whether the ask's wishes and blacklist allow the node."""
    if (ask.racks or not ask.relax_locality) and ask.reach(node) is None:
        return False
    return ask.attempt.blacklist.isdisjoint((node.host, node.rack))
