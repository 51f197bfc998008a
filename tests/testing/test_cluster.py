"""Tests of the cluster for tests: what an author can let happen, and what the cluster notices."""

import pytest

import broken
import scripted  # noqa: F401 - registers test policies
from loomcard.testing import BrokenPlanError, Cluster, PolicyRaisedError, drain
from loomcard.wire.messages import Preempt


def test_a_test_of_a_policy_takes_a_few_lines():
    """A test adds nodes, queues, applications and asks. A round returns what was allocated; the
    rest waits for a reason.
    """
    cluster = Cluster("drf", nodes=[(4096, 4)], queues={"a": {"weight": 3}, "b": {}})
    cluster.add_app(1, "root.a")
    cluster.add_app(2, "root.b")
    cluster.ask(1, 4)
    cluster.ask(2, 4)
    assert sorted(allocated.app for allocated in cluster.round()) == [1, 1, 1, 2]
    assert cluster.reasons == {(1, 20, 0): "NODE_FULL", (2, 20, 0): "NODE_FULL"}
    cluster.complete(1)
    assert len(cluster.round()) == 1


def test_timers_fire_when_they_are_due():
    """A patient policy is called again at the time that it named, and then takes any node."""
    cluster = Cluster("test-delay", nodes=[(1024, 1)])
    cluster.add_app(1)
    cluster.ask(1, 1, hosts={"elsewhere": 1})
    assert cluster.round() == []
    assert cluster.timers == {1: 5010}
    assert cluster.memory() == {(1, 20, 0): 10}
    assert cluster.round(4999) == []
    assert len(cluster.round(1)) == 1
    assert cluster.timers == {}


def test_a_policy_that_raises_fails_the_test_unless_that_is_tolerated():
    """The message has the traceback; a tolerant cluster continues without that round's
    decisions.
    """
    for tolerant in (False, True):
        cluster = Cluster("test-greedy", nodes=[(1024, 1)])
        cluster.tolerant = tolerant
        cluster.add_app(1)
        cluster.ask(1, 2)
        if tolerant:
            cluster.commit(cluster.exchange())
        else:
            with pytest.raises(PolicyRaisedError, match="NODE_FULL"):
                cluster.round()
        assert cluster.containers == {}


def test_a_snapshot_in_mid_run_changes_nothing():
    """After the snapshot the same is allocated as without it: memory and rows were rebuilt."""
    found = []
    for snapshot in (False, True):
        cluster = Cluster("fifo", nodes=[(4096, 4), (4096, 4)])
        for app in (1, 2):
            cluster.add_app(app)
            cluster.ask(app, 5, hosts={"n2": 3}, racks={"/r": 3})
        cluster.blacklist(2, "n1")
        cluster.round()
        if snapshot:
            cluster.snapshot()
        for number in (1, 2, 6):
            cluster.complete(number)
        found.append([(g.app, g.node) for g in cluster.round()])
    assert found[0] == found[1]
    assert found[0]


def test_a_preempted_container_ends_after_its_grace():
    """It does not end earlier, and the policy is informed as of any other end."""
    cluster = Cluster("fifo", nodes=[(1024, 1)])
    cluster.add_app(1)
    cluster.ask(1, 1)
    cluster.round()
    plan = cluster.exchange()
    plan.decisions.append(Preempt(1, 50, "test", 1))
    cluster.session.mirror.in_flight = []
    cluster.commit(plan)
    cluster.outcomes = None
    cluster.exchange(49)
    assert list(cluster.containers) == [1]
    cluster.exchange(1)
    assert cluster.containers == {}


def test_draining_serves_everybody_or_says_who_waits():
    """Containers end one by one until no ask waits; an ask that is never served is named."""
    cluster = Cluster("fifo", nodes=[(1024, 1)])
    cluster.add_app(1)
    cluster.ask(1, 7)
    drain(cluster)
    assert len(cluster.containers) == 1
    stuck = Cluster(broken.WakesForever, nodes=[(1024, 1)])
    stuck.add_app(1)
    stuck.ask(1, 7)
    with pytest.raises(BrokenPlanError, match="application 1 waits for 7 containers") as caught:
        drain(stuck)
    assert caught.value.clause == "liveness"
