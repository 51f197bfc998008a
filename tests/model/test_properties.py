"""In any order of events both states agree, nothing is over-allocated, and the journal replays."""

from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

import scripted  # noqa: F401 - registers test policies
from compiled import config, queue
from loomcard.model import fit_index
from loomcard.model.fit_index import FirstFit
from loomcard.model.objects import Node
from loomcard.model.resource import Resource, fits
from loomcard.testing import PolicyMachine
from loomcard.wire.plain_data import decode, encode

SIZES = st.sampled_from([(512, 1), (1024, 1), (2048, 3), (9000, 1), (1024, 0)])


POLICIES = ["fifo", "drf", "test-counter", "test-delay", "test-broken"]


@st.composite
def trees(draw):
    """Return a root over up to three leaves; the first has a maximum, the others a guarantee."""
    queues = [queue("root", draw(st.sampled_from(["fifo", "drf"])))]
    limits = {"maximum": {"ppm": draw(st.integers(200_000, 1_000_000))}}
    for i, policy in enumerate(draw(st.lists(st.sampled_from(POLICIES), min_size=1, max_size=3))):
        queues.append(queue(f"root.q{i}", policy, user_limit_ppm=800_000, **limits))
        limits = {"guaranteed": {"ppm": draw(st.integers(0, 300_000))}}
    return config(*queues)


class ClusterMachine(PolicyMachine):
    """Policies that wait, remember and raise, each in its own queue."""

    tolerant = True

    @classmethod
    def compiled(cls, draw):
        return draw(trees())


ClusterMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestClusterMachine = ClusterMachine.TestCase


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


amounts = st.tuples(st.integers(0, 4), st.integers(0, 4))


@given(
    frees=st.lists(amounts, min_size=1, max_size=12),
    changes=st.lists(st.tuples(st.integers(0, 14), amounts, st.booleans()), max_size=30),
    kept=st.integers(1, 3),
    sizes=st.lists(amounts.map(Resource), min_size=1, max_size=8, unique=True),
)
def test_room_finds_the_lowest_fitting_node(frees, changes, kept, sizes):
    """For sizes with and without an index of their own, the node found is the one that a walk over
    all nodes finds. This holds after any sequence of gains and losses of room, joins and leaves.
    """
    nodes = {i: Node(i, f"n{i}:1", "/r", Resource(free), "") for i, free in enumerate(frees)}
    with mock.patch.object(fit_index, "SHAPES_KEPT", kept):
        room = FirstFit(nodes, "")
        for number, free, stays in changes:
            node = nodes.get(number)
            if not stays:
                nodes.pop(number, None)
            elif node is None:
                nodes[number] = node = Node(number, f"n{number}:1", "/r", Resource(free), "")
                room.touch(node)
            else:
                grew = any(b > a for a, b in zip(node.free, free, strict=True))
                node.free[:] = free
                if grew:
                    room.touch(node)
            for size in sizes:
                want = min((n for n, each in nodes.items() if fits(size, each.free)), default=None)
                found = room.first(size)
                assert (None if found is None else found.number) == want
