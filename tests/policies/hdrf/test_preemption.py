"""Tests of preemption: guarantees are met without waiting for tasks to end, and nothing more is
taken.
"""

import json
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hdrf_clusters import grown, held, wants
from loomcard.api.registry import build
from loomcard.config import compile_config
from loomcard.policies.hdrf.paper import Node, guarantees
from loomcard.simulator import simulate
from preempting import CPU, GPU, QUICK, application_of, evictions, late
from scenarios import app, scenario, stage


def test_a_late_queue_gets_its_guarantee_and_no_more():
    """No task ends by itself. After a while a and b have a half each, and then nothing more is
    taken.
    """
    made = late({"a": {}, "b": {}}, ("a", CPU), ("b", CPU), (1000, 20, 0))
    taken = evictions(made, 40)
    assert held(made) == {1: 10, 2: 10}
    assert len(taken) == 10
    assert {each.grace_ms for each in taken} == {500}


def test_nothing_is_taken_before_its_time_nor_more_than_the_budget_at_once():
    """b must wait for 1,000 ms, which is seen within another 1,000 ms. Then 4 of 20 are taken, a
    fifth, and again after each 1,000 ms, until b has half.
    """
    made = late({"a": {}, "b": {}}, ("a", CPU), ("b", CPU), (1000, 20, 0))
    assert QUICK == {
        "preempt_after_ms": 1_000, "preempt_grace_ms": 500, "preempt_budget": 0.2,
        "preempt_cooldown_ms": 1_000, "headroom": False,
    }  # fmt: skip
    taken = {ms: len(evictions(made, ms=500)) for ms in range(500, 20_001, 500)}
    assert {ms: n for ms, n in taken.items() if n} == {2_000: 4, 3_000: 4, 4_000: 2}


def test_each_eviction_says_who_is_starved_and_who_holds_more():
    """The reason is a sentence with figures."""
    made = late({"a": {}, "b": {}}, ("a", CPU), ("b", CPU), (1000, 20, 0))
    reason = evictions(made, 6)[0].reason
    assert "in root.b holds 0.0% of its guaranteed 50.0%" in reason
    assert "in root.a holds 100.0%, and is guaranteed 50.0%" in reason


def test_off_unless_asked_for_and_idle_where_nobody_is_starved():
    """Nothing is taken without preempt_after_ms, nor if the other queue wants another resource."""
    off = late({"a": {}, "b": {}}, ("a", CPU), ("b", CPU), (1000, 20, 0), preempt_after_ms=0)
    assert evictions(off, 20) == []
    idle = late({"a": {}, "b": {}}, ("a", CPU), ("b", GPU), (1000, 20, 20))
    assert evictions(idle, 20) == []
    alone = late({"a": {}, "b": {}}, ("a", CPU), ("a", CPU), (1000, 20, 0))
    assert len(evictions(alone, 40)) == 10  # two applications are two leaves


def test_the_mirror_of_the_descent_finds_the_victim():
    """Of two organisations the one that uses more beyond its weight pays, and in it the leaf that
    uses more. One that uses just its guarantee pays nothing.
    """
    tree = {"p": {"x": {}, "y": {}}, "q": {}, "s": {}}
    made = grown("hdrf", tree, (1000, 24, 0), **QUICK)
    for number, queue, count in ((1, "p.x", 12), (2, "p.y", 4), (3, "q", 8)):
        wants(made, number, queue, CPU, count)
    made.round()
    wants(made, 4, "s", CPU)
    for number in (1, 2, 3):
        made.ask(number, 100, CPU)
    taken = evictions(made, 40)
    victims = Counter(application_of(each) for each in taken)
    assert held(made) == {1: 4, 2: 4, 3: 8, 4: 8}
    assert victims == {1: 8}


def test_the_latest_container_goes_first_and_masters_last():
    """Work that has just begun is lost before old work, and an AM only when nothing else is
    left.
    """
    made = grown("hdrf", {"a": {}, "b": {}}, (1000, 3, 0), **{**QUICK, "preempt_budget": 1})
    made.add_app(1, "root.a")
    for number, is_am in enumerate([False, False, True]):
        made.ask(1, 1, CPU, priority=number, is_am=is_am)
        made.round()
    wants(made, 2, "b", CPU)
    assert [each.container for each in evictions(made, 40)] == [2]  # b is guaranteed 1.5 of 3


def test_room_is_made_where_the_task_fits():
    """Small tasks run on two servers, and the starved task needs most of a server. All that is
    taken is on one of them.
    """
    tree = {"a": {}, "b": {}}
    made = late(tree, ("a", CPU), ("b", (0, 4, 0)), (1000, 5, 0), (1000, 5, 0), preempt_budget=1)
    taken = evictions(made, 8)
    assert len(taken) == 4
    assert held(made) == {1: 6, 2: 1}


def test_only_what_the_starved_leaf_lacks_is_taken():
    """A leaf that uses only GPUs keeps them when CPUs are wanted."""
    tree = {"a": {"cpu": {}, "gpu": {}}, "b": {}}
    made = grown("hdrf", tree, (1000, 8, 8), **QUICK)
    wants(made, 1, "a.cpu", CPU)
    wants(made, 3, "a.gpu", GPU)
    made.round()
    wants(made, 2, "b", CPU)
    evictions(made, 40)
    assert held(made) == {1: 4, 2: 4, 3: 8}


def test_of_leaves_that_lack_as_much_who_came_first_is_helped_first():
    """The order is that of queues and, inside a queue, that of submission: the ninth application
    came before the tenth, and the eighth after both. Room for one task is taken at a time.
    """
    tree = {"a": {}, "b": {}, "c": {}}
    made = grown("hdrf", tree, (1000, 12, 0), **{**QUICK, "preempt_budget": 0.01})
    wants(made, 1, "c", CPU)
    made.round()
    for number, queue in ((9, "b"), (10, "b"), (8, "b"), (11, "a")):
        wants(made, number, queue, CPU)
    reasons = [each.reason for each in evictions(made, 20)]
    helped = [int(reason.split(" in root.")[0].split("_")[-1]) for reason in reasons]
    assert helped[:4] == [11, 9, 10, 8]
    assert held(made) == {1: 5, 8: 1, 9: 1, 10: 1, 11: 4}


QUEUES = ["p.x", "p.y", "q"]
TREE = {"p": {"weight": 2, "x": {}, "y": {"weight": 3}}, "q": {}}
COMES = st.tuples(
    st.sampled_from(QUEUES), st.sampled_from([(0, 1, 0), (0, 1, 1), (0, 2, 0), (0, 0, 2)]),
    st.integers(1, 30),
)  # fmt: skip


@settings(deadline=None, max_examples=20)
@example(  # a reservation that is moved is not a further one
    steps=[("p.x", (0, 1, 0), 12), ("p.x", (0, 0, 2), 9), ("p.x", (0, 1, 0), 5)], leaf="application"
)
@given(
    steps=st.lists(COMES, min_size=2, max_size=6), leaf=st.sampled_from(["application", "queue"])
)
def test_nobody_falls_below_the_guarantee_and_it_comes_to_an_end(steps, leaf):
    """In any order of arrival a victim keeps its guarantee by the paper's own function, if that is
    at least one of its containers. Evictions come to an end even if no task ends.
    """
    made = grown("hdrf", TREE, (1000, 10, 6), (1000, 6, 10), **{**QUICK, "leaf": leaf})
    for number, (queue, size, count) in enumerate(steps, 1):
        wants(made, number, queue, size, count)
        made.round()
        _check_victims(made, leaf, 12)
    _check_victims(made, leaf, 120)
    assert evictions(made, 10) == []


def _check_victims(made, leaf, rounds):
    for _ in range(rounds):
        for eviction in evictions(made):
            state = made.session.mirror.state
            container = state.containers[eviction.container]
            root, nodes = _plain(state, leaf)
            due = guarantees(root, held=share_of(state))
            victim = container.application
            node = nodes[victim if leaf == "application" else victim.queue]
            left = share_of(state)(node)
            of_one = max(s / c for s, c in zip(container.size, state.capacity, strict=True) if c)
            assert left >= due[node] - 1e-9 or of_one > due[node], eviction.reason


def share_of(state):
    """Return a function for a node's dominant share; inner nodes use the sums of their leaves."""

    def share(node):
        sums = [sum(leaf.used[r] for leaf in node.leaves()) for r in range(3)]
        return max(u / c for u, c in zip(sums, state.capacity, strict=True) if c)

    return share


def _plain(state, leaf):
    """Return the tree as it will be when everything that is being taken has ended."""
    nodes = {}
    for queue in state.queues:
        below = None if queue.leaf and leaf == "queue" else ()
        nodes[queue] = Node(queue.path, queue.weight, below, used=[0, 0, 0], wants=False)
        if queue.parent is not None:
            nodes[queue.parent].add(nodes[queue])
        for each in queue.applications.values() if queue.leaf else ():
            kept = [c.size for c in each.containers if c.preempting_since is None]
            used = [sum(size[i] for size in kept) for i in range(3)]
            if leaf == "queue":
                total = [a + b for a, b in zip(nodes[queue].used, used, strict=True)]
                nodes[queue].used, wanted = total, nodes[queue].wants or each.pending_count > 0
                nodes[queue].wants = wanted
            else:
                nodes[each] = Node(each.id, used=used, wants=each.pending_count > 0)
                nodes[queue].add(nodes[each])
    return nodes[state.queues[0]], nodes


def test_in_the_simulator_the_masters_ask_again_and_everybody_ends():
    """A late application of an equal queue ends long before the first one's tasks; tasks that were
    taken run again.
    """
    both = [
        app("early", stage([60_000] * 8), queue="root.a"),
        app("late", stage([5_000] * 4), queue="root.b", submit_ms=2_000),
    ]
    options = json.dumps({**QUICK, "preempt_budget": 0.5})
    text = f"version: 1\npolicy: hdrf\noptions: {options}\nqueues: {{a: {{}}, b: {{}}}}\n"
    record = simulate(scenario(*both, slots=8), compile_config(text, "t"), policy="t", check=True)
    ends = {each.id: each.demanding[-1][1] for each in record.applications}
    assert ends["late"] < 15_000
    kinds = Counter(row.kind for row in record.containers if row.application == "early")
    assert kinds["preempted"] == 4
    assert kinds["completed"] == 8
    assert ends["early"] < 130_000


@pytest.mark.parametrize(
    "wrong",
    [
        {"preempt_after_ms": -1},
        {"preempt_budget": 0},
        {"preempt_budget": 1.5},
        {"reserve_after_ms": -1},
    ],
)
def test_wrong_options_are_refused(wrong):
    """The error comes before anything runs."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        build("hdrf", wrong)
