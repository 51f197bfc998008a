"""The dynamic scheduler (Algorithms 2 and 4) on plain values, and the baselines' rules beside it.

A round serves one task. The tests, the worked examples and the study of random trees run on these;
on a cluster the policies do, which follow the same rules on YARN's books.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from loomcard.policies.hdrf.collapsed import collapsed_target, collapsed_weights
from loomcard.policies.hdrf.shares import (
    dominant_share,
    largest_demand,
    plain_shares,
    unsaturated,
    update_shares,
)
from loomcard.policies.hdrf.static import guarantees
from loomcard.policies.hdrf.tree import Node, Vector


@dataclass(eq=False)
class Pool:
    """A tree, the servers that it shares, and which leaf's tasks run on them.

    ``used`` of the tree's nodes is kept up as tasks start and finish; ``wants`` and ``demand`` of a
    leaf may be changed between rounds.
    """

    root: Node
    servers: Sequence[Vector]
    """What each server has, in units."""
    headroom: bool = True
    """A task goes only where the largest demanded amount of each resource it needs fits."""
    hold: bool = False
    """Not of the paper: what the leaf furthest below its guarantee needs is kept free for it on one
    server, until its next task fits there. Without it a leaf that needs what others free apart,
    one CPU here and one GPU there, is never served: each goes back to whom it fits at once.
    """
    free: list[list[float]] = field(init=False)
    """What is free on each server."""
    running: dict[Node, deque[int]] = field(init=False)
    """The server of each task of a leaf, the oldest first."""
    capacity: list[float] = field(init=False)
    """R, in units."""
    _paths: dict[Node, list[Node]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.capacity = [sum(column) for column in zip(*self.servers, strict=True)]
        self.free = [list(server) for server in self.servers]
        self.running = {leaf: deque() for leaf in self.root.leaves()}
        self._paths = {leaf: leaf.path() for leaf in self.running}
        for n in self.root.walk():
            n.used = [0] * len(self.servers[0])

    @property
    def unsaturated(self) -> tuple[bool, ...]:
        """Y of the whole: one flag a resource."""
        free = [sum(column) for column in zip(*self.free, strict=True)]
        return unsaturated(free, largest_demand(self.running, len(free), self.headroom))

    def places(self) -> dict[Node, int]:
        """The nodes of which ``can_schedule`` of 2.4 is true; for a leaf the first server on which
        its next task may start.
        """
        largest = largest_demand(self.running, len(self.capacity), self.headroom)
        held = self._held() if self.hold else None
        found: dict[Node, int] = {}
        for leaf in self.running:
            needs = [(r, t) for r, t in enumerate(leaf.demand) if t]
            if self.headroom and (held is None or leaf is not held[0]):
                needs = [(r, largest[r]) for r, _ in needs]
            fitting = (i for i in range(len(self.free)) if self._fits(leaf, needs, i, held))
            place = next(fitting, None) if leaf.wants else None
            if place is not None:
                found |= dict.fromkeys(self._paths[leaf], place)
        return found

    def _fits(
        self, leaf: Node, needs: list[tuple[int, float]], server: int,
        held: tuple[Node, int] | None,
    ) -> bool:  # fmt: skip
        free = self.free[server]
        if held is not None and server == held[1] and leaf is not held[0]:
            kept = held[0].demand
            if any(t and kept[r] and free[r] - t < kept[r] for r, t in enumerate(leaf.demand)):
                return False
        return all(free[r] >= amount for r, amount in needs)

    def _held(self) -> tuple[Node, int] | None:
        """The demanding leaf with the least share/guarantee of those that one more task leaves
        within it, and the server whose free room covers most of that task.
        """
        promised = guarantees(self.root)
        ranks: list[tuple[float, int, Node]] = []
        for leaf in self.running:
            share, task = (dominant_share(v, self.capacity) for v in (leaf.used, leaf.demand))
            if leaf.wants and share + task <= promised[leaf]:
                ranks.append((share / promised[leaf], len(ranks), leaf))
        if not ranks:
            return None
        leaf = min(ranks)[2]
        covered = [min(f / t for f, t in zip(free, leaf.demand, strict=True) if t)
                   for free in self.free]  # fmt: skip
        return leaf, covered.index(max(covered))

    def start(self, leaf: Node, server: int) -> None:
        """``consume``: one task of the leaf takes its demand of the server."""
        self._take(leaf, server, 1)
        self.running[leaf].append(server)

    def finish(self, leaf: Node) -> None:
        """The oldest task of the leaf ends. Raises IndexError where none runs."""
        self._take(leaf, self.running[leaf].popleft(), -1)

    def _take(self, leaf: Node, server: int, sign: int) -> None:
        for r, amount in enumerate(leaf.demand):
            self.free[server][r] -= sign * amount
            for n in self._paths[leaf]:
                n.used[r] += sign * amount

    def shares(self) -> dict[Node, float]:
        """The plain dominant share of each node."""
        return {n: dominant_share(n.used, self.capacity) for n in self.root.walk()}

    def tasks(self) -> dict[str, int]:
        """How many tasks of each leaf run, by its name."""
        return {leaf.name: len(servers) for leaf, servers in self.running.items()}


Round = Callable[[Pool], Node | None]
"""Starts one task and says of which leaf; None where none can be."""


def hdrf_round(pool: Pool, setting: str = "static", even: bool = False) -> Node | None:
    """Algorithm 2: shares anew over the whole tree, then Alloc.

    ``even``: of equals the child goes first that has least of the resources that are not saturated,
    so that two like children are treated alike where a saturated one decides both their shares.
    """
    y = pool.unsaturated
    found = update_shares(pool.root, pool.capacity, y, setting)
    share = {n: attributed.share for n, attributed in found.items()}
    if not even:
        return alloc(pool, share)
    over = [r for r, room in enumerate(y) if room]
    least = {n: dominant_share(a.vector, pool.capacity, over) for n, a in found.items()}
    return alloc(pool, share, least)


def alloc(
    pool: Pool, share: Mapping[Node, float], then: Mapping[Node, float] | None = None
) -> Node | None:
    """Algorithm 4: from the root down the child with the least s/w that can schedule, of equals
    the one with least of ``then`` by its weight, and then the first; its leaf starts one task.
    """

    def rank(c: Node) -> tuple[float, float]:
        if then is None:
            return share[c] / c.weight, 0.0
        return round(share[c] / c.weight, 9), then[c] / c.weight

    places = pool.places()
    n = pool.root
    if n not in places:
        return None
    while not n.leaf:
        n = min((c for c in n.children if c in places), key=rank)
    pool.start(n, places[n])
    return n


def per_level_round(pool: Pool) -> Node | None:
    """The same descent by plain sums: naive H-DRF, which starves (section 3.3)."""
    return alloc(pool, plain_shares(pool.root, pool.capacity))


def rescale_only_round(pool: Pool) -> Node | None:
    """Rescaling to the least share among all children that want more, as if nothing were ever
    saturated (section 3.4's first step).
    """
    every = (True,) * len(pool.capacity)
    found = update_shares(pool.root, pool.capacity, every, "prose")
    return alloc(pool, {n: attributed.share for n, attributed in found.items()})


def ignore_blocked_only_round(pool: Pool) -> Node | None:
    """Plain sums, compared over the resources that are not saturated: section 3.4 without its
    rescaling.
    """
    over = [r for r, room in enumerate(pool.unsaturated) if room]
    return alloc(pool, plain_shares(pool.root, pool.capacity, over))


def collapsed_fixed_round(pool: Pool) -> Node | None:
    """Flat weighted DRF over the leaves, each with its product of weights (variant A)."""
    weight, share = collapsed_weights(pool.root), pool.shares()
    return _alloc_flat(pool, {leaf: share[leaf] / weight[leaf] for leaf in pool.running})


def collapsed_recalculated_round(pool: Pool) -> Node | None:
    """To the leaf that is furthest below its target of now (variant B)."""
    target, share = collapsed_target(pool.root, pool.capacity), pool.shares()
    return _alloc_flat(pool, {leaf: share[leaf] - target[leaf] for leaf in pool.running})


def cs_current_round(pool: Pool) -> Node | None:
    """The paper's "C.S-Current": per-level DRF that stops where the child whose turn it is cannot
    be served, so that what others could use idles. Not among ``ROUNDS``: it is not Pareto.
    """
    share, places = plain_shares(pool.root, pool.capacity), pool.places()
    n = pool.root
    while not n.leaf and n.demanding:
        n = min((c for c in n.children if c.demanding), key=lambda c: share[c] / c.weight)
    if n not in places:
        return None
    pool.start(n, places[n])
    return n


def _alloc_flat(pool: Pool, rank: Mapping[Node, float]) -> Node | None:
    places = pool.places()
    leaf = min((c for c in pool.running if c in places), key=rank.__getitem__, default=None)
    if leaf is not None:
        pool.start(leaf, places[leaf])
    return leaf


ROUNDS: dict[str, Round] = {
    "static": hdrf_round,
    "cap": partial(hdrf_round, setting="cap"),
    "prose": partial(hdrf_round, setting="prose"),
    "per_level_drf": per_level_round,
    "rescale_only": rescale_only_round,
    "ignore_blocked_only": ignore_blocked_only_round,
    "collapsed_fixed": collapsed_fixed_round,
    "collapsed_recalculated": collapsed_recalculated_round,
}
"""H-DRF in its three settings, and the baselines."""


def fill(pool: Pool, round_: Round) -> int:
    """Rounds until none can start a task; how many started one."""
    count = 0
    while pool.places() and round_(pool) is not None:  # spares the shares where all is full
        count += 1
    return count


def churn(pool: Pool, round_: Round, finishing: Iterable[Node]) -> None:
    """One task of each leaf named ends, if one runs, and what it frees is given out anew."""
    for leaf in finishing:
        if pool.running[leaf]:
            pool.finish(leaf)
            fill(pool, round_)
