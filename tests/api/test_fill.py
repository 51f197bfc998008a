"""Tests of the index in which ``fill`` keeps the members, of what a policy keeps between calls, and
of when a level of ``fill_tree`` is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from loomcard import (
    Application,
    ClusterView,
    Level,
    Plan,
    Queue,
    by_priority,
    fill,
    fill_tree,
    register,
)
from loomcard.api.fill import ALL
from loomcard.api.serve import Chooser, serve
from loomcard.testing import Cluster


def asked(member: Any) -> int:
    return sum(ask.size.memory_mb * ask.count for ask in member.asks)


def least(member: Any) -> int:
    return asked(member)


def most(member: Any) -> int:
    return -asked(member)


def by(plan: Plan, order: Any, **more: Any) -> Plan:
    """Call ``fill`` for every order from the same line."""
    return fill(plan, order=order, **more)


@dataclass(frozen=True)
class TwoOrders:
    """Serves the least first for a while, then the most, each order in its own index."""

    leaf_only = True

    def decide(self, view: ClusterView) -> Plan:
        if view.now_ms < 100:
            return by(Plan(view), least)
        return by(Plan(view), most, index="most")


@dataclass(frozen=True)
class OneIndex:
    """Serves the least first for a while, then the most, with one index for both orders."""

    leaf_only = True

    def decide(self, view: ClusterView) -> Plan:
        return by(Plan(view), least if view.now_ms < 100 else most)


@dataclass(frozen=True)
class RebuildsItsIndex:
    """Has one order, for which each call creates a new object."""

    kind: str = "lambda"
    leaf_only = True

    def decide(self, view: ClusterView) -> Plan:
        orders = {
            "lambda": lambda member: most(member),
            "partial": partial(self.signed, -1),
            "method": self.order,
        }
        return fill(Plan(view), order=orders[self.kind])

    def signed(self, sign: int, member: Any) -> int:
        return sign * asked(member)

    def order(self, member: Any) -> int:
        return most(member)


def full_cluster(policy: Any) -> Cluster:
    """Return a cluster in which application 1 asks for nine containers and 2 for two. The node has
    room for one.
    """
    cluster = Cluster(policy, nodes=[(1024, 1)])
    for app, count in ((1, 9), (2, 2)):
        cluster.add_app(app)
        cluster.ask(app, count)
    return cluster


def second_round(cluster: Cluster) -> list[Any]:
    cluster.now = 200
    for number in list(cluster.containers):
        cluster.complete(number)
    return cluster.round()


def test_two_orders_have_an_index_each() -> None:
    cluster = full_cluster(TwoOrders())
    assert [allocation.app for allocation in cluster.round()] == [2]
    assert [allocation.app for allocation in second_round(cluster)] == [1]


def test_two_orders_in_one_index_are_an_error_that_names_both() -> None:
    cluster = full_cluster(OneIndex())
    assert [allocation.app for allocation in cluster.round()] == [2]
    message = (
        r"index 'fill' is in the order of least \(.*, line \d+\), not of most \(.*: name another"
    )
    with pytest.raises(Exception, match=message):
        second_round(cluster)


@dataclass(frozen=True)
class OneCode:
    """Uses two orders with the same code, which differ in the values that they contain."""

    kind: str = "closure"
    leaf_only = True

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for sign in (1, -1):
            by(plan, closure(sign) if self.kind == "closure" else partial(signed, sign))
        return plan


def signed(sign: int, member: Any) -> int:
    return sign * asked(member)


def closure(sign: int) -> Any:
    return lambda member: sign * asked(member)


@pytest.mark.parametrize("kind", ["closure", "partial"])
def test_one_code_with_other_values_is_another_order(kind: str) -> None:
    with pytest.raises(Exception, match=r"with 1 .*not of .* with -1 .*name another one"):
        full_cluster(OneCode(kind)).round()


@pytest.mark.parametrize("kind", ["lambda", "partial", "method"])
def test_an_order_that_is_made_in_each_call_is_the_same(kind: str) -> None:
    cluster = full_cluster(RebuildsItsIndex(kind))
    assert [allocation.app for allocation in cluster.round()] == [1]
    assert [allocation.app for allocation in second_round(cluster)] == [1]


@dataclass(frozen=True)
class Counts:
    """Records how often its cache was made, and what changed since its last call."""

    raises_at: int = -1
    leaf_only = True

    def decide(self, view: ClusterView) -> Plan:
        made = view.cache("made", lambda: MADE.append(view.now_ms) or [view.watch(view.queue)])
        SEEN.append(sorted(member.id for member in made[0]))
        made[0].clear()
        if view.now_ms == self.raises_at:
            raise RuntimeError("as the test wants it")
        return Plan(view)


MADE: list[Any] = []
SEEN: list[list[str]] = []


def test_what_is_cached_is_made_once_and_hears_of_changes() -> None:
    MADE.clear()
    SEEN.clear()
    cluster = full_cluster(Counts())
    cluster.round()
    cluster.now = 10
    cluster.ask(2, 3)
    cluster.round()
    assert len(MADE) == 1
    assert len(SEEN[-1]) == 1


def test_what_was_cached_is_dropped_when_the_policy_has_raised() -> None:
    """The cache may be incomplete; after it is dropped, nothing watches the queue for it."""
    MADE.clear()
    cluster = full_cluster(Counts(raises_at=20))
    cluster.round()
    queue = cluster.session.mirror.state.queues[-1]
    watchers = len(queue.watchers)
    cluster.now = 10
    cluster.ask(2, 3)
    with pytest.raises(Exception, match="as the test wants it"):
        cluster.round()
    cluster.now = 60_000
    cluster.ask(2, 4)
    cluster.round()
    assert len(MADE) == 2
    assert len(queue.watchers) == watchers


class Abreast(Level):
    """An application waits while it has more containers than the asking application with the
    fewest.
    """

    def forbids(self, app: Application) -> str | None:
        asking = [each for each in self.queue.applications.values() if each.pending_count > 0]
        fewest = min(len(each.containers) for each in asking)
        return "AHEAD" if len(app.containers) > fewest else None


class AbreastAsked(Abreast):
    """The same rule, but the level is asked again after each allocation."""

    ask_again = True


@dataclass(frozen=True)
class InStep:
    """Serves applications by submission; the level of a leaf is one of those above."""

    again: bool = False
    walks_tree = True

    def decide(self, view: ClusterView) -> Plan:
        return fill_tree(Plan(view), self.level)

    def level(self, queue: Queue) -> Level:
        kind = AbreastAsked if self.again else Abreast
        return (kind if queue.leaf else Level)(queue, lambda member: member.submitted_ms)


def asked_of_two(again: bool) -> Cluster:
    """Return a cluster under that policy with two applications that each want three of six
    containers.
    """
    cluster = Cluster(InStep(again), nodes=[(6144, 6)], queues={"a": {}})
    for app in (1, 2):
        cluster.add_app(app, queue="root.a")
        cluster.ask(app, 3, (1024, 1))
    return cluster


@pytest.mark.parametrize(
    ("again", "allocated"), [(False, [1, 2, 2]), (True, [1, 2, 1, 2, 1, 2])], ids=["once", "again"]
)
def test_who_waits_for_another_is_asked_again_where_the_level_says_so(
    again: bool, allocated: list[int]
) -> None:
    """Without ``ask_again`` a reason is valid for the whole call, even after the others have caught
    up.
    """
    assert [each.app for each in asked_of_two(again).round()] == allocated


def test_a_reason_stands_for_its_call_alone() -> None:
    """In the next round every application is asked again."""
    cluster = asked_of_two(again=False)
    cluster.round()
    assert [each.app for each in cluster.round()] == [1, 1, 2]


OFFERED: list[int] = []


@register("test-child")
@dataclass(frozen=True)
class Child:
    """Serves in order, and notes how many containers it may allocate in a turn."""

    def decide(self, view: ClusterView) -> Plan:
        assert view._allowance is not None
        OFFERED.append(view._allowance.count)
        return fill(Plan(view), order=by_priority)


@dataclass(frozen=True)
class Above:
    """Walks the tree down to queues with a policy of their own."""

    one_at_a_time: bool = False
    walks_tree = True

    def decide(self, view: ClusterView) -> Plan:
        level = type("One", (Level,), {"one_at_a_time": self.one_at_a_time})
        return fill_tree(Plan(view), lambda queue: level(queue, lambda member: member.number))


@pytest.mark.parametrize(
    ("queues", "one_at_a_time", "offered"), [(1, False, ALL), (2, False, 1), (1, True, 1)]
)
def test_a_queue_takes_all_in_one_turn_if_no_other_demands_anything(
    queues: int, one_at_a_time: bool, offered: int
) -> None:
    """Unless the level allows one container per turn."""
    spec = {"policy": "test-child", "options": {}}
    tree = {"p": {"queues": {"a": spec, "b": spec}}}
    cluster = Cluster(Above(one_at_a_time), nodes=[(4096, 4)], queues=tree)
    for app, queue in enumerate(["root.p.a", "root.p.b"][:queues], 1):
        cluster.add_app(app, queue)
        cluster.ask(app, 9)
    OFFERED.clear()
    assert len(cluster.round()) == 4
    assert OFFERED[0] == offered


class InTurn(Chooser):
    """Serves applications by number, with the defaults of a chooser."""

    def __init__(self, view: ClusterView) -> None:
        super().__init__(view.queue)
        self.left = sorted(view.applications, key=lambda app: app.number)

    def next(self, full: Any) -> Any:  # noqa: ARG002 - as the class
        return self.left[0] if self.left else None

    def passed(self, chosen: Any, *, forbidden: bool) -> None:
        assert (chosen, forbidden) == (self.left.pop(0), False)


@dataclass(frozen=True)
class ByNumber:
    """Reserves room after a second."""

    def decide(self, view: ClusterView) -> Plan:
        return serve(Plan(view), InTurn(view), 1_000)


def test_a_chooser_says_only_who_is_next() -> None:
    """The loop gives reasons, and reserves room for the ask that is passed over for longest."""
    cluster = Cluster(ByNumber(), nodes=[(4096, 4), (2048, 2)])
    for app in (1, 2, 3):
        cluster.add_app(app)
    cluster.ask(1, 5)
    cluster.round()
    cluster.ask(2, 1, (3072, 3))
    cluster.ask(3, 1, (3072, 2))
    cluster.ask(3, 1, (512, 1), 30, hosts={"n9": 1}, racks={"/x": 1}, relax=False)
    cluster.blacklist(1, "n2")
    cluster.ask(1, 1, (1024, 1), 40)
    reasons = []
    for _ in range(4):
        cluster.complete(min(cluster.containers))
        cluster.ask(1, 1, (1024, 1))
        cluster.round(400)
        reasons.append({key[:2]: why for key, why in cluster.reasons.items()})
    waits = {(1, 40): "BLACKLISTED", (2, 20): "NODE_FULL", (3, 20): "NODE_FULL"}
    waits[3, 30] = "LOCALITY"
    assert reasons == [waits, waits, waits, waits | {(2, 20): "RESERVATION n1:1"}]
    assert cluster.reservations == [((2, 20, 0), 1)]


def test_the_former_name_of_an_argument_is_named_with_the_new_one() -> None:
    """Of ``fill_tree`` too, and with the same effect."""

    @dataclass(frozen=True)
    class Old:
        walks_tree = True

        def decide(self, view: ClusterView) -> Plan:
            with pytest.warns(DeprecationWarning, match=r"^fill_tree\(hold_after_ms=...\) is now"):
                return fill_tree(
                    Plan(view), lambda queue: Level(queue, by_priority), hold_after_ms=1_000
                )

    cluster = Cluster(Old, nodes=[(4096, 4)])
    cluster.add_app(1)
    cluster.ask(1, 1, (2048, 1))
    cluster.round()
    cluster.add_app(2)
    cluster.ask(2, 1, (4096, 1))
    cluster.round()
    for _ in range(3):
        cluster.ask(1, 1, (1024, 1))
        cluster.round(500)
    assert cluster.reservations == [((2, 20, 0), 1)]
