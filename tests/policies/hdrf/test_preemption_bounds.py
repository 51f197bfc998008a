"""Preemption ends under any configuration: places, limits, guarantees and policies inside a
queue.
"""

from collections import Counter

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from hdrf_clusters import grown, held, wants
from preempting import CPU, QUICK, application_of, evictions, late

FLAT = {"a": {}, "b": {}}


def asks(made, number, queue, size=CPU, count=10_000, user="u", **keys):
    """Add an application with an ask, for a certain place if ``keys`` say so."""
    made.now += 1
    made.add_app(number, f"root.{queue}", user=user)
    made.ask(number, count, size, **keys)


@pytest.mark.parametrize(("host", "due"), [("n1", 5), ("n2", 5)])
def test_room_is_made_only_where_the_task_may_go(host, due):
    """An ask names one of two servers. Only containers on that server are taken, as many as the ask
    can use.
    """
    made = grown("hdrf", FLAT, (1000, 5, 0), (1000, 5, 0), **QUICK)
    wants(made, 1, "a", CPU)
    made.round()
    asks(made, 2, "b", count=9_999, **strictly(host))
    taken = evictions(made, 120)
    assert held(made) == {1: 5, 2: due}
    assert len(taken) == due


def test_nothing_is_taken_for_what_a_limit_forbids():
    """The user is at the limit of a leaf queue, whose guarantee is more."""
    tree = {"a": {}, "b": {"user_limit": "20%"}}
    made = late(tree, ("a", CPU), ("b", CPU), (1000, 20, 0), leaf="queue")
    taken = evictions(made, 120)
    assert held(made) == {1: 16, 2: 4}
    assert len(taken) == 4


def test_in_a_queue_at_its_maximum_only_what_is_taken_from_inside_helps():
    """p may have half, and x uses it. y's quarter comes from x, although q uses more."""
    tree = {"p": {"maximum": "50%", "x": {}, "y": {}}, "q": {}}
    made = grown("hdrf", tree, (1000, 20, 0), **QUICK)
    wants(made, 1, "p.x", CPU)
    wants(made, 2, "q", CPU)
    made.round()
    wants(made, 3, "p.y", CPU)
    victims = Counter(application_of(each) for each in evictions(made, 60))
    assert victims.keys() == {1}
    assert held(made) == {1: 5, 2: 10, 3: 5}


def test_who_does_not_use_its_room_is_asked_ever_more_rarely():
    """The policy inside keeps half of its queue's room for others. The pause between preemptions
    doubles each time.
    """
    tree = {"a": {}, "b": {"policy": "dress", "options": {"delta": 0.5, "dmin": 0.5}}}
    made = late(tree, ("a", CPU), ("b", CPU), (1000, 20, 0))
    whole = len(evictions(made, 160))
    assert whole <= 18
    assert len(evictions(made, 60)) <= 2


def test_no_more_is_taken_than_is_asked_for():
    """For one task one container is taken, whatever the budget."""
    made = grown("hdrf", FLAT, (1000, 20, 0), **{**QUICK, "preempt_budget": 1})
    wants(made, 1, "a", CPU)
    made.round()
    wants(made, 2, "b", CPU, 1)
    assert len(evictions(made, 60)) == 1


def test_the_guarantee_of_the_configuration_is_kept_and_is_claimed():
    """a is guaranteed 60 %, and b has nine times its weight. a keeps 12 of 20, and gets them when
    it comes late.
    """
    tree = {"a": {"guaranteed": "60%"}, "b": {"weight": 9}}
    first = late(tree, ("a", CPU), ("b", CPU), (1000, 20, 0))
    evictions(first, 60)
    assert held(first) == {1: 12, 2: 8}
    other = late(tree, ("b", CPU), ("a", CPU), (1000, 20, 0))
    evictions(other, 60)
    assert held(other) == {1: 8, 2: 12}


def test_the_second_shape_of_a_task_is_helped_too():
    """The task that is smaller in memory exceeds the guarantee; the other does not."""
    made = grown("hdrf", FLAT, (1000, 20, 0), **QUICK)
    wants(made, 1, "a", CPU)
    made.round()
    asks(made, 2, "b", (0, 15, 0), 1)
    made.ask(2, 4, (1, 2, 0), priority=30)
    evictions(made, 60)
    assert held(made) == {1: 12, 2: 4}


def test_equals_pay_in_turn():
    """If everything is taken at once, neither of two equal queues pays before the other."""
    made = grown("hdrf", {"a": {}, "b": {}, "c": {}}, (1000, 24, 0), **QUICK)
    wants(made, 1, "a", CPU, 12)
    wants(made, 2, "b", CPU, 12)
    made.round()
    wants(made, 3, "c", CPU, 4)
    made.ask(1, 100, CPU)
    made.ask(2, 100, CPU)
    evictions(made, 60)
    assert held(made) == {1: 10, 2: 10, 3: 4}


def strictly(host):
    """Return the arguments of an ask for this host alone, in the rows that YARN's clients send."""
    rows = {"hosts": {host: 9_999}, "racks": {"/r": 9_999}}
    return {**rows, "strict_racks": ["/r"], "relax": False}


LIMITS = st.sampled_from(
    [{}, {"user_limit": "20%"}, {"maximum": "30%"}, {"policy": "drf"},
     {"policy": "dress", "options": {"delta": 0.5, "dmin": 0.5}}]
)  # fmt: skip
COMES = st.tuples(
    st.sampled_from(["p.x", "p.y", "q"]),
    st.sampled_from([(0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 0, 2)]),
    st.sampled_from([1, 9, 10_000]), st.sampled_from(["u", "v"]),
    st.sampled_from([{}, strictly("n1"), {"hosts": {"n2": 2}},
                     strictly("n2")]),
)  # fmt: skip


FULL, BOUND = ("q", (0, 1, 0), 10_000, "u", {}), strictly("n1")
HOLDS_BACK = {"policy": "dress", "options": {"delta": 0.5, "dmin": 0.5}}


@settings(deadline=None, max_examples=8, phases=[Phase.explicit, Phase.generate])
@given(
    steps=st.lists(COMES, min_size=2, max_size=5), leaf=st.sampled_from(["application", "queue"]),
    x=LIMITS, y=LIMITS, q=LIMITS, headroom=st.booleans(),
)  # fmt: skip
@example([FULL, ("p.x", (0, 1, 0), 10_000, "v", BOUND)], "application", {}, {}, {}, False)
@example([FULL, ("p.x", (0, 1, 0), 10_000, "v", {})], "queue", {"user_limit": "20%"}, {}, {}, False)
@example([FULL, ("p.x", (0, 1, 0), 10_000, "v", {})], "application", HOLDS_BACK, {}, {}, False)
def test_evictions_are_bounded_whatever_the_configuration(steps, leaf, x, y, q, headroom):
    """If no task ends, little more than the whole cluster is taken in forty seconds, and hardly
    anything after that.
    """
    tree = {"p": {"weight": 2, "x": x, "y": {"weight": 3, **y}}, "q": q}
    options = {**QUICK, "leaf": leaf, "headroom": headroom}
    made = grown("hdrf", tree, (1000, 10, 6), (1000, 6, 10), **options)
    for number, (queue, size, count, user, place) in enumerate(steps, 1):
        asks(made, number, queue, size, count, user, **place)
        made.round()
    first = len(evictions(made, 40, 1000))
    assert first <= 16 + 16 + 10 * len(steps)
    assert len(evictions(made, 30, 1000)) <= 4 * len(steps)
