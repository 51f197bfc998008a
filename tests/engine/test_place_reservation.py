"""Which node room is reserved on: how long containers are likely to run, in figures, and when a
reservation moves.
"""

from typing import Any

import pytest

from compiled import config, queue
from loomcard.api.pending_plan import PendingPlan
from loomcard.engine.place_reservation import (
    ASSUMED_MS,
    NEVER,
    left_ms,
    place_reservation,
    room_in_ms,
    soonest,
)
from loomcard.model.objects import Ask, AskKey
from loomcard.model.resource import Resource
from loomcard.model.state import ClusterState
from loomcard.testing.cluster import Cluster

ALL = {"reservation_share_ppm": 1_000_000}


def busy(nodes: int = 3, large: int = 1, **keys: Any) -> tuple[ClusterState, list[Ask]]:
    """Return a state whose nodes have three containers each, all started at 1000 ms, and the asks
    of ``large`` applications that need a whole node.
    """
    spec = queue("root.a", "fifo", **{**ALL, **keys})
    cluster = Cluster(config(queue("root", "fifo", **ALL), spec), nodes=[(4096, 4)] * nodes)
    cluster.add_app(1, "root.a")
    for number in range(1, nodes + 1):
        hosts = {"hosts": {f"n{number}": 3}, "racks": {"/r": 3}, "strict_racks": ["/r"]}
        cluster.ask(1, 3, (1024, 1), number, relax=False, **hosts)
    cluster.round()
    state = cluster.state
    for container in state.containers.values():
        container.started_ms = 1_000
    for app in range(2, 2 + large):
        cluster.add_app(app, "root.a")
        cluster.ask(app, 2, (4096, 4))
    return state, [state.attempts[app].asks[AskKey(app, 20, 0)] for app in range(2, 2 + large)]


def of_node(state: ClusterState, number: int) -> list[Any]:
    """Return the containers of a node by number."""
    return sorted(state.nodes[number].containers, key=lambda each: each.number)


@pytest.mark.parametrize(
    ("own", "every", "masters", "is_am", "age_ms", "left"),
    [
        ([2, 101], [9, 900], [7, 7], False, 0, 50),
        ([2, 101], [9, 900], [7, 7], False, 20, 30),
        ([2, 101], [9, 900], [7, 7], False, 38, 12),
        ([2, 101], [9, 900], [7, 7], False, 49, 12),
        ([2, 101], [9, 900], [7, 7], False, 149, 12),
        ([2, 101], [9, 900], [7, 7], False, 150, 150),
        ([0, 0], [9, 900], [7, 7], False, 1, 99),
        ([0, 0], [0, 0], [7, 70], False, 10, ASSUMED_MS - 10),
        ([2, 101], [9, 900], [7, 140], True, 5, 15),
        ([2, 101], [9, 900], [0, 0], True, 5, NEVER),
    ],
)
def test_how_long_a_container_is_likely_to_run(own, every, masters, is_am, age_ms, left):
    """As its application's containers on average, else as all; AMs as AMs. Later a quarter of the
    mean, and a service as long again.
    """
    state, _ = busy()
    [container, other, _] = of_node(state, 1)
    container.application.ran = own
    state.shape_waits.ran, state.shape_waits.masters_ran = every, masters
    container.is_am = is_am
    assert left_ms(state, container, 1_000 + age_ms) == left
    other.started_ms, other.allocated_ms, other.is_am = None, 900, is_am
    assert left_ms(state, other, 900 + age_ms) == left
    container.preempting_since = 1_000
    assert left_ms(state, container, 1_000 + age_ms) == 0


def test_when_a_node_has_room_and_which_has_it_soonest():
    """When the containers that end first have freed what is missing in every type."""
    state, [ask] = busy()
    one, two, three = of_node(state, 1)
    one.application.ran = [1, 1_000]
    one.started_ms, two.started_ms, three.started_ms = 500, 800, 600
    node = state.nodes[1]

    def room(memory: int, vcores: int) -> int:
        return room_in_ms(state, node, Resource((memory, vcores)), 1_000)

    assert [room(1024, 1), room(2048, 1), room(1024, 2), room(2049, 1), room(4096, 4)] == [
        0, 500, 500, 600, 800,
    ]  # fmt: skip
    assert [room(4097, 1), room(1, 5)] == [NEVER, NEVER]
    one.number = three.number = 0  # not confirmed yet
    three.started_ms = 500
    assert room(2049, 1) == 500
    one.number, three.number, three.started_ms = 1, 3, 600
    assert soonest(state, ask, 1_000) == (800, node)
    assert soonest(state, ask, 1_200) == (600, node)
    for each in (*of_node(state, 2), *of_node(state, 3)):
        each.started_ms = 800
    assert soonest(state, ask, 1_000) == (800, node)
    state.reservations.put(ask, node, 1_000, None)
    assert soonest(state, ask, 1_000) == (800, state.nodes[2])
    ask.attempt.blacklist = frozenset({"n2"})
    assert soonest(state, ask, 1_000) == (800, state.nodes[3])
    of_node(state, 3)[0].is_am = True
    assert soonest(state, ask, 1_000) is None


def decided(state: ClusterState, *asks: Ask, now_ms: int = 1_000) -> list[tuple[Any, ...]]:
    """Return what is decided for asks that want a reservation: application, node, instance."""
    pending = PendingPlan(state, now_ms)
    pending.reasons_reported = True
    pending.wants = {ask: ask.application.number + 10 for ask in asks}
    place_reservation(pending)
    assert not pending.reasons_reported
    for each in {step.ask for step in pending.steps if step.node is not None}:
        rows = " ".join(held.node.id for held in each.reservations)
        assert pending.waits[each] == f"RESERVATION {rows}"
    return [
        (step.ask.application.number, step.node and step.node.number, step.instance)
        for step in pending.steps
    ]


def test_one_ask_a_round_gets_all_its_reservations_the_oldest_first():
    """Those that a limit forbids, that ask for nothing more, or for which no node is suitable leave
    the next one its turn.
    """
    state, [first, second, third] = busy(4, 3, reservation_nodes=2)
    second.since_ms, first.since_ms, third.since_ms = 1, 2, 3
    of_node(state, 4)[0].application.ran = [1, 1_000]
    assert decided(state, first, second, third) == [(3, 1, 13), (3, 2, 13)]
    assert decided(state, first, second, third) == [(2, 3, 12), (2, 4, 12)]
    assert decided(state, first, second, third) == []
    state.reservations.restore(())
    second.count = 0
    first.attempt.blacklist = frozenset({"/r"})
    assert decided(state, first, second, third) == [(4, 1, 14), (4, 2, 14)]
    state.reservations.restore(())
    leaf = third.application.queue
    leaf.maximum, leaf.capped = Resource((4096, 4)), [leaf]
    assert decided(state, third) == []


@pytest.mark.parametrize(
    ("now_ms", "elsewhere_ms", "moves"),
    [(10_999, 0, False), (11_000, 0, True), (11_000, 22_499, True), (11_000, 22_500, False)],
)
def test_a_reservation_moves_to_where_room_comes_in_less_than_half_the_time(
    now_ms, elsewhere_ms, moves
):
    """After 10 s on its node; else it stays, and is placed there anew."""
    state, [ask] = busy(2)
    one, two = state.nodes[1], state.nodes[2]
    one_left, two_left = 45_000, elsewhere_ms
    of_node(state, 1)[0].application.ran = [1, 60_000]
    for node, left in ((one, one_left), (two, two_left)):
        for each in of_node(state, node.number):
            each.started_ms = now_ms - 60_000 + left
    if not elsewhere_ms:
        for each in list(two.containers):
            each.preempting_since = 1
    state.reservations.put(ask, one, 1_000, None)
    found = decided(state, ask, now_ms=now_ms)
    assert found == ([] if now_ms < 11_000 else [(2, 2 if moves else 1, 12)])
    assert ask.reservation.node is (two if moves else one)
    assert ask.reservation.placed_ms == (1_000 if now_ms < 11_000 else now_ms)


def test_a_reservation_where_it_can_never_be_used_is_given_up_or_moves():
    """Its node is banned now: it moves if another one is suitable, at any time."""
    state, [ask] = busy(2)
    state.reservations.put(ask, state.nodes[1], 1_000, None)
    ask.attempt.blacklist = frozenset({"n1", "n2"})
    assert decided(state, ask, now_ms=20_000) == [(2, None, 12)]
    state.reservations.put(ask, state.nodes[1], 1_000, None)
    ask.attempt.blacklist = frozenset({"n1"})
    assert decided(state, ask, now_ms=20_000) == [(2, 2, 12)]


@pytest.mark.parametrize(("share", "places"), [(250_000, [(2, None, 12), (2, 4, 12)]),
                                               (500_000, [(2, 1, 12)])])  # fmt: skip
def test_where_no_more_may_be_reserved_the_only_reservation_makes_way(share, places):
    """Otherwise a second one would be given up for the better node."""
    keys = {"reservation_nodes": 3, "reservation_share_ppm": share}
    state, [ask] = busy(4, **keys)
    of_node(state, 1)[0].application.ran = [1, 60_000]
    for each in of_node(state, 4):
        each.preempting_since = 1
    for number in (1, 2)[: len(places) ^ 3]:
        state.reservations.put(ask, state.nodes[number], 1_000, None)
    assert decided(state, ask, now_ms=20_000) == places
