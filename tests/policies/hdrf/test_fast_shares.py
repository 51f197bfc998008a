"""Tests of the structure that maintains shares: it equals the paper's recursion after every
event.
"""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from loomcard.policies.hdrf.fast_shares import COPIES, FastShares, FittingShares
from loomcard.policies.hdrf.paper import Node, update_shares
from loomcard.policies.hdrf.rules import hdrf
from loomcard.policies.hdrf.share_tree import alloc

DEMANDS = st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("task"), st.integers(0, 99), st.integers(-2, 3)),
        st.tuples(st.just("wants"), st.integers(0, 99), st.booleans()),
        st.tuples(st.just("comes"), st.integers(0, 99), DEMANDS),
        st.tuples(st.just("goes"), st.integers(0, 99), st.none()),
        st.tuples(st.just("y"), st.integers(0, 7), st.none()),
        st.tuples(st.just("aside"), st.integers(0, 99), st.none()),
        st.tuples(st.just("closes"), st.integers(0, 99), st.booleans()),
        st.tuples(st.just("capacity"), st.integers(50, 90), st.none()),
    ),
    max_size=40,
)
PEOPLE = st.lists(
    st.tuples(st.integers(0, 99), DEMANDS, st.integers(0, 9), st.booleans()), min_size=2, max_size=9
)
WEIGHTS = st.sampled_from([1.0, 2.0, 0.5, 3.0])


@dataclass
class Row:
    """A leaf, with amounts in units."""

    name: int
    parent: int
    weight: float
    demand: tuple[int, ...]
    used: list[int]
    wants: bool = True


class MaintainedShares:
    """A tree, and the structure that is informed of its changes."""

    def __init__(self, shape, weights, people):
        self.capacity, self.y = [60.0, 40.0, 50.0], 7
        self.weights = iter(weights)
        self.inner: list[tuple[int | None, float]] = []  # parent and weight
        self.grow(shape, None)
        self.rows: list[Row] = []
        self.closed: set[int] = set()
        self.count = 0
        self.build()
        for parent, demand, tasks, idle in people:
            self.happen(("comes", parent, demand))
            self.happen(("task", self.count - 1, tasks))
            self.happen(("wants", self.count - 1, not idle or tasks % 2 == 0))

    def grow(self, shape, parent) -> None:
        number = len(self.inner)
        self.inner.append((parent, next(self.weights, 1.0)))
        for child in shape:
            self.grow(child, number)

    def build(self) -> None:
        """Build tree and structure again from the rows, for another capacity or for a
        comparison.
        """
        self.branches: list[Node] = []
        for number, (parent, weight) in enumerate(self.inner):
            node = Node(number, weight, (), order=(number,))
            if parent is not None:
                self.branches[parent].add(node)
            self.branches.append(node)
        self.root = self.branches[0]
        self.tree = FastShares(self.root, 3)
        self.leaves: list[Node] = []
        for row in self.rows:
            self.enter(row)
        for number, node in enumerate(self.branches):
            self.tree.close(node, number in self.closed)

    def enter(self, row: Row) -> None:
        leaf = Node(row, row.weight, order=(1000 + row.name,))
        self.branches[row.parent].add(leaf)
        self.leaves.append(leaf)
        self.put(leaf)

    def put(self, leaf: Node) -> None:
        row = leaf.member
        self.tree.tasks[row.demand] = self.fractions(row.demand)
        self.tree.put(leaf, self.fractions(row.used), (row.demand,) if row.wants else ())

    def fractions(self, amounts) -> tuple[float, ...]:
        return tuple(a / c for a, c in zip(amounts, self.capacity, strict=True))

    def happen(self, event) -> None:
        kind, pick, what = event
        leaf = self.leaves[pick % len(self.leaves)] if self.leaves else None
        if kind == "comes":
            self.count += 1
            weight = next(self.weights, 1.0)
            row = Row(self.count, pick % len(self.inner), weight, tuple(what), [0] * 3)
            self.rows.append(row)
            self.enter(row)
        elif kind == "y":
            self.y = pick
        elif kind == "closes":
            number = pick % len(self.inner)
            (self.closed.add if what else self.closed.discard)(number)
            self.tree.close(self.branches[number], what)
        elif kind == "capacity":
            self.capacity = [float(pick), 40.0, 100.0 - pick]
            self.build()
        elif leaf is not None and kind == "goes":
            self.leaves.remove(leaf)
            self.rows.remove(leaf.member)
            self.tree.remove(leaf)
        elif leaf is not None and kind == "aside":
            if not leaf.aside:
                self.tree.set_aside(leaf)
        elif leaf is not None:
            row = leaf.member
            if kind == "wants":
                row.wants = what
            else:
                tasks = [u + what * t for u, t in zip(row.used, row.demand, strict=True)]
                row.used = tasks if min(tasks) >= 0 else row.used
            self.put(leaf)

    def fitting(self) -> frozenset:
        """Return the present demands whose kind fits."""
        return frozenset(w for w in self.tree.wanted if self.y >> sum(w) % 3 & 1)

    def shares(self) -> FittingShares:
        return self.tree.at(self.fitting())

    def check(self) -> None:
        """Compare all nodes except those below a closed node, which count for no node above."""
        fitting, shares = self.fitting(), self.shares()
        may = [x for x in self.leaves if x.demanding and not x.aside]
        able = {n: None for x in may if x.member.demand in fitting for n in x.path()}
        y, whole = [any(want[r] for want in fitting) for r in range(3)], (1.0, 1.0, 1.0)
        for node, right in update_shares(self.root, whole, y, "look_ahead", able).items():
            if any(n.closed for n in node.path()[1:]):
                continue
            found = shares.of(node)
            assert max(abs(a - b) for a, b in zip(found.vector, right.vector, strict=True)) < 1e-9
            assert abs(found.share - right.share) < 1e-9
            assert abs(found.ahead - right.ahead) < 1e-9
            assert (found.active, found.demanding) == (right.active, right.demanding)
        self.check_choice(shares, hdrf(self.root, whole, y, able), able)

    def check_choice(self, shares, ranks, able) -> None:
        """Check that the descent takes a child of the least rank at each node."""
        node = self.root
        while not node.leaf and node in able:
            child = shares.first(node)
            least = min(ranks[c] for c in node.children if c in able)
            assert all(abs(a - b) < 1e-8 for a, b in zip(ranks[child], least, strict=True))
            node = child
        if node is self.root:
            assert alloc(self.root, shares.first) is None


SHAPES = st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=6)


@settings(deadline=None)
@given(SHAPES, st.lists(WEIGHTS, max_size=20), PEOPLE, EVENTS)
def test_equal_to_full_recomputation_after_every_event(shape, weights, people, events):
    """Property 13: shares, vectors, M and A equal those of the recursion, to 1e-9. This holds after
    starts, ends, changes of demand, leaves that come, go or are set aside, branches that close or
    open, other capacities and other demands that fit. The descent takes the path of the paper's.
    """
    kept = MaintainedShares(shape, weights, people)
    kept.check()
    for event in events:
        kept.happen(event)
        kept.check()
        assert len(kept.tree._fitting_shares) <= COPIES


@settings(deadline=None)
@given(SHAPES, st.lists(WEIGHTS, max_size=20), PEOPLE, EVENTS)
def test_what_happened_before_leaves_no_trace(shape, weights, people, events):
    """If it is built again from its state, the structure gives the same values to the last bit, so
    a replay that begins in the middle decides alike.
    """
    kept = MaintainedShares(shape, weights, people)
    for event in events:
        kept.happen(event)
        kept.shares()

    def said():
        shares = kept.shares()
        return [shares.of(each) for each in (*kept.branches, *kept.leaves)]

    kept.tree.put_back()
    lived = said()
    kept.build()
    assert said() == lived
