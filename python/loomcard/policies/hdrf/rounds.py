"""The dynamic scheduler (Algorithms 2 and 4): one round serves one task, by shares that are worked
out again.

``Pool`` runs it on plain values: the tests, the worked examples and the study of random trees do.
On a cluster the policies do; ``ShareTree`` follows what happens there, and its shares for a while.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from loomcard.policies.hdrf.paper import (
    Node,
    Vector,
    dominant_share,
    guarantees,
    largest_demand,
    unsaturated,
)
from loomcard.policies.hdrf.rules import RULES, Rank, Rule, hdrf


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
    reserve: bool = False
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

    def __post_init__(self) -> None:
        self.capacity = [sum(column) for column in zip(*self.servers, strict=True)]
        self.free = [list(server) for server in self.servers]
        self.running = {leaf: deque() for leaf in self.root.leaves()}
        for n in self.root.walk():
            n.used = [0] * len(self.servers[0])

    @property
    def unsaturated(self) -> tuple[bool, ...]:
        """Y of the whole: one flag a resource."""
        free = [sum(column) for column in zip(*self.free, strict=True)]
        return unsaturated(free, self._largest())

    def places(self) -> dict[Node, int]:
        """The nodes of which ``can_schedule`` of 2.4 is true; for a leaf the first server on which
        its next task may start.
        """
        largest = self._largest()
        reserved = self._reserved() if self.reserve else None
        found: dict[Node, int] = {}
        for leaf in self.running:
            needs = [(r, t) for r, t in enumerate(leaf.demand) if t]
            if self.headroom and (reserved is None or leaf is not reserved[0]):
                needs = [(r, largest[r]) for r, _ in needs]
            fitting = (i for i in range(len(self.free)) if self._fits(leaf, needs, i, reserved))
            place = next(fitting, None) if leaf.wants else None
            if place is not None:
                found |= dict.fromkeys(leaf.path(), place)
        return found

    def _largest(self) -> list[float]:
        """q of the tasks that are wanted."""
        tasks = [leaf.demand for leaf in self.running if leaf.wants]
        return largest_demand(tasks, len(self.capacity), self.headroom)

    def _fits(
        self, leaf: Node, needs: list[tuple[int, float]], server: int,
        reserved: tuple[Node, int] | None,
    ) -> bool:  # fmt: skip
        free = self.free[server]
        if reserved is not None and server == reserved[1] and leaf is not reserved[0]:
            kept = reserved[0].demand
            if any(t and kept[r] and free[r] - t < kept[r] for r, t in enumerate(leaf.demand)):
                return False
        return all(free[r] >= amount for r, amount in needs)

    def _reserved(self) -> tuple[Node, int] | None:
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
        for n in leaf.path():
            n.used = [u + sign * t for u, t in zip(n.used, leaf.demand, strict=True)]

    def shares(self) -> dict[Node, float]:
        """The plain dominant share of each node."""
        return {n: dominant_share(n.used, self.capacity) for n in self.root.walk()}

    def tasks(self) -> dict[Any, int]:
        """How many tasks of each leaf run, by its name."""
        return {leaf.member: len(servers) for leaf, servers in self.running.items()}


Round = Callable[[Pool], Node | None]
"""Starts one task and says of which leaf; None where none can be."""
Want = Any
"""A kind of task that leaves ask for: on a cluster its size and partition."""


def alloc(root: Node, first: Callable[[Node], Node | None]) -> Node | None:
    """Alloc (Algorithm 4): from the root down the child that goes ``first``, to a leaf; None: there
    is none.
    """
    n: Node | None = root
    while n is not None and not n.leaf:
        n = first(n)
    return n


def hdrf_round(pool: Pool, rule: Rule = hdrf) -> Node | None:
    """Shares of the whole tree again, then the leaf that ``alloc`` finds by the rule, of those
    that can schedule, starts one task.
    """
    places = pool.places()
    if pool.root not in places:
        return None
    rank = rule(pool.root, pool.capacity, pool.unsaturated, places)
    leaf = alloc(pool.root, lambda n: first_by(rank, n.children, places))
    assert leaf is not None
    pool.start(leaf, places[leaf])
    return leaf


def first_by(
    rank: Mapping[Node, Rank], among: Iterable[Node], able: Collection[Node]
) -> Node | None:
    """The one of the least rank of those below which a task can start, of equals the first."""
    return min((n for n in among if n in able), key=lambda n: (rank[n], n.order), default=None)


ROUNDS: dict[str, Round] = {name: partial(hdrf_round, rule=rule) for name, rule in RULES.items()}
"""A round by each rule."""


def fill(pool: Pool, round_: Round) -> int:
    """Rounds until none can start a task; how many started one."""
    count = 0
    while pool.places() and round_(pool) is not None:  # spares the shares where all is full
        count += 1
    return count


def churn(pool: Pool, round_: Round, finishing: Iterable[Node]) -> None:
    """One task of each leaf named ends, if one runs, and what it frees is given out again."""
    for leaf in finishing:
        if pool.running[leaf]:
            pool.finish(leaf)
            fill(pool, round_)


class Shares(Protocol):
    """How all nodes of a tree count while certain kinds of task fit."""

    def share(self, node: Node) -> float:
        """What the descent compares, times the weight."""

    def first(self, branch: Node, among: Collection[Node] | None = None) -> Node | None:
        """Of the children in A, or of some of them, the one that goes first; None: none is in A."""


class ShareTree:
    """A cluster's tree, whose leaves come, go, hold and want; ``at`` gives its shares by a rule.

    Leaves' ``used`` are fractions of the capacity. A leaf may want several kinds of task (on a
    cluster, sizes in a partition); it counts by the first of them. ``width``: count of resource
    types. Inner nodes are there before the first leaf.
    """

    def __init__(self, root: Node, width: int, rule: Rule) -> None:
        self.root = root
        self.width = width
        self.rule = rule
        for n in root.walk():
            if not n.leaf:
                n.wanted = {}
        self.tasks: dict[Want, tuple[float, ...]] = {}  # what one takes, of the capacity
        self.version = 0  # changes when what is wanted in the whole tree does
        self._aside: list[Node] = []

    def at(self, fitting: frozenset[Want], unsaturated: Callable[[], Sequence[bool]]) -> Shares:
        """The shares while of all that is wanted only this fits on a server, and Y."""
        return Ranks(self, fitting, unsaturated())

    @property
    def wanted(self) -> tuple[Want, ...]:
        """What is wanted, and not forbidden at the root."""
        return () if self.root.closed else tuple(self.root.wanted)

    def changed(self, node: Node) -> None:
        """What a leaf holds or wants changed, or it has gone; or an inner node closed or opened.
        Nothing is to be done where all is worked out again.
        """

    def put(self, leaf: Node, held: tuple[float, ...], wants: tuple[Want, ...]) -> None:
        """A leaf came, or holds and wants something else from now on; ``tasks`` has each of
        ``wants``.
        """
        if wants != leaf.wanted:
            self._want(leaf.parent, leaf.wanted, -1)
            self._want(leaf.parent, wants, 1)
            leaf.wanted = wants
        leaf.wants = bool(wants)
        leaf.demand = self.tasks[wants[0]] if wants else (0.0,) * self.width
        self.use(leaf, held)

    def use(self, leaf: Node, held: tuple[float, ...]) -> None:
        """A leaf of the tree holds something else from now on."""
        leaf.used = held
        self.changed(leaf)

    def remove(self, leaf: Node) -> None:
        """A leaf goes."""
        assert leaf.parent is not None
        self._want(leaf.parent, leaf.wanted, -1)
        leaf.wanted, leaf.wants = (), False
        del leaf.parent.children[leaf]
        self.changed(leaf)

    def close(self, branch: Node, closed: bool) -> None:
        """An inner node may have nothing more, or may again: its parent sees nothing wanted."""
        if closed != branch.closed:
            branch.closed = closed
            for want, count in branch.wanted.items():
                self._want(branch.parent, (want,), -count if closed else count)
            self.version += branch is self.root
            self.changed(branch)

    def set_aside(self, leaf: Node) -> None:
        """Nothing could be placed for a leaf: it counts as blocked until ``put_back``."""
        leaf.aside = True
        self._aside.append(leaf)
        self.changed(leaf)

    def put_back(self) -> None:
        """Reset the set of excluded leaves."""
        for leaf in self._aside:
            leaf.aside = False
            if leaf.parent is not None and leaf in leaf.parent.children:
                self.changed(leaf)
        self._aside.clear()

    def _want(self, branch: Node | None, wants: tuple[Want, ...], change: int) -> None:
        while branch is not None:
            for want in wants:
                count = branch.wanted.get(want, 0) + change
                if count:
                    branch.wanted[want] = count
                else:
                    del branch.wanted[want]
                if branch is self.root and (not count or count == change):
                    self.version += 1
            branch = None if branch.closed else branch.parent


class Ranks:
    """The ranks of all nodes, worked out once."""

    def __init__(self, tree: ShareTree, fitting: frozenset[Want], y: Sequence[bool]) -> None:
        self._able: dict[Node, None] = {}
        for leaf in tree.root.leaves():
            may = leaf.demanding and not leaf.aside
            if may and any(want in fitting for want in leaf.wanted):
                self._able.update(dict.fromkeys(leaf.path()))
        self._ranks = tree.rule(tree.root, (1.0,) * tree.width, y, self._able)

    def share(self, node: Node) -> float:
        """What the descent compares, times the weight."""
        rank = self._ranks.get(node, 0.0)
        return float(rank[0] if isinstance(rank, tuple) else rank) * node.weight

    def first(self, branch: Node, among: Collection[Node] | None = None) -> Node | None:
        """Of the children in A, or of some of them, the one of the least rank."""
        return first_by(self._ranks, branch.children if among is None else among, self._able)
