"""What each queue is entitled to now: water-filling of use and demand, top down, by guarantee and
weight.

For every parent and every resource type: first the children's guarantees as far as they want them,
then the rest by weight up to what they want, then what no child wants by weight up to their maxima.
So the entitlements of an idle cluster add up to the whole cluster.
"""

from __future__ import annotations

from collections.abc import Callable

from loomcard.api.view import asks_below
from loomcard.model.queue import Queue
from loomcard.model.resource import Resource, add_all


def asked(queue: Queue) -> Resource:
    """What all outstanding asks in a queue and below it come to."""
    total = [0] * len(queue.used)
    for ask in asks_below(queue) if queue.pending_count else ():
        add_all([total], ask.size.times(ask.count))
    return Resource(total)


def entitlements(
    root: Queue, capacity: Resource, wanted: Callable[[Queue], Resource] = asked
) -> dict[Queue, Resource]:
    """The entitlement of every queue, in whole units; siblings together never exceed their parent.

    ``wanted``: what a leaf queue asks for beyond what it uses.
    """
    pending = _pending(root, wanted)
    found = {root: capacity}
    for queue in _top_down(root):
        children = queue.children
        if not children:
            continue
        whole = found[queue]
        columns = [_divide(whole[r], children, r, pending) for r in range(len(whole))]
        for child, amounts in zip(children, zip(*columns, strict=True), strict=True):
            found[child] = Resource(amounts)
    return found


def potential(leaf: Queue, root: Queue, capacity: Resource) -> Resource:
    """What a leaf queue would be entitled to if it asked for everything: its siblings' demand and
    the maxima on its path bound it, but its own demand does not.

    It reads every ask of the siblings that demand something, on each level of the path.
    """
    path = []
    queue: Queue | None = leaf
    while queue is not None and queue is not root:
        path.append(queue)
        queue = queue.parent
    whole = capacity
    for child in reversed(path):
        assert child.parent is not None
        siblings = child.parent.children
        pending = {each: asked(each) for each in siblings if each is not child}
        pending[child] = capacity
        place = siblings.index(child)
        whole = Resource(_divide(whole[r], siblings, r, pending)[place] for r in range(len(whole)))
    return whole


def _pending(root: Queue, wanted: Callable[[Queue], Resource]) -> dict[Queue, Resource]:
    found: dict[Queue, Resource] = {}
    for queue in reversed(_top_down(root)):
        below = [found[child] for child in queue.children]
        found[queue] = wanted(queue) if queue.leaf else _sum(below, len(queue.used))
    return found


def _sum(vectors: list[Resource], width: int) -> Resource:
    total = [0] * width
    for vector in vectors:
        add_all([total], vector)
    return Resource(total)


def _top_down(queue: Queue) -> list[Queue]:
    return [queue, *(below for child in queue.children for below in _top_down(child))]


def _divide(whole: int, children: list[Queue], r: int, pending: dict[Queue, Resource]) -> list[int]:
    most = [whole if c.maximum is None else min(c.maximum[r], whole) for c in children]
    wanted = [min(c.used[r] + pending[c][r], m) for c, m in zip(children, most, strict=True)]
    shares = [min(c.guaranteed[r], w) for c, w in zip(children, wanted, strict=True)]
    shares = [min(s, whole) for s in shares]
    weights = [c.weight for c in children]
    for ceiling in (wanted, most):
        _pour(whole - sum(shares), shares, ceiling, weights)
    return shares


def _pour(rest: int, shares: list[int], ceiling: list[int], weights: list[float]) -> None:
    """Raise ``shares`` by weight until ``rest`` is used up or each has reached its ceiling."""
    while rest > 0:
        open_ = [i for i, s in enumerate(shares) if s < ceiling[i]]
        if not open_:
            return
        total = sum(weights[i] for i in open_)
        gave = 0
        for i in open_:
            part = min(int(rest * weights[i] / total), ceiling[i] - shares[i])
            shares[i] += part
            gave += part
        if gave == 0:  # fewer units than queues: one each, to the first ones
            for i in open_[:rest]:
                shares[i] += 1
                gave += 1
        rest -= gave
