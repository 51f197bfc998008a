"""A queue's guarantee on the nodes of a label is served before the demand of its siblings there."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import config, queue
from loomcard.engine.session import replay
from loomcard.testing.cluster import Allocated, Cluster

POLICIES = ["fifo", "drf", "fair", "capacity", "strict", "tetris", "hdrf"]


def promised(ppm: int, **keys: object) -> dict[str, object]:
    return {"label_guaranteed_ppm": {"gpu": ppm}, **keys}


def engine_of(*queues: dict[str, object], gpus: int = 10) -> Cluster:
    """Return a cluster with ``gpus`` GB of nodes with the label gpu, which lend."""
    engine = Cluster(config(*queues))
    engine.add_node(1, 1024 * gpus, 100, label="gpu", shared=True)
    return engine


def of(allocated: Sequence[Allocated]) -> list[int]:
    return sorted(g.app for g in allocated)


@pytest.mark.parametrize("policy", POLICIES)
def test_who_is_below_the_guarantee_goes_first(policy: str) -> None:
    """This holds for any policy and any order of arrival. Afterwards all queues share what is
    left.
    """
    engine = engine_of(
        queue("root", "fifo"),
        queue("root.a", policy),
        queue("root.b", policy, **promised(400_000)),
    )
    for number, path in ((1, "root.a"), (2, "root.b")):
        engine.add_app(number, path)
        engine.ask(number, 20, label="gpu")
    engine.round()
    while engine.round():
        pass
    held = of(list(engine.containers.values()))
    assert len(held) == 10
    assert held.count(2) >= 4


def test_beyond_the_guarantee_the_policy_decides() -> None:
    """A queue that has received its guarantee has no more right than any other."""
    engine = engine_of(
        queue("root", "drf"),
        queue("root.a", "fifo"),
        queue("root.b", "fifo", **promised(200_000)),
    )
    for number, path in ((1, "root.a"), (2, "root.b")):
        engine.add_app(number, path)
        engine.ask(number, 20, label="gpu")
    assert of(engine.round()) == [1] * 5 + [2] * 5


@pytest.mark.parametrize("policy", ["fifo", "hdrf"])
def test_who_cannot_be_served_holds_nobody_back(policy: str) -> None:
    """Asks of the queue with the guarantee do not delay others if they fit nowhere, if a maximum
    forbids them, or if they name a node that does not exist.
    """
    engine = engine_of(
        queue("root", policy),
        queue("root.a", "fifo"),
        queue("root.b", "fifo", **promised(900_000, maximum={"ppm": 100_000})),
    )
    engine.add_app(1, "root.a")
    engine.ask(1, 20, label="gpu")
    engine.add_app(2, "root.b")
    engine.ask(2, 1, (99_999, 1), 1, label="gpu")
    engine.ask(2, 1, (1024, 1), 2, label="gpu", hosts={"gone": 1}, racks={"/gone": 1}, relax=False)
    engine.ask(2, 5, (2048, 1), 3, label="gpu")
    engine.ask(2, 9, (512, 1), 4)
    got = of(engine.round())
    got += of(engine.round())
    assert got.count(1) == 10 if policy == "hdrf" else got == [1] * 10


def test_what_waits_has_its_reason_reported() -> None:
    """A reason is sent once and stays valid until it changes."""
    engine = engine_of(
        queue("root", "fifo"),
        queue("root.a", "fifo"),
        queue("root.b", "fifo", **promised(1_000_000)),
    )
    engine.add_app(1, "root.a")
    engine.ask(1, 3, label="gpu")
    engine.add_app(2, "root.b")
    engine.ask(2, 20, label="gpu")
    assert of(engine.round()) == [2] * 10
    assert engine.reasons[1, 20, 0] == "LABEL_GUARANTEE"


def test_a_guarantee_follows_the_nodes_and_the_tree() -> None:
    """root.a is owed half, of which root.a.x is owed two fifths; the rest is served first in, first
    out. Twice the nodes are twice the guarantee.
    """
    engine = engine_of(
        queue("root", "fifo"),
        queue("root.a", "fifo", **promised(500_000), leaf=False),
        queue("root.a.x", "fifo", **promised(400_000)),
        queue("root.a.y", "fifo"),
        queue("root.b", "fifo"),
    )
    for number, path in ((1, "root.b"), (2, "root.a.y"), (3, "root.a.x")):
        engine.add_app(number, path, submitted_ms=number)
        engine.ask(number, 20, label="gpu")
    assert of(engine.round()) == [1] * 5 + [2] * 3 + [3] * 2
    engine.lose_node(1)
    engine.add_node(2, 1024 * 20, 100, label="gpu")
    assert of(engine.round()) == [1] * 10 + [2] * 6 + [3] * 4


def test_a_snapshot_and_a_replay_go_the_same_way(tmp_path) -> None:
    """The stages of a round depend on the mirror alone."""
    queues = config(
        queue("root", "drf"), queue("root.a", "fifo"), queue("root.b", "fifo", **promised(400_000))
    )
    engine = Cluster(queues, journal=tmp_path, segment_rounds=2)
    engine.add_node(1, 4096, 8)
    engine.add_node(2, 10240, 100, label="gpu", shared=True)
    for number, path in ((1, "root.a"), (2, "root.b"), (3, "root.a")):
        engine.add_app(number, path)
        engine.ask(number, 9, label="gpu" if number < 3 else "")
        engine.round()
    for container in sorted(engine.containers)[::3]:
        engine.complete(container)
        engine.round()
    engine.snapshot()
    engine.round()
    engine.ask(3, 4)
    engine.round()
    assert engine.session.journal is not None
    engine.session.journal.close()
    assert replay(tmp_path) == []


@given(
    parts=st.lists(st.integers(0, 500_000), min_size=2, max_size=2),
    asks=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 12)), min_size=1, max_size=6),
    ends=st.lists(st.integers(0, 50), max_size=6),
    policy=st.sampled_from(["fifo", "drf", "capacity"]),
)
def test_nobody_gets_more_while_a_sibling_is_owed(
    parts: list[int], asks: list[tuple[int, int]], ends: list[int], policy: str
) -> None:
    """In the order of a round's plan, a queue that has its guarantee gets no container if a sibling
    below its own guarantee still waits at the end. All containers have one size.
    """
    queues = [queue("root", policy), queue("root.q1", policy)]
    queues += [queue(f"root.q{n}", policy, **promised(p)) for n, p in enumerate(parts, 2)]
    engine = engine_of(*queues)
    most = [0, *(10 * p // 1_000_000 for p in parts)]
    exact = [0.0, *(10 * p / 1_000_000 for p in parts)]
    for number in (1, 2, 3):
        engine.add_app(number, f"root.q{number}")
    waiting = {1: 0, 2: 0, 3: 0}
    for step in range(max(len(asks), len(ends)) + 1):
        if step < len(asks):
            app, count = asks[step]
            waiting[app] = count
            engine.ask(app, count, label="gpu")
        if step < len(ends) and engine.containers:
            engine.complete(sorted(engine.containers)[ends[step] % len(engine.containers)])
        held = [sum(g.app == n for g in engine.containers.values()) for n in (1, 2, 3)]
        allocated = engine.round()
        beyond = False
        for g in allocated:
            beyond = beyond or held[g.app - 1] >= exact[g.app - 1]
            held[g.app - 1] += 1
            waiting[g.app] -= 1
        owed = [n for n in (1, 2, 3) if waiting[n] and held[n - 1] < most[n - 1]]
        assert not (beyond and owed), (allocated, owed)
