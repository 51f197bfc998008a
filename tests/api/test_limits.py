"""Tests of the limits and promises of the queue tree, which no policy can break: maximum, user
limit, AM share and guarantee.
"""

from collections import Counter

import pytest

from compiled import config, queue
from loomcard.model.state import ClusterState
from loomcard.testing.cluster import Cluster


def two_queues(policy: str = "drf", **keys: object) -> Cluster:
    """Return a cluster with room for 8 containers and the queues root.a (with these keys) and
    root.b.
    """
    engine = Cluster(
        config(queue("root", policy), queue("root.a", "fifo", **keys), queue("root.b", "fifo"))
    )
    engine.add_node(1, 8192, 8)
    return engine


@pytest.mark.parametrize(
    ("bound", "most"),
    [({"ppm": 250_000}, 2), ({"amounts": {"memory_mb": 3072}}, 3), ({"amounts": {"vcores": 1}}, 1)],
)
def test_a_maximum_holds_even_on_an_idle_cluster(bound, most):
    """A queue never uses more than its maximum, in percent or in amounts, and the reason is
    QUEUE_MAX.
    """
    engine = two_queues(maximum=bound)
    engine.add_app(1)
    engine.ask(1, 8)
    plan = engine.exchange()
    assert sum(d.count for d in plan.decisions) == most
    assert plan.waits == [(1, 20, 0, "QUEUE_MAX", None)]


def test_a_users_limit_leaves_room_for_another_user():
    """With a user limit of 25 % of the queue each user gets two containers; the other asks wait
    with USER_LIMIT.
    """
    engine = two_queues(user_limit_ppm=250_000)
    for app, user in ((1, "alice"), (2, "alice"), (3, "bob")):
        engine.add_app(app, user=user)
        engine.ask(app, 5)
    plan = engine.exchange()
    assert sorted(Counter({d.attempt: d.count for d in plan.decisions}).items()) == [(1, 2), (3, 2)]
    assert {w[3] for w in plan.waits} == {"USER_LIMIT"}


def test_the_am_share_bounds_masters_but_lets_the_first_in():
    """An AM share that is smaller than one container lets one AM run; the second waits. Tasks are
    not limited.
    """
    engine = two_queues(am_share_ppm=10_000)
    for app in (1, 2):
        engine.add_app(app)
        engine.ask(app, 1, priority=0, is_am=True)
    plan = engine.exchange()
    assert [d.attempt for d in plan.decisions] == [1]
    assert plan.waits == [(2, 0, 0, "AM_LIMIT", None)]


@pytest.mark.parametrize("policy", ["fifo", "drf"])
def test_guarantees_are_filled_first(policy):
    """A queue below its guarantee is served before any other, whatever order the policy has."""
    engine = two_queues(policy, guaranteed={"ppm": 750_000}, weight=0.01)
    engine.add_app(2, queue=2)
    engine.ask(2, 8)
    engine.now += 1
    engine.add_app(1, queue=1)
    engine.ask(1, 8)
    assert Counter(g.attempt for g in engine.round()) == {1: 6, 2: 2}


def test_limits_of_an_inner_queue_bind_its_children_together():
    """Two leaves under a maximum of half the cluster get half of it together."""
    engine = Cluster(
        config(
            queue("root", "drf"), queue("root.a", "drf", maximum={"ppm": 500_000}),
            queue("root.a.x", "fifo"), queue("root.a.y", "fifo"),
        )
    )  # fmt: skip
    engine.add_node(1, 8192, 8)
    for app, leaf in ((1, 2), (2, 3)):
        engine.add_app(app, queue=leaf)
        engine.ask(app, 8)
    assert Counter(g.attempt for g in engine.round()) == {1: 2, 2: 2}


@pytest.mark.parametrize("policy", ["fifo", "drf", "fair", "capacity"])
@pytest.mark.parametrize(
    ("bound", "is_am", "reason"),
    [
        ({"am_share_ppm": 250_000}, True, "AM_LIMIT"),
        ({"maximum_running_applications": 2}, True, "RUNNING_LIMIT"),
        ({"maximum": {"ppm": 250_000}}, False, "QUEUE_MAX"),
    ],
)
def test_a_round_does_not_look_at_each_application_behind_a_limit(
    policy, bound, is_am, reason, monkeypatch
):
    """What its queue's limit forbids to all, one application is asked about; all have the reason,
    also those that waited for room before.
    """
    made = Cluster(
        config(queue("root", "fair"), queue("root.a", policy, **bound), queue("root.b", "fifo")),
        nodes=[(4096, 4)],
    )
    made.add_app(999, "root.b")
    made.ask(999, 8)
    made.round()
    for app in range(1, 101):
        made.add_app(app, "root.a")
        made.ask(app, 1, is_am=is_am, priority=0 if is_am else 20)
    made.round()
    for number in list(made.containers):
        made.complete(number)
    made.round()
    started = {g.attempt for g in made.containers.values() if g.attempt < 999}
    assert len(started) == (2 if reason == "RUNNING_LIMIT" else 1)
    made.end_app(999)
    made.round()
    waiting = {made.reasons[key] for key in made.reasons if key[0] not in started}
    assert waiting == {reason}
    asked = []
    limited = ClusterState.limited
    monkeypatch.setattr(
        ClusterState, "limited", lambda state, ask: asked.append(ask) or limited(state, ask)
    )
    made.add_app(1000, "root.b")
    made.ask(1000, 1)
    assert [g.attempt for g in made.round()] == [1000]
    assert len({ask.application for ask in asked}) < 20
