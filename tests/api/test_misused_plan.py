"""If a policy calls its plan with what cannot be sent, that is a fault of its queue alone."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import pytest

from compiled import config, queue
from loomcard import ClusterView, Plan, fill, register
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

MISUSES: dict[str, Callable[[Plan, Any], object]] = {
    "wake at a fraction": lambda plan, _ask: plan.wake_at(1_000_000.5),
    "wake at infinity": lambda plan, _ask: plan.wake_at(inf),
    "wake too late": lambda plan, _ask: plan.wake_at(10**30),
    "wake at a text": lambda plan, _ask: plan.wake_at("soon"),
    "wait for a surrogate": lambda plan, ask: plan.wait(ask, "\udcff"),
    "wait with 40 MB": lambda plan, ask: plan.wait(ask, "x" * 40_000_000),
    "report a surrogate": lambda plan, ask: plan.report(ask.application.queue, {"a": "\udcff"}),
    "report 40 MB": lambda plan, ask: plan.report(ask.application.queue, {"a": "x" * 40_000_000}),
    "headroom of fractions": lambda plan, ask: plan.headroom(ask.application, (0.5, 1)),
    "headroom of one type": lambda plan, ask: plan.headroom(ask.application, (1,)),
    "hold until a fraction": lambda plan, ask: plan.reserve(ask, plan.view.nodes[0], 1_000_000.5),
    "hold until later": lambda plan, ask: plan.reserve(ask, plan.view.nodes[0], 10**30),
    "preempt after a fraction": lambda plan, ask: plan.preempt(
        next(iter(ask.application.containers)), 0.5, "no"
    ),
    "preempt what this round allocated": lambda plan, ask: (
        plan.allocate(ask, plan.view.nodes[0]),
        plan.preempt(next(reversed(ask.application.containers)), 1, "no"),
    ),
    "preempt for a surrogate": lambda plan, ask: plan.preempt(
        next(iter(ask.application.containers)), 1, "\udcff"
    ),
}  # fmt: skip


SAYS = {"preempt what this round allocated": "only a confirmed, live container can be preempted"}


@register("test-misuses")
@dataclass(frozen=True)
class Misuses:
    """Calls its plan in one of the ways of MISUSES, once its first application has a container."""

    what: str = ""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        if view.asks and view.asks[0].application.containers:
            MISUSES[self.what](plan, view.asks[0])
        return fill(plan, order=lambda app: app.number)


@pytest.mark.parametrize("what", MISUSES)
def test_a_misused_plan_is_a_fault_of_its_queue(what):
    """The traceback names the wrong line, and the other queue is served in the same round."""
    engine = Cluster(
        config(
            queue("root", "drf"),
            queue("root.a", "test-misuses", options={"what": what}),
            queue("root.b", "fifo"),
        ),
        tolerant=True,
    )
    engine.add_node(1, 8192, 8)
    for app in (1, 2):
        engine.add_app(app, queue=app)
        engine.ask(app, 1)
    engine.round()
    for app in (1, 2):
        engine.ask(app, 2)
    plan = engine.exchange(1_000)
    [(instance, message, trace)] = plan.faults
    assert (instance, message.startswith("root.a:test-misuses: PlanError: ")) == (1, True)
    assert "test_misused_plan.py" in trace
    assert SAYS.get(what, "") in message
    assert {each.attempt for each in plan.decisions} == {2}
    sent = r.write(plan)
    assert len(sent) < 100_000
    assert r.read_reply(sent) == plan
