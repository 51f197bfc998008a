"""Shares attributed to the nodes of a tree: Algorithms 2 and 3, and the baselines' plain sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loomcard.policies.hdrf.tree import SETTINGS, Node, Vector


@dataclass(frozen=True, slots=True)
class Attributed:
    """What counts as held by a node when it is compared with its siblings."""

    vector: tuple[float, ...]
    """U[n], in units: of a leaf what it holds, of an inner node its children's rescaled vectors."""
    share: float
    """s[n]: the dominant share of that vector, over all resources (``static``) or Y."""
    active: bool
    """It is in A: below it a leaf wants more and needs no saturated resource."""
    minimum: float | None = None
    """M of an inner node: the least s/w among its active children; None where none is active."""


def dominant_share(
    vector: Sequence[float], capacity: Vector, over: Iterable[int] | None = None
) -> float:
    """max over r of vector[r] / capacity[r]: over all resources, or the indexes ``over``.

    A resource of which there is nothing is left out; 0 where nothing is held.
    """
    among = range(len(capacity)) if over is None else over
    return max((vector[r] / capacity[r] for r in among if vector[r] and capacity[r]), default=0.0)


def largest_demand(leaves: Iterable[Node], count: int, headroom: bool = True) -> list[float]:
    """q[r] for ``count`` resources, in units: the largest demand for r in one task of the leaves
    that want more; without headroom the smallest that is not 0. 0 where none demands r.
    """
    most = max if headroom else min
    tasks = [leaf.demand for leaf in leaves if leaf.wants]
    return [most((task[r] for task in tasks if task[r]), default=0) for r in range(count)]


def unsaturated(free: Vector, largest: Sequence[float]) -> tuple[bool, ...]:
    """Y as one flag a resource: free[r] > 0 and free[r] >= q[r] (specification 2.5-11)."""
    return tuple(left > 0 and left >= most for left, most in zip(free, largest, strict=True))


def update_shares(
    root: Node, capacity: Vector, unsaturated: Sequence[bool], setting: str = "static"
) -> dict[Node, Attributed]:
    """UpdateS of Algorithm 3 from the root down, with Y and A of Algorithm 2.

    ``capacity``: R in units; ``unsaturated``: Y; only ``used``, ``wants`` and ``demand`` of leaves
    are read. A holds the leaves that want more and use only resources of Y, and their ancestors.
    An inner node with a child in A gets ``U = sum of factor * U[c]``, so that each active
    child enters with the share ``M * w[c]``; one without gets the plain sum. ``static`` takes
    shares over all resources, ``cap`` and ``prose`` over Y. Raises ValueError for another setting.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting {setting!r}: expected one of {', '.join(SETTINGS)}")
    among = range(len(capacity))
    over = [r for r in among if setting == "static" or unsaturated[r]]
    found: dict[Node, Attributed] = {}

    def update_s(n: Node) -> Attributed:
        least = None
        if n.leaf:
            vector = tuple(n.used) or (0.0,) * len(capacity)
            active = n.wants and all(unsaturated[r] or not n.demand[r] for r in among)
        else:
            below = [(c, update_s(c)) for c in n.children]
            shares = [a.share / c.weight for c, a in below if a.active]
            active = bool(shares)
            least = min(shares, default=None)
            scales = [factor(c, a, least, capacity, setting) for c, a in below]
            vectors = [a.vector for _, a in below]
            vector = tuple(
                sum(f * u[r] for f, u in zip(scales, vectors, strict=True)) for r in among
            )
        found[n] = Attributed(vector, dominant_share(vector, capacity, over), active, least)
        return found[n]

    update_s(root)
    return found


def factor(
    child: Node, held: Attributed, least: float | None, capacity: Vector, setting: str
) -> float:
    """By what the vector of a child is multiplied when it enters its parent (Algorithm 3).

    ``least``: M of the parent; None, where no child is active, leaves all as they are. An active
    child enters with the share M * w. A blocked one enters as it is, but with ``static``
    and ``cap`` one that wants more enters with at most M * w, by its share over all resources.
    """
    if least is None:
        return 1.0
    if held.active:
        return least * child.weight / held.share if held.share else 0.0
    if setting != "prose" and child.demanding:
        whole = dominant_share(held.vector, capacity)
        return min(1.0, least * child.weight / whole) if whole else 1.0
    return 1.0


def plain_shares(
    root: Node, capacity: Vector, over: Iterable[int] | None = None
) -> dict[Node, float]:
    """Dominant shares of plain sums, no child rescaled: per-level DRF over all resources, and over
    those of Y (``over``: their indexes) what ignores blocked nodes and saturated resources alone.
    """
    among = range(len(capacity)) if over is None else list(over)
    sums: dict[Node, list[float]] = {}
    for n in reversed(list(root.walk())):  # children first
        if n.leaf:
            sums[n] = list(n.used) or [0.0] * len(capacity)
        else:
            columns = zip(*(sums[c] for c in n.children), strict=True)
            sums[n] = [sum(column) for column in columns]
    return {n: dominant_share(held, capacity, among) for n, held in sums.items()}
