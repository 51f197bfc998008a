"""Tests of coupling on clusters of a few nodes: when and where reduces start, where maps start, and
which applications it serves at once.
"""

import pytest

from compiled import config, queue
from coupled import MAP, REDUCE, SLOT, beat, coupling, finish, job, state
from loomcard.policies.coupling.policy import Coupling
from loomcard.policies.coupling.serve import COUPLED, PEEK
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r


def reduces(allocated):
    return [each for each in allocated if each[1] == REDUCE]


def test_reduces_wait_for_their_maps_and_do_not_block_them():
    """With four maps and two reduces, unit = 0.4866*4/2 = 0.97. The first reduce may start when one
    map has finished, the second when two have. The greater urgency of a reduce's ask does not
    matter.
    """
    made = coupling(2, 2)
    job(made, 1, 4, 2)
    made.ask(1, 2, SLOT, REDUCE)
    assert beat(made, 1) == [(1, MAP, 1)] * 2
    finish(made, 1)
    found = [*beat(made, 1), *beat(made, 1)]
    assert reduces(found) == []  # the first heartbeat chose it; the map took the room
    assert len(found) == 1
    assert state(made)["candidate"] is not None
    assert reduces([*beat(made, 2), *beat(made, 2)]) == [(1, REDUCE, 2)]


def test_a_held_reduce_says_why():
    made = coupling(4)
    job(made, 1, 6, 1)
    made.ask(1, 1, SLOT, REDUCE)
    beat(made, 1)
    assert made.reasons[1, REDUCE, 0] == COUPLED


def test_at_most_one_reduce_a_heartbeat_and_two_heartbeats_each():
    made = coupling(8)
    job(made, 1, 1, 3)
    beat(made, 1)
    finish(made, 1)
    made.ask(1, 3, SLOT, REDUCE)
    counts = [len(reduces(beat(made, 1, 1))) for _ in range(2)]
    assert counts == [1, 0]  # the second waits until round 4 on a node that has one already


def test_a_reduce_starts_where_the_maps_were():
    """Three maps ran on node 3 and one on node 1, so the first round is for node 3 alone."""
    made = coupling(1, 4, 3)
    job(made, 1, 4, 1)
    assert beat(made, 3, 1) == [(1, MAP, 3)] * 3 + [(1, MAP, 1)]
    finish(made, 1, 4)
    made.ask(1, 1, SLOT, REDUCE)
    assert beat(made, 2) == []
    assert beat(made, 2, 1) == []
    assert beat(made, 3) == [(1, REDUCE, 3)]
    assert state(made)["first"] == 1


def test_bytes_count_where_a_hint_tells_them():
    """Node 1's map left a hundred times as much output as each of node 3's."""
    made = coupling(1, 4, 3)
    made.add_app(1, type="MAPREDUCE", hints={"loomcard.map_output_bytes": '{"n1": 100, "n3": 1}'})
    made.ask(1, 4, SLOT, MAP)
    beat(made, 3, 1)
    finish(made, 1, 4)
    made.ask(1, 1, SLOT, REDUCE)
    beat(made, 2)
    assert beat(made, 3) == []
    assert beat(made, 1) == [(1, REDUCE, 1)]


@pytest.mark.parametrize("hint", ["", "[1]", '{"n1": "x"}', '{"n1": -1}', "[" * 100_000])
def test_a_hint_that_cannot_be_right_is_none(hint):
    made = coupling(2)
    made.add_app(1, type="MAPREDUCE", hints={"loomcard.map_output_bytes": hint})
    made.ask(1, 1, SLOT, MAP)
    beat(made, 1)
    finish(made, 1)
    made.ask(1, 1, SLOT, REDUCE)
    assert [*beat(made, 1), *beat(made, 1)] == [(1, REDUCE, 1)]


def test_distances_say_which_rack_is_near():
    """All data is in /a. By the option /b is farther from it than /c; without it both are equally
    far.
    """
    made = coupling(2, distances={"/a": {"/b": 9, "/c": 3}})
    made.add_node(2, 2048, 2, rack="/b")
    made.add_node(3, 2048, 2, rack="/c")
    job(made, 1, 2, 1)
    beat(made, 1)
    finish(made, 1, 2)
    made.add_app(2)
    made.ask(2, 2, SLOT)
    made.ask(1, 1, SLOT, REDUCE)
    assert beat(made, 2)[0][0] == 2  # an application of another type takes node 1
    assert beat(made, 2) == []
    assert beat(made, 3) == [(1, REDUCE, 3)]


def test_reduces_of_an_unknown_number_wait_for_the_last_map():
    made = coupling(2)
    job(made, 1, 3, 0, tags=[])
    made.ask(1, 1, SLOT, REDUCE)
    beat(made, 1)
    finish(made, 1)
    assert reduces([*beat(made, 1), *beat(made, 1)]) == []  # the third map is running
    finish(made, 1)
    assert reduces([*beat(made, 1), *beat(made, 1)]) == [(1, REDUCE, 1)]


def test_maps_are_counted_as_they_were_asked_for():
    """If the job states no number of maps, it is counted: six at first, of which four run and two
    wait. As maps end, the total stays.
    """
    made = coupling(4)
    job(made, 1, 6, 0, tags=["reduces=1"])
    found = []
    for _ in range(3):
        beat(made, 1)
        finish(made, 1, 2)
        row = state(made)["jobs"][0]
        found.append((row["maps"], row["finished_maps"], row["pending_maps"]))
    assert found == [(6, 2, 2), (6, 4, 0), (6, 6, 0)]


def test_or_start_at_once_where_the_option_says_so():
    made = coupling(2, 2, unknown_reduces="launch")
    job(made, 1, 9, 0, tags=[])
    made.ask(1, 1, SLOT, REDUCE)
    assert reduces(beat(made, 1)) != []


def test_what_failed_or_was_killed_is_not_finished():
    made = coupling(4)
    job(made, 1, 4, 1)
    beat(made, 1)
    for number, kind in zip(sorted(made.containers), ["killed", "released", "preempted"]):  # noqa: B905
        made.complete(number, kind)
    last = max(made.containers)
    made.send(r.ContainerCompletedRecord(made.now, last, "completed", 1))
    assert state(made)["jobs"][0]["finished_maps"] == 0
    made.ask(1, 4, SLOT, 5)
    made.ask(1, 1, SLOT, REDUCE)
    beat(made, 1)
    assert state(made)["jobs"][0]["finished_maps"] == 0


def test_the_maps_of_a_lost_node_are_to_be_run_again():
    made = coupling(2, 2)
    job(made, 1, 4, 2)
    beat(made, 1, 2)
    finish(made, 1, 2, node=1)
    assert state(made)["jobs"][0]["finished_maps"] == 2
    made.lose_node(1)
    assert state(made)["jobs"][0]["finished_maps"] == 0
    made.ask(1, 2, SLOT, 5)
    made.round(2000)
    beat(made, 2)
    row = state(made)["jobs"][0]
    assert (row["maps"], row["finished_maps"], row["pending_maps"]) == (4, 0, 2)


def test_other_kinds_of_application_are_served_at_once():
    """For these applications neither heartbeats nor priorities matter."""
    made = coupling(4)
    made.add_app(1)
    made.ask(1, 2, SLOT, REDUCE)
    made.ask(1, 2, SLOT, MAP)
    assert len(made.round()) == 4


def test_maps_are_shared_fairly():
    made = coupling(4)
    job(made, 1, 9, 0)
    job(made, 2, 9, 0)
    assert sorted(app for app, _, _ in beat(made, 1)) == [1, 1, 2, 2]


WISHES = {"hosts": {"n1": 40}, "racks": {"/a": 40}}


def test_a_map_without_input_here_waits_for_another_node():
    """One of three nodes with room has all input. On the others p = 1 - (1/3)**beta * (1 - exp(-2))
    < 1, and there p = 1. The room of a map that was passed stays free until the next heartbeat.
    """
    made = coupling(10, 10, 10, 10)
    job(made, 1, 40, 0, **WISHES)
    here = beat(made, 2, 4)
    assert 0 < len(here) < 20
    assert state(made)["passed"] == 20 - len(here)
    assert made.reasons[1, MAP, 0] == PEEK
    assert len(beat(made, 1)) == 10
    assert state(made)["local"] == 10


def test_where_nobody_else_has_room_a_map_starts():
    made = coupling(1, 10)
    job(made, 1, 40, 0, **WISHES)
    assert len(beat(made, 1)) == 1
    assert len(beat(made, 2)) == 10
    found = state(made)
    assert (found["passed"], found["local"], found["remote"]) == (0, 1, 10)


def test_a_map_that_is_passed_counts_in_the_fair_order():
    """Job 1's map has input on all nodes but this one, and is passed. Job 2, whose input is here,
    is next, although both still have no container.
    """
    made = coupling(2, 2, 2, 2, 2, 2, 2, 2)
    elsewhere = {f"n{node}": 8 for node in range(1, 9) if node != 2}
    job(made, 1, 8, 0, hosts=elsewhere, racks={"/a": 8})
    job(made, 2, 1, 0, hosts={"n2": 1}, racks={"/b": 1})
    assert beat(made, 2) == [(2, MAP, 2)]
    assert state(made)["passed"] == 1


@pytest.mark.parametrize(("here", "there"), [(5, MAP), (MAP, 5)])
def test_of_a_jobs_maps_the_one_with_input_here_starts(here, there):
    """This does not depend on which of its asks comes first."""
    made = coupling(1, 1)
    job(made, 1, 0, 0)
    made.ask(1, 1, SLOT, there, hosts={"n1": 1}, racks={"/a": 1})
    made.ask(1, 1, SLOT, here, hosts={"n2": 1}, racks={"/b": 1})
    assert beat(made, 2) == [(1, here, 2)]


def test_a_peek_at_some_nodes_is_a_draw():
    """The peek sees one of four nodes, so pm is 0 or 1."""
    made = coupling(10, 10, 10, 10, peeked_nodes=1, alpha_rack=1.0)
    job(made, 1, 40, 0, **WISHES)
    beat(made, 2)
    beat(made, 4)
    job_state = state(made)["jobs"][0]
    assert job_state["p"] is not None


@pytest.mark.parametrize("peeked_nodes", [0, 2])
def test_the_only_node_with_room_may_count_itself(peeked_nodes):
    """The node with all input is full. Without itself, node 2 knows no other with room: nm = 0 and
    p = 1. With itself nm = 1, and p = 1 - (1/2)**beta * (1 - 1/e) < 1.
    """
    for counts, sure in ((False, True), (True, False)):
        options = {"peeked_nodes": peeked_nodes, "peek_counts_own": counts, "alpha_rack": 1.0}
        made = coupling(1, 30, 1, **options)
        made.lose_node(3)
        job(made, 1, 31, 0, **WISHES)
        beat(made, 1)
        assert (len(beat(made, 2)) == 30) is sure
        assert (state(made)["jobs"][0]["p"] == 1) is sure


def test_delay_scheduling_waits_for_its_time():
    """In the baseline a map waits 15 s for a local node, then 15 s for its rack, then takes any
    node.
    """
    made = coupling(4, 4, 4, maps="delay", reduces="greedy")
    job(made, 1, 40, 0, **WISHES)
    assert beat(made, 2, 3) == []
    made.round(15_000)
    assert {node for _, _, node in beat(made, 2, 3)} == {3}
    made.round(15_000)
    assert {node for _, _, node in beat(made, 2)} == {2}
    assert {node for _, _, node in beat(made, 1)} == {1}


def test_a_map_that_starts_on_its_node_begins_the_delay_anew():
    made = coupling(1, 4, 4, maps="delay", reduces="greedy")
    job(made, 1, 40, 0, **WISHES)
    assert beat(made, 3) == []
    made.round(10_000)
    assert beat(made, 1) == [(1, MAP, 1)]
    made.round(5_000)
    assert beat(made, 3) == []
    made.round(10_000)
    assert len(beat(made, 3)) == 4


def test_maps_that_name_no_node_wait_for_none():
    made = coupling(4, maps="delay")
    job(made, 1, 2, 0)
    assert len(beat(made, 1)) == 2


def test_a_refused_reduce_goes_on_in_the_next_round():
    made = coupling(4, 4, 4)
    job(made, 1, 1, 1)
    beat(made, 1)
    finish(made, 1)
    made.ask(1, 1, SLOT, REDUCE)
    beat(made, 1)
    made.refuse = lambda _: "NODE_FULL"
    made.round()
    assert beat(made, 1) == []
    made.refuse = lambda _: None
    made.round()
    waiting = made.memory().waiting[0]
    assert (waiting.candidate is not None, waiting.wait) == (True, 4)
    assert [*beat(made, 2), *beat(made, 3)] != []


def test_a_reduce_that_fits_nowhere_holds_nobody_up():
    """No node is large enough for job 1's reduce, although its maps are exhausted."""
    made = coupling(2, 2)
    for app in (1, 2):
        job(made, app, 1, 1)
    beat(made, 1)
    for app in (1, 2):
        finish(made, app)
    made.ask(1, 1, (9999, 1), REDUCE)
    made.ask(2, 1, SLOT, REDUCE)
    assert reduces([*beat(made, 1, 1, 2, 2)]) == [(2, REDUCE, 1)]


def test_who_gave_up_lets_others_go_first():
    """Both nodes are too full for job 1's large reduce; the room that becomes free is enough for a
    small one only.
    """
    made = coupling(4, 4, reserve_after_ms=0)
    for app in (1, 2):
        job(made, app, 1, 1)
    beat(made, 1)
    for app in (1, 2):
        finish(made, app)
    made.add_app(3)
    made.ask(3, 8, SLOT)
    made.round()
    made.ask(1, 1, (4096, 4), REDUCE)
    for _ in range(5):
        beat(made, 1, 2)
    assert state(made)["gave_up"] == 1  # it is chosen, then 4N + 1 heartbeats pass
    made.ask(2, 1, SLOT, REDUCE)
    finish(made, 3, 1)
    found = [allocated for _ in range(9) for allocated in beat(made, 1, 2)]
    assert reduces(found) == [(2, REDUCE, found[0][2])]


def test_how_far_jobs_are_survives_a_restart():
    made = coupling(2, 2)
    job(made, 1, 4, 2)
    beat(made, 1, 2)
    finish(made, 1, 2)
    beat(made, 1)
    made.snapshot()
    made.round(2000)
    assert state(made)["jobs"][0]["finished_maps"] == 2


def test_each_leaf_queue_has_its_own_candidate():
    queues = [queue("root", "drf"), queue("root.a", "coupling"), queue("root.b", "coupling")]
    made = Cluster(config(*queues))
    for node in (1, 2):
        made.add_node(node, 8192, 8)
    for app in (1, 2):
        job(made, app, 1, 1, queue=app)
    beat(made, 1, 2)
    for app in (1, 2):
        finish(made, app)
        made.ask(app, 1, SLOT, REDUCE)
    assert beat(made, 1) == []
    assert sorted(reduces(beat(made, 1, 2))) == [(1, REDUCE, 1), (2, REDUCE, 1)]


@pytest.mark.parametrize(
    ("option", "value"),
    [("threshold", 0), ("threshold", 3.5), ("kept_nodes", 0), ("alpha_rack", 1.1),
     ("alpha_remote", -0.1), ("alpha_rack_reduce", 2), ("beta_least", -1), ("beta_fixed", 1.5),
     ("peeked_nodes", -1), ("delay_node_ms", -1), ("delay_rack_ms", -1), ("give_up_rounds", -1),
     ("reserve_after_ms", -1), ("reduces", "x"), ("maps", "x"), ("unknown_reduces", "x"),
     ("fairness", "x"), ("distances", {"/a": {"/b": -1}})],
)  # fmt: skip
def test_options_are_checked(option, value):
    with pytest.raises(ValueError, match=option):
        Coupling(**{option: value})
