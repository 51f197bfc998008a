"""Whatever happens, in whatever order: books agree, nothing is over-allocated, and the journal
replays.
"""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import scripted  # noqa: F401 - registers test policies
from engine import Engine, queue, setup
from loomcard.model import records as r
from loomcard.model.cluster import Node
from loomcard.model.plain import decode, encode
from loomcard.model.resource import Resource, fits
from loomcard.model.room import Room
from loomcard.policies.session import replay

SIZES = st.sampled_from([(512, 1), (1024, 1), (2048, 3), (9000, 1), (1024, 0)])


class Life(RuleBasedStateMachine):
    """A cluster's life against the engine double; each rule is something that happens to it."""

    @initialize(
        root=st.sampled_from(["fifo", "drf"]),
        leaves=st.lists(
            st.sampled_from(["fifo", "drf", "test-counter", "test-patient", "test-broken"]),
            min_size=1,
            max_size=3,
        ),
        maximum=st.integers(200_000, 1_000_000),
        guaranteed=st.integers(0, 300_000),
    )
    def begin(self, root, leaves, maximum, guaranteed):
        queues = [queue("root", root)]
        for i, policy in enumerate(leaves):
            limits = (
                {"maximum": {"ppm": maximum}} if i == 0 else {"guaranteed": {"ppm": guaranteed}}
            )
            queues.append(queue(f"root.q{i}", policy, user_limit_ppm=800_000, **limits))
        self.leaves = len(leaves)
        self.folder = tempfile.TemporaryDirectory()
        self.engine = Engine(setup(*queues), journal=Path(self.folder.name), segment_rounds=4)
        self.apps = 0
        self.node_number = 0

    @rule(memory=st.integers(0, 8192), vcores=st.integers(0, 8), rack=st.sampled_from(["/a", "/b"]))
    def node_joins(self, memory, vcores, rack):
        self.node_number += 1
        self.engine.add_node(self.node_number, memory, vcores, rack)

    @precondition(lambda self: self.engine.nodes)
    @rule(pick=st.integers(0))
    def node_is_lost(self, pick):
        node = sorted(self.engine.nodes)[pick % len(self.engine.nodes)]
        self.settle()
        for granted in [g for g in self.engine.containers.values() if g.node == node]:
            self.engine.complete(granted.number, "lost")
        del self.engine.nodes[node]
        self.engine.tell(r.NodeRemoved(self.engine.now, node, "lost"))

    @rule(leaf=st.integers(0), user=st.sampled_from(["alice", "bob"]), priority=st.integers(0, 2))
    def application_comes(self, leaf, user, priority):
        self.apps += 1
        self.engine.add_app(self.apps, 1 + leaf % self.leaves, user, priority)

    @precondition(lambda self: self.apps)
    @rule(
        app=st.integers(0),
        count=st.integers(0, 6),
        size=SIZES,
        priority=st.integers(1, 2),
        node=st.integers(1, 4),
        relax=st.booleans(),
    )
    def application_asks(self, app, count, size, priority, node, relax):
        self.settle()
        keys = {} if node == 4 else {"hosts": {f"n{node}": 1}, "racks": {"/a": 1}, "relax": relax}
        key = (1 + app % self.apps, priority, 0)
        if count or key in self.engine.asks:
            self.engine.ask(key[0], count, size, priority, **keys)

    @precondition(lambda self: self.engine.containers)
    @rule(pick=st.integers(0), kind=st.sampled_from(["completed", "killed", "released"]))
    def container_ends(self, pick, kind):
        self.settle()
        numbers = sorted(self.engine.containers)
        if numbers:
            self.engine.complete(numbers[pick % len(numbers)], kind)

    @rule(reason=st.sampled_from(["NODE_FULL", "QUEUE_MAX", "STALE"]), nth=st.integers(1, 3))
    def a_round_with_refusals(self, reason, nth):
        counter = iter(range(10_000))
        self.engine.refuse = lambda _: reason if next(counter) % nth == 0 else None
        self.engine.round()
        self.engine.refuse = lambda _: None

    @rule(late=st.booleans(), ms=st.integers(1, 6000))
    def a_round(self, late, ms):
        self.engine.round(ms, late)

    def settle(self):
        """Absolute asks are read after all outcomes, as the shim does when it closes a batch."""

    @invariant()
    def no_queue_is_above_its_maximum(self):
        if hasattr(self, "engine"):
            ledger = self.engine.session.mirror.ledger
            for q in ledger.queues:
                for node in ledger.nodes.values():
                    assert min(node.free, default=0) >= 0
                assert q.used == [
                    sum(c.size[i] for a in _apps(q) for c in a.containers) for i in (0, 1)
                ]
                assert q.pending_count == sum(ask.count for a in _apps(q) for ask in a.asks)

    def teardown(self):
        if hasattr(self, "engine"):
            self.engine.round()
            self.engine.session.journal.close()
            assert replay(Path(self.folder.name)) == []
            self.folder.cleanup()


def _apps(q):
    return list(q.applications.values()) if q.leaf else [a for c in q.children for a in _apps(c)]


Life.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestLife = Life.TestCase


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.integers() | st.text(max_size=3) | st.tuples(st.integers()), inner, max_size=3
        )
        | st.frozensets(st.integers(), max_size=3)
    ),
    max_leaves=10,
)


@given(plain)
def test_plain_data_survives_the_journal(value):
    """Tuples stay tuples, integer keys stay integers, sets stay sets."""
    again = decode(encode(value))
    assert again == value
    assert encode(again) == encode(value)  # types too: 1 is not True, a tuple is no list


@given(
    frees=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12),
    changes=st.lists(
        st.tuples(st.integers(0, 11), st.tuples(st.integers(0, 4), st.integers(0, 4))), max_size=30
    ),
)
def test_room_finds_the_lowest_fitting_node(frees, changes):
    """The heap answers as a walk over all nodes would, after any sequence of gains and losses of
    room.
    """
    nodes = {i: Node(i, f"n{i}:1", "/r", Resource(free), "") for i, free in enumerate(frees)}
    room = Room((Resource((2, 1)), ""), nodes)
    for number, free in changes:
        node = nodes.get(number)
        if node is None:
            continue
        grew = any(b > a for a, b in zip(node.free, free, strict=True))
        node.free = list(free)
        if grew:
            room.touch(node)
        want = next((n for n in nodes.values() if fits((2, 1), n.free)), None)
        assert room.first() is want
