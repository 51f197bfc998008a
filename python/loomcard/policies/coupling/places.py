"""Where tasks may go: how far nodes are from each other, and the ranked lists of a job's reduce."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heappop, heappush
from typing import Any

from loomcard import Ask, ClusterView, Node
from loomcard.advanced import AskKey, LazyOrder, RoomIndex, Topology, draw, pick
from loomcard.policies.coupling.options import Options
from loomcard.policies.coupling.output import Output
from loomcard.policies.coupling.paper import Lists, cost, ranked

Inputs = dict[AskKey, int]
Row = tuple[float, float, Node]
"""C_i(v), the draw among equals, and v."""
FEW = 256
"""Up to so many nodes with room, only these are ranked, not all nodes."""
RACK, REMOTE = Topology.HOPS["rack"], Topology.HOPS["remote"]
COSTS_KEPT = 64
"""How many candidates' costs and lists are kept: more than there are at a time on 5,000 nodes."""


@dataclass(slots=True)
class Listed:
    """The nodes in a candidate's lists, as long as its round lasts and they keep their room."""

    facts: Any  # mypyc cannot make a data class with a field of type object
    """What of the job the lists depend on."""
    job: Any
    """The job when the facts were compared last: they are not compared again for the same object.
    """
    last: int
    """The last heartbeat of the round, counted since the job was chosen."""
    moves: int
    """The value of ``Places.moves`` then: nodes that got room since may be in the lists, too."""
    nodes: set[int]


class Costs:
    """Eq 1 of the nodes for the output of one job.

    Without ``distances`` it is the cost of all data from another rack, minus what is saved by data
    in the node's own rack and on the node itself (tests/policies/coupling/test_places.py).
    """

    def __init__(self, places: Places, output: Output, tie: Callable[[Node], float]) -> None:
        self._places, self._output, self.tie = places, output, tie
        self.key = output.version, output.capacity_version
        self.found: list[Row] = []
        """The cheapest nodes with room as last looked up."""
        self._sorted: list[Row] = []
        self._rest: Iterator[Row] | None = None
        self._where: dict[tuple[str, str], int] = {}
        if places.options.distances:
            for host, amount in output.by_host.items():
                racks = output.racks_of(host)
                self._where[host, racks[0] if racks else ""] = amount

    def of(self, node: Node) -> float:
        """Return C_i(v)."""
        output = self._output
        if self._places.options.distances:
            return cost(self._where, self._places.topology.hop, (node.host, node.rack))
        return self._of_rack(node.rack) - RACK * output.by_host.get(node.host, 0)

    def _of_rack(self, rack: str) -> float:
        """Return C_i of a node in the rack whose host has no data."""
        return REMOTE * self._output.total - (REMOTE - RACK) * self._output.by_rack.get(rack, 0)

    def before(self, node: Node) -> list[Node]:
        """Return those of ``found`` that rank before the node."""
        own = self.of(node)
        return [n for c, tie, n in self.found if c < own or (c == own and tie < self.tie(node))]

    def every(self) -> Iterator[Row]:
        """Yield all nodes, with or without room, the cheapest first."""
        yield from self._sorted
        if self._rest is None:
            self._rest = self._unsorted()
        for row in self._rest:
            self._sorted.append(row)
            yield row

    def _unsorted(self) -> Iterator[Row]:
        if self._places.options.distances:
            rows = [(self.of(node), [node]) for node in self._places.view.nodes]
            return iter(LazyOrder(rows, self.tie))
        return self._by_rack()

    def _by_rack(self) -> Iterator[Row]:
        """Yield all nodes, the cheapest first; look at a rack's when its best may be the next."""
        places, racks, most = self._places, self._places.view.racks, self._output.most
        heap: list[tuple[float, float, int, Any]] = [
            (self._of_rack(rack) - RACK * most.get(rack, 0), -1.0, number, rack)
            for number, rack in enumerate(racks)
        ]
        heapify(heap)
        while heap:
            price, tie, _, next_ = heappop(heap)
            if isinstance(next_, Node):
                yield price, tie, next_
            else:
                for node in places.nodes(racks[next_]):
                    heappush(heap, (self.of(node), self.tie(node), node.number, node))


class Places:
    """What Wait Scheduling and Random Peeking need to know of the cluster."""

    def __init__(self, view: ClusterView, options: Options) -> None:
        self.view, self.options = view, options
        self.rooms, self.topology = RoomIndex(view), Topology(options.distances)
        self._costs: dict[str, Costs] = {}
        self._listed: dict[tuple[str | None, int], Listed] = {}
        self._capacity = -1
        self.moves = 0
        self.moved: dict[int, int] = {}
        """When a node last got room, or had none left, for a shape, by the value of ``moves``."""

    def forget(self) -> None:
        """Forget costs and lists, because versions and heartbeats are counted anew."""
        self._costs.clear()
        self._listed.clear()

    def listed(self) -> dict[tuple[str | None, int], Listed]:
        """Return the lists that are known, by job and the heartbeat at which it was chosen, without
        those of which a node has moved.
        """
        if self._capacity != self.view.capacity_version:
            self._listed.clear()
            self.moved.clear()
            self._capacity = self.view.capacity_version
        while len(self._listed) > COSTS_KEPT:
            del self._listed[next(iter(self._listed))]
        for number in self.rooms.moved():
            self.moves += 1
            self.moved[number] = self.moves
            for key in [key for key, lists in self._listed.items() if number in lists.nodes]:
                del self._listed[key]
        return self._listed

    def lists(
        self, ask: Ask, output: Output, salt: str,
        used: AbstractSet[int] = frozenset(), upto: int = 3,
    ) -> Lists[Node]:  # fmt: skip
        """Return L1, L2 and L3 of a reduce among the nodes with room that are not ``used``.

        Ties are drawn by ``salt``. Lists after ``upto`` are left out.
        """
        able = self.rooms.of((ask.size, ask.label))
        costs = self._costs_of(output, salt)
        every = costs.every()
        if len(able) <= FEW:
            every = iter(LazyOrder([(costs.of(n), [n]) for n in self.nodes(able)], costs.tie))
        costs.found, most = [], self._most(upto)
        for row in every:
            node = row[2]
            if node.number in able and node.number not in used and suits(ask, node):
                costs.found.append(row)
                if len(costs.found) == most:
                    break
        return ranked(costs.found, self.options.kept_nodes)

    def found(self, salt: str) -> set[int]:
        """Return the numbers of the nodes that ``lists`` found last."""
        return {node.number for _, _, node in self._costs[salt].found}

    def are_taken(
        self, node: Node, ask: Ask, output: Output, salt: str, used: AbstractSet[int], upto: int
    ) -> bool:
        """Return whether the nodes that ``lists`` found last still take all places before the
        node's. Then the node is in none of the lists, and it costs less to know than they do.
        """
        costs, able = self._costs.get(salt), self.rooms.of((ask.size, ask.label))
        if costs is None or costs.key != (output.version, self.view.capacity_version):
            return False
        still = (n for n in costs.before(node) if n.number in able and suits(ask, n))
        return sum(n.number not in used for n in still) >= self._most(upto)

    def _most(self, upto: int) -> int:
        """Return how many nodes L1 to L``upto`` have at most."""
        kept = self.options.kept_nodes
        return min(kept, (1, 3, kept)[upto - 1])

    def _costs_of(self, output: Output, salt: str) -> Costs:
        found = self._costs.pop(salt, None)
        if found is None or found.key != (output.version, self.view.capacity_version):
            seed = self.options.seed
            tie = found.tie if found else cache(lambda node: draw(seed, f"{salt}/{node.id}", 0))
            found = Costs(self, output, tie)
        self._costs[salt] = found  # most recently used is last
        if len(self._costs) > COSTS_KEPT:
            del self._costs[next(iter(self._costs))]
        return found

    def nodes(self, numbers: Iterable[int]) -> Iterable[Node]:
        """Return the live nodes of these numbers."""
        return filter(None, map(self.view.node, numbers))

    def peeked(self, ask: Ask, node: Node, salt: str, inputs: Inputs) -> tuple[int, int, int]:
        """Return K1, K2 and K of ``peek``: of all nodes, or of ``peeked_nodes`` nodes drawn by
        ``salt``. ``inputs``: how many nodes have input of each ask of the job, as far as counted.
        """
        able, view, k = self.rooms.of((ask.size, ask.label)), self.view, self.options.peeked_nodes
        own = None if self.options.peek_counts_own else node
        if not 0 < k < view.node_count:
            k2 = len(able) - (own is not None and own.number in able)
            return self._with_input(ask, inputs), k2, view.node_count
        left, k1, k2 = list(view.nodes), 0, 0
        for i in range(k):
            at = i + pick(self.options.seed, salt, i, len(left) - i)
            left[i], left[at] = left[at], left[i]
            k1 += bool(ask.hosts.get(left[i].host))
            k2 += left[i] is not own and left[i].number in able
        return k1, k2, k

    def _with_input(self, ask: Ask, inputs: Inputs) -> int:
        if ask.key not in inputs:
            there = (self.view.hosts.get(host, ()) for host, wanted in ask.hosts.items() if wanted)
            inputs[ask.key] = sum(map(len, there))
        return inputs[ask.key]


def suits(ask: Ask, node: Node) -> bool:
    """Return whether the ask's wishes and blacklist allow the node."""
    if (ask.racks or not ask.relax_locality) and ask.reach(node) is None:
        return False
    return ask.attempt.blacklist.isdisjoint((node.host, node.rack))
