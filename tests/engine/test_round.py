"""Tests of a round: turns between queues, faults of one instance, memory, timers, reports."""

from collections import Counter
from dataclasses import dataclass

import pytest

import scripted  # noqa: F401 - registers the policies named below
from compiled import config, flat, queue
from loomcard import ClusterView, Plan, Resource, register
from loomcard.api.view import TurnResult
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r


def under(
    root: str, a: str, b: str = "fifo", root_options: dict | None = None, **options
) -> Cluster:
    """Return a cluster of 4 containers with the leaves root.a (with these options) and root.b;
    application 1 is in a, 2 in b.
    """
    engine = Cluster(
        config(
            queue("root", root, options=root_options or {}),
            queue("root.a", a, options=options), queue("root.b", b),
        )
    )  # fmt: skip
    engine.add_node(1, 4096, 4)
    for app in (1, 2):
        engine.add_app(app, queue=app)
    return engine


def test_fifo_leaves_alternate_under_drf():
    """drf at the root gives turns by dominant share, fifo serves inside each leaf, and each
    decision names its instance.
    """
    engine = under("drf", "fifo")
    engine.ask(1, 9)
    engine.ask(2, 9)
    allocated = engine.round()
    assert [(g.attempt, g.instance) for g in allocated] == [(1, 1), (2, 2), (1, 1), (2, 2)]


def test_a_reason_for_waiting_is_reported_for_what_waits_only():
    """Asks served in this round have no reason; asks that are left when the cluster is full have
    one.
    """
    engine = under("drf", "fifo")
    engine.ask(1, 2)
    engine.ask(2, 2)
    assert engine.exchange().waits == []
    other = under("drf", "fifo")
    other.ask(1, 3)
    other.ask(2, 2)
    assert other.exchange().waits == [(1, 20, 0, "NODE_FULL", None)]


def test_what_one_queue_cannot_use_goes_to_the_other():
    """A leaf without demand gets no turn, and its sibling gets the rest."""
    engine = under("drf", "fifo")
    engine.ask(2, 9)
    assert Counter(g.attempt for g in engine.round()) == {2: 4}


@pytest.mark.parametrize(
    ("ask", "options", "want"),
    [
        pytest.param((0, (1024, 1)), {}, {"count": 0, "stopped": "NOTHING"}, id="nothing wanted"),
        pytest.param((1, (9999, 1)), {}, {"count": 0, "stopped": "NO_FIT"}, id="fits nowhere"),
        pytest.param((3, (1024, 1)), {"count": 2}, {"count": 2, "stopped": None}, id="its count"),
        pytest.param(
            (3, (1024, 1)),
            {"count": 9, "memory_mb": 1500},
            {"count": 1, "stopped": None},
            id="its limit",
        ),
    ],
)
def test_a_turn_says_what_it_took_and_why_it_stopped(ask, options, want):
    """``TurnResult`` states the count and, if nothing was taken, the reason. The count and the
    limit of a turn are kept.
    """
    engine = under("test-turns", "fifo", root_options=options)
    if ask[0]:
        engine.ask(1, *ask)
    assert engine.exchange().reports["root.a from above"] == want


def test_a_child_that_holds_back_is_withheld():
    """A policy that waits for locality answers WITHHELD although a node fits."""
    engine = under("test-turns", "test-delay")
    engine.ask(1, 1, hosts={"n9": 1})
    assert engine.exchange().reports["root.a from above"]["stopped"] == "WITHHELD"


def test_a_child_that_may_take_more_later_is_not_withheld():
    """With ``asks_again`` a leaf that took nothing is called again when other queues change."""
    engine = under("test-turns", "test-waits-for-others")
    engine.ask(1, 1)
    assert engine.exchange().reports["root.a from above"]["stopped"] == "NO_FIT"


def test_a_policy_is_tried_before_there_is_demand():
    """Without demand the turns of its children take nothing. A policy that cannot work fails in the
    first round.
    """
    assert under("test-turns", "fifo").exchange().faults == []
    assert len(under("test-turns", "test-raises").exchange().faults) == 1


@register("test-tries")
@dataclass(frozen=True)
class Tries:
    """Looks at what a call shows that is made to try it."""

    returns_plan: bool = True

    def decide(self, view: ClusterView) -> Plan:
        plan, zero = Plan(view), Resource((0, 0))
        [child] = view.queue.children
        assert (plan.spent, view.capacity) == (True, (4096, 4))
        assert plan.turn(child) == TurnResult(0, "NOTHING", zero, zero)
        assert plan.turn(child, 2, zero).resource == zero
        plan.report(child, {"kept": 1})
        plan.wake_at(999)
        return plan if self.returns_plan else view.queue.path


@pytest.mark.parametrize("returns_plan", [True, False])
def test_a_trial_shows_an_empty_turn_and_leaves_nothing(returns_plan):
    """Once, without demand; a fault says what was returned instead of a plan."""
    tries = queue("root.a", "test-tries", options={"returns_plan": returns_plan})
    engine = Cluster(config(queue("root", "fifo"), tries, queue("root.a.x", "fifo")), tolerant=True)
    engine.add_node(1, 4096, 4)
    plan = engine.exchange()
    assert (plan.decisions, plan.timers, plan.reports) == ([], [], {})
    said = "root.a:test-tries: TypeError: decide must return its Plan, and returned 'root.a'"
    assert [text for _, text, _ in plan.faults] == ([] if returns_plan else [said])
    engine.commit(plan)
    assert engine.session.tree.instances[1].untried is False
    assert engine.exchange().faults == []


def test_a_child_that_held_back_is_asked_again_when_its_timer_fires():
    """Under drf a leaf that withholds is out of the order until its timer fires; then it takes any
    node.
    """
    engine = under("drf", "test-delay", wait_ms=50)
    engine.ask(1, 1, hosts={"n9": 1})
    plan = engine.exchange()
    assert plan.decisions == []
    assert plan.timers == [(1, 60)]
    engine.commit(plan)
    assert engine.round(20) == []
    engine.send(r.TimerFiredRecord(60, 1))
    assert [g.node for g in engine.round(30)] == [1]


def test_a_fault_drops_that_instances_decisions_only():
    """The broken leaf's allocations are taken back, those of the other leaf stay, and the traceback
    is reported.
    """
    engine = under("drf", "test-broken", when="app1")
    engine.tolerant = True
    engine.ask(1, 2)
    engine.ask(2, 2)
    plan = engine.exchange()
    assert {d.attempt for d in plan.decisions} == {2}
    [(instance, message, trace)] = plan.faults
    assert (instance, "broken on purpose" in message, "Traceback" in trace) == (1, True, True)
    engine.commit(plan)
    assert {g.attempt for g in engine.round()} == {1}  # its fallback serves; both states agree


def test_a_policy_that_raises_rests_and_is_tried_again():
    """During a rest the queue is served first in, first out. Each rest is twice as long as the one
    before, and the other queue is not affected.
    """
    engine = under("drf", "test-broken", when="app1")
    engine.tolerant = True
    engine.ask(1, 1, (9999, 1))  # so that it is called, and raises, in every round
    faults = []
    for _ in range(8):
        engine.ask(2, 1)
        plan = engine.exchange(1_000)
        faults.append(len(plan.faults))
        engine.commit(plan)
    assert faults == [1, 1, 0, 1, 0, 0, 0, 1]


def test_a_queue_is_served_while_its_policy_rests():
    """The fallback decides instead of the policy, also under a tree of queues."""
    engine = Cluster(
        config(queue("root", "test-broken", options={"when": "app1"}), queue("root.a", None))
    )
    engine.tolerant = True
    engine.add_node(1, 4096, 4)
    engine.add_app(1, queue=1)
    engine.ask(1, 3)
    plan = engine.exchange()
    assert [fault[0] for fault in plan.faults] == [0]
    engine.commit(plan)
    assert [(g.attempt, g.instance) for g in engine.round()] == [(1, 0)] * 3


def test_a_memory_that_cannot_be_saved_is_its_policys_fault():
    """The round's plan is kept, and what other policies save is saved."""
    engine = under("drf", "test-unsaved", "test-counter")
    engine.tolerant = True
    engine.ask(1, 1)
    engine.ask(2, 1)
    plan = engine.exchange(10_000)
    assert [d.attempt for d in plan.decisions] == [1, 2]
    assert [fault[0] for fault in plan.faults] == [1]
    assert list(plan.saved) == ["root.b:test-counter"]
    engine.commit(plan)
    engine.round()


def test_a_policy_bound_to_heartbeats_is_asked_at_each():
    """Below another policy too, what it left at one heartbeat it may take at the next."""
    engine = under("fifo", "test-heartbeats")
    engine.add_node(2, 4096, 4)
    engine.ask(1, 2)
    assert engine.round() == []
    for node in (2, 1):
        engine.send(r.NodeHeartbeatRecord(engine.now, node))
        assert [g.node for g in engine.round()] == [node]


def nested(policy: str, **options) -> Cluster:
    """Return a cluster of 4 containers with drf at root and at root.a, and application 1 in the
    only leaf, root.a.x.
    """
    queues = (queue("root", "drf"), queue("root.a", "drf"), queue("root.a.x", policy))
    queues[-1]["options"] = options
    engine = Cluster(config(*queues))
    engine.add_node(1, 4096, 4)
    engine.add_app(1, queue=2)
    return engine


def test_a_policy_bound_to_heartbeats_is_asked_at_each_two_levels_down_too():
    """The queue between the two took nothing, but is offered a turn in the next round although
    nothing below it has changed.
    """
    engine = nested("test-heartbeats")
    engine.add_node(2, 4096, 4)
    engine.ask(1, 2)
    assert engine.round() == []
    for node in (2, 1):
        assert engine.round() == []
        engine.send(r.NodeHeartbeatRecord(engine.now, node))
        assert [g.node for g in engine.round()] == [node]


def test_a_timer_two_levels_down_brings_a_turn_to_the_queue_between():
    """The leaf held back, so the queue above it was out of the order of root's policy until the
    timer.
    """
    engine = nested("test-delay", wait_ms=50)
    engine.ask(1, 1, hosts={"n9": 1})
    assert engine.round() == engine.round(20) == []
    engine.send(r.TimerFiredRecord(60, 2))
    assert [g.node for g in engine.round(30)] == [1]


def test_what_a_faulty_instance_took_has_room_again_in_the_same_round():
    """Shapes that fitted nowhere are looked at again after the decisions of an instance are taken
    back.
    """
    engine = under("drf", "test-broken", when="app1")
    engine.exchange()
    pending = engine.session.tree._pending
    pending.exhausted.add(((1024, 1), ""))
    pending.drop(1)
    assert pending.exhausted == set()


def test_a_plan_past_an_ask_or_node_fails_at_the_policys_own_line():
    """An allocation of more than is asked for, or than fits, raises; nothing of that instance is
    allocated.
    """
    engine = Cluster(flat("test-greedy"))
    engine.add_node(1, 4096, 4)
    engine.add_app(1)
    engine.ask(1, 2)
    plan = engine.exchange()
    assert plan.decisions == []
    assert "ASK_GONE" in plan.faults[0][1]


def test_changes_are_reported_once_and_only_inside_the_scope():
    """A policy sees the events of its own applications and of all nodes since its last call."""
    engine = under("drf", "test-counter", "test-counter")
    engine.ask(1, 1)
    engine.round()
    engine.round()
    seen = {i: engine.session.tree.instances[i].memory["seen"] for i in (1, 2)}
    common = ["NodeAdded", "ApplicationAdded", "AttemptAdded", "AttemptRegistered"]
    assert seen == {1: [*common, "AskChanged"], 2: common}


def test_a_child_whom_nothing_fits_any_more_is_not_called_twice_in_a_round():
    """If a child took all the room and left some of its turn unused, its next answer is known."""
    engine = Cluster(flat("test-counter"))
    engine.add_node(1, 8192, 8)
    engine.add_app(1)
    engine.ask(1, 100)
    for calls in (1, 2):
        engine.round()
        assert engine.session.tree.instances[1].memory["calls"] == calls
        engine.complete(next(iter(engine.containers)))


def test_later_turns_of_a_round_go_on_without_calling_decide():
    """Later turns allocate what ``decide`` would. The first turn of the next round calls ``decide``
    again.
    """
    allocated, calls = {}, {}
    for goes_on in (False, True):
        engine = under("drf", "test-later-turns", "test-later-turns", goes_on=goes_on)
        engine.add_app(3, queue=1)
        for app in (1, 2, 3):
            engine.ask(app, 9 if app == 2 else 2)
        first = [(g.attempt, g.instance) for g in engine.round()]
        for number in (1, 2, 3):
            engine.complete(number)
        allocated[goes_on] = first, [(g.attempt, g.instance) for g in engine.round()]
        calls[goes_on] = engine.session.tree.instances[1].memory["calls"]
    first, second = allocated[True]
    assert first == [(1, 1), (2, 2), (1, 1), (2, 2)]
    assert Counter(attempt for attempt, _ in second) == {3: 2, 2: 1}
    assert allocated[False] == allocated[True]
    assert calls == {False: 5, True: 2}


def test_what_raises_in_a_later_turn_is_that_instances_fault():
    """All that it decided in the round is dropped, and its fallback serves in the next round."""
    engine = under("drf", "test-later-turns", broken=True)
    engine.ask(1, 9)
    engine.ask(2, 9)
    plan = engine.exchange()
    assert [(number, "broken on purpose in root.a" in text) for number, text, _ in plan.faults] == [
        (1, True)
    ]
    assert {d.instance for d in plan.decisions} == {2}
    assert sum(d.count for d in plan.decisions) == 4


def test_a_timer_fires_for_the_instance_that_set_it_and_for_no_other():
    """TimerFired is among the changes of the instance that set the timer, and of no other."""
    engine = under("drf", "test-counter", "test-counter")
    engine.round()
    engine.send(r.TimerFiredRecord(5, 2))
    engine.round()
    seen = {i: engine.session.tree.instances[i].memory["seen"].count("TimerFired") for i in (1, 2)}
    assert seen == {1: 0, 2: 1}


def test_a_timer_that_fired_is_set_no_more():
    """The instance may set it again, even to the same time."""
    engine = under("drf", "test-delay", wait_ms=50)
    engine.ask(1, 1, hosts={"n9": 1})
    engine.round()
    assert engine.session.tree.timers == {1: 60}
    engine.send(r.TimerFiredRecord(60, 1))
    engine.round(50)
    assert engine.session.tree.timers == {}


def test_a_late_plan_restores_the_asks_and_rebuilds_the_memory():
    """LATE refuses a whole plan: its asks are restored, and the memory starts again from what was
    saved.
    """
    engine = Cluster(flat("test-counter"))
    engine.add_node(1, 2048, 2)
    engine.add_app(1)
    engine.ask(1, 2)
    assert engine.round(late=True) == []
    assert len(engine.round()) == 2
    assert engine.session.tree.instances[1].memory["calls"] == 1


def test_a_refusal_reaches_the_policy_with_its_reason_and_the_ask_is_served_again():
    """Refused is among the changes, and the next plan allocates the container again."""
    engine = Cluster(flat("test-counter"), refuse=lambda _: "NODE_FULL")
    engine.add_node(1, 2048, 2)
    engine.add_app(1)
    engine.ask(1, 1)
    assert engine.round() == []
    engine.refuse = lambda _: None
    assert len(engine.round()) == 1
    assert engine.session.tree.instances[1].memory["seen"].count("Refused") == 1


def test_what_is_saved_survives_a_restart_of_the_process():
    """``saved`` is sent every second here, and a new process continues from it."""
    first = Cluster(flat("test-counter"))
    for _ in range(5):
        first.send(r.NodeHeartbeatRecord(0, 1)) if 1 in first.nodes else first.add_node(1, 1, 1)
        first.round(500)
    assert first.saved["root.default:test-counter"] >= 3
    second = Cluster(flat("test-counter"), saved=first.saved)
    second.add_node(1, 1, 1)
    second.round()
    calls = second.session.tree.instances[1].memory["calls"]
    assert calls == first.saved["root.default:test-counter"] + 1


def test_a_swap_keeps_containers_and_what_the_same_policy_saved():
    """Under another configuration applications stay in the queue of the same path. If a queue keeps
    its policy, the policy keeps what it saved.
    """
    engine = under("drf", "test-counter")
    engine.ask(1, 2)
    engine.ask(2, 1)
    engine.round()
    calls = engine.session.tree.instances[1].memory["calls"]
    engine.compiled = config(
        queue("root", "fifo"),
        queue("root.b", "drf"),
        queue("root.a", "test-counter"),
        queue("root.c", "fifo"),
    )
    engine.send(r.ConfigRecord(0, 2, engine.compiled))
    engine.ask(2, 2)
    assert [(g.attempt, g.instance) for g in engine.round()] == [(2, 1)]
    assert engine.session.tree.instances[2].memory["calls"] == calls + 1
    used = {q.path: q.used[1] for q in engine.session.mirror.state.queues}
    assert used == {"root": 4, "root.a": 2, "root.b": 2, "root.c": 0}


def test_a_plan_is_bounded_and_the_next_goes_on_where_it_stopped():
    """A plan allocates at most `round_containers`; the next rounds allocate the rest of what one
    plan would.
    """
    orders = []
    for most in (None, 3):
        compiled = config(queue("root", "drf"), queue("root.a", "drf"), queue("root.b", "fifo"))
        engine = Cluster(compiled, round_containers=most)
        engine.add_node(1, 8192, 8)
        for app in (1, 2):
            engine.add_app(app, queue=app)
            engine.ask(app, 9)
        rounds = [engine.round() for _ in range(4)]
        assert [len(allocated) for allocated in rounds] == (
            [8, 0, 0, 0] if most is None else [3, 3, 2, 0]
        )
        orders.append([g.attempt for allocated in rounds for g in allocated])
    assert orders[0] == orders[1]
