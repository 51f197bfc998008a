"""Shares attributed to the nodes of a tree: Algorithms 2 and 3, and the baselines' plain sums."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from loomcard.policies.hdrf.tree import SETTINGS, Node, Vector


@dataclass(frozen=True, slots=True)
class Attributed:
    """What counts as held by a node when it is compared with its siblings."""

    vector: tuple[float, ...]
    """U[n], in units: of a leaf what it holds, of an inner node its children's rescaled vectors."""
    share: float
    """s[n]: the dominant share of that vector, over all resources or, with ``cap`` and ``prose``,
    over Y.
    """
    active: bool
    """It is in A: below it a leaf wants more and is not blocked."""
    minimum: float | None = None
    """M of an inner node; None where no child is active."""
    ahead: float = 0.0
    """t[n]: the share of the task that the descent would start below it, 0 where it is blocked."""


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
    root: Node, capacity: Vector, unsaturated: Sequence[bool], setting: str = "static",
    can_start: Container[Node] | None = None,
) -> dict[Node, Attributed]:  # fmt: skip
    """UpdateS of Algorithm 3 from the root down, with Y and A of Algorithm 2.

    ``capacity``: R in units; ``unsaturated``: Y; only ``used``, ``wants`` and ``demand`` of leaves
    are read. A holds the leaves that want more and are not blocked, and their ancestors. Blocked is
    who is not among those whose next task fits on a server now, ``can_start``; without that, who
    needs a resource outside Y. An inner node with a child in A gets ``U = sum of factor * U[c]``,
    one without the plain sum. M is the least s/w of its active children; with ``look_ahead`` the
    least (s + t)/w, what they come to with their next task. ``cap`` and ``prose`` take shares over
    Y, the others over all resources. Raises ValueError for another setting.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting {setting!r}: expected one of {', '.join(SETTINGS)}")
    among = range(len(capacity))
    over = [r for r in among if setting in ("look_ahead", "static") or unsaturated[r]]
    found: dict[Node, Attributed] = {}

    def in_a(leaf: Node) -> bool:
        if can_start is not None:
            return leaf.wants and leaf in can_start
        return leaf.wants and all(unsaturated[r] or not leaf.demand[r] for r in among)

    def update_s(n: Node) -> Attributed:
        least, ahead = None, 0.0
        if n.leaf:
            vector = tuple(n.used) or (0.0,) * len(capacity)
            active = in_a(n)
            ahead = dominant_share(n.demand, capacity) if active else 0.0
        else:
            below = [(c, update_s(c)) for c in n.children]
            line = [(c, a) for c, a in below if a.active]
            active = bool(line)
            if setting == "look_ahead":
                least = min(((a.share + a.ahead) / c.weight for c, a in line), default=None)
            else:
                least = min((a.share / c.weight for c, a in line), default=None)
            if active:
                ahead = min(line, key=lambda each: each[1].share / each[0].weight)[1].ahead
            scales = [factor(c, a, least, capacity, setting) for c, a in below]
            vectors = [a.vector for _, a in below]
            vector = tuple(
                sum(f * u[r] for f, u in zip(scales, vectors, strict=True)) for r in among
            )
        found[n] = Attributed(vector, dominant_share(vector, capacity, over), active, least, ahead)
        return found[n]

    update_s(root)
    return found


def factor(
    child: Node, held: Attributed, least: float | None, capacity: Vector, setting: str
) -> float:
    """By what the vector of a child is multiplied when it enters its parent (Algorithm 3).

    ``least``: M of the parent; None, where no child is active, leaves all as they are. With
    ``look_ahead`` a child that wants more, active or blocked, enters with at most the share M * w.
    With the others an active child enters with just that share, and a blocked one as it is, but
    with ``static`` and ``cap`` with at most M * w, by its share over all resources.
    """
    if least is None:
        return 1.0
    if held.active and setting != "look_ahead":
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
