"""Tests of the later stages of a round: room that partitions lend, and room that is left when
queues have their guarantees on a label. A heartbeat counts once, and its node may be used in each
stage.
"""

from __future__ import annotations

import pytest

from compiled import config, flat, queue
from coupled import MAP, REDUCE, SLOT, beat, exhausted, finish, job
from loomcard.testing.cluster import Cluster


def lent() -> Cluster:
    """Return a cluster with node 1 of one slot, which a job of another type uses, and node 2 of
    four slots, which it lends.
    """
    made = Cluster(flat("coupling"))
    made.add_node(1, *SLOT)
    made.add_node(2, 4096, 4, label="x", shared=True)
    made.add_app(9)
    made.ask(9, 1, SLOT, 1, hosts={"n1": 1}, racks={"/r": 1}, relax=False)
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


def waits_for_node_2() -> Cluster:
    """Return such a cluster in which nodes 3 to 6 lend too. All output of the job is on node 2, and
    it asks for a reduce.
    """
    made = lent()
    job(made, 1, 1, 1)
    beat(made, 2)
    finish(made, 1)
    for node in range(3, 7):
        made.add_node(node, 4096, 4, label="x", shared=True)
    made.ask(1, 1, SLOT, REDUCE)
    return made


@pytest.mark.parametrize("others", [0, 4])
def test_a_heartbeat_counts_once_in_all_stages(others: int) -> None:
    """This holds for a node with room and for one that others fill."""
    made = waits_for_node_2()
    made.ask(9, others, hosts={"n3": others}, racks={"/r": others}, relax=False, label="x")
    made.round()
    seen = []
    for _ in range(3):
        before = made.memory().beats
        beat(made, 3)
        seen.append((made.memory().waiting[0].wait, made.memory().beats - before))
    assert seen == [(0, 1), (1, 1), (2, 1)]


@pytest.mark.parametrize("node", [2, 3, 4, 5, 6])
def test_who_is_chosen_at_a_heartbeat_waits_for_another(node: int) -> None:
    """This holds in the later stages too, and for any of the job's lists that contains the node."""
    assert beat(waits_for_node_2(), node) == []


def test_no_heartbeat_no_map() -> None:
    """A round without heartbeats does not look at the nodes of the round before."""
    made = lent()
    made.ask(9, 0)
    beat(made, 2)
    job(made, 1, 1, 0)
    assert made.round() == []


def test_what_a_guarantee_on_a_label_leaves_goes_to_others() -> None:
    """Queue a is below its guarantee on the label, and asks for more than any node has."""
    made = Cluster(
        config(
            queue("root", "drf"),
            queue("root.a", "fifo", label_guaranteed_ppm={"x": 500_000}),
            queue("root.b", "coupling"),
        )
    )
    made.add_node(1, 4096, 4, label="x")
    made.add_app(1, "root.a")
    made.ask(1, 1, (4096, 1), hosts={"gone": 1}, racks={"/gone": 1}, relax=False, label="x")
    job(made, 2, 4, 0, queue="root.b", label="x")
    found = [allocation for _ in range(3) for allocation in beat(made, 1)]
    assert found == [(2, MAP, 1)] * 4
