"""Whatever happens, in whatever order: both states agree, nothing is over-allocated, and the
journal replays.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

import scripted  # noqa: F401 - registers test policies
from compiled import queue, setup
from loomcard.model.fit_index import FitIndex
from loomcard.model.objects import Node
from loomcard.model.resource import Resource, fits
from loomcard.testing import PolicyMachine
from loomcard.wire.plain_data import decode, encode

SIZES = st.sampled_from([(512, 1), (1024, 1), (2048, 3), (9000, 1), (1024, 0)])


POLICIES = ["fifo", "drf", "test-counter", "test-delay", "test-broken"]


@st.composite
def trees(draw):
    """A root over up to three leaves; the first has a maximum, the others a guarantee."""
    queues = [queue("root", draw(st.sampled_from(["fifo", "drf"])))]
    limits = {"maximum": {"ppm": draw(st.integers(200_000, 1_000_000))}}
    for i, policy in enumerate(draw(st.lists(st.sampled_from(POLICIES), min_size=1, max_size=3))):
        queues.append(queue(f"root.q{i}", policy, user_limit_ppm=800_000, **limits))
        limits = {"guaranteed": {"ppm": draw(st.integers(0, 300_000))}}
    return setup(*queues)


class ClusterMachine(PolicyMachine):
    """Policies that wait, remember and raise, each at its queue."""

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
    room = FitIndex((Resource((2, 1)), ""), nodes)
    for number, free in changes:
        node = nodes.get(number)
        if node is None:
            continue
        grew = any(b > a for a, b in zip(node.free, free, strict=True))
        node.free[:] = free
        if grew:
            room.touch(node)
        want = next((n for n in nodes.values() if fits((2, 1), n.free)), None)
        assert room.first() is want
