"""The paper's functions on plain trees: attributed shares (Algorithms 2 and 3), the static
allocation that they should reach (Algorithm 1), and the guarantee of each node.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from loomcard.advanced import guarantees as guarantees

Amount = TypeVar("Amount", int, float)
Vector = Sequence[float]
"""Amounts, one number per resource type, in the same order for a tree and its capacity."""

Setting = Literal["look_ahead", "static", "cap", "prose"]
SETTINGS: tuple[str, ...] = get_args(Setting)
"""How children enter their parent (docs/papers/hdrf.md 2.6 and 2.9): ``look_ahead`` is for
whole tasks on servers, ``prose`` the letter of the paper.
"""


class Node:
    """A queue (inner node) or anything that has tasks (leaf); compared by identity.

    The paper's functions and the trees of a cluster have the same nodes.
    """

    __slots__ = (
        "aside", "children", "closed", "demand", "leaf", "member", "order", "parent", "used",
        "wanted", "wants", "weight",
    )  # fmt: skip

    def __init__(
        self, member: Any, weight: float = 1.0, children: Iterable[Node] | None = None,
        demand: tuple[float, ...] = (), used: Sequence[float] = (), wants: bool = True,
        order: tuple[Any, ...] = (),
    ) -> None:  # fmt: skip
        """``children``: None for a leaf. Raises ValueError for a weight that is not positive."""
        if weight <= 0:
            raise ValueError(f"{member}: a weight of {weight}; expected more than 0")
        self.member = member  # a name, or a cluster's queue or application
        self.weight = weight  # w[n]: relative to its siblings
        self.leaf = children is None  # it has tasks itself
        self.children: dict[Node, None] = {}  # C(n)
        self.parent: Node | None = None  # P(n)
        self.demand = demand  # T[l] of a leaf: what one of its tasks uses, in units
        self.used = used  # what a leaf's tasks use together; () or []: nothing yet
        self.wants = wants  # a leaf wants more than it uses
        self.order = order  # breaks ties among siblings; if equal, the first child
        self.wanted: Any = ()  # leaf: kinds of task it wants; inner node: how many leaves do
        self.closed = False  # no node at or below it may have more
        self.aside = False  # a leaf was tried without success: it counts as blocked
        for child in children or ():
            self.add(child)

    def add(self, child: Node) -> None:
        """Add a child behind those with an ``order`` that is not greater: sums of floats depend on
        the order of siblings, which must not depend on when each was added.
        """
        child.parent = self
        last = next(reversed(self.children), child)
        self.children[child] = None
        if child.order < last.order:
            self.children = dict.fromkeys(sorted(self.children, key=lambda n: n.order))

    @property
    def name(self) -> Any:
        """``member``: in the paper's trees a name."""
        return self.member

    @property
    def demanding(self) -> bool:
        """Whether it wants more than it uses and may have it; an inner node: if a child does."""
        if self.leaf:
            return self.wants and not any(n.closed for n in self.path())
        return any(child.demanding for child in self.children)

    def leaves(self) -> Iterator[Node]:
        """Return the leaves below it (or itself), from the first child to the last."""
        return (node for node in self.walk() if node.leaf)

    def walk(self) -> Iterator[Node]:
        """Yield itself and all nodes below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def path(self) -> list[Node]:
        """Return the nodes from itself to the root."""
        found, above = [self], self.parent
        while above is not None:
            found.append(above)
            above = above.parent
        return found


class Attributed(NamedTuple):
    """What counts as a node's use when it is compared with its siblings."""

    vector: tuple[float, ...]
    """U[n], in units: what a leaf uses; for an inner node its children's rescaled vectors."""
    share: float
    """s[n]: the dominant share of that vector, over all resources or, with ``cap`` and ``prose``,
    over Y.
    """
    active: bool
    """Whether it is in A: below it a leaf wants more and is not blocked."""
    demanding: bool
    """Whether below it a leaf wants more."""
    ahead: float = 0.0
    """t[n]: the share of the task that the descent would start below it; 0 if it is blocked."""
    minimum: float | None = None
    """M of an inner node; None if no child is active."""


def dominant_share(
    vector: Sequence[float], capacity: Vector, over: Iterable[int] | None = None
) -> float:
    """Return max over r of vector[r] / capacity[r]: over all resources, or the indexes ``over``.

    Resources with a capacity of 0 are left out; 0 if nothing is used.
    """
    among = range(len(capacity)) if over is None else over
    return max((vector[r] / capacity[r] for r in among if vector[r] and capacity[r]), default=0.0)


def largest_demand(
    tasks: Collection[Sequence[Amount]], count: int, headroom: bool = True
) -> list[Amount]:
    """Return q[r] for ``count`` resources, in units: the largest demand for r in one of the wanted
    tasks; without headroom the smallest that is not 0. 0 if no task demands r.
    """
    most = max if headroom else min
    return [most((task[r] for task in tasks if task[r]), default=0) for r in range(count)]


def unsaturated(free: Vector, largest: Sequence[float]) -> tuple[bool, ...]:
    """Return Y, one flag per resource: free[r] > 0 and free[r] >= q[r] (docs/papers/hdrf.md
    2.5-11).
    """
    return tuple(left > 0 and left >= most for left, most in zip(free, largest, strict=True))


def update_shares(
    root: Node, capacity: Vector, unsaturated: Sequence[bool], setting: str = "static",
    can_start: Container[Node] | None = None,
) -> dict[Node, Attributed]:  # fmt: skip
    """Run UpdateS of Algorithm 3 from the root down, with Y and A of Algorithm 2.

    ``capacity``: R in units; ``unsaturated``: Y; only ``used``, ``wants`` and ``demand`` of leaves
    are read. A has the leaves that want more and are not blocked, and their ancestors. A leaf is
    blocked if it is not in ``can_start`` (its next task fits on a server now); without that, if it
    needs a resource outside Y. An inner node with a child in A gets ``U = sum of factor * U[c]``,
    one without the plain sum. M is the least s/w of its active children; with ``look_ahead`` the
    least (s + t)/w, what they come to with their next task. ``cap`` and ``prose`` take shares over
    Y, the others over all resources. Raises ValueError for another setting.

    It runs for all settings but ``look_ahead``, whose shares ``fast_shares`` keeps up from event to
    event:
    tests/policies/hdrf/test_fast_shares.py::test_equal_to_full_recomputation_after_every_event.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting {setting!r}: expected one of {', '.join(SETTINGS)}")
    among = range(len(capacity))
    over = [r for r in among if setting in ("look_ahead", "static") or unsaturated[r]]
    found: dict[Node, Attributed] = {}

    def in_a(leaf: Node) -> bool:
        if can_start is not None:
            return leaf in can_start
        return all(unsaturated[r] or not leaf.demand[r] for r in among)

    def update_s(n: Node) -> Attributed:
        least, ahead = None, 0.0
        if n.leaf:
            vector = tuple(n.used) or (0.0,) * len(capacity)
            demanding = n.demanding
            active = demanding and in_a(n)
            ahead = dominant_share(n.demand, capacity) if active else 0.0
        else:
            below = [(c, update_s(c)) for c in n.children]
            line = [(c, a) for c, a in below if a.active]
            active, demanding = bool(line), any(a.demanding for _, a in below)
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
        share = dominant_share(vector, capacity, over)
        found[n] = Attributed(vector, share, active, demanding, ahead, least)
        return found[n]

    update_s(root)
    return found


def factor(
    child: Node, held: Attributed, least: float | None, capacity: Vector, setting: str
) -> float:
    """Return the factor of a child's vector when it enters its parent (Algorithm 3).

    ``least``: M of the parent; None, where no child is active, leaves all as they are. With
    ``look_ahead`` a child that wants more, active or blocked, enters with at most the share M * w.
    With the others an active child enters with just that share, and a blocked one as it is, but
    with ``static`` and ``cap`` with at most M * w, by its share over all resources.
    """
    if least is None:
        return 1.0
    if held.active and setting != "look_ahead":
        return least * child.weight / held.share if held.share else 0.0
    if setting != "prose" and held.demanding:
        whole = dominant_share(held.vector, capacity)
        return min(1.0, least * child.weight / whole) if whole else 1.0
    return 1.0


def plain_shares(
    root: Node, capacity: Vector, over: Iterable[int] | None = None
) -> dict[Node, float]:
    """Return the dominant shares of plain sums; no child is rescaled. Over all resources this is
    per-level DRF. ``over``: the indexes of Y's resources, to ignore blocked nodes and saturated
    resources without rescaling.
    """
    among = range(len(capacity)) if over is None else list(over)
    sums: dict[Node, list[float]] = {}
    for n in reversed(list(root.walk())):  # children first
        if n.leaf:
            sums[n] = list(n.used) or [0.0] * len(capacity)
        else:
            sums[n] = [sum(sums[c][r] for c in n.children) for r in range(len(capacity))]
    return {n: dominant_share(held, capacity, among) for n, held in sums.items()}


_SLACK = 1e-12
"""The part of a capacity that is only a rounding error, not room."""


def static_hdrf(
    root: Node, capacity: Vector, eps: float, tasks: Mapping[Node, float] | None = None
) -> dict[Node, tuple[float, ...]]:
    """Return U[n] in units for every node, plain sums for inner ones, after ``static_slices``.

    No policy runs it. The shares of small tasks approach its result:
    tests/policies/hdrf/test_worked_examples.py::test_the_fluid_fill_gives_the_papers_shares.
    """
    U = {n: [0.0] * len(capacity) for n in root.walk()}  # noqa: N806 - the paper's letter
    for leaf, count in static_slices(root, capacity, eps, tasks):
        for n in leaf.path():
            for r, amount in enumerate(task_of(leaf)):
                U[n][r] += count * amount
    return {n: tuple(held) for n, held in U.items()}


def static_slices(
    root: Node, capacity: Vector, eps: float | None, tasks: Mapping[Node, float] | None = None
) -> Iterator[tuple[Node, float]]:
    """Yield the slices of Algorithm 1, which fills from empty by ``eps``: leaf and count of tasks.

    It repeats: descend from the root to the child with the least s/w below which something fits;
    the leaf takes a slice D = T * eps / max(T[r] / R[r]), or what still fits, or what it still
    wants. Without ``eps`` it takes one whole task, which must fit. ``tasks``: the most tasks of a
    leaf. A leaf without an entry is not bounded if it wants more, and otherwise takes what it uses.
    Sums are plain. Raises ValueError for a leaf that wants tasks without a demand.

    No policy runs it. On a cluster that is filled from empty the descent gives the same:
    tests/policies/hdrf/test_worked_examples.py::test_h_drf_gives_the_static_allocation_and_keeps_it.
    """

    def amount(leaf: Node, room: float) -> float:
        if eps is None:
            return 1.0 if room >= 1 else 0.0
        whole = 1 / dominant_share(task_of(leaf), capacity)
        return min(eps * whole, room) if room > _SLACK * whole else 0.0

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
        if not took:  # free amounts only fall: it gets nothing more
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


def static_hdrf_tasks(
    root: Node, capacity: Vector, tasks: Mapping[Node, float] | None = None
) -> dict[Node, int]:
    """Return how many tasks each leaf gets if D of Algorithm 1 is one whole task.

    No policy runs it; the descent gives as many:
    tests/policies/hdrf/test_worked_examples.py::test_h_drf_gives_the_static_allocation_and_keeps_it.
    """
    found = dict.fromkeys(root.leaves(), 0)
    for leaf, _ in static_slices(root, capacity, None, tasks):
        found[leaf] += 1
    return found


def task_of(leaf: Node) -> Vector:
    """Return T[l]; for a leaf that wants nothing and states no demand, all that it uses."""
    if any(leaf.demand):
        return leaf.demand
    if leaf.wants:
        raise ValueError(
            f"{leaf.member}: it wants tasks without a demand; expected a demand above 0"
        )
    return leaf.used


def _most(leaf: Node, tasks: Mapping[Node, float] | None) -> float:
    if tasks is not None and leaf in tasks:
        return tasks[leaf]
    return float("inf") if leaf.wants else _count(leaf.used, task_of(leaf))


def _count(held: Vector, task: Vector) -> float:
    """Return how many tasks run."""
    return max((h / t for h, t in zip(held, task, strict=False) if t), default=0.0)
