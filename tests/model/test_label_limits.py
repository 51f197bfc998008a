"""A policy does not decide what a queue's labels forbid, because the engine would refuse it."""

from compiled import config, queue
from loomcard.testing.cluster import Cluster


def labelled() -> Cluster:
    """Return a cluster with 4 GB of nodes with the label gpu. root.a may use half of them, root.b
    no label at all.
    """
    half = {"gpu": 500_000}
    queues = config(
        queue("root", "fifo"),
        queue("root.a", "fifo", labels=["gpu"], label_maximum_ppm=half),
        queue("root.b", "fifo", labels=[]),
        queue("root.c", "fifo"),
    )
    engine = Cluster(queues)
    engine.add_node(1, 4096, 8)
    engine.add_node(2, 2048, 8, label="gpu")
    engine.add_node(3, 2048, 8, label="gpu")
    return engine


def test_a_queue_stays_below_its_maximum_on_a_label() -> None:
    """Queues that are not limited get the rest; when a container ends, there is room for one
    more.
    """
    engine = labelled()
    engine.add_app(1, "root.a")
    engine.ask(1, 9, label="gpu")
    assert len(engine.round()) == 2
    engine.add_app(2, "root.c")
    engine.ask(2, 1, label="gpu")
    assert [allocated.app for allocated in engine.round()] == [2]
    engine.complete(next(n for n, g in engine.containers.items() if g.app == 1))
    assert [allocated.app for allocated in engine.round()] == [1]


def test_a_queue_without_the_label_gets_none() -> None:
    """Such a queue uses the nodes without a label."""
    engine = labelled()
    engine.add_app(1, "root.b")
    engine.ask(1, 2, label="gpu")
    assert engine.round() == []
    engine.ask(1, 2, priority=21)
    assert len(engine.round()) == 2


def test_the_maximum_follows_the_nodes() -> None:
    """After a node is lost, the maximum is half of the nodes that are left."""
    engine = labelled()
    engine.lose_node(3)
    engine.add_app(1, "root.a")
    engine.ask(1, 9, label="gpu")
    assert len(engine.round()) == 1


def test_use_outlives_a_snapshot_and_a_move() -> None:
    """Containers that run are counted again under the same limits."""
    engine = labelled()
    engine.add_app(1, "root.a")
    engine.ask(1, 9, label="gpu")
    assert len(engine.round()) == 2
    engine.snapshot()
    assert engine.round() == []
