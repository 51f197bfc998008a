"""The structure that keeps shares up: equal to the paper's recursion after every event."""

from hypothesis import given, settings
from hypothesis import strategies as st

from loomcard.policies.hdrf import fast_shares
from loomcard.policies.hdrf.fast_shares import COPIES, FastShares
from loomcard.policies.hdrf.paper import Node, update_shares
from loomcard.policies.hdrf.rounds import RULES
from loomcard.policies.hdrf.share_tree import ACTIVE, Branch, Leaf

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


class Both:
    """One tree twice: as plain nodes for the paper's recursion, and as the structure."""

    def __init__(self, shape, weights, people):
        self.capacity, self.y = [60.0, 40.0, 50.0], 7
        self.inner: list[Node] = []
        self.weights = iter(weights)
        self.root = self.grow(shape)
        self.leaves: list[Node] = []
        self.closed: set[Node] = set()
        self.count = 0
        self.build()
        for parent, demand, tasks, idle in people:
            self.happen(("comes", parent, demand))
            self.happen(("task", self.count - 1, tasks))
            self.happen(("wants", self.count - 1, not idle or tasks % 2 == 0))

    def grow(self, shape) -> Node:
        node = Node(f"q{len(self.inner)}", next(self.weights, 1.0), [], (0, 0, 0), wants=False)
        self.inner.append(node)
        for child in shape:
            below = self.grow(child)
            below.parent = node
            node.children.append(below)
        return node

    def build(self) -> None:
        """The structure anew, from what the nodes say: another capacity, or a comparison."""
        self.branch: dict[Node, Branch] = {}
        for number, node in enumerate(self.inner):
            above = self.branch.get(node.parent)
            self.branch[node] = Branch(node, above, (number,), node.weight)
        self.tree = FastShares(self.branch[self.root], 3)
        self.of: dict[Node, Leaf] = {}
        for leaf in self.leaves:
            self.enter(leaf)
        for node in self.inner:
            self.tree.close(self.branch[node], node in self.closed)

    def enter(self, leaf: Node) -> None:
        order = (1000 + int(leaf.name),)
        self.of[leaf] = Leaf(leaf, self.branch[leaf.parent], order, leaf.weight)
        self.put(leaf)

    def put(self, leaf: Node) -> None:
        task = tuple(t / c for t, c in zip(leaf.demand, self.capacity, strict=True))
        self.tree.learn(leaf.demand, task)
        held = tuple(u / c for u, c in zip(leaf.used, self.capacity, strict=True))
        self.tree.put(self.of[leaf], held, (leaf.demand,) if leaf.wants else ())

    def happen(self, event) -> None:
        kind, pick, what = event
        leaf = self.leaves[pick % len(self.leaves)] if self.leaves else None
        if kind == "comes":
            self.count += 1
            parent = self.inner[pick % len(self.inner)]
            leaf = Node(str(self.count), next(self.weights, 1.0), [], tuple(what), [0.0] * 3)
            leaf.parent = parent
            parent.children.append(leaf)
            self.leaves.append(leaf)
            self.enter(leaf)
        elif kind == "y":
            self.y = pick
        elif kind == "closes":
            node = self.inner[pick % len(self.inner)]
            (self.closed.add if what else self.closed.discard)(node)
            self.tree.close(self.branch[node], what)
        elif kind == "capacity":
            self.capacity = [float(pick), 40.0, 100.0 - pick]
            self.build()
        elif leaf is not None and kind == "goes":
            self.leaves.remove(leaf)
            leaf.parent.children.remove(leaf)
            self.tree.remove(self.of.pop(leaf))
        elif leaf is not None:
            if kind == "wants":
                leaf.wants = what
            elif kind == "aside":
                if not self.of[leaf].aside:
                    self.tree.set_aside(self.of[leaf])
                return
            else:
                tasks = [u + what * t for u, t in zip(leaf.used, leaf.demand, strict=True)]
                leaf.used = tasks if min(tasks) >= 0 else leaf.used
            self.put(leaf)

    def fitting(self) -> frozenset:
        """Of the demands of now those whose kind fits."""
        return frozenset(w for w in self.branch[self.root].wants if self.y >> sum(w) % 3 & 1)

    def shares(self) -> fast_shares.Copy:
        return self.tree.at(self.fitting())

    def check(self) -> None:
        """With no leaf below a closed branch demanding: that is what its parent sees."""
        below = {n for n in self.root.walk() if self.closed.intersection(n.path()[:-1])}
        shut = [leaf for leaf in self.leaves if leaf in below and leaf.wants]
        for leaf in shut:
            leaf.wants = False
        self.check_open(below)
        for leaf in shut:
            leaf.wants = True

    def check_open(self, below) -> None:
        fitting, shares = self.fitting(), self.shares()
        starts = {x: None for x in self.leaves if x.demand in fitting and not self.of[x].aside}
        able = {n: None for x in starts if x.wants for n in x.path()}
        y = [any(want[r] for want in fitting) for r in range(3)]
        for node, right in update_shares(self.root, self.capacity, y, "look_ahead", starts).items():
            if node in below:
                continue
            found = shares.of(self.of.get(node) or self.branch[node])
            right_vector = [u / c for u, c in zip(right.vector, self.capacity, strict=True)]
            assert max(abs(a - b) for a, b in zip(found.vector, right_vector, strict=True)) < 1e-9
            assert abs(found.share - right.share) < 1e-9
            assert abs(found.ahead - right.ahead) < 1e-9
            assert (found.status == ACTIVE) == right.active
        self.check_choice(shares, RULES["look_ahead"](self.root, self.capacity, y, able), able)

    def check_choice(self, shares, ranks, able) -> None:
        """The descent takes, at each node, a child of the least rank."""
        node = self.root
        while node.children and node in able:
            child = shares.first(self.branch[node]).member
            least = min(ranks[c] for c in node.children if c in able)
            assert all(abs(a - b) < 1e-8 for a, b in zip(ranks[child], least, strict=True))
            node = child
        if node is self.root:
            assert shares.descend(self.branch[self.root]) is None


SHAPES = st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=6)


@settings(deadline=None)
@given(SHAPES, st.lists(WEIGHTS, max_size=20), PEOPLE, EVENTS)
def test_equal_to_full_recomputation_after_every_event(shape, weights, people, events):
    """Property 13: shares, vectors, M and A are those of the recursion, to 1e-9, after starts,
    finishes, changes of demand, leaves that come, go or are set aside, branches that close or open,
    other capacities and other wants that fit; and the descent goes where the paper's does.
    """
    both = Both(shape, weights, people)
    both.check()
    for event in events:
        both.happen(event)
        both.check()
        assert len(both.tree._copies) <= COPIES


@settings(deadline=None)
@given(SHAPES, st.lists(WEIGHTS, max_size=20), PEOPLE, EVENTS)
def test_what_happened_before_leaves_no_trace(shape, weights, people, events):
    """Built anew from the state it is in, the structure says the same to the last bit: a replay
    that begins in the middle decides alike.
    """
    both = Both(shape, weights, people)
    for event in events:
        both.happen(event)
        both.shares()

    def said():
        shares = both.shares()
        return [shares.of(each) for each in (*both.branch.values(), *both.of.values())]

    both.tree.put_back()
    lived = said()
    both.build()
    assert said() == lived
