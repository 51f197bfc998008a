"""delta as amounts: the cluster counted in containers, and what each category may hold (2.3, 2.8).

Vectors are amounts, one number a resource type, in the order of the cluster's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor

from loomcard.policies.dress.classify import Vector


def quotas(delta: float, tot: int) -> tuple[int, int]:
    """Containers of SD and of LD: Tot_R * delta and Tot_R * (1 - delta), rounded half up.

    Both are at least 1 and their sum is ``tot``, which is at least 2. ``delta`` stays a real
    number; only quotas are rounded. The inner rounding removes the error of 0.145 * 100.
    """
    q1 = floor(round(delta * tot, 9) + 0.5)
    q1 = min(max(q1, 1), tot - 1)
    return q1, tot - q1


def split_available(ac: float, q1: float, used1: float) -> tuple[float, float]:
    """A_c = A_c1 + A_c2: the free containers, split into those in SD's share and those in LD's.

    ``q1``: SD's quota, ``used1``: what SD holds; containers, or amounts of one resource type.
    """
    ac1 = min(ac, max(0, q1 - used1))
    return ac1, ac - ac1


def split_vectors(ac: Vector, q1: Vector, used1: Vector) -> tuple[list[float], list[float]]:
    """``split_available`` for each resource type."""
    pairs = [split_available(*each) for each in zip(ac, q1, used1, strict=True)]
    return [one for one, _ in pairs], [two for _, two in pairs]


def containers_of(unit: Vector, nodes: Iterable[Vector], capacity: Vector) -> int:
    """Tot_R: min(sum over nodes of min_r floor(node_r/unit_r), min_r floor(capacity_r/unit_r)).

    ``unit``: the size of one container; amounts of 0 do not count. ``capacity``: what the queue is
    entitled to, the whole cluster at the root.
    """
    return min(sum(_held(unit, node) for node in nodes), _held(unit, capacity))


def _held(unit: Vector, whole: Vector) -> int:
    counts = [int(w // u) for w, u in zip(whole, unit, strict=True) if u > 0]
    return max(0, min(counts, default=0))


def worth(unit: Vector, capacity: Vector) -> list[float]:
    """What one of the Tot_R containers stands for in each resource type: u_r = C_r * unit_b / C_b.

    ``b`` is the type that runs out first when the cluster is filled with ``unit``; there it is the
    unit itself, so that containers of one size are counted exactly; in the others, the cluster's
    amount beside it. Tot_R * u is then the cluster, less what no unit can use.
    """
    ratios = [(c / u, r) for r, (c, u) in enumerate(zip(capacity, unit, strict=True)) if u > 0]
    scarce = min(ratios)[1]
    whole, part = capacity[scarce], unit[scarce]
    return [c * part / whole if whole else 0.0 for c in capacity]


def times(vector: Vector, factor: float) -> list[float]:
    """``factor`` of it in each resource type."""
    return [amount * factor for amount in vector]


def within(size: Vector, used: Sequence[float], quota: Vector) -> bool:
    """Whether a category may have a container of ``size``: used_r < quota_r in every type that the
    container needs.

    As with whole containers, the last one may exceed the quota by less than itself; a category that
    holds nothing of a type may have its first.
    """
    pairs = zip(size, used, quota, strict=True)
    return all(s <= 0 or u <= 0 or u < q for s, u, q in pairs)


def filled(used: Sequence[float], quota: Vector) -> float:
    """max_r used_r / quota_r: how much of its quota a category holds; the lesser is served. Of what
    one container stands for: how many containers that is.
    """
    ratios = [u / q if q > 0 else float("inf") for u, q in zip(used, quota, strict=True) if u > 0]
    return max(ratios, default=0.0)
