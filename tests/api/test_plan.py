"""What a plan takes, refuses and sends, as one policy sees it in one call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from loomcard import ClusterView, Plan, PlanError, Reason, Resource
from loomcard.api.plan_checks import amounts, whole, word
from loomcard.api.view import asks_below
from loomcard.testing import Cluster
from loomcard.wire import messages as r


@dataclass(frozen=True)
class Does:
    """Calls ``what`` with its plan, once; a failed assertion there fails the test."""

    leaf_only: ClassVar[bool] = True
    what: ClassVar[Callable[[Plan], object]] = lambda _: None

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        what, Does.what = Does.what, lambda _: None
        what(plan)
        return plan


def does(*steps: Callable[[Plan], object], **keys: Any) -> tuple[Cluster, list[r.PlanReply]]:
    """Run a step in each round, at 10, 20, ... ms, on a cluster of two nodes: application 1 of two
    ends up behind application 2, which was submitted earlier. Return the cluster and the plans.
    """
    cluster = Cluster(Does(), nodes=[(4096, 4), (2048, 2)], **keys)
    for app, submitted_ms in ((1, 7), (2, 3), (3, 3)):
        cluster.add_app(app, "root.default", submitted_ms=submitted_ms)
        cluster.ask(app, 2, (1024, 1), priority=20)
        cluster.ask(app, 1, (512, 1), priority=5)
    plans = []
    for step in steps:
        Does.what = step
        cluster.blacklist(3, "elsewhere")  # a change, so that the policy is called
        plan = cluster.exchange(10)
        assert plan.faults == []
        cluster.commit(plan)
        plans.append(plan)
    return cluster, plans


def first(plan: Plan) -> Any:
    return plan.view.asks[0]


REFUSED: list[tuple[Callable[[Plan], object], str]] = [
    (lambda p: p.allocate(first(p), p.view.nodes[0], 0), "{ask} on {node}: a count of 0"),
    (lambda p: p.wake_at(10), "wake_at(10) at 10: not in the future"),
    (lambda p: p.wake_at(1.5), "wake_at: expected a whole number, not 1.5"),
    (lambda p: p.wait(first(p), "LATER", 10), "wait until 10 at 10: not in the future"),
    (lambda p: p.wait(p.view.queue, "LATER"), "wait for {queue}: a queue needs until_ms"),
    (lambda p: p.wait(first(p), "x" * 1001), "wait: 1001 characters; at most 1000"),
    (
        lambda p: p.reserve(first(p), p.view.nodes[0], 10),
        "reserve until 10 at 10: not in the future",
    ),
    (
        lambda p: p.reserve(first(p), p.view.nodes[0], 10.5),
        "reserve, until_ms: expected a whole number, not 10.5",
    ),
    (
        lambda p: p.wait(first(p), "LATER", "soon"),
        "wait, until_ms: expected a whole number, not 'soon'",
    ),
    (
        lambda p: p.headroom(p.view.applications[0], (1, 0.5)),
        "headroom: expected a whole number, not 0.5",
    ),
    (lambda p: p.unreserve(first(p)), "{ask} has no reservation"),
    (lambda p: p.turn(p.view.queue), "{queue} is not a child scope of {queue}"),
    (
        lambda p: p.headroom(p.view.applications[0], Resource((1, 2, 3))),
        "headroom: expected 2 amounts, not 3",
    ),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_what_is_refused_and_in_which_words(call, words):
    """Each names what was called with which value; {ask}, {node} and {queue} are the first ones."""
    said = []

    def step(plan: Plan) -> None:
        view = plan.view
        names = {"ask": repr(view.asks[0]), "node": view.nodes[0].id, "queue": view.queue.path}
        with pytest.raises(PlanError) as error:
            call(plan)
        said.append((str(error.value), words.format(**names)))

    _, [plan] = does(step)
    [(found, wanted)] = said
    assert (found, plan.decisions) == (wanted, [])


def test_those_before_a_refused_container_stay():
    """The node takes four; the fifth of one call is refused with the reason."""

    def step(plan: Plan) -> None:
        ask = plan.view.asks[1]
        with pytest.raises(PlanError, match=r"on n1:1: ASK_GONE$"):
            plan.allocate(ask, plan.view.nodes[0], 5, tag="t")
        assert ask.count == 0
        assert [c.tag for c in ask.application.containers] == ["t", "t"]

    _, [plan] = does(step)
    assert plan.decisions == [r.Allocate(1, 20, 0, 1, 2, 1)]


def test_equal_allocations_are_one_decision_and_others_are_not():
    """Another ask, node or tag begins a new one."""

    def step(plan: Plan) -> None:
        small, large = plan.view.applications[0].asks
        one, two = plan.view.nodes
        plan.allocate(large, one, tag=1)
        plan.allocate(large, one, tag=2)
        plan.allocate(small, one, tag=2)
        large = plan.view.applications[1].asks[1]
        plan.allocate(large, one, tag=2)
        plan.allocate(large, two, tag=2)
        large = plan.view.applications[2].asks[1]
        plan.allocate(large, two, tag=2)

    _, [plan] = does(step)
    rows = [(d.attempt, d.priority, d.node, d.count) for d in plan.decisions]
    assert rows == [(1, 20, 1, 1), (1, 20, 1, 1), (1, 5, 1, 1), (2, 20, 1, 1), (2, 20, 2, 1),
                    (3, 20, 2, 1)]  # fmt: skip


def test_the_order_of_asks_and_members_and_their_ties():
    """By application and the ask's own order; with an order, ties by submission, then number."""

    def keys(asks: Any) -> list[tuple[int, int]]:
        return [(ask.key.attempt, ask.key.priority) for ask in asks]

    def step(plan: Plan) -> None:
        plain = [(1, 5), (1, 20), (2, 5), (2, 20), (3, 5), (3, 20)]
        assert keys(plan.view.asks) == keys(plan.pending()) == plain
        assert keys(plan.pending(lambda ask: ask.count)) == [
            (2, 5), (3, 5), (1, 5), (2, 20), (3, 20), (1, 20),
        ]  # fmt: skip
        assert keys(plan.pending(of=plan.view.applications[1])) == [(2, 5), (2, 20)]
        assert keys(asks_below(plan.view.applications[1])) == [(2, 5), (2, 20)]
        assert [app.number for app in plan.members()] == [1, 2, 3]
        assert [app.number for app in plan.members(lambda _: 0)] == [2, 3, 1]
        assert [app.number for app in plan.members(lambda app: -app.number)] == [3, 2, 1]

    does(step)


def test_the_earliest_time_to_be_called_again_counts():
    def step(plan: Plan) -> None:
        plan.wake_at(900)
        plan.wake_at(800)
        plan.wake_at(1000)

    _, [plan] = does(step)
    assert plan.timers == [(1, 800)]
    assert does(lambda plan: plan.wake_at(11))[1][0].timers == [(1, 11)]


def test_a_reason_is_sent_when_it_is_new_and_one_by_a_rule_when_its_time_has_ended():
    """Of an application it is that of all its asks; a queue's has a row of its own."""

    def step(plan: Plan) -> None:
        apps = plan.view.applications
        plan.wait(apps[0], "MINE")
        plan.wait(apps[1].asks[0], Reason.QUEUE_MAX)
        plan.wait(apps[2], "LATER", 500)
        plan.wait(plan.view.queue, "ALL", 600)

    def later(plan: Plan) -> None:
        step(plan)
        plan.wait(plan.view.applications[1].asks[0], "OTHER", 500)

    _, plans = does(step, step, later)
    assert plans[0].waits == [
        (1, 5, 0, "MINE", None), (1, 20, 0, "MINE", None), (2, 5, 0, "QUEUE_MAX", None),
        (3, 5, 0, "LATER", 500), (3, 20, 0, "LATER", 500),
    ]  # fmt: skip
    assert plans[0].queue_waits == [(1, "ALL", 600)]
    assert (plans[1].waits, plans[1].queue_waits) == ([], [])
    assert plans[2].waits == [(2, 5, 0, "OTHER", 500)]


def test_a_container_is_taken_back_once_with_its_grace_and_reason():
    def allocate(plan: Plan) -> None:
        plan.allocate(plan.view.asks[1], plan.view.nodes[0])

    def preempt(plan: Plan) -> None:
        [taken] = plan.view.applications[0].containers
        plan.preempt(taken, 70, "mine")
        assert taken.preempting_since == plan.view.now_ms
        with pytest.raises(PlanError) as error:
            plan.preempt(taken, 70, "mine")
        assert str(error.value) == f"{taken!r}: is being preempted already"

    _, plans = does(allocate, preempt)
    assert plans[1].decisions == [r.Preempt(1, 70, "mine", 1)]


def test_headroom_and_reservations_are_sent_as_they_are_stated():
    def step(plan: Plan) -> None:
        two, one = plan.view.applications[1], plan.view.applications[0]
        plan.headroom(two, Resource((10, 1)))
        plan.headroom(one, Resource((5, 2)))
        plan.headroom(two, Resource((20, 2)))
        plan.reserve(two.asks[0], plan.view.nodes[0])
        plan.unreserve(two.asks[0])
        plan.reserve(one.asks[0], plan.view.nodes[1], 11)

    _, [plan] = does(step)
    assert plan.headroom == [(1, (5, 2)), (2, (20, 2))]
    assert plan.decisions == [
        r.Reserve(2, 5, 0, 1, None, 1), r.Unreserve(2, 5, 0, 1), r.Reserve(1, 5, 0, 2, 11, 1),
    ]  # fmt: skip


def test_the_dominant_share_is_divided_by_the_weight():
    def step(plan: Plan) -> None:
        plan.allocate(plan.view.asks[1], plan.view.nodes[0])
        app = plan.view.applications[0]
        assert plan.dominant_share(app) == 1024 / 6144
        app.weight = 2.0
        assert plan.dominant_share(app) == 1024 / 6144 / 2

    does(step)


@pytest.mark.parametrize("number", [2**53, -(2**53), 0, True])
def test_whole_numbers_of_every_kind_are_taken_up_to_their_bound(number):
    assert whole(number, "x") == number
    assert type(whole(number, "x")) is int


def test_values_out_of_bounds_are_named():
    for number in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(PlanError) as error:
            whole(number, "mine")
        assert str(error.value) == f"mine: {number} is beyond {2**53}"
    assert amounts([1, 2], 2, "x") == (1, 2)
    assert word("x" * 1000, "x") == "x" * 1000
    assert word("é", "x") == "é"
    with pytest.raises(PlanError) as error:
        word("\udcff", "mine")
    assert str(error.value) == "mine: '\\udcff' cannot be sent: surrogates not allowed"
