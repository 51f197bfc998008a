"""Tests of room that is reserved on one server: for which ask, where, against which others, and
when it ends.
"""

from hdrf_clusters import grown, held, wants
from loomcard.testing.cluster import Cluster
from preempting import CPU, evictions

AB = {"a": {}, "b": {}}
LARGE = (0, 4, 0)
SERVERS = [(1000, 4, 0), (1000, 4, 0)]


def waiting(*servers, **options):
    """Return a cluster in which a's small tasks are everywhere and b's large one comes late."""
    made = grown("hdrf", AB, *(servers or SERVERS), **options)
    wants(made, 1, "a", CPU)
    made.round()
    wants(made, 2, "b", LARGE, 5)
    made.round()
    return made


def ends(made, node=None):
    """End the oldest container of a server, and run a round a second later."""
    number = next(g.number for g in made.containers.values() if node in (None, g.node))
    made.complete(number)
    return made.round(1000)


def line(made):
    """Return the reservations of the cluster as (application, server)."""
    return [
        (reservation.ask.application.number, reservation.node.number)
        for reservation in made.session.mirror.state.reservations
    ]


def test_the_first_in_line_has_room_held_after_a_time_and_no_sooner():
    """After that, room that becomes free on that server is not given out until the large task fits;
    the other server continues.
    """
    made = waiting(reserve_after_ms=5_000)
    for _ in range(4):
        assert len(ends(made)) == 1
        assert line(made) == []
    for _ in range(3):
        ends(made)
    ((app, node),) = line(made)
    assert app == 2
    assert len(ends(made, 3 - node)) == 1
    while 2 not in held(made):
        assert all(g.app == 2 for g in ends(made, node))
    assert line(made) == []
    assert held(made) == {1: 4, 2: 1}


def test_the_reason_of_who_waits_is_that_room_is_held():
    """The application arrives while room is reserved for another."""
    made = waiting(reserve_after_ms=1_000)
    while not line(made):
        ends(made)
    ends(made, line(made)[0][1])
    wants(made, 3, "a", CPU, 1)
    made.round()
    assert made.reasons[3, 20, 0] == "NODE_RESERVED"


def test_without_holds_the_large_task_waits_for_ever():
    """With reservations no room is reserved for a task of the same size as all others."""
    made = waiting(reserve_after_ms=0)
    for _ in range(30):
        ends(made)
    assert (line(made), held(made)) == ([], {1: 8})
    equal = grown("hdrf", AB, *SERVERS, reserve_after_ms=1_000)
    wants(equal, 1, "a", CPU)
    wants(equal, 2, "b", CPU)
    for _ in range(10):
        equal.round(1000)
        assert line(equal) == []


def test_one_hold_a_partition_however_many_large_tasks_wait():
    """A cluster of four servers does not idle because of five applications."""
    made = waiting(*SERVERS, *SERVERS, reserve_after_ms=1_000)
    for app in range(3, 7):
        wants(made, app, "b", LARGE, 5)
    for _ in range(20):
        ends(made)
        assert len(line(made)) <= 1
        free = [sum(node.free) for node in made.session.mirror.state.nodes.values()]
        assert sum(1 for amounts in free if amounts % 1000) <= 1


def test_a_hold_ends_with_its_ask_and_with_its_server():
    """The room is given out at once, or reserved on another server."""
    made = waiting(reserve_after_ms=1_000)
    while not line(made):
        ends(made)
    lost = line(made)[0][1]
    made.lose_node(lost)
    made.round(1000)
    assert all(node != lost for _, node in line(made))
    for _ in range(3):
        ends(made)
    assert len(line(made)) == 1
    made.ask(2, 0, LARGE)
    assert made.round() or not made.containers
    assert line(made) == []
    assert held(made) == {1: 4}


def test_a_hold_moves_to_a_server_that_has_more_of_the_room():
    """An empty server arrives; the large task runs there at once, and nothing is reserved any
    more.
    """
    made = waiting((1000, 8, 0), (1000, 8, 0), reserve_after_ms=1_000)
    while not line(made):
        ends(made)
    made.add_node(3, 1000, 4, 0)
    made.round(1000)
    assert held(made)[2] == 1
    assert [g.node for g in made.containers.values() if g.app == 2] == [3]


def test_a_server_on_which_the_task_may_not_run_is_not_held():
    """One server is blacklisted, so room is reserved on the other."""
    made = grown("hdrf", AB, *SERVERS, reserve_after_ms=1_000)
    wants(made, 1, "a", CPU)
    made.round()
    made.add_app(2, "root.b")
    made.blacklist(2, "n1")
    made.ask(2, 5, LARGE)
    for _ in range(6):
        ends(made)
    assert line(made) == [(2, 2)]


def test_a_hold_for_the_first_in_line_makes_way_for_what_is_taken_for_the_same_application():
    """A task of 8 CPUs is more than b's third of 16, and one of 4 is not. Room is reserved for the
    first, then four containers are taken for the second. They end one by one, and no other
    application takes their room.
    """
    preempting = {"preempt_after_ms": 1_000, "preempt_grace_ms": 20_000, "preempt_budget": 0.3}
    queues = {"a": {}, "b": {}, "c": {}}
    servers = [(1000, 8, 0), (1000, 8, 0)]
    made = grown("hdrf", queues, *servers, reserve_after_ms=1_000, **preempting)
    wants(made, 1, "a", CPU)
    wants(made, 3, "c", CPU)
    made.round()
    wants(made, 2, "b", (0, 8, 0), 1)
    while not line(made):
        ends(made)
    ((app, node),) = line(made)
    assert (app, held(made)) == (2, {1: 8, 3: 8})
    made.ask(2, 1, (0, 4, 0), priority=30)
    taken = evictions(made, 4)
    assert {made.containers[each.container].node for each in taken} == {node}
    assert line(made) == [(2, node)]
    for number, each in enumerate(taken, 1):
        made.complete(each.container)
        got = made.round(1000)
        assert [(g.app, g.size) for g in got] == ([(2, (0, 4, 0))] if number == 4 else [])
    assert len(taken) == 4


def test_room_moves_from_a_server_that_its_am_blacklists():
    """The server, once empty, has all that the ask needs, and would be reserved for ever."""
    made = Cluster("hdrf", nodes=[(8192, 8)] * 3)
    made.add_app(1)
    made.ask(1, 10_000, (1024, 1))
    made.round()
    made.add_app(2)
    made.ask(2, 1, (8192, 8))

    def churn() -> list[int]:
        for node in (1, 2, 3):
            own = (g for g in made.containers.values() if g.node == node and g.attempt == 1)
            if (oldest := next(own, None)) is not None:
                made.complete(oldest.number)
        return [g.node for g in made.round(1000) if g.attempt == 2]

    while not made.reservations and made.now < 60_000:
        churn()
    ((_, reserved),) = made.reservations
    made.blacklist(2, f"n{reserved}")
    served = []
    while not served and made.now < 120_000:
        served = churn()
    assert len(served) == 1
    assert served != [reserved]
