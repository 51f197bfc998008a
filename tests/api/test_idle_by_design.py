"""A policy that lets an ask wait although it would fit states the rule, and until when."""

import pytest

from compiled import config, flat, queue
from loomcard import RULE_MS, ClusterView, Plan, PlanError
from loomcard.testing.cluster import Cluster


class Rule:
    """Allocates nothing, by a rule of five seconds for each ask or for the whole queue."""

    def __init__(self, below_queue: bool) -> None:
        self.below_queue = below_queue
        self.calls = 0

    def decide(self, view: ClusterView) -> Plan:
        """State the rule."""
        plan = Plan(view)
        self.calls += 1
        for each in [view.queue] if self.below_queue else view.asks:
            plan.wait(each, "LATER", view.now_ms + 5_000)
        return plan


def waiting(policy: Rule | None = None) -> Cluster:
    """Return a cluster with room and an application that asks, under a policy."""
    cluster = Cluster(flat())
    cluster.exchange()
    assert cluster.session.tree is not None
    if policy is not None:
        cluster.session.tree.instances[1].policy = policy
    cluster.add_node(1, 8192, 8)
    cluster.add_app(1)
    cluster.ask(1, 2)
    return cluster


@pytest.mark.parametrize("below_queue", [False, True])
def test_a_rule_is_stated_again_when_its_time_is_over(below_queue: bool):
    """A rule is sent once. When its time ends, the engine calls the policy, and the rule is sent
    again.
    """
    policy = Rule(below_queue)
    cluster = waiting(policy)

    def stated() -> list[object]:
        plan = cluster.exchange()
        assert plan.decisions == []
        return [row[-2:] for row in (plan.queue_waits if below_queue else plan.waits)]

    first = stated()
    until_ms = cluster.now + 5_000
    assert first == [("LATER", until_ms)]
    assert cluster.session.tree.timers[0] == until_ms
    assert stated() == []
    calls = policy.calls
    cluster.now = until_ms - 10
    assert stated() == [("LATER", until_ms + 5_000)]
    assert policy.calls == calls + 1


def test_another_reason_takes_the_rule_back():
    """A reason without a time ends the rule: nothing excuses the policy any more."""
    cluster = waiting(Rule(below_queue=False))
    cluster.exchange()
    tree = cluster.session.tree
    plan = Plan(tree.instances[1].view)
    plan.wait(plan.view.asks[0], "BUSY")
    assert plan._pending.reply(9).waits == [(1, 20, 0, "BUSY", None)]
    assert tree.mirror.state.rule_waits.next_ms() is None


def test_a_rule_ends_in_the_future_and_a_queue_needs_one():
    """A time in the past is refused, and so is a queue without a time."""
    cluster = waiting(Rule(below_queue=False))
    cluster.exchange()
    plan = Plan(cluster.session.tree.instances[1].view)
    now = plan.view.now_ms
    with pytest.raises(PlanError, match=f"wait until {now} at {now}: not in the future"):
        plan.wait(plan.view.asks[0], "LATER", now)
    with pytest.raises(PlanError, match=r"root\.default: a queue needs until_ms"):
        plan.wait(plan.view.queue, "LATER")


def test_a_queue_at_its_share_waits_by_its_parents_rule():
    """If a parent's share forbids more, the wait of the whole queue below it is excused."""
    root = queue("root", "strict", options={"over": "all"})
    cluster = Cluster(config(root, queue("root.a", "fifo"), queue("root.b", "fifo")))
    cluster.add_node(1, 4096, 4)
    cluster.add_app(1, "root.a")
    cluster.ask(1, 8)
    plan = cluster.exchange()
    cluster.commit(plan)
    assert sum(decision.count for decision in plan.decisions) == 2
    assert plan.queue_waits == [(1, "SHARE", cluster.now + RULE_MS)]
