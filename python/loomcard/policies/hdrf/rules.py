"""The rules that rank the nodes of a tree: H-DRF's (Algorithm 2), and those to compare it with
(sections 2.2, 2.3, 3.3 and 3.4).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from loomcard.policies.hdrf.paper import (
    SETTINGS,
    Node,
    Vector,
    dominant_share,
    plain_shares,
    update_shares,
)

DIGITS = 9
"""Shares are equal if they differ only after this many decimals."""


Rank = Any
"""What the descent compares among siblings: the least rank goes first."""
Rule = Callable[[Node, Vector, Sequence[bool], Collection[Node]], Mapping[Node, Rank]]
"""A function from a tree, its capacity, Y, and the nodes below which a task can start now, to the
ranks of all nodes.
"""


def hdrf(
    root: Node, capacity: Vector, y: Sequence[bool], able: Collection[Node],
    setting: str = "look_ahead", even: bool | None = None,
) -> Mapping[Node, Rank]:  # fmt: skip
    """Return s/w of the attributed shares (Algorithm 2).

    ``even``: of equals, the child with the least of the unsaturated resources goes first. So like
    children are treated alike if a saturated resource decides their shares. This is the default
    with ``look_ahead``, where a share to come can make two children equal.
    """
    found = update_shares(root, capacity, y, setting, able)
    if not (setting == "look_ahead" if even is None else even):
        return by_weight({n: a.share for n, a in found.items()})
    over = [r for r, room in enumerate(y) if room]
    then = {n: dominant_share(a.vector, capacity, over) for n, a in found.items() if not n.leaf}
    return {n: even_rank(n.weight, a.share, then.get(n, a.share)) for n, a in found.items()}


def even_rank(weight: float, share: float, then: float) -> tuple[float, float]:
    """Return s/w (rounded), and for equals another share divided by the weight."""
    return round(share / weight, DIGITS), round(then / weight, DIGITS)


def by_weight(share: Mapping[Node, float]) -> Mapping[Node, Rank]:
    """Return s/w."""
    return {n: s / n.weight for n, s in share.items()}


def per_level_drf(root: Node, capacity: Vector, *_: object) -> Mapping[Node, Rank]:
    """Return ranks by plain sums: naive H-DRF, which starves (the paper's section 3.3)."""
    return by_weight(plain_shares(root, capacity))


def rescale_only(root: Node, capacity: Vector, *_: object) -> Mapping[Node, Rank]:
    """Return ranks with rescaling to the least share among all children that want more, as if
    nothing were ever saturated (first step of the paper's section 3.4).
    """
    found = update_shares(root, capacity, (True,) * len(capacity), "prose")
    return by_weight({n: a.share for n, a in found.items()})


def ignore_blocked_only(
    root: Node, capacity: Vector, y: Sequence[bool], *_: object
) -> Mapping[Node, Rank]:
    """Return ranks by plain sums over the resources that are not saturated: the paper's section 3.4
    without its rescaling.
    """
    over = [r for r, room in enumerate(y) if room]
    return by_weight(plain_shares(root, capacity, over))


def collapsed_fixed(
    root: Node, capacity: Vector, _: Sequence[bool], able: Collection[Node]
) -> Mapping[Node, Rank]:
    """Return ranks of flat weighted DRF: each leaf with its product of weights (variant A)."""
    weight = collapsed_weights(root)
    return _flat(root, able, {x: dominant_share(x.used, capacity) / weight[x] for x in weight})


def collapsed_recalculated(
    root: Node, capacity: Vector, _: Sequence[bool], able: Collection[Node]
) -> Mapping[Node, Rank]:
    """Return ranks by which the leaf furthest below its current target is first (variant B)."""
    target = collapsed_target(root, capacity)
    return _flat(root, able, {x: dominant_share(x.used, capacity) - target[x] for x in target})


def _flat(root: Node, able: Collection[Node], rank: dict[Node, Rank]) -> Mapping[Node, Rank]:
    """Give each inner node the rank of the first leaf below it that can start a task."""
    found = dict(rank)
    for n in reversed(list(root.walk())):
        if not n.leaf:
            found[n] = min((found[c] for c in n.children if c in able), default=0.0)
    return found


_SLACK = 1e-12
"""The part of a capacity that is only a rounding error, not room."""


def collapsed_weights(
    root: Node, counts: Callable[[Node], bool] = lambda _: True
) -> dict[Node, float]:
    """Return each leaf's product of w[n] / sum(w[i]) along its path; they add up to 1.

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
    """Return what variant B gives each leaf, as a dominant share: flat weighted DRF that fills from
    empty (docs/papers/hdrf.md 2.3).

    Each open leaf's share grows at the rate of its weight. When a leaf has all that it wants, or a
    resource that it needs is full, it no longer counts as a sibling, and weights are computed
    again. ``tasks``: the most tasks of a leaf. A leaf without an entry is not bounded if it wants
    more, and otherwise gets what it uses. The fill is exact, not in slices.
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
    """Return what a dominant share of 1 takes of each resource, in units. A leaf that wants no task
    counts by what it uses; zeros if it uses nothing.
    """
    vector = leaf.demand if any(leaf.demand) else leaf.used or [0.0] * len(capacity)
    whole = dominant_share(vector, capacity)
    return [amount / whole if whole else 0.0 for amount in vector]


def _most(leaf: Node, capacity: Vector, tasks: Mapping[Node, float] | None) -> float:
    if tasks is not None and leaf in tasks:
        return tasks[leaf] * dominant_share(leaf.demand, capacity)
    return float("inf") if leaf.demanding else dominant_share(leaf.used, capacity)


RULES: dict[str, Rule] = {
    **{setting: partial(hdrf, setting=setting) for setting in SETTINGS},
    "per_level_drf": per_level_drf,
    "rescale_only": rescale_only,
    "ignore_blocked_only": ignore_blocked_only,
    "collapsed_fixed": collapsed_fixed,
    "collapsed_recalculated": collapsed_recalculated,
}
"""H-DRF in its settings, and the baselines."""
