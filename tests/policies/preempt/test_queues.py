"""`capacity` and `fair` take guarantees back: worked examples."""

import json
from collections import Counter
from typing import Any

import pytest

from hdrf_clusters import grown, held, wants
from loomcard.api.registry import build
from loomcard.config import compile_config
from loomcard.simulator import simulate
from preempting import evictions
from scenarios import app, scenario, stage

ONE = (1024, 1)
QUICK = {
    "preempt_after_ms": 1000, "preempt_grace_ms": 500, "preempt_budget": 0.2,
    "preempt_cooldown_ms": 1000,
}  # fmt: skip
BOTH = pytest.mark.parametrize("policy", ["capacity", "fair"])
HALVES = {"a": {"guaranteed": "50%"}, "b": {"guaranteed": "50%"}}


EASY: dict[str, dict[str, Any]] = {"capacity": {"user_limit_factor": -1}, "fair": {}}


def cluster(policy: str, tree: dict[str, Any], *nodes: int, **options: Any):
    """Return a cluster of nodes with room for these numbers of containers; one of 20 by default."""
    options = EASY[policy] | options
    sizes = [(count * 1024, count) for count in nodes or (20,)]
    return grown(policy, tree, *sizes, types=("memory_mb", "vcores"), **{**QUICK, **options})


def late(policy: str, tree: dict[str, Any], *nodes: int, count: int = 10_000, **options: Any):
    """Return a cluster that a fills before b asks for ``count`` containers."""
    made = cluster(policy, tree, *nodes, **options)
    wants(made, 1, "a", ONE)
    made.round()
    wants(made, 2, "b", ONE, count)
    return made


@BOTH
def test_a_late_queue_gets_its_guarantee_and_no_more(policy):
    """No task ends by itself. a and b have a half each, then nothing more is taken."""
    made = late(policy, HALVES)
    taken = evictions(made, 60)
    assert held(made) == {1: 10, 2: 10}
    assert len(taken) == 10
    assert {each.grace_ms for each in taken} == {500}
    assert evictions(made, 200) == []


@BOTH
def test_off_unless_asked_for(policy):
    """Without the option nothing is taken, and after the wait no sooner than that."""
    assert evictions(late(policy, HALVES, preempt_after_ms=0), 60) == []
    assert evictions(late(policy, HALVES, preempt_after_ms=60_000), 110) == []


@BOTH
def test_no_more_than_the_budget_is_taken_at_once(policy):
    """A fifth of 20 at once, and again after each second, until b has its half."""
    made = late(policy, HALVES)
    taken = {ms: len(evictions(made, ms=500)) for ms in range(500, 20_001, 500)}
    assert {ms: n for ms, n in taken.items() if n} == {2_000: 4, 3_000: 4, 4_000: 2}


@BOTH
def test_a_victim_loses_a_part_of_its_excess_at_once(policy):
    """a uses ten more than its guarantee, of which it loses a fifth at once: two; then two of the
    eight that are left and so on, at least one each time.
    """
    made = late(policy, HALVES, preempt_budget=1, preempt_queue_budget=0.2)
    taken = [len(evictions(made, ms=500)) for _ in range(120)]
    assert [n for n in taken if n] == [2, 2, 2, 1, 1, 1, 1]
    assert held(made) == {1: 10, 2: 10}


def test_rooms_that_end_naturally_are_waited_for():
    """A task of a that ends before the wait is over leaves b nothing to take for it."""
    made = late("capacity", HALVES, count=1, preempt_after_ms=3_000)
    assert evictions(made, 4) == []
    made.complete(next(iter(made.containers)))
    assert evictions(made, 40) == []
    assert held(made) == {1: 19, 2: 1}


def test_only_up_to_the_guarantee_and_not_to_balance():
    """a and b both use more than their guarantees of 20 %, c nothing: b takes nothing from a."""
    tree = {q: {"guaranteed": p} for q, p in (("a", "20%"), ("b", "20%"), ("c", "60%"))}
    made = late("capacity", tree)
    assert len(evictions(made, 60)) == 4
    assert held(made) == {1: 16, 2: 4}


def test_who_uses_most_of_its_guarantee_pays():
    """b and c use nine each; b is guaranteed two of them, c seven."""
    tree = {q: {"guaranteed": p} for q, p in (("a", "50%"), ("b", "10%"), ("c", "40%"))}
    made = cluster("capacity", tree)
    wants(made, 1, "b", ONE, 10)
    wants(made, 2, "c", ONE, 10)
    made.round()
    wants(made, 3, "a", ONE)
    evictions(made, 60)
    assert held(made) == {1: 2, 2: 8, 3: 10}


def test_in_a_queue_the_lowest_priority_and_then_the_newest_pays():
    """Of three applications the one of the lowest priority loses first, then the younger one; of
    each the newest container.
    """
    made = cluster("capacity", HALVES, preempt_budget=1)
    for number, priority, count in ((1, 5, 4), (2, 5, 8), (3, 1, 8)):
        made.add_app(number, "root.a", priority=priority, submitted_ms=number)
        made.ask(number, count, ONE)
        made.round()
    newest = sorted(n for n, c in made.containers.items() if c.app == 3)
    wants(made, 4, "b", ONE)
    taken = [each.container for each in evictions(made, 60)]
    assert held(made) == {1: 4, 2: 6, 4: 10}
    assert taken[:8] == newest[::-1]


@BOTH
def test_masters_are_taken_last_and_never_before_the_rest_of_their_application(policy):
    """Three applications have an AM and some tasks each. Tasks are taken; each AM stays."""
    made = cluster(policy, HALVES, 12, preempt_budget=1)
    for number in (1, 2, 3):
        made.add_app(number, "root.a")
        made.ask(number, 1, ONE, priority=0, is_am=True)
        made.round()
    for number in (1, 2, 3):
        made.ask(number, 3, ONE)
    made.round()
    masters = {n for n, c in made.session.mirror.state.containers.items() if c.is_am}
    assert len(masters) == 3
    wants(made, 4, "b", ONE)
    taken = {each.container for each in evictions(made, 60)}
    assert len(taken) == 6
    assert not taken & masters


@BOTH
def test_room_for_a_large_task_is_made_on_one_node(policy):
    """b's task needs most of a node. All that is taken is on one of the nodes, and a's small tasks
    do not get that room again.
    """
    made = cluster(policy, HALVES, 5, 5, preempt_budget=1)
    wants(made, 1, "a", ONE)
    made.round()
    wants(made, 2, "b", (4096, 4), 1)
    assert len(evictions(made, 20)) == 4
    assert held(made) == {1: 6, 2: 1}


@BOTH
def test_a_gang_that_is_larger_than_what_nodes_free_gets_what_fits(policy):
    """Each node has room for one of b's four tasks beside nothing else; b's guarantee has room for
    two of them. Nothing is taken for the others, for ever.
    """
    made = cluster(policy, HALVES, 5, 5, 5, 5, preempt_budget=1)
    wants(made, 1, "a", ONE)
    made.round()
    wants(made, 2, "b", (4096, 4), 4)
    assert len(evictions(made, 60)) == 8
    assert held(made) == {1: 12, 2: 2}
    assert evictions(made, 400) == []


def test_what_the_user_limit_forbids_is_no_claim():
    """b is guaranteed ten, of which each of two users may have the half; one has nothing."""
    tree = {"a": {"guaranteed": "50%"}, "b": {"guaranteed": "50%"}}
    made = late("capacity", tree, minimum_user_limit_percent=50, user_limit_factor=2)
    assert len(evictions(made, 60)) == 10
    one = late("capacity", {"a": {}, "b": {"user_limit": "20%"}})
    assert len(evictions(one, 60)) == 4
    assert held(one) == {1: 16, 2: 4}


@pytest.mark.parametrize("within", ["nothing", "priority", "user_limit"])
def test_inside_a_queue(within):
    """A late application of another user and a higher priority takes from the first one: by
    priority all but the AM; by user limit the half, of which YARN's rounding leaves the victim one
    more.
    """
    percent = 50 if within == "user_limit" else 100
    options = {"minimum_user_limit_percent": percent, "preempt_budget": 1}
    made = cluster("capacity", {"a": {}}, preempt_within=within, **options)
    made.add_app(1, "root.a", user="ann", priority=1)
    made.ask(1, 1, ONE, priority=0, is_am=True)
    made.round()
    made.ask(1, 100, ONE)
    made.round()
    made.add_app(2, "root.a", user="bob", priority=2)
    made.ask(2, 100, ONE)
    evictions(made, 60)
    assert held(made) == {
        "nothing": {1: 20}, "priority": {1: 1, 2: 19}, "user_limit": {1: 11, 2: 9}
    }[within]  # fmt: skip
    assert evictions(made, 200) == []


def test_inside_a_queue_equals_take_nothing():
    """Of equal priority nobody pays, nor for another application of the same user."""
    for within in ("priority", "user_limit"):
        made = cluster("capacity", {"a": {}}, preempt_within=within)
        wants(made, 1, "a", ONE)
        made.round()
        wants(made, 2, "a", ONE)
        assert evictions(made, 60) == []


def test_fair_shares_hold_between_applications_too():
    """As under FairScheduler, a late application gets its part of its queue."""
    made = cluster("fair", {"a": {}})
    wants(made, 1, "a", ONE)
    made.round()
    wants(made, 2, "a", ONE)
    evictions(made, 60)
    assert held(made) == {1: 10, 2: 10}
    fifo = cluster("fair", {"a": {}}, default="fifo")
    wants(fifo, 1, "a", ONE)
    fifo.round()
    wants(fifo, 2, "a", ONE)
    assert evictions(fifo, 60) == []


def test_each_eviction_says_why():
    """The reason is a sentence with figures; YARN shows it."""
    [first, *_] = evictions(late("capacity", HALVES), 20)
    assert first.reason == (
        "root.b holds 0.0% of its guaranteed 50.0%; root.a holds 100.0%, and is guaranteed 50.0%"
    )


@BOTH
def test_an_ask_between_two_searches_is_not_forgotten(policy):
    """b's application comes, which causes a search that finds nothing. Its ask follows 200 ms
    later, and then nothing happens: a timer causes the next search.
    """
    made = cluster(policy, HALVES)
    wants(made, 1, "a", ONE, 20)
    made.round()
    made.add_app(2, "root.b")
    made.round(2_000)
    made.ask(2, 4, ONE)
    plan = made.exchange(200)
    assert [at_ms - made.now for _, at_ms in plan.timers] == [800]


@BOTH
def test_in_the_simulator_the_masters_ask_again_and_everybody_ends(policy):
    """A late application of an equal queue ends long before the first one's tasks; tasks that were
    taken run again.
    """
    both = [
        app("early", stage([60_000] * 8), queue="root.a"),
        app("late", stage([5_000] * 4), queue="root.b", submit_ms=2_000),
    ]
    options = json.dumps({**QUICK, "preempt_budget": 0.5} | EASY[policy])
    text = f"version: 1\npolicy: {policy}\noptions: {options}\nqueues: {json.dumps(HALVES)}\n"
    record = simulate(scenario(*both, slots=8), compile_config(text, "t"), policy="t", check=True)
    ends = {each.id: each.demanding[-1][1] for each in record.applications}
    assert ends["late"] < 15_000
    kinds = Counter(row.kind for row in record.containers if row.application == "early")
    assert (kinds["preempted"], kinds["completed"]) == (4, 8)


@BOTH
@pytest.mark.parametrize("wrong", [{"preempt_after_ms": -1}, {"preempt_queue_budget": 0}])
def test_wrong_options_are_refused(policy, wrong):
    """The error comes before anything runs."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        build(policy, wrong)


def test_a_policy_below_takes_back_inside_its_own_queue():
    """capacity governs p, which fills the cluster. The policy above finds no room to offer, and p's
    queues get their guarantees all the same.
    """
    tree = {
        "p": {
            "guaranteed": "100%",
            "policy": "capacity",
            "options": {**QUICK, "user_limit_factor": -1},
            **HALVES,
        }
    }
    made = grown("fifo", tree, (20 * 1024, 20), types=("memory_mb", "vcores"))
    wants(made, 1, "p.a", ONE)
    made.round()
    wants(made, 2, "p.b", ONE)
    evictions(made, 60)
    assert held(made) == {1: 10, 2: 10}
