"""Collapsed hierarchies: each leaf gets one weight, and flat DRF serves the leaves. A baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loomcard.policies.hdrf.paper import Node, Vector, dominant_share

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
