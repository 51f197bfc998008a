"""Tests of several reduces that wait for a place at the same time, as on large clusters."""

import pytest
from hypothesis import settings

from coupled import REDUCE, SLOT, beat, coupling, exhausted, finish, job, reduces, state
from loomcard.policies.coupling.options import Options
from loomcard.testing import PolicyMachine, check_contract
from loomcard.testing.cluster import Cluster

SEVERAL = "version: 1\npolicy: coupling\noptions: {nodes_per_candidate: 1}"


@pytest.mark.parametrize(
    ("each", "nodes", "found"), [(100, 1, 1), (100, 100, 1), (100, 101, 2), (0, 5000, 1)]
)
def test_one_for_each_so_many_nodes(each: int, nodes: int, found: int):
    assert Options(nodes_per_candidate=each).candidates(nodes) == found


def two_jobs(each: int) -> Cluster:
    """Return a cluster of two nodes with two jobs, each of which may start its reduce. Both jobs'
    output is on node 2, which never sends a heartbeat.
    """
    made = coupling(4, 4, nodes_per_candidate=each)
    for app in (1, 2):
        job(made, app, 1, 1)
        beat(made, 2)
        finish(made, app)
        made.ask(app, 1, SLOT, REDUCE)
    return made


def waited(each: int) -> list[int]:
    """Return the numbers of node 1's heartbeats at which a reduce started."""
    made = two_jobs(each)
    return [number for number in range(12) if reduces(beat(made, 1))]


def test_they_wait_at_the_same_time():
    """Node 1 is second for both jobs, so a reduce goes there in the second round of its wait. The
    second job is chosen one heartbeat after the first, or, as in the paper, after the first was
    launched.
    """
    assert waited(0) == [2, 6]
    assert waited(1) == [2, 3]


def test_at_most_one_reduce_a_heartbeat():
    """Both reduces may start on node 2 in their first round."""
    made = two_jobs(1)
    beat(made, 1)
    assert [len(reduces(beat(made, 2))) for _ in range(3)] == [1, 1, 0]


@pytest.mark.parametrize(("finished", "found"), [(1, 0), (2, 1), (3, 1), (4, 2)])
def test_a_job_is_a_candidate_as_often_as_its_maps_have_earned_reduces(finished: int, found: int):
    """A job of 8 maps and 2 reduces earns its first reduce with 2 maps and the second with 4."""
    made = coupling(6, nodes_per_candidate=1)
    made.add_node(8, 0, 0)
    made.add_node(9, 0, 0)
    job(made, 1, 8, 2)
    beat(made, 1)
    made.ask(1, 2, SLOT, REDUCE)
    finish(made, 1, finished)
    beat(made, 9, 9, 9)
    assert state(made)["candidates"] == found


def test_one_is_chosen_at_a_heartbeat():
    """Three reduces are asked for, and three may wait."""
    made = coupling(1, 1, nodes_per_candidate=1)
    exhausted(made, 1)
    made.add_node(9, 0, 0)
    made.ask(1, 3, SLOT, REDUCE)
    found = []
    for _ in range(3):
        beat(made, 9)
        found.append(state(made)["candidates"])
    assert found == [1, 2, 3]


def test_a_job_is_no_candidate_for_more_reduces_than_it_asks_for():
    made = coupling(1, 1, 1, nodes_per_candidate=1)
    exhausted(made, 1)
    made.ask(1, 2, SLOT, REDUCE)
    made.add_node(9, 0, 0)
    beat(made, 9, 9, 9)
    assert state(made)["candidates"] == 2


def test_there_are_fewer_when_nodes_are_lost():
    made = coupling(1, 1, 1, nodes_per_candidate=1)
    exhausted(made, 1)
    made.ask(1, 2, SLOT, REDUCE)
    made.add_node(9, 0, 0)
    beat(made, 9, 9, 9)
    for node in (1, 2, 3):
        made.lose_node(node)
    beat(made, 9)
    assert state(made)["candidates"] <= 1


def test_a_refused_one_waits_on_in_a_place_of_its_own():
    made = two_jobs(1)
    beat(made, 1, 1)
    made.refuse = lambda _: "NODE_FULL"
    assert beat(made, 2) == []
    made.refuse = lambda _: None
    made.round()
    assert state(made)["candidates"] == 2


def test_who_gives_up_though_a_node_could_take_it_lets_others_go_first_for_the_usual_time_alone():
    """Node 2 has room but sends no heartbeat, and node 1 has no room."""
    made = coupling(1, 4)
    for app in (1, 2):
        job(made, app, 1, 1)
        beat(made, 2)
        finish(made, app)
        made.ask(app, 1, SLOT, REDUCE)
    made.add_app(9)
    made.ask(9, 1, hosts={"n1": 1}, racks={"/a": 1}, relax=False)
    while not made.memory().excluded:
        beat(made, 1)
    assert [often for often, _ in made.memory().excluded.values()] == [0]


def test_of_reduces_of_two_sizes_the_one_that_fits_is_placed():
    """The first ask fits on no node; the second fits at once on the node of the job's output."""
    made = coupling(1, 4)
    job(made, 1, 1, 2)
    beat(made, 2)
    finish(made, 1)
    made.ask(1, 1, (99_999, 1), REDUCE, request_id=1)
    made.ask(1, 1, SLOT, REDUCE, request_id=2)
    assert [len(reduces(beat(made, 2))) for _ in range(2)] == [0, 1]


def ready_reduce() -> Cluster:
    """Return four nodes and a chosen reduce whose data is on node 2, which is full. Node 1, in
    another rack, has had two heartbeats.
    """
    made = coupling(4, 4, 4, 5)
    job(made, 1, 1, 1)
    beat(made, 2)
    finish(made, 1)
    job(made, 2, 4, 0)
    beat(made, 2)
    made.ask(1, 1, SLOT, REDUCE)
    assert beat(made, 1, 1) == []
    return made


def test_a_node_that_gets_room_may_be_the_first_of_the_lists():
    """Node 4, in the rack of the data, is first until a container on node 2 ends."""
    made = ready_reduce()
    finish(made, 2, node=2)
    assert beat(made, 2) == [(1, REDUCE, 2)]


def test_the_next_node_is_first_as_soon_as_the_first_is_full():
    """Once node 4 is full, node 1 or node 3 is first: which one is drawn."""
    made = ready_reduce()
    made.add_app(3)
    made.ask(3, 1, (5 * 1024, 5))
    assert [each.node for each in made.round()] == [4]
    assert reduces(beat(made, 1, 3)) == [1]


def test_of_two_sizes_the_one_that_fits_outside_lent_room_is_looked_at():
    """Nodes 1 and 2 lend idle room, in which the large reduce fits. Outside it only the small one
    does, on node 3, where the job's output is.
    """
    made = coupling()
    for node, rack in ((1, "/a"), (2, "/b")):
        made.add_node(node, 8 * 1024, 8, rack=rack, label="x", shared=True)
    made.add_node(3, *SLOT, rack="/a")
    job(made, 1, 1, 2)
    beat(made, 3)
    finish(made, 1)
    made.ask(1, 1, (4 * 1024, 4), REDUCE, request_id=1)
    made.ask(1, 1, SLOT, REDUCE, request_id=2)
    assert [beat(made, node) for node in (2, 2, 3)] == [[], [], [(1, REDUCE, 3)]]


def test_another_memory_has_lists_of_its_own():
    """After a late plan heartbeats and finished maps are counted anew, from what was saved, and may
    come to the same numbers again: first the output is on node 1, then, once more, on node 2.
    """
    made = coupling(2, 2, 2, 2)
    job(made, 1, 2, 1, hosts={"n1": 1, "n2": 1}, racks={"/a": 1, "/b": 1})
    beat(made, 1)
    beat(made, 2)
    made.ask(1, 1, SLOT, REDUCE)
    made.round(2_000)  # saves
    made.add_app(2)
    for node in (1, 2):
        made.ask(2, 1)
        made.round(late=True)
        made.ask(2, 0)
        finish(made, 1, node=node)
        if node == 1:
            assert [beat(made, 4), beat(made, 4)] == [[], []]
    assert [beat(made, 4), beat(made, 2)] == [[], [(1, REDUCE, 2)]]


@pytest.mark.slow
def test_contract():
    check_contract(SEVERAL)


class Life(PolicyMachine):
    """Any events on a cluster with one candidate for each node."""

    policy = SEVERAL


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=20, stateful_step_count=25)
