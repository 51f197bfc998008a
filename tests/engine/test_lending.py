"""A partition that is not exclusive lends its idle room to asks without a label."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import config, queue
from loomcard.model.objects import Ask
from loomcard.testing.cluster import Allocated, Cluster

POLICIES = [
    "fifo",
    "drf",
    "fair",
    "capacity",
    "strict",
    "tetris",
    "slots",
    "sjf",
    "srtf",
    "hdrf",
    "dress",
]


def two(policy: str = "fifo") -> Cluster:
    """Return a cluster with 4 GB without a label, 4 GB of gpu that lends and 4 GB of fpga that does
    not.
    """
    queues = config(queue("root", "fifo"), queue("root.a", policy), queue("root.b", policy))
    engine = Cluster(queues)
    engine.add_node(1, 4096, 8)
    engine.add_node(2, 4096, 8, label="gpu", shared=True)
    engine.add_node(3, 4096, 8, label="fpga")
    return engine


def nodes(allocated: list[Allocated]) -> list[int]:
    return [g.node for g in allocated]


@pytest.mark.parametrize("policy", POLICIES)
def test_idle_room_is_lent(policy: str) -> None:
    """Nodes that lend are used after the nodes without a label; the exclusive partition stays
    empty.
    """
    engine = two(policy)
    engine.add_app(1, "root.a")
    engine.ask(1, 12)
    got = nodes(engine.round())
    while more := nodes(engine.round()):
        got += more
    assert sorted(got) == [1] * 4 + [2] * 4


@pytest.mark.parametrize("policy", [p for p in POLICIES if p != "dress"])  # it has its quotas
def test_those_who_ask_for_the_label_go_first(policy: str) -> None:
    """Asks for the label are served first in any order of arrival."""
    engine = two(policy)
    engine.add_app(1, "root.a")
    engine.ask(1, 12)
    engine.add_app(2, "root.b")
    engine.ask(2, 3, label="gpu")
    got = [(g.app, g.node) for _ in range(3) for g in engine.round()]
    assert sorted(got) == [(1, 1)] * 4 + [(1, 2)] + [(2, 2)] * 3


def test_what_fits_nowhere_or_is_forbidden_does_not_stop_lending() -> None:
    """Asks for the label that cannot be served do not keep the room from others."""
    queues = config(
        queue("root", "fifo"),
        queue("root.a", "fifo"),
        queue("root.b", "fifo", label_maximum_ppm={"gpu": 250_000}),
    )
    engine = Cluster(queues)
    engine.add_node(1, 4096, 8, label="gpu", shared=True)
    engine.add_app(1, "root.b")
    engine.ask(1, 9, (1024, 1), label="gpu")
    engine.ask(1, 9, (9000, 1), 5, label="gpu")
    engine.add_app(2, "root.a")
    engine.ask(2, 9)
    assert [(g.app, g.node) for g in engine.round()] == [(1, 1)] + [(2, 1)] * 3


def test_one_label_is_not_lent_to_another() -> None:
    """Only asks without a label may use nodes of another partition."""
    engine = two()
    engine.add_app(1, "root.a")
    engine.ask(1, 9, label="fpga")
    assert nodes(engine.round()) == [3] * 4


def test_locality_holds_where_it_is_lent() -> None:
    """A strict ask is placed only on its nodes, and a blacklisted node is not used."""
    engine = two()
    engine.add_node(4, 4096, 8, rack="/s", label="gpu", shared=True)
    engine.add_app(1, "root.a")
    engine.ask(1, 9, hosts={"n4": 9}, racks={"/s": 9}, relax=False)
    assert nodes(engine.round()) == [4] * 4
    engine.add_app(2, "root.a")
    engine.blacklist(2, "n2", "n1")
    engine.ask(2, 2)
    assert nodes(engine.round()) == []
    engine.ask(2, 2, hosts={"n2": 1, "n4": 1}, racks={"/r": 1, "/s": 1})
    engine.complete(next(g.number for g in engine.containers.values() if g.node == 4))
    assert nodes(engine.round()) == [4]


def test_a_label_that_ceases_to_lend() -> None:
    """A node that is relabelled lends no more, but containers that it lent room to stay."""
    engine = two()
    engine.add_app(1, "root.a")
    engine.ask(1, 6)
    assert sorted(nodes(engine.round())) == [1] * 4 + [2] * 2
    engine.relabel_node(2, "gpu")
    engine.ask(1, 2)
    assert engine.round() == []
    engine.relabel_node(2, "ssd", shared=True)
    assert nodes(engine.round()) == [2, 2]


def test_nothing_is_lent_beyond_limits() -> None:
    """Lent room counts towards the queue's maximum and towards the limit of a round."""
    queues = config(queue("root", "fifo"), queue("root.a", "fifo", maximum={"ppm": 750_000}))
    engine = Cluster(queues, round_containers=5)
    engine.add_node(1, 4096, 8)
    engine.add_node(2, 4096, 8, label="gpu", shared=True)
    engine.add_app(1, "root.a")
    engine.ask(1, 12)
    assert nodes(engine.round()) == [1] * 4 + [2]
    assert nodes(engine.round()) == [2]


def on(engine: Cluster, node: int) -> list[int]:
    """Return the applications of a node's containers."""
    return sorted(c.app for c in engine.containers.values() if c.node == node)


@pytest.mark.parametrize(
    "policy", ["capacity", "fair", "fifo", "drf", "tetris", "slots", "sjf", "hdrf"]
)
def test_a_maximum_on_a_label_binds_what_is_lent_there(policy: str) -> None:
    """root.a may use a quarter of gpu, and half of spare; it gets no more of what these lend."""
    options = {"user_limit_factor": -1} if policy == "capacity" else {}
    quarter = {"label_maximum_ppm": {"gpu": 250_000, "spare": 500_000}}
    made = Cluster(
        config(
            queue("root", "fifo"),
            queue("root.a", policy, options=options, **quarter),
            queue("root.b", policy, options=options),
        )
    )
    made.add_node(1, 1024, 1)
    made.add_node(2, 4096, 4, label="gpu", shared=True)
    made.add_node(3, 4096, 4, label="spare", shared=True)
    made.add_app(1, "root.a")
    made.ask(1, 12)
    for _ in range(4):
        made.round()
    assert (on(made, 1), on(made, 2), on(made, 3)) == ([1], [1], [1, 1])
    made.add_app(2, "root.b")
    made.ask(2, 12)
    for _ in range(4):
        made.round()
    assert (on(made, 2), on(made, 3)) == ([1, 2, 2, 2], [1, 1, 2, 2])
    (last,) = [c.number for c in made.containers.values() if c.node == 2 and c.app == 1]
    made.complete(last)
    made.round()
    assert len(on(made, 2)) == 4


SIZES = st.sampled_from([(512, 1), (1024, 1), (2048, 3), (9000, 1)])
LABELS = st.sampled_from(["", "gpu", "fpga"])
ASKS = st.tuples(st.integers(0, 2), st.integers(1, 6), SIZES, LABELS)


@given(
    policy=st.sampled_from(["fifo", "drf", "capacity", "tetris", "slots"]),
    asks=st.lists(ASKS, min_size=1, max_size=8),
    ends=st.lists(st.integers(0, 50), max_size=6),
)
def test_no_ask_waits_that_could_have_room(policy: str, asks: list, ends: list[int]) -> None:
    """After a round no waiting ask fits on a node that it may use. An exclusive partition runs only
    asks with its own label (the cluster refuses all others).
    """
    engine = two(policy)
    for number in (1, 2, 3):
        engine.add_app(number, "root.a" if number < 3 else "root.b")
    for at, (app, count, size, label) in enumerate(asks):
        engine.ask(app + 1, count, size, at + 1, label=label)
        engine.round()
    for end in ends:
        if engine.containers:
            engine.complete(sorted(engine.containers)[end % len(engine.containers)])
        engine.round()
    engine.round()
    state = engine.session.mirror.state
    waiting: list[Ask] = [a for attempt in state.attempts.values() for a in attempt.ordered]
    could = [(a, n) for a in waiting for n in state.nodes.values() if not state.why_not(a, n)]
    assert could == []
