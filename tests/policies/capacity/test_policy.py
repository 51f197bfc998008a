"""Tests of the capacity policy: one example for each of YARN's documented rules."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiled import config, flat, queue
from loomcard.policies.capacity.policy import CapacityScheduler
from loomcard.policies.capacity.yarn import LimitRule, used_capacity_order, user_limit
from loomcard.testing.cluster import Cluster


def two(first: int, second: int, root: dict | None = None, **keys: dict) -> Cluster:
    """Return a cluster with room for ten containers under capacity. The leaves root.a and root.b
    are guaranteed these percentages.
    """
    queues = [
        queue(f"root.{n}", **{"policy": None, "guaranteed": {"ppm": p * 10_000}, **keys.get(n, {})})
        for n, p in (("a", first), ("b", second))
    ]
    engine = Cluster(config(queue("root", "capacity", options=root or {}), *queues))
    engine.add_node(1, 10 * 1024, 10)
    return engine


def held(engine: Cluster) -> dict[int, int]:
    """Return the number of containers of each application."""
    return dict(sorted(Counter(g.attempt for g in engine.containers.values()).items()))


def test_queues_get_what_they_are_guaranteed():
    """If both demand more, they get 70 % and 30 % of ten containers."""
    engine = two(70, 30)
    for app in (1, 2):
        engine.add_app(app, queue=app)
        engine.ask(app, 20)
    engine.round()
    assert held(engine) == {1: 7, 2: 3}


def test_what_is_idle_is_lent_up_to_the_user_limit_factor():
    """With user-limit-factor 1 a user stays within the queue's capacity, plus one container because
    YARN denies one container late. With 2 the user gets twice that.
    """
    for factor, want in ((1.0, 4), (2.0, 7), (-1, 10)):
        engine = two(30, 70, {"user_limit_factor": factor})
        engine.add_app(1)
        engine.ask(1, 20)
        engine.round()
        assert held(engine) == {1: want}


def test_lending_ends_at_the_maximum():
    """A queue is elastic up to maximum-capacity, for any number of users."""
    engine = two(30, 70, {"user_limit_factor": -1}, a={"maximum": {"ppm": 500_000}})
    engine.add_app(1)
    engine.ask(1, 20)
    engine.round()
    assert held(engine) == {1: 5}


def test_freed_room_goes_to_the_queue_that_is_owed():
    """Without preemption a queue that came late gets the room that is freed, until the guarantees
    are met.
    """
    engine = two(50, 50, {"user_limit_factor": 2.0})
    engine.add_app(1)
    engine.ask(1, 20)
    first = engine.round()
    engine.add_app(2, queue=2)
    engine.ask(2, 20)
    for container in first[:6]:
        engine.complete(container.number)
    engine.round()
    assert held(engine) == {1: 5, 2: 5}


@pytest.mark.parametrize(
    ("users", "percent"),
    [
        pytest.param("a", 100, id="one"),
        pytest.param("ab", 50, id="two"),
        pytest.param("abc", 34, id="three"),
        pytest.param("abcd", 25, id="four"),
        pytest.param("abcde", 25, id="five"),
    ],
)
def test_minimum_user_limit_percent_as_yarn_documents_it(users, percent):
    """With YARN's example of 25 no one of two users gets more than 50 %, of three 33 %, and of four
    or more 25 %. Each may have one container more, because the denial comes late. The queue is full
    all the same.
    """
    engine = Cluster(flat("capacity", minimum_user_limit_percent=25))
    engine.add_node(1, 100 * 1024, 100)
    for app, user in enumerate(users, 1):
        engine.add_app(app, user=user)
        engine.ask(app, 200)
    engine.round()
    assert max(held(engine).values()) in (percent, percent + 1)
    assert sum(held(engine).values()) == 100


def test_a_queue_too_small_for_a_container_gets_on_all_the_same():
    """A tenth of a container is guaranteed. The limit counts from one container, as YARN's does, so
    a user with a factor of 2 has two, and one more because the denial comes late.
    """
    rule = LimitRule(minimum_percent=100, factor=1.0)
    assert user_limit(1, 10, 0, 10, 10, 1, rule) == 10
    assert user_limit(1, 10, 5, 15, 15, 1, rule) == 10
    assert user_limit(0, 10, 5, 15, 15, 1, rule) == 15
    engine = two(1, 99, {"user_limit_factor": 2.0})
    engine.add_app(1)
    engine.ask(1, 9)
    engine.round()
    assert held(engine) == {1: 3}


def test_a_user_held_back_goes_on_when_the_limit_rises():
    """When y wants nothing more, the limit of x, the only user left, rises during the round."""
    options = {"minimum_user_limit_percent": 50, "user_limit_factor": -1}
    engine = Cluster(config(queue("root", "capacity", options=options), queue("root.a", None)))
    engine.add_node(1, 10 * 1024, 10)
    for app, user, count in ((1, "x", 20), (2, "y", 3)):
        engine.add_app(app, user=user)
        engine.ask(app, count)
    assert [g.attempt for g in engine.round()] == [1] * 6 + [2] * 3 + [1]


def test_fair_ordering_shares_a_leaf_by_memory():
    """Ordering fair serves the application with the least memory first, fifo the one that came
    first.
    """
    for ordering, want in (("fair", {1: 5, 2: 5}), ("fifo", {1: 10})):
        engine = Cluster(flat("capacity", ordering=ordering))
        engine.add_node(1, 10 * 1024, 10)
        for app in (1, 2):
            engine.add_app(app)
            engine.ask(app, 20)
        engine.round()
        assert held(engine) == want


def test_a_hierarchy_divides_what_its_parent_was_promised():
    """root.a has 60 %, of which a1 and a2 have 50 % each, and root.b 40 %: 3, 3 and 4 of ten
    containers.
    """
    half = {"ppm": 500_000}
    engine = Cluster(
        config(
            queue("root", "capacity"),
            queue("root.a", None, guaranteed={"ppm": 600_000}),
            queue("root.a.a1", None, guaranteed=half),
            queue("root.a.a2", None, guaranteed=half),
            queue("root.b", None, guaranteed={"ppm": 400_000}),
        )
    )
    engine.add_node(1, 10 * 1024, 10)
    for app, leaf in ((1, 2), (2, 3), (3, 4)):
        engine.add_app(app, queue=leaf)
        engine.ask(app, 20)
    engine.round()
    assert held(engine) == {1: 3, 2: 3, 3: 4}


def test_a_queue_below_with_a_policy_of_its_own_gets_turns():
    """capacity decides how much root.b gets, and drf which of its applications gets it."""
    engine = two(50, 50, b={"policy": "drf"})
    for app, leaf in ((1, 1), (2, 2), (3, 2)):
        engine.add_app(app, queue=leaf)
        engine.ask(app, 20)
    instances = Counter((g.attempt, g.instance) for g in engine.round())
    assert instances == {(1, 0): 5, (2, 2): 3, (3, 2): 2}


def test_without_guarantees_weights_divide():
    """As in YARN's weight mode, the queues share 4 to 1."""
    engine = two(0, 0, a={"weight": 4.0})
    for app in (1, 2):
        engine.add_app(app, queue=app)
        engine.ask(app, 20)
    engine.round()
    assert held(engine) == {1: 8, 2: 2}


@given(st.floats(0, 9), st.floats(0, 9), st.floats(0.01, 9), st.floats(0.01, 9))
def test_the_less_of_its_guarantee_a_queue_uses_the_sooner_it_is_served(used, more, mine, other):
    """The order is used / guaranteed. A queue without a guarantee comes after all queues with
    one.
    """
    first = used_capacity_order(used, mine)
    assert first <= used_capacity_order(used + more, mine)
    assert (first < used_capacity_order(used, other)) == (
        (used / mine, -mine) < (used / other, -other)
    )
    assert first < used_capacity_order(0, 0)


@given(st.floats(0, 2), st.integers(1, 9), st.integers(1, 100), st.floats(0.1, 9))
def test_the_user_limit_lies_between_its_floor_and_its_ceiling(used, users, percent, factor):
    """The limit is at least the minimum percent and an equal part of what is used, and at most the
    factor.
    """
    rule = LimitRule(percent, factor)
    limit = user_limit(1.0, 0.1, used, used + 0.1, used + 0.1, users, rule)
    assert limit <= factor
    assert limit == factor or limit >= max(percent / 100, (used + 0.1) / users)


def test_who_waits_for_the_user_limit_is_let_go_by_the_limit_for_its_own_container() -> None:
    """Alice uses 7 and wants a container of 4, which is above (7 + 2 + 4) / 2 until bob uses one
    more. If bob's ask of 1 were the measure, her limit would be (7 + 3 + 1) / 2, and she would wait
    beside idle nodes.
    """
    policy = CapacityScheduler(minimum_user_limit_percent=1)
    cluster = Cluster(policy, nodes=[(20, 20)])
    cluster.add_node(2, 1, 1, rack="/s")
    for app, user, count in ((1, "alice", 7), (2, "bob", 2)):
        cluster.add_app(app, user=user)
        cluster.ask(app, count, (1, 1), hosts={"n1": count}, racks={"/r": count}, relax=False)
    assert sum(allocated.app == 1 for allocated in cluster.round()) == 7
    cluster.ask(1, 1, (4, 4))
    cluster.ask(2, 2, (1, 1), hosts={"n2": 2}, racks={"/s": 2}, relax=False)
    assert [allocated.app for allocated in cluster.round()] == [2, 1]


def test_who_holds_and_asks_for_nothing_is_forgotten():
    """After a user's last application has ended, nothing is kept of its name, so any number of
    names costs nothing.
    """
    engine = two(50, 50)
    for app in range(1, 6):
        engine.add_app(app, user=f"user{app}")
        engine.ask(app, 1)
        engine.round()
        for number in list(engine.containers):
            engine.complete(number)
        engine.round()
        engine.end_app(app)
        engine.round()
    levels = engine.session.tree.instances[0].view.cache("fill_tree", dict)
    known = [level._used for queue, level in levels.items() if queue.leaf]
    assert len(known) == 2
    assert all(not used for used in known)


def test_a_user_at_the_limit_who_keeps_asking_costs_no_memory():
    """What was set aside for its last ask is dropped."""
    made = two(50, 50)
    made.add_app(1, "root.a", user="u")
    made.ask(1, 20)
    made.round()
    for number in range(600):
        made.ask(1, 5 + number % 7)
        made.round()
    levels = made.session.tree.instances[0].view.cached("fill_tree").values()
    held = [len(w) for each in levels for w in getattr(each, "_held", {}).values()]
    assert 0 < sum(held) < 100
