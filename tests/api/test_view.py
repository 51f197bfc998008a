"""What a view shows, and how much a turn may take and for how long."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest

from loomcard import ClusterView, Plan, Resource
from loomcard.api.cache import Cache
from loomcard.api.view import (
    LOOK_EVERY,
    Allowance,
    RoundTime,
    TurnResult,
    applications_below,
    members_of,
)
from loomcard.testing import Cluster
from loomcard.wire import messages as r


@dataclass(frozen=True)
class Looks:
    """Calls ``look`` with its view once, and then ``later`` in each call."""

    look: ClassVar[Callable[[ClusterView], object]] = lambda _: None

    def decide(self, view: ClusterView) -> Plan:
        look, Looks.look = Looks.look, lambda _: None
        look(view)
        return Plan(view)


def test_a_view_shows_the_cluster_and_its_scope():
    """All nodes, queues and applications of the cluster can be found; asks and applications are
    those of the scope.
    """
    queues = {"a": {"queues": {"x": {}, "y": {}}}, "b": {"policy": "fifo"}}
    cluster = Cluster(Looks(), queues=queues)
    cluster.add_node(1, 4096, 4, rack="/r1", host="one")
    cluster.add_node(2, 1024, 1, rack="/r2", host="one", label="gpu", shared=True)
    for app, leaf in ((3, "a.y"), (1, "a.x"), (2, "b")):
        cluster.add_app(app, f"root.{leaf}")
        cluster.ask(app, 2, (1024, 1))
        cluster.ask(app, 1, (9216, 1), priority=3)

    def look(view: ClusterView) -> None:
        assert (view.queue.path, view.root.path, view.now_ms) == ("root", "root", 10)
        assert view.version == 20  # 17 records after the three of a snapshot
        assert view.resource_types == ["memory_mb", "vcores"]
        assert ([node.number for node in view.nodes], view.node_count) == ([1, 2], 2)
        assert (view.node(2), view.node(3)) == (view.nodes[1], None)
        assert (view.hosts, view.racks) == ({"one": [1, 2]}, {"/r1": [1], "/r2": [2]})
        assert view.cluster_capacity == view.capacity == view.free == (5120, 5)
        assert view.zero == (0, 0)
        x = view.find_queue("root.a.x")
        assert x is not None
        assert view.find_queue("root.c") is None
        app = view.find_application(1)
        assert app is not None
        assert (app.queue, view.find_application(9)) == (x, None)
        assert [member.path for member in view.members] == ["root.a", "root.b"]
        assert [each.number for each in view.applications] == [1, 2, 3]
        assert [ask.key[:2] for ask in view.asks] == [
            (1, 3), (1, 20), (2, 3), (2, 20), (3, 3), (3, 20),
        ]  # fmt: skip
        assert members_of(x) == applications_below(app) == [app]
        assert view.partitions["gpu"].capacity == (1024, 1)
        assert set(view.shapes) == {((1024, 1), ""), ((9216, 1), "")}
        small, large = Resource((1024, 1)), Resource((2048, 1))
        assert [view.first_fit(small, label) for label in ("", "gpu", "none")] == [
            *view.nodes,
            None,
        ]
        assert [view.can_ever_fit(large, label) for label in ("", "gpu", "none")] == [
            True, False, False,
        ]  # fmt: skip
        assert [view.offers(view.nodes[1], label) for label in ("", "gpu")] == [False, True]
        assert (view.lending, view.reservations, view.passed_over(1)) == (False, [], set())

    Looks.look = look
    assert cluster.exchange().faults == []


def test_what_changed_is_in_the_sets_that_watch_it_until_they_are_let_go():
    """At first all members, and all nodes; then those that changed, once each."""
    cluster = Cluster(Looks(), nodes=[(1024, 1), (1024, 1)])
    for app in (1, 2):
        cluster.add_app(app)
    cluster.ask(1, 1, (512, 1))
    kept = []

    def look(view: ClusterView) -> None:
        [leaf] = view.root.children
        members, nodes = view.watch(leaf), view.watch_nodes()
        own: dict = {}
        assert view.watch(leaf, own) is own
        assert list(members) == list(own) == [*view.applications]
        assert list(nodes) == view.nodes
        view.unwatch(own)
        kept.extend((members, nodes, own))
        for each in kept:
            each.clear()
        assert view.cache("key", lambda: [1]) is view.cache("key", lambda: [2])

    Looks.look = look
    cluster.round()
    cluster.ask(2, 1, (4096, 1))
    cluster.send(r.NodeResizedRecord(11, 2, (512, 1)))
    cluster.round()
    assert [[each.number for each in found] for found in kept] == [[2], [2], []]


def test_all_that_still_watches_stops_with_the_values():
    """Also what began to watch before another set was let go."""
    cache, watchers, others, third = Cache(), [], [], []
    kept, gone = {}, {}
    for each in (kept, gone):
        cache.watch(watchers, each)
        cache.watch(others, each)
    cache.watch(third, gone)
    cache.values["key"] = 1
    cache.unwatch(gone)
    assert all(len(each) == 1 and each[0] is kept for each in (watchers, others))
    assert third == []
    cache.drop()
    assert (watchers, others, cache.values) == ([], [], {})


def test_a_turn_and_those_above_it_pay_for_each_container():
    """A turn has no more than is left above it, in containers and in amounts."""
    above = Allowance(3, Resource((4096, 4)), None)
    inner = Allowance(2, None, above)
    assert (inner.count, inner.bounded, Allowance(9, None, above).count) == (2, True, 3)
    small, large = Resource((2048, 1)), Resource((4097, 1))
    assert (inner.allows(small), inner.allows(large)) == (True, False)
    assert inner.allows(Resource((4096, 4)))
    inner.take(small)
    assert (inner.count, above.count, above.limit) == (1, 2, [2048, 3])
    assert (inner.has_room(Resource((2048, 3))), inner.has_room(Resource((2049, 1)))) == (
        True,
        False,
    )
    inner.take(small)
    assert (inner.spent(), inner.has_room(Resource((0, 0))), above.spent()) == (True, False, False)
    free = Allowance(1, None, None)
    assert (free.bounded, free.limit, free.allows(Resource((10**9, 1)))) == (False, None, True)
    free.over = True
    assert (free.allows(small), free.has_room(small), free.spent()) == (False, True, True)


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def ask(turn: Allowance) -> None:
    """Ask once, as a plan does."""
    time = turn.time
    assert time is not None
    time.asked += 1
    if time.asked >= time.look_at:
        time.look(turn)


def test_a_turn_has_half_of_what_is_left_and_is_stopped_half_as_long_later():
    """The root has all the time of a round. The questions at which a turn ended are noted, and at
    the same questions a replay ends it.
    """
    clock = Clock()
    time = RoundTime(clock, 8.0)
    root = Allowance(9, None, None, time)
    assert (root.end_s, root.stop_s) == (108.0, 112.0)
    clock.now = 102.0
    turn = Allowance(9, None, root)
    assert (turn.end_s, turn.stop_s) == (105.0, 106.5)
    seen = []
    for clock.now in (104.9, 105.0, 106.4, 106.5, 107.0):
        ask(turn)
        seen.append((turn.over, turn.stopped))
    assert seen == [(False, False), (True, False), (True, False), (True, True), (True, True)]
    assert time.cuts == [2, 4]
    replay = RoundTime(None, cuts=time.cuts)
    again = Allowance(9, None, Allowance(9, None, None, replay))
    repeated = []
    for _ in range(5):
        ask(again)
        repeated.append((again.over, again.stopped))
    assert (repeated, replay.cuts) == (seen, [2, 4])
    assert Allowance(9, None, None, RoundTime(None)).end_s == 0.0


def test_the_clock_is_read_less_often_by_who_asks_often():
    """The distance of looks doubles up to 32 questions, and is one again after a slow one."""
    clock = Clock()
    time = RoundTime(clock, 1000.0)
    turn, looks = Allowance(9, None, None, time), []
    for _ in range(100):
        before = time.look_at
        ask(turn)
        if time.look_at != before:
            looks.append(before)
    assert looks == [1, 3, 7, 15, 31, 63, 95]
    assert time.look_at == 95 + LOOK_EVERY == 127
    clock.now += 1.0
    for _ in range(27):
        ask(turn)
    assert (time.asked, time.look_at, time.cuts) == (127, 128, [])


@pytest.mark.parametrize(("after", "want"), [((3, 5), (2, 4)), ((1, 1), (0, 0))])
def test_what_a_turn_took_is_the_difference(after, want):
    assert TurnResult(1, None, (1, 1), after).resource == want
    assert TurnResult(0, "NO_FIT").resource == ()
