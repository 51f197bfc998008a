"""Where tasks may go: which nodes have room for a shape, how far nodes are from each other, and the
ranked lists of a job's reduce.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TypeVar

from loomcard import Application, Ask, AskKey, ClusterView, Node, Shape, draw, fits, pick
from loomcard.policies.coupling.options import Options
from loomcard.policies.coupling.paper import Lists, cost, ranked

HOPS = {"node": 0.0, "rack": 2.0, "remote": 4.0}
"""h(u, v) in a tree of nodes, racks and one switch above."""
SHAPES_KEPT = 64
ORDERS_KEPT = 128
"""More than there are candidates at a time on 10,000 nodes."""
K = TypeVar("K")
V = TypeVar("V")


class Rooms:
    """By shape, the numbers of the nodes with room; each call looks at the nodes that changed."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._changed = view.watch_nodes()
        self._of: dict[Shape, set[int]] = {}
        self._version = 0
        self.versions: dict[Shape, int] = {}
        """Changes with the set of a shape."""

    def of(self, shape: Shape) -> set[int]:
        """The nodes that have room for a container of the shape now."""
        self._update()
        found = self._of.get(shape)
        if found is None:
            if len(self._of) >= SHAPES_KEPT:
                oldest = next(iter(self._of))
                del self._of[oldest], self.versions[oldest]
            nodes = self._view.nodes
            found = self._of[shape] = {n.number for n in nodes if self._fits(shape, n)}
            self._count(shape)
        return found

    def _update(self) -> None:
        for node in self._changed:
            alive = self._view.node(node.number) is node
            for shape, numbers in self._of.items():
                has = alive and self._fits(shape, node)
                if has != (node.number in numbers):
                    (numbers.add if has else numbers.discard)(node.number)
                    self._count(shape)
        self._changed.clear()

    def _count(self, shape: Shape) -> None:
        """No version comes twice, so that a shape may be forgotten and come again."""
        self._version += 1
        self.versions[shape] = self._version

    def _fits(self, shape: Shape, node: Node) -> bool:
        return node.takes(shape[1]) and fits(shape[0], node.room)


class Topology:
    """h(u, v) between hosts: by rack, or as the option ``distances`` says of racks and hosts."""

    def __init__(self, distances: Mapping[str, Mapping[str, float]]) -> None:
        self._known = {
            frozenset((a, b)): hops for a, row in distances.items() for b, hops in row.items()
        }

    def hop(self, u: tuple[str, str], v: tuple[str, str]) -> float:
        """Hops between two places, each a host and its rack."""
        if u[0] == v[0]:
            return HOPS["node"]
        for a, b in zip(u, v, strict=True):
            hops = self._known.get(frozenset((a, b)))
            if hops is not None:
                return hops
        return HOPS["rack"] if u[1] == v[1] else HOPS["remote"]


class Ranking:
    """Nodes by what they cost, equal ones by a draw; sorted only as far as somebody has read."""

    def __init__(self, order: list[tuple[float, int]], ties: dict[int, float]) -> None:
        self.order, self.ties = order, ties
        self.tie: Callable[[int], float] = float
        self._sorted: list[tuple[float, float, int]] = []

    def __iter__(self) -> Iterator[tuple[float, float, int]]:
        """(cost, tie, number), the cheapest first."""
        yield from self._sorted
        while (start := len(self._sorted)) < len(self.order):
            price = self.order[start][0]
            end = bisect_right(self.order, price, start, key=itemgetter(0))
            numbers = [number for _, number in self.order[start:end]]
            for number in numbers:
                if number not in self.ties:
                    self.ties[number] = self.tie(number)
            self._sorted += sorted((price, self.ties[number], number) for number in numbers)
            yield from self._sorted[start:]


class Places:
    """What Wait Scheduling and Random Peeking ask of the cluster."""

    def __init__(self, view: ClusterView, options: Options) -> None:
        self._view, self._options = view, options
        self.rooms = Rooms(view)
        self._topology = Topology(options.distances)
        self._orders: dict[tuple[str, AskKey], tuple[tuple[object, ...], list[tuple[float, int]]]]
        self._orders = {}
        self._rankings: dict[str, Ranking] = {}
        self._racks: dict[str, str] = {}
        self._inputs: dict[str, tuple[tuple[object, ...], int]] = {}

    def lists(
        self,
        ask: Ask,
        data: Callable[[], Mapping[str, float]],
        version: int,
        salt: str,
        used: Callable[[Node], bool] = lambda _: False,
    ) -> Lists[int]:
        """L1, L2 and L3 of a reduce among the nodes with room that are not ``used``, by number;
        ties at random, by ``salt``. ``version`` changes with the ``data``.
        """
        able, rows = self.rooms.of((ask.size, ask.label)), []
        for row in self._ranking(ask, data, version, salt):
            number = row[2]
            if number in able and (node := self._view.node(number)) and not used(node):
                rows.append(row)
                if len(rows) == self._options.kept_nodes:
                    break
        return ranked(rows, self._options.kept_nodes)

    def _ranking(
        self, ask: Ask, data: Callable[[], Mapping[str, float]], version: int, salt: str
    ) -> Ranking:
        order = self._order(ask, data, version)
        found = kept_of(self._rankings, salt, lambda: Ranking(order, {}))
        if found.order is not order:
            found = self._rankings[salt] = Ranking(order, found.ties)
        found.tie = lambda number: self._tie(salt, number)
        return found

    def _order(
        self, ask: Ask, data: Callable[[], Mapping[str, float]], version: int
    ) -> list[tuple[float, int]]:
        """Eq 1 of all nodes that suit the ask, with or without room, the cheapest first."""
        wishes = tuple(ask.hosts.items()), tuple(ask.racks.items()), ask.relax_locality
        key = (version, ask.attempt.blacklist, wishes, self._view.capacity_version)
        found = kept_of(self._orders, (ask.application.id, ask.key), lambda: ((), []))
        if found[0] != key:
            nodes = [node for node in self._view.nodes if suits(ask, node)]
            prices = self._costs(nodes, data())
            numbers = [node.number for node in nodes]
            found = key, sorted(zip(prices, numbers, strict=True))
            self._orders[ask.application.id, ask.key] = found
        return found[1]

    def _tie(self, salt: str, number: int) -> float:
        node = self._view.node(number)
        return draw(self._options.seed, f"{salt}/{node.id if node else number}", 0)

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
        whole, near = HOPS["remote"] * sum(data.values()), HOPS["remote"] - HOPS["rack"]
        spared = {rack: near * amount for rack, amount in in_rack.items()}
        own = data.get
        return [whole - spared.get(n.rack, 0.0) - HOPS["rack"] * own(n.host, 0.0) for n in nodes]

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


def kept_of(known: dict[K, V], key: K, new: Callable[[], V]) -> V:
    """The value of a key, which is used last; the one that was used first makes room."""
    found = known.pop(key) if key in known else new()
    if len(known) >= ORDERS_KEPT:
        del known[next(iter(known))]
    known[key] = found
    return found
