"""Tests of coupling on clusters that change while a reduce waits for its place, and on small
ones.
"""

from math import inf, nan

import pytest

from compiled import flat
from coupled import REDUCE, SLOT, beat, coupling, exhausted, finish, job, reduces, rounds_till
from loomcard.policies.coupling.policy import Coupling
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

FAILED = 5


# Changes of the cluster during a wait


def waiting_for_node_3() -> Cluster:
    """Return a cluster in which all output is on node 3 of four. Node 3 is full, and the reduce
    waits in its first round.
    """
    made = coupling(1, 1, 4, 1)
    job(made, 1, 4, 2)
    beat(made, 3)
    finish(made, 1, 4)
    made.ask(1, 2, SLOT, REDUCE)
    beat(made, 1)
    assert made.memory().waiting[0].wait == 0
    beat(made, 1)
    assert made.memory().waiting[0].wait == 1
    return made


def test_the_node_that_is_waited_for_is_lost():
    """The maps have to run again, and no reduce starts before they have."""
    made = waiting_for_node_3()
    made.lose_node(3)
    made.ask(1, 4, SLOT, FAILED)
    found = [each for _ in range(3) for each in beat(made, 1, 2, 4)]
    assert reduces(found) == []
    assert sorted(c.node for c in made.containers.values()) == [1, 2, 4]
    finish(made, 1, 3, FAILED)
    assert rounds_till(made, 1, 6) <= 5


def test_all_nodes_are_lost_and_one_comes():
    made = waiting_for_node_3()
    for node in (1, 2, 3, 4):
        made.lose_node(node)
    made.round()
    made.add_node(5, 1024, 1)
    made.round()
    assert rounds_till(made, 1, 5) <= 4


def test_a_restart_in_mid_wait():
    """The waiting job is chosen again; its progress, and so the place of its data, is still
    known.
    """
    made = waiting_for_node_3()
    made.round(2_000)
    made.snapshot()
    beat(made, 1)
    assert made.memory().waiting[0].wait == 0
    assert beat(made, 2) == []
    assert reduces(beat(made, 3)) == [1]


def test_a_swap_in_mid_wait():
    """fifo governs for one round, in which no node sends a heartbeat."""
    made = waiting_for_node_3()
    made.round(2_000)
    for version, policy in ((2, "fifo"), (3, "coupling")):
        made.compiled = flat(policy)
        made.ask(1, 0, SLOT, REDUCE)
        made.send(r.ConfigRecord(made.now, version, made.compiled))
        made.round()
    made.ask(1, 2, SLOT, REDUCE)
    beat(made, 1)
    assert beat(made, 2) == []
    assert reduces(beat(made, 3)) == [1]


# Small and unusual clusters


@pytest.mark.parametrize(
    ("lists", "expected"),
    [("all", [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]), ("open", [0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0])],
)
def test_one_node_takes_one_reduce_at_once_and_the_next_in_the_fourth_round(lists, expected):
    """In the paper three rounds of one heartbeat each pass first. With the other lists, one
    heartbeat shows that no other node has room.
    """
    made = coupling(9, lists=lists)
    exhausted(made, 1)
    made.ask(1, 3, SLOT, REDUCE)
    assert [len(reduces(beat(made, 1))) for _ in range(11)] == expected


@pytest.mark.parametrize(("lists", "expected"), [("all", 6), ("open", 2)])
def test_a_node_that_runs_a_reduce_of_the_job_leaves_its_lists(lists, expected):
    """Of four nodes two are kept, nodes 1 and 3, and the first two reduces take them. The third
    reduce is chosen at node 4's second or third heartbeat. It then waits for a fourth round, or, if
    the other two nodes are listed instead, for one heartbeat of either.
    """
    made = coupling(9, 9, 9, 9, kept_nodes=2, lists=lists)
    job(made, 1, 4, 3)
    beat(made, 1)
    finish(made, 1, 4)
    made.ask(1, 3, SLOT, REDUCE)
    rounds = [len(reduces(beat(made, 1, 2, 3, 4))) for _ in range(12)]
    assert sum(rounds) == 3
    third = [i for i, count in enumerate(rounds) for _ in range(count)][2]
    assert third == expected


def test_racks_of_one_node():
    made = coupling()
    for node in range(1, 6):
        made.add_node(node, 2048, 2, rack=f"/r{node}")
    job(made, 1, 10, 5)
    assert len(beat(made, 1, 2, 3, 4, 5)) == 10
    finish(made, 1, 10)
    made.ask(1, 5, SLOT, REDUCE)
    where = [node for _ in range(40) for app, _, node in beat(made, 1, 2, 3, 4, 5)]
    assert sorted(where) == [1, 2, 3, 4, 5]


def test_distances_of_places_that_are_not_there():
    """The distances name places that do not exist, a place's distance to itself, and one direction
    alone; the known ones count.
    """
    made = coupling(2, distances={"/nowhere": {"n77": 1, "/a": 0}, "/b": {"/b": 9}, "": {"": 1}})
    made.add_node(2, 2048, 2, rack="/b")
    exhausted(made, 1)
    made.ask(1, 1, SLOT, REDUCE)
    assert rounds_till(made, 1, 4) <= 4


@pytest.mark.parametrize("hops", [inf, nan, -1, -inf])
def test_hops_are_finite(hops):
    with pytest.raises(ValueError, match="distances"):
        Coupling(distances={"/a": {"/b": hops}})
