"""The dynamic scheduler (Algorithms 2 and 4) on plain values, and the baselines' rules beside it.

A round serves one task. The tests, the worked examples and the study of random trees run on these;
on a cluster the policies do, by the same rules: ``Recomputed`` puts what YARN's books say into the
paper's nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from loomcard.policies.hdrf.paper import (
    SETTINGS,
    Node,
    Vector,
    dominant_share,
    guarantees,
    largest_demand,
    plain_shares,
    unsaturated,
    update_shares,
)
from loomcard.policies.hdrf.share_tree import (
    ACTIVE,
    HELD,
    IDLE,
    Branch,
    Child,
    Leaf,
    Shares,
    ShareTree,
    Standing,
    Want,
)

DIGITS = 9
"""Shares that differ only beyond so many decimals are equal."""


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
        return unsaturated(free, self._largest())

    def places(self) -> dict[Node, int]:
        """The nodes of which ``can_schedule`` of 2.4 is true; for a leaf the first server on which
        its next task may start.
        """
        largest = self._largest()
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

    def _largest(self) -> list[float]:
        """q of the tasks that are wanted."""
        tasks = [leaf.demand for leaf in self.running if leaf.wants]
        return largest_demand(tasks, len(self.capacity), self.headroom)

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


Rank = Any
"""What the descent compares among siblings: the least goes first."""
Rule = Callable[[Node, Vector, Sequence[bool], Collection[Node]], Mapping[Node, Rank]]
"""The ranks of a tree's nodes, of its capacity, of Y, and of the nodes below which a task can start
now; of those alone a rank is needed.
"""
Round = Callable[[Pool], Node | None]
"""Starts one task and says of which leaf; None where none can be."""


def hdrf(
    root: Node, capacity: Vector, y: Sequence[bool], able: Collection[Node],
    setting: str = "look_ahead", even: bool | None = None,
) -> Mapping[Node, Rank]:  # fmt: skip
    """Algorithm 2: s/w of the attributed shares.

    ``even``: of equals that goes first which has least of the resources that are not saturated, so
    that like children are treated alike where a saturated one decides their shares. With
    ``look_ahead``, where two may be level by what one of them will have, it is always so.
    """
    found = update_shares(root, capacity, y, setting, able)
    if not (setting == "look_ahead" if even is None else even):
        return by_weight({n: a.share for n, a in found.items()})
    over = [r for r, room in enumerate(y) if room]
    then = {n: dominant_share(a.vector, capacity, over) for n, a in found.items() if not n.leaf}
    return {n: even_rank(n.weight, a.share, then.get(n, a.share)) for n, a in found.items()}


def even_rank(weight: float, share: float, then: float) -> tuple[float, float]:
    """s/w, and of equals, but for rounding, another share by the weight."""
    return round(share / weight, DIGITS), round(then / weight, DIGITS)


def per_level_drf(root: Node, capacity: Vector, *_: object) -> Mapping[Node, Rank]:
    """The same descent by plain sums: naive H-DRF, which starves (section 3.3)."""
    return by_weight(plain_shares(root, capacity))


def rescale_only(root: Node, capacity: Vector, *_: object) -> Mapping[Node, Rank]:
    """Rescaling to the least share among all children that want more, as if nothing were ever
    saturated (section 3.4's first step).
    """
    found = update_shares(root, capacity, (True,) * len(capacity), "prose")
    return by_weight({n: a.share for n, a in found.items()})


def ignore_blocked_only(
    root: Node, capacity: Vector, y: Sequence[bool], *_: object
) -> Mapping[Node, Rank]:
    """Plain sums, compared over the resources that are not saturated: section 3.4 without its
    rescaling.
    """
    over = [r for r, room in enumerate(y) if room]
    return by_weight(plain_shares(root, capacity, over))


def collapsed_fixed(
    root: Node, capacity: Vector, _: Sequence[bool], able: Collection[Node]
) -> Mapping[Node, Rank]:
    """Flat weighted DRF over the leaves, each with its product of weights (variant A)."""
    weight = collapsed_weights(root)
    return _flat(root, able, {x: dominant_share(x.used, capacity) / weight[x] for x in weight})


def collapsed_recalculated(
    root: Node, capacity: Vector, _: Sequence[bool], able: Collection[Node]
) -> Mapping[Node, Rank]:
    """To the leaf that is furthest below its target of now (variant B)."""
    target = collapsed_target(root, capacity)
    return _flat(root, able, {x: dominant_share(x.used, capacity) - target[x] for x in target})


def _flat(root: Node, able: Collection[Node], rank: dict[Node, Rank]) -> Mapping[Node, Rank]:
    """An inner node stands where the first of the leaves does that can start a task below it."""
    found = dict(rank)
    for n in reversed(list(root.walk())):
        if not n.leaf:
            found[n] = min((found[c] for c in n.children if c in able), default=0.0)
    return found


def by_weight(share: Mapping[Node, float]) -> Mapping[Node, Rank]:
    """s/w."""
    return {n: s / n.weight for n, s in share.items()}


_SLACK = 1e-12
"""A part of a capacity that is rounding and no room."""


def collapsed_weights(
    root: Node, counts: Callable[[Node], bool] = lambda _: True
) -> dict[Node, float]:
    """Each leaf's product of w[n] / sum(w[i]) along its path; they add up to 1.

    The sum goes over the siblings i, n included, that count: all (variant A, fixed), or
    those with a demanding leaf (variant B, recalculated). Below a node that does not count the
    weight is 0.
    """
    found: dict[Node, float] = {}

    def descend(n: Node, weight: float) -> None:
        if n.leaf:
            found[n] = weight
        counting = [c.weight for c in n.children if counts(c)]
        for c in n.children:
            descend(c, weight * c.weight / sum(counting) if counts(c) else 0.0)

    descend(root, 1.0)
    return found


def collapsed_target(
    root: Node, capacity: Vector, tasks: Mapping[Node, float] | None = None
) -> dict[Node, float]:
    """What variant B gives each leaf, as a dominant share: flat weighted DRF that fills from empty
    (specification 2.3).

    Between two renewals each open leaf's share grows at the rate of its weight; when one has all
    that it wants or a resource it needs is full, it no longer counts as a sibling, and the weights
    are made anew. ``tasks``: the most that a leaf takes in all; a leaf without that wants more is
    not bounded, and one that wants nothing has what it holds. The fill is exact, not in slices.
    """
    leaves = list(root.leaves())
    rate = {leaf: _a_share(leaf, capacity) for leaf in leaves}
    most = {leaf: _most(leaf, capacity, tasks) for leaf in leaves}
    share, free = dict.fromkeys(leaves, 0.0), [float(c) for c in capacity]

    def is_open(leaf: Node) -> bool:
        room = all(
            f > _SLACK * c or not need
            for f, c, need in zip(free, capacity, rate[leaf], strict=True)
        )
        return room and any(rate[leaf]) and share[leaf] < most[leaf] - _SLACK

    while growing := [leaf for leaf in leaves if is_open(leaf)]:
        lively = {n for leaf in growing for n in leaf.path()}
        weight = collapsed_weights(root, lively.__contains__)
        spent = [sum(weight[g] * rate[g][r] for g in growing) for r in range(len(capacity))]
        step = min((f / s for f, s in zip(free, spent, strict=True) if s), default=0.0)
        step = min([step, *((most[g] - share[g]) / weight[g] for g in growing)])
        for g in growing:
            share[g] += step * weight[g]
        free = [f - step * s for f, s in zip(free, spent, strict=True)]
    return share


def _a_share(leaf: Node, capacity: Vector) -> list[float]:
    """What a dominant share of 1 takes of each resource, in units; of a leaf that wants no task
    by what it holds; zeros where it holds nothing.
    """
    vector = leaf.demand if any(leaf.demand) else leaf.used or [0.0] * len(capacity)
    whole = dominant_share(vector, capacity)
    return [amount / whole if whole else 0.0 for amount in vector]


def _most(leaf: Node, capacity: Vector, tasks: Mapping[Node, float] | None) -> float:
    if tasks is not None and leaf in tasks:
        return tasks[leaf] * dominant_share(leaf.demand, capacity)
    return float("inf") if leaf.wants else dominant_share(leaf.used, capacity)


RULES: dict[str, Rule] = {
    **{setting: partial(hdrf, setting=setting) for setting in SETTINGS},
    "per_level_drf": per_level_drf,
    "rescale_only": rescale_only,
    "ignore_blocked_only": ignore_blocked_only,
    "collapsed_fixed": collapsed_fixed,
    "collapsed_recalculated": collapsed_recalculated,
}
"""H-DRF in its settings, and the baselines."""


def hdrf_round(pool: Pool, rule: Rule = RULES["look_ahead"]) -> Node | None:
    """Shares anew over the whole tree, then Alloc (Algorithm 4): from the root down the child that
    can schedule and goes first by the rule, of equals the first; its leaf starts one task.
    """
    places = pool.places()
    n = pool.root
    if n not in places:
        return None
    rank = rule(pool.root, pool.capacity, pool.unsaturated, places)
    while not n.leaf:
        n = min((c for c in n.children if c in places), key=rank.__getitem__)
    pool.start(n, places[n])
    return n


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


ROUNDS: dict[str, Round] = {name: partial(hdrf_round, rule=rule) for name, rule in RULES.items()}
"""A round by each rule."""


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


class Recomputed(ShareTree):
    """A cluster's tree by a rule, all worked out anew each time; a leaf of several kinds of task
    counts by the first of them.
    """

    def __init__(self, root: Branch, width: int, rule: Rule) -> None:
        super().__init__(root, width)
        self.rule = rule

    def at(self, fitting: frozenset[Want], unsaturated: Callable[[], Sequence[bool]]) -> Ranks:
        """The shares while of all that is wanted only this fits on a server."""
        return Ranks(self, fitting, unsaturated())


class Ranks(Shares):
    """The ranks of all nodes, worked out once."""

    def __init__(self, tree: Recomputed, fitting: frozenset[Want], y: Sequence[bool]) -> None:
        self._nodes: dict[Child, Node] = {}
        self._able: dict[Node, None] = {}
        root = self._node(tree, tree.root, may=True)
        for child, node in self._nodes.items():
            trying = node.wants and isinstance(child, Leaf) and not child.aside
            if trying and any(want in fitting for want in child.wants):
                self._able.update(dict.fromkeys(node.path()))
        self._ranks = tree.rule(root, (1.0,) * tree.width, y, self._able)

    def _node(self, tree: Recomputed, child: Child, *, may: bool) -> Node:
        """A node of the paper; ``may``: no branch above is closed."""
        nothing = (0.0,) * tree.width
        if isinstance(child, Leaf):
            task = tree.tasks[child.wants[0]] if child.wants else nothing
            wants = may and bool(child.wants)
            node = Node("leaf", child.weight, [], task, list(child.held), wants)
        else:
            below = [self._node(tree, c, may=may and not child.closed) for c in child.children]
            node = Node("queue", child.weight, below, nothing, list(nothing), wants=False)
        self._nodes[child] = node
        return node

    def of(self, child: Child) -> Standing:
        """How a node counts; a share is what the descent compares, times the weight."""
        node = self._nodes[child]
        rank = self._ranks.get(node, 0.0)
        share = (rank[0] if isinstance(rank, tuple) else rank) * child.weight
        status = ACTIVE if node in self._able else HELD if node.demanding else IDLE
        return Standing(status, (), share)

    def first(self, branch: Branch, among: Collection[Child] | None = None) -> Child | None:
        """Of the children in A the one of the least rank, of equals the first."""
        able = [c for c in among or branch.children if self._nodes[c] in self._able]
        return min(able, key=lambda c: (self._ranks[self._nodes[c]], c.order), default=None)
