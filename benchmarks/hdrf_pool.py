"""The paper's dynamic scheduler (Algorithms 2 and 4) on plain values: one round serves one task, by
shares that are computed again.

The worked examples and the study of random trees use it; on a cluster the policies do the same from
event to event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from loomcard.policies.hdrf.paper import (
    Node,
    Vector,
    dominant_share,
    guarantees,
    largest_demand,
    unsaturated,
)
from loomcard.policies.hdrf.rules import RULES, Rule, hdrf
from loomcard.policies.hdrf.share_tree import alloc, first_by


@dataclass(eq=False)
class Pool:
    """A tree, the servers that it shares, and where each leaf's tasks run.

    ``used`` of the tree's nodes is updated when tasks start and finish; ``wants`` and ``demand`` of
    a leaf may be changed between rounds.
    """

    root: Node
    servers: Sequence[Vector]
    """The resources of each server, in units."""
    headroom: bool = True
    """A task goes only to a server where, of each resource that it needs, the largest demanded
    amount is free.
    """
    reserve: bool = False
    """Not in the paper: the demand of the leaf that is furthest below its guarantee is reserved for
    it on one server, until its next task fits there. Without it a leaf is never served if it needs
    resources that different tasks free, one CPU here and one GPU there: each returns at once to a
    leaf that it fits.
    """
    free: list[list[float]] = field(init=False)
    """What is free on each server."""
    running: dict[Node, deque[int]] = field(init=False)
    """The server of each task of a leaf, the oldest first."""
    capacity: list[float] = field(init=False)
    """R in the paper, in units."""

    def __post_init__(self) -> None:
        self.capacity = [sum(column) for column in zip(*self.servers, strict=True)]
        self.free = [list(server) for server in self.servers]
        self.running = {leaf: deque() for leaf in self.root.leaves()}
        for n in self.root.walk():
            n.used = [0] * len(self.servers[0])

    @property
    def unsaturated(self) -> tuple[bool, ...]:
        """Y in the paper, of the whole tree: one flag per resource."""
        free = [sum(column) for column in zip(*self.free, strict=True)]
        return unsaturated(free, self._largest())

    def places(self) -> dict[Node, int]:
        """Return the nodes for which ``can_schedule`` of 2.4 is true; for a leaf with the first
        server on which its next task may start.
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
        """Return q in the paper, for the tasks that are wanted."""
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
        """Return the demanding leaf with the least share/guarantee among those that stay within it
        with one more task, and the server whose free room covers most of that task.
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
        """``consume`` in the paper: one task of the leaf takes its demand from the server."""
        self._take(leaf, server, 1)
        self.running[leaf].append(server)

    def finish(self, leaf: Node) -> None:
        """End the oldest task of the leaf. Raises IndexError if none runs."""
        self._take(leaf, self.running[leaf].popleft(), -1)

    def _take(self, leaf: Node, server: int, sign: int) -> None:
        for r, amount in enumerate(leaf.demand):
            self.free[server][r] -= sign * amount
        for n in leaf.path():
            n.used = [u + sign * t for u, t in zip(n.used, leaf.demand, strict=True)]

    def shares(self) -> dict[Node, float]:
        """Return the plain dominant share of each node."""
        return {n: dominant_share(n.used, self.capacity) for n in self.root.walk()}

    def tasks(self) -> dict[Any, int]:
        """Return how many tasks of each leaf run, by its name."""
        return {leaf.member: len(servers) for leaf, servers in self.running.items()}


Round = Callable[[Pool], Node | None]
"""Start one task and return its leaf; return None if no task can start."""


def hdrf_round(pool: Pool, rule: Rule = hdrf) -> Node | None:
    """Compute the shares of the whole tree again, then start one task: of the leaf that ``alloc``
    finds by the rule, among those that can schedule.
    """
    places = pool.places()
    if pool.root not in places:
        return None
    rank = rule(pool.root, pool.capacity, pool.unsaturated, places)
    leaf = alloc(pool.root, lambda n: first_by(rank, n.children, places))
    assert leaf is not None
    pool.start(leaf, places[leaf])
    return leaf


ROUNDS: dict[str, Round] = {name: partial(hdrf_round, rule=rule) for name, rule in RULES.items()}
"""One round by each rule."""


def fill(pool: Pool, round_: Round) -> int:
    """Do rounds until no round can start a task; return how many started one."""
    count = 0
    while pool.places() and round_(pool) is not None:  # skips the shares if all is full
        count += 1
    return count


def churn(pool: Pool, round_: Round, finishing: Iterable[Node]) -> None:
    """End one task of each leaf named, if one runs, and give out again what it frees."""
    for leaf in finishing:
        if pool.running[leaf]:
            pool.finish(leaf)
            fill(pool, round_)
