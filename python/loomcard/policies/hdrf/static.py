"""Static H-DRF (Algorithm 1): what the scheduler is to reach, not how it gets there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from loomcard.policies.hdrf.shares import dominant_share
from loomcard.policies.hdrf.tree import Node, Vector

_SLACK = 1e-12
"""A part of a capacity that is rounding and no room."""


def static_hdrf(
    root: Node, capacity: Vector, eps: float, tasks: Mapping[Node, float] | None = None
) -> dict[Node, tuple[float, ...]]:
    """U[n] in units for every node, plain sums in inner ones, once ``static_slices`` has ended."""
    U = {n: [0.0] * len(capacity) for n in root.walk()}  # noqa: N806 - the paper's letter
    for leaf, count in static_slices(root, capacity, eps, tasks):
        for n in leaf.path():
            for r, amount in enumerate(task_of(leaf)):
                U[n][r] += count * amount
    return {n: tuple(held) for n, held in U.items()}


def static_slices(
    root: Node, capacity: Vector, eps: float, tasks: Mapping[Node, float] | None = None
) -> Iterator[tuple[Node, float]]:
    """Algorithm 1 fills from empty in slices of ``eps``: each a leaf and a count of its tasks.

    Again and again, from the root down, the child with the least s/w below which something
    fits; its leaf takes a slice D = T * eps / max(T[r] / R[r]), or what still fits, or what it
    still wants. Plain sums, nothing rescaled. ``tasks``: the most that a leaf takes in all; one
    without that wants more is not bounded, and one that wants nothing takes what it holds. Raises
    ValueError for a leaf that wants tasks of nothing.
    """

    def slice_of(leaf: Node, room: float) -> float:
        whole = 1 / dominant_share(task_of(leaf), capacity)
        return min(eps * whole, room) if room > _SLACK * whole else 0.0

    return _slices(root, capacity, tasks, slice_of)


def static_hdrf_tasks(
    root: Node, capacity: Vector, tasks: Mapping[Node, float] | None = None
) -> dict[Node, int]:
    """How many tasks each leaf gets where D of Algorithm 1 is one whole task, which must fit."""
    found = dict.fromkeys(root.leaves(), 0)
    for leaf, _ in _slices(root, capacity, tasks, lambda _, room: 1.0 if room >= 1 else 0.0):
        found[leaf] += 1
    return found


def guarantees(
    root: Any, demanding: Callable[[Any], bool] = lambda n: n.demanding,
    held: Callable[[Any], float] = lambda _: 0.0, promised: Callable[[Any], float] = lambda _: 0.0,
    children: Callable[[Any], Iterable[Any]] = lambda n: n.children,
) -> dict[Any, float]:  # fmt: skip
    """g(n), the part of the whole that each node is to have at least: g(root) = 1, and a node's
    children have g(n) among them by weight. They never add up to more.

    One that demands nothing is due no more than what it has ``held``: with nothing held this is the
    paper's g(P(n)) * w[n] / sum(w[i] of the demanding siblings i). One that demands is due what it
    is ``promised`` at least; should siblings be promised more than there is, each in proportion.
    ``root``: a node, or whatever else has children and weights.
    """
    found = {root: 1.0}
    waiting = [root]
    while waiting:
        n = waiting.pop()
        low: dict[Any, float] = {}
        high: dict[Any, float] = {}
        for c in children(n):
            high[c] = float("inf") if demanding(c) else held(c)
            low[c] = min(promised(c), high[c])
        found.update(_divided(found[n], low, high))
        waiting.extend(low)
    return found


def _divided(due: float, low: Mapping[Any, float], high: Mapping[Any, float]) -> dict[Any, float]:
    """``due`` by weight, but for each within its bounds: again and again the bounds on the side
    that is violated more are settled, and the rest is divided anew.
    """
    promised = sum(low.values())
    if promised >= due:
        return {c: due * least / promised if promised else 0.0 for c, least in low.items()}
    found: dict[Any, float] = {}
    open_ = list(low)
    while open_:
        level = max(due, 0.0) / sum(c.weight for c in open_)
        short = [c for c in open_ if low[c] > level * c.weight]
        over = [c for c in open_ if high[c] < level * c.weight]
        lacking = sum(low[c] - level * c.weight for c in short)
        spare = sum(level * c.weight - high[c] for c in over)
        bound, at = (short, low) if lacking > spare else (over, high)
        if not bound:
            found.update((c, level * c.weight) for c in open_)
            break
        for c in bound:
            found[c] = at[c]
            due -= at[c]
        open_ = [c for c in open_ if c not in found]
    return found


def _slices(
    root: Node, capacity: Vector, tasks: Mapping[Node, float] | None,
    amount: Callable[[Node, float], float],
) -> Iterator[tuple[Node, float]]:  # fmt: skip
    """``amount``: how many tasks a leaf takes at once of those there is room for."""
    U = {n: [0.0] * len(capacity) for n in root.walk()}  # noqa: N806 - the paper's letter
    s = dict.fromkeys(U, 0.0)
    left = {leaf: _most(leaf, tasks) for leaf in root.leaves()}
    free, closed = [float(c) for c in capacity], dict.fromkeys(U, False)
    while not closed[root]:
        path = [root]
        while not path[-1].leaf:
            able = [c for c in path[-1].children if not closed[c]]
            path.append(min(able, key=lambda c: s[c] / c.weight))
        leaf = path[-1]
        needs = [(r, need) for r, need in enumerate(task_of(leaf)) if need]
        took = amount(leaf, min([left[leaf], *(free[r] / need for r, need in needs)]))
        if not took:  # free amounts only fall: it is done for good
            for n in reversed(path):
                closed[n] = n.leaf or all(closed[c] for c in n.children)
            continue
        yield leaf, took
        left[leaf] -= took
        for r, need in needs:
            free[r] = max(0.0, free[r] - took * need)
            for n in path:
                U[n][r] += took * need
        for n in path:
            s[n] = dominant_share(U[n], capacity)


def task_of(leaf: Node) -> Vector:
    """T[l]; of a leaf that wants nothing and says no demand, all that it holds as one task."""
    if any(leaf.demand):
        return leaf.demand
    if leaf.wants:
        raise ValueError(f"{leaf.name}: it wants tasks of nothing; expected a demand above 0")
    return leaf.used


def _most(leaf: Node, tasks: Mapping[Node, float] | None) -> float:
    if tasks is not None and leaf in tasks:
        return tasks[leaf]
    return float("inf") if leaf.wants else _count(leaf.used, task_of(leaf))


def _count(held: Vector, task: Vector) -> float:
    """How many tasks are held."""
    return max((h / t for h, t in zip(held, task, strict=False) if t), default=0.0)
