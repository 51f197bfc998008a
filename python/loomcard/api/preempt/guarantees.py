"""What the nodes of a tree are guaranteed by weight, between what they are promised and want."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

Node = TypeVar("Node")


def _demanding(node: Any) -> bool:
    return bool(node.demanding)


def _children(node: Any) -> Iterable[Any]:
    return node.children  # type: ignore[no-any-return]


def stated(
    root: Node, promised: Callable[[Node], float], children: Callable[[Node], Iterable[Node]]
) -> dict[Node, float]:
    """Return what each node below ``root`` is promised, and what ``root`` is. If siblings are
    promised more than their parent has, each gets its part in proportion.
    """
    found = {root: promised(root)}
    waiting = [root]
    while waiting:
        n = waiting.pop()
        due = {c: promised(c) for c in children(n)}
        total = sum(due.values())
        part = min(1.0, found[n] / total) if total else 0.0
        found.update((c, amount * part) for c, amount in due.items())
        waiting.extend(due)
    return found


def guarantees(
    root: Node, demanding: Callable[[Node], bool] = _demanding,
    held: Callable[[Node], float] = lambda _: 0.0,
    promised: Callable[[Node], float] = lambda _: 0.0,
    children: Callable[[Node], Iterable[Node]] = _children,
) -> dict[Node, float]:  # fmt: skip
    """Return g(n), the part of the whole that each node should have at least. g(root) = 1, and the
    children of a node share g(n) by weight; they never add up to more.

    A node that demands nothing is guaranteed at most what it uses (``held``). If it uses nothing,
    this is the paper's g(P(n)) * w[n] / sum(w[i] of the demanding siblings i). A node that demands
    is guaranteed at least what it is ``promised``. If siblings are promised more than g(n), each
    gets its part in proportion.
    """
    found = {root: 1.0}
    waiting = [root]
    while waiting:
        n = waiting.pop()
        low: dict[Node, float] = {}
        high: dict[Node, float] = {}
        for c in children(n):
            high[c] = float("inf") if demanding(c) else held(c)
            low[c] = min(promised(c), high[c])
        found.update(_divided(found[n], low, high))
        waiting.extend(low)
    return found


def _divided(
    due: float, low: Mapping[Node, float], high: Mapping[Node, float]
) -> dict[Node, float]:
    """Divide ``due`` by weight, each within its bounds. Repeat: settle the bounds on the side that
    is violated more, and divide the rest again.
    """
    promised = sum(low.values())
    if promised >= due:
        return {c: due * least / promised if promised else 0.0 for c, least in low.items()}
    found: dict[Node, float] = {}
    open_ = list(low)
    while open_:
        level = max(due, 0.0) / sum(_weight(c) for c in open_)
        short = [c for c in open_ if low[c] > level * _weight(c)]
        over = [c for c in open_ if high[c] < level * _weight(c)]
        lacking = sum(low[c] - level * _weight(c) for c in short)
        spare = sum(level * _weight(c) - high[c] for c in over)
        bound, at = (short, low) if lacking > spare else (over, high)
        if not bound:
            found.update((c, level * _weight(c)) for c in open_)
            break
        for c in bound:
            found[c] = at[c]
            due -= at[c]
        open_ = [c for c in open_ if c not in found]
    return found


def _weight(node: Any) -> float:
    return float(node.weight)
