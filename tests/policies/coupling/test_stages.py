"""The later stages of a round: what partitions lend, and what is left when queues have what they
are guaranteed of a label. A heartbeat counts once, and in each stage its node may be used.
"""

from __future__ import annotations

from compiled import flat, queue, setup
from coupled import MAP, REDUCE, SLOT, beat, exhausted, job
from loomcard.testing.cluster import Cluster


def lent() -> Cluster:
    """Node 1 of one slot, which a job of another type has, and node 2, of four that it lends."""
    made = Cluster(flat("coupling"))
    made.add_node(1, *SLOT)
    made.add_node(2, 4096, 4, label="x", shared=True)
    made.add_app(9)
    made.ask(9, 1, hosts={"n1": 1}, racks={"/r": 1}, relax=False)
    made.round()
    return made


def test_maps_take_what_is_lent() -> None:
    made = lent()
    job(made, 1, 9, 0)
    assert beat(made, 1) == []
    assert beat(made, 2, 1) == [(1, MAP, 2)] * 4


def test_a_reduce_takes_what_is_lent() -> None:
    made = lent()
    exhausted(made, 1)
    made.ask(1, 1, SLOT, REDUCE)
    assert beat(made, 1) == []
    assert beat(made, 2) == [(1, REDUCE, 2)]


def test_a_heartbeat_counts_once_in_all_stages() -> None:
    """The job waits for node 2 in its first round, and node 1 beats: it has no room."""
    made = lent()
    exhausted(made, 1)
    made.ask(1, 1, (2048, 1), REDUCE)
    beat(made, 1)
    seen = []
    for _ in range(2):
        before = made.memory().beats
        beat(made, 1)
        seen.append((made.memory().waiting[0].wait, made.memory().beats - before))
    assert seen == [(1, 1), (2, 1)]


def test_no_heartbeat_no_map() -> None:
    """A round without heartbeats does not look at the nodes of the one before."""
    made = lent()
    made.ask(9, 0)
    beat(made, 2)
    job(made, 1, 1, 0)
    assert made.round() == []


def test_what_a_guarantee_on_a_label_leaves_goes_to_others() -> None:
    """Queue a is below what it is guaranteed of the label, and asks for more than any node has."""
    made = Cluster(
        setup(
            queue("root", "drf"),
            queue("root.a", "fifo", label_guaranteed_ppm={"x": 500_000}),
            queue("root.b", "coupling"),
        )
    )
    made.add_node(1, 4096, 4, label="x")
    made.add_app(1, "root.a")
    made.ask(1, 1, (4096, 1), hosts={"gone": 1}, racks={"/gone": 1}, relax=False, label="x")
    job(made, 2, 4, 0, queue="root.b", label="x")
    found = [grant for _ in range(3) for grant in beat(made, 1)]
    assert found == [(2, MAP, 1)] * 4
