"""Tests of reservations on several nodes for one ask: how many, within which share, and which one
ends first.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from compiled import config, queue
from loomcard.api.plan import Plan
from loomcard.api.registry import register
from loomcard.api.reserve import RESERVE_AFTER_MS, REVIEW_MS
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r
from streams import HOLDING, crowded, flow, small


def wide(
    policy: str,
    nodes: int,
    reservation_nodes: int,
    reservation_share_ppm: int = 1_000_000,
    options: Any = None,
) -> Cluster:
    """Return a crowded cluster where room may be reserved on several nodes for one ask."""
    keys = {"reservation_share_ppm": reservation_share_ppm}
    spec = queue(
        "root.default", policy, reservation_nodes=reservation_nodes, options=options or {}, **keys
    )
    return crowded(config(queue("root", "drf", **keys), spec), nodes)


@pytest.mark.parametrize("policy", HOLDING)
def test_room_is_held_on_several_nodes_where_the_queue_allows_it(policy):
    """Each round reserves at most one node more, up to ``reservation_nodes``. When the task is
    served, all reservations end.
    """
    made = wide(policy, 4, 3)
    reserved = []
    for _ in range(30):
        flow(made, 1)
        reserved.append(len(made.reservations))
        if not made.asks.get((1, 20, 0)):
            break
    assert max(reserved) == 3
    assert reserved[-1] == 0
    assert reserved == [*sorted(reserved[:-1]), 0]


def test_the_holds_of_one_ask_count_against_the_queues_share():
    """Half of the root's four nodes may be reserved, so the ask has two, though its queue allows
    four.
    """
    made = wide("fifo", 4, 4, reservation_share_ppm=500_000)
    flow(made, RESERVE_AFTER_MS // 1000 + 4)
    assert len(made.reservations) == 2
    assert made.reasons[1, 20, 0] == "RESERVATION " + " ".join(
        f"n{node}:1" for _, node in made.reservations
    )


def test_a_hold_beyond_the_number_takes_the_place_of_the_oldest():
    """A policy may reserve again and again: the ask has room on at most as many nodes as its queue
    allows.
    """

    @dataclass(frozen=True)
    class Wanders:
        """Reserves room on one more node in every round."""

        leaf_only = True

        def decide(self, view):
            plan = Plan(view)
            plan.wake_at(view.now_ms + 1000)
            for ask in view.asks:
                node = view.nodes[len(view.nodes) - 1 - view.now_ms // 1000 % len(view.nodes)]
                if node.reservation is None:
                    plan.reserve(ask, node)
            return plan

    register("wanders")(Wanders)
    spec = queue("root.default", "wanders", reservation_nodes=2, reservation_share_ppm=1_000_000)
    root = queue("root", "drf", reservation_share_ppm=1_000_000)
    made = Cluster(config(root, spec), nodes=[(4096, 4)] * 4)
    made.add_app(1)
    made.ask(1, 1, (4096, 4))
    seen = []
    for _ in range(4):
        made.round(1000)
        seen.append([node for _, node in made.reservations])
    assert [len(nodes) for nodes in seen] == [1, 2, 2, 2]
    for before, after in pairwise(seen):
        assert before[-1] in after
        assert after[-1] not in before


def test_at_once_means_before_anybody_else_is_allocated_anything():
    """With 1 ms, room is reserved while the cluster is full and no other application asks, as stock
    YARN does. With a longer time, room is reserved only after others were allocated something.
    """
    for after_ms, reserved in ((1, 2), (200, 0)):
        options = {"reserve_after_ms": after_ms}
        made = wide("fifo", 2, 2, options=options)
        made.round(1000)
        made.round(1000)
        assert len(made.reservations) == reserved


def test_a_hold_moves_where_the_share_forbids_another_one():
    """As with one node: ``reservation_share`` allows one reservation, and it moves to a better
    node.
    """
    made = wide("fifo", 2, 3, reservation_share_ppm=100_000)
    services = [g.number for g in made.containers.values() if g.node == 1][:2]
    for step in range(RESERVE_AFTER_MS // 1000 + 4 * REVIEW_MS // 1000):
        made.complete(min(n for n in made.containers if n not in services))
        small(made, 2000 + step)
        for allocated in made.round(1000):
            made.send(r.ContainerStartedRecord(made.now, allocated.number))
        assert len(made.reservations) <= 1
        if not made.asks.get((1, 20, 0)):
            break
    assert any(g.app == 1 and g.node == 2 for g in made.containers.values())


@pytest.mark.parametrize("policy", ["dress", "hdrf"])
def test_other_policies_bear_with_several_nodes(policy):
    """The task is served, the policy raises nothing, and no more nodes are reserved than
    allowed.
    """
    made = wide(policy, 4, 3)
    most = 0
    for _ in range(40):
        flow(made, 1)
        most = max(most, len(made.reservations))
    assert 1 <= most <= 3
    assert not made.asks.get((1, 20, 0))
    assert not made.reservations
