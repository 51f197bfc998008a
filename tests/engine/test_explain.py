"""What explanations name binds exactly: relaxed by what is printed, the ask gets its container in
the next round, by one unit less it does not.
"""

from itertools import count
from typing import Any

import pytest

from loomcard.bridge.explanations import SENTENCES_S, Explanations
from loomcard.engine.binding import least_ppm, percent
from loomcard.engine.explain import ASKS_LISTED
from loomcard.model.reasons import Reason
from loomcard.model.resource import UNLIMITED
from loomcard.testing import Cluster
from loomcard.testing.policy_configs import compiled
from loomcard.wire import messages as r
from planted_waits import (
    APP,
    CASES,
    LEAF_POLICIES,
    POLICIES,
    RULES,
    Case,
    at_leaves,
    held,
    planted,
    reserved,
    rounds,
    settle,
    stand,
    stated,
    uses,
)
from waiting import wait_until

QUICK = ["fifo", "hdrf", "dress"]
RARER = [
    pytest.param(each, marks=pytest.mark.slow)
    for each in (*POLICIES, *LEAF_POLICIES)
    if each not in QUICK
]


def explained(cluster: Cluster, name: str) -> dict[str, Any]:
    """Return the whole explanation, with the trial on a copy of this process."""
    asked = Explanations(cluster.session)
    wanted = r.Explain("queue" if name.startswith("root") else "application", name)

    def complete() -> r.Explained | None:
        found = asked.explain(wanted)
        return found if isinstance(found, r.Explained) else None

    document = wait_until(complete, f"{name} is explained", seconds=30, pause_s=0.005).document
    assert document is not None
    return document


def of_app(cluster: Cluster, app: int = APP) -> dict[str, Any]:
    return explained(cluster, cluster.state.applications[app].id)


def waits(cluster: Cluster, case: Case) -> dict[str, Any]:
    stand(cluster, case)
    return of_app(cluster)


@pytest.mark.parametrize("policy", QUICK + RARER)
@pytest.mark.parametrize("name", CASES)
def test_the_printed_amount_and_no_less_lets_it_start(name: str, policy: str) -> None:
    """Of each cause under each policy: named, with the amount that lets the container start."""
    case = CASES[name]
    for units, granted in ((1, 0), (0, 1)):
        cluster = planted(case, policy)
        found = waits(cluster, case)
        assert found["code"] == case.code, found["sentence"]
        (bound,) = found["asks"][0]["binding"]
        assert bound["code"] == case.code
        if policy == "dress" and case.keys == {"is_am": True}:  # it has a limit of its own for AMs
            assert found["order"]["then"] == "AMS_WAIT"
            return
        assert found["order"]["text"] == "Nobody is ahead of it"
        case.relax(cluster, bound, units)
        cluster.round()
        assert held(cluster) == granted, found["sentence"]


@pytest.mark.parametrize("policy", QUICK + RARER)
def test_an_am_that_ends_in_another_queue_lets_the_next_start(policy: str) -> None:
    """The limit of a queue counts all below it; a leaf whose policy was called in vain gets the AM
    in the round after one ended elsewhere, and only one.
    """
    queues = {"p": {"maximum_running_applications": 2, "queues": {"a": {}, "b": {}}}}
    config = compiled("fifo" if policy in LEAF_POLICIES else policy, queues)
    if policy in LEAF_POLICIES:
        config = compiled("fifo", at_leaves(policy, queues))
    cluster = Cluster(config, nodes=[(64000, 64)])
    for app, queue in ((1, "b"), (2, "b"), (APP, "a"), (APP + 1, "a")):
        cluster.add_app(app, f"root.p.{queue}")
        cluster.ask(app, 1, (1000, 1), is_am=True)
        settle(cluster)
    assert [held(cluster, app) for app in (1, 2, APP, APP + 1)] == [1, 1, 0, 0]
    assert of_app(cluster)["code"] == "RUNNING_LIMIT"
    cluster.end_app(1)
    settle(cluster)
    assert [held(cluster, app) for app in (2, APP, APP + 1)] == [1, 1, 0]


def test_a_parent_and_a_leaf_that_bind_together_are_both_printed() -> None:
    """Each is named with what it lacks; relaxed one alone, the container still waits."""
    queues = {
        "p": {"maximum": {"memory_mb": 3700}, "queues": {"a": {"maximum": {"memory_mb": 3500}}}}
    }
    cluster = Cluster("fifo", nodes=[(8000, 8)], queues=queues)
    uses(3000, "root.p.a")(cluster)
    cluster.add_app(APP, "root.p.a")
    cluster.ask(APP, 1, (1000, 1))
    settle(cluster)
    found = of_app(cluster)
    shorts = {each["where"]: each["short"]["memory_mb"] for each in found["asks"][0]["binding"]}
    assert shorts == {"root.p.a": 500, "root.p": 300}
    assert found["order"]["text"] == "Nobody is ahead of it"
    for each, granted in zip(found["asks"][0]["binding"], (0, 1), strict=True):
        stated("maximum")(cluster, each, 0)
        cluster.round()
        assert held(cluster) == granted


def test_the_order_within_the_queue_is_counted() -> None:
    """With one container's room for each application ahead, and one for itself, it starts; with one
    less it does not.
    """
    for given in (3, 4):
        cluster = Cluster("fifo", nodes=[(4000, 8)])
        cluster.add_app(1)
        cluster.ask(1, 4, (1000, 1))
        settle(cluster)
        for app in (2, 3, 4, APP):
            cluster.add_app(app)
            cluster.ask(app, 1, (1000, 1))
        settle(cluster)
        order = of_app(cluster)["order"]
        assert (order["applications"], order["containers"]) == (3, 3)
        assert order["next"] == cluster.state.applications[2].id
        assert "the order of policy fifo of root.default" in order["text"]
        for number in [n for n, each in cluster.containers.items() if each.attempt == 1][:given]:
            cluster.complete(number)
        settle(cluster)
        assert held(cluster) == given - 3


def test_the_queue_that_is_served_before_is_named_with_its_use() -> None:
    """Under drf the queue that uses less is first."""
    cluster = Cluster("drf", nodes=[(4000, 8)], queues={"a": {}, "b": {}})
    cluster.add_app(1, "root.a")
    cluster.ask(1, 3, (1000, 1))
    cluster.add_app(2, "root.b")
    cluster.ask(2, 1, (1000, 1))
    settle(cluster)
    cluster.add_app(APP, "root.a")
    cluster.ask(APP, 1, (1000, 1))
    cluster.ask(2, 1, (1000, 1))
    settle(cluster)
    text = of_app(cluster)["order"]["text"]
    assert "policy drf of root serves root.b before root.a" in text
    assert "root.b uses 1000 MB, 1 vcore (25.0%" in text


@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_a_policy_is_named_with_its_figures(name: str) -> None:
    """Room is free and no limit binds: the policy keeps the ask waiting, and says by what."""
    policy, queues, plant, code, figures = RULES[name]
    cluster = Cluster(policy, nodes=[(8192, 8)], queues=queues)
    plant(cluster)
    rounds(cluster)
    found = of_app(cluster)
    assert found["code"] == code
    assert figures in found["sentence"], found["sentence"]


def test_no_node_is_registered() -> None:
    cluster = Cluster("fifo")
    cluster.add_app(APP)
    cluster.ask(APP, 1, (1000, 1))
    settle(cluster)
    assert of_app(cluster)["code"] == "NO_NODE"
    cluster.add_node(1, 1000, 1)
    cluster.round()
    assert held(cluster) == 1


def test_room_reserved_for_another_and_for_itself() -> None:
    """The owner of the room is told how much is missing there, the other whose room it is."""
    for ended in (2, 3):
        cluster = reserved(APP)
        found, other = of_app(cluster), of_app(cluster, 2)
        (bound,) = found["asks"][0]["binding"]
        assert (bound["code"], bound["short"]["memory_mb"]) == ("RESERVATION", 2500)
        assert other["code"] == "NODE_RESERVED"
        assert cluster.state.applications[APP].id in other["sentence"]
        for number in list(cluster.containers)[:ended]:
            cluster.complete(number)
        cluster.round()
        assert held(cluster) == (ended == 3)


@pytest.mark.parametrize(
    ("needed", "whole", "size", "least"),
    [
        ((1, 2), (3, 3), (1, 1), 666_667),  # rounded up, of the type that needs most
        ((2, 1), (3, 3), (1, 1), 666_667),
        ((100,), (100,), (1,), 1_000_000),
        ((101,), (100,), (1,), None),
        ((101, 5), (100, 10), (0, 1), 500_000),  # nothing is asked of the first type
        ((5,), (UNLIMITED,), (1,), 0),
        ((0,), (0,), (1,), 0),
    ],
)
def test_the_least_part_is_what_is_needed_of_the_whole(needed, whole, size, least) -> None:
    assert least_ppm(needed, whole, size) == least


@pytest.mark.parametrize(
    ("ppm", "shown"), [(0, "0%"), (5_000, "0.5%"), (375_000, "37.5%"), (1_000_000, "100%")]
)
def test_a_percentage_is_exact(ppm, shown) -> None:
    assert percent(ppm) == shown


def test_a_refused_decision_is_named() -> None:
    """The policy allocates, and YARN refuses: that is the cause."""
    cluster = Cluster("fifo", nodes=[(4000, 8)], refuse=lambda _: Reason.STALE)
    cluster.add_app(APP)
    cluster.ask(APP, 1, (1000, 1))
    cluster.round()
    cluster.session.mirror.apply(cluster.batch(cluster.now))
    found = of_app(cluster)
    assert (found["code"], found["asks"][0]["rule"]) == ("REFUSED", "STALE")


# Sentences for YARN's diagnostics


def waiting_applications(count: int) -> Cluster:
    cluster = Cluster("fifo", nodes=[(1000, 1)])
    for app in range(1, count + 1):
        cluster.add_app(app)
        cluster.ask(app, 1, (1000, 1), is_am=app > count // 2)
    settle(cluster)
    return cluster


def test_sentences_are_told_once_and_taken_back() -> None:
    """Only what changed is sent, AMs first and at most so many; null when the wait is over."""
    cluster = waiting_applications(5)
    told = Explanations(cluster.session, busy=lambda: 0.0)
    first = told.sentences(r.Sentences(2)).texts
    assert [app for app, _ in first] == [3, 4]
    assert all(text is not None and "NODE_FULL" in text for _, text in first)
    assert {app for app, _ in told.sentences(r.Sentences(9)).texts} == {5, 2}
    assert told.sentences(r.Sentences(9)).texts == []
    cluster.complete(next(iter(cluster.containers)))
    settle(cluster)
    assert (2, None) in told.sentences(r.Sentences(9)).texts


def test_sentences_take_little_of_a_call_and_the_others_follow() -> None:
    """Rounds wait for each call; a call gives one sentence at least."""
    cluster = waiting_applications(6)
    used = count()
    told = Explanations(cluster.session, busy=lambda: next(used) * SENTENCES_S / 2)
    calls = [[app for app, _ in told.sentences(r.Sentences(9)).texts] for _ in range(6)]
    assert calls == [[4], [5], [6], [2], [3], []]


def test_a_sentence_is_bounded() -> None:
    """Whatever names an application uses."""
    cluster = Cluster("fifo", nodes=[(1000, 1)])
    cluster.add_app(APP)
    hosts = {f"{'h' * 200}{n}": 1 for n in range(9)}
    cluster.ask(APP, 1, (1000, 1), hosts=hosts, racks={"/x": 1}, relax=False, strict_racks=["/x"])
    settle(cluster)
    ((_, text),) = Explanations(cluster.session).sentences(r.Sentences(9)).texts
    assert text is not None
    assert len(text) <= 500


def test_asks_are_listed_with_their_reasons_up_to_a_bound() -> None:
    """Of a queue and of an application: each ask with what binds it, without a trial."""
    cluster = waiting_applications(ASKS_LISTED + 3)  # one of them runs
    told = Explanations(cluster.session, busy=lambda: 0.0)
    found = told.explain(r.Explain("asks", "root"))
    assert isinstance(found, r.Explained)
    assert found.document is not None
    asks, further = found.document["asks"], found.document["further_asks"]
    assert (len(asks), further) == (ASKS_LISTED, 2)
    assert {each["code"] for each in asks} == {"NODE_FULL"}
    assert {bound["node"] for each in asks for bound in each["binding"]} == {"n1:1"}
    one = told.explain(r.Explain("asks", asks[5]["application"]))
    assert isinstance(one, r.Explained)
    assert one.document == {
        "asks": [asks[5]], "further_asks": 0, "queue": "root.default", "app_priority": 0,
    }  # fmt: skip
    assert told.explain(r.Explain("asks", "root.none")) == r.Explained(None)
    seconds = iter(range(9))
    slow = Explanations(cluster.session, busy=lambda: next(seconds) / 20)  # 0.1 s are two looks
    found = slow.explain(r.Explain("asks", "root"))
    assert isinstance(found, r.Explained)
    assert found.document is not None
    assert (len(found.document["asks"]), found.document["further_asks"]) == (1, ASKS_LISTED + 1)


def test_an_explanation_changes_nothing() -> None:
    """The rounds after it are those of a session that nobody asked."""
    plans = []
    for asked in (False, True):
        cluster = waiting_applications(6)
        if asked:
            of_app(cluster, 6)
            Explanations(cluster.session).sentences(r.Sentences(9))
            explained(cluster, "root.default")
        cluster.complete(next(iter(cluster.containers)))
        settle(cluster)
        plans.append(cluster.history)
    assert plans[0] == plans[1]
