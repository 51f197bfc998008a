"""What explanations name binds exactly: relaxed by what is printed, the ask gets its container in
the next round, by one unit less it does not.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loomcard.bridge.explanations import Explanations
from loomcard.engine import trial
from loomcard.engine.explain import ASKS_LISTED, Explainer
from loomcard.model.reasons import Reason
from loomcard.testing import Cluster
from loomcard.testing.policy_configs import compiled
from loomcard.wire import messages as r
from waiting import wait_until

APP = 9
"""The application that waits in each case."""
POLICIES = ("fifo", "fair", "drf", "capacity", "strict", "hdrf")
LEAF_POLICIES = ("sjf", "srtf", "tetris", "carbyne", "dress", "coupling")
"""Every one of them honours the same limits."""
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


def held(cluster: Cluster, app: int = APP) -> int:
    return sum(each.attempt == app for each in cluster.containers.values())


def settle(cluster: Cluster) -> None:
    """Play rounds, until nothing more is allocated."""
    while cluster.round():
        pass


@dataclass(frozen=True)
class Case:
    """A cause: what plants it, what it must be named, and how it is relaxed by a bound's amounts,
    ``units`` less than all of it.
    """

    code: str
    queues: dict[str, Any]
    plant: Callable[[Cluster], None]
    relax: Callable[[Cluster, dict[str, Any], int], None]
    size: tuple[int, int] = (2000, 1)
    keys: dict[str, Any] | None = None


def stated(key: str) -> Callable[[Cluster, dict[str, Any], int], None]:
    """Relax a key of a queue to the printed value, a percentage or amounts."""

    def relax(cluster: Cluster, bound: dict[str, Any], units: int) -> None:
        specs = {q["path"]: q for q in cluster.compiled["queues"]}
        spec, to = specs[bound["where"]], bound["to"]
        if isinstance(to, str):
            ppm = round(float(to.removesuffix("%")) * 10_000) - units
            if key == "label_maximum":
                spec["label_maximum_ppm"] = {"gpu": ppm}
            else:
                spec.update({"maximum": {"ppm": ppm}} if key == "maximum" else {key: ppm})
        else:
            memory = {"memory_mb": to["memory_mb"] - units}
            spec[key] = {"amounts": to | memory}
        cluster.configure(cluster.compiled, cluster.now)

    return relax


def resized(cluster: Cluster, bound: dict[str, Any], units: int) -> None:
    """Give the named node so much more."""
    node = next(n for n in cluster.state.nodes.values() if n.id == bound["where"])
    short = (bound["short"]["memory_mb"] - units, bound["short"]["vcores"])
    capacity = tuple(a + b for a, b in zip(node.capacity, short, strict=True))
    cluster.send(r.NodeResizedRecord(cluster.now, node.number, capacity))


def counted(cluster: Cluster, bound: dict[str, Any], units: int) -> None:
    """Let so many applications run, of all users or of the one that is named."""
    spec = next(q for q in cluster.compiled["queues"] if q["path"] == bound["where"])
    to = bound["to"]
    spec[bound["key"]] = to | {"u": to["u"] - units} if isinstance(to, dict) else to - units
    cluster.configure(cluster.compiled, cluster.now)


def uses(memory: int, queue: str = "root.a", user: str = "u", **keys: Any) -> Callable[..., None]:
    """An application that uses so much already, and asks for nothing more."""

    def plant(cluster: Cluster) -> None:
        cluster.add_app(1, queue, user=user)
        cluster.ask(1, 1, (memory, 1), **keys)
        settle(cluster)
        assert held(cluster, 1) == 1

    return plant


def blocked_by_blacklist(cluster: Cluster) -> None:
    cluster.blacklist(APP, "n1", "n2", "n3")


def unban(cluster: Cluster, bound: dict[str, Any], units: int) -> None:
    """Take the printed host off the blacklist; one unit less leaves it there."""
    names = {"n1", "n2", "n3"}
    cluster.blacklist(APP, *sorted(names if units else names - {bound["remedy"].split()[0]}))


def full(cluster: Cluster) -> None:
    """One application has a container on each node."""
    cluster.add_app(1, "root.a")
    cluster.ask(1, 3, (3500, 1))
    settle(cluster)


def nothing(_: Cluster) -> None:
    """Plant nothing besides the application that asks."""


def labelled(cluster: Cluster, bound: dict[str, Any], units: int) -> None:
    """Let the queue use the labels that are printed; one less leaves the last out."""
    spec = next(q for q in cluster.compiled["queues"] if q["path"] == bound["where"])
    spec["labels"] = bound["to"][: len(bound["to"]) - units]
    cluster.configure(cluster.compiled, cluster.now)


CASES = {
    "AM share": Case(
        "AM_LIMIT", {"a": {"am_share": "30%"}}, uses(3000, is_am=True), stated("am_share_ppm"),
        keys={"is_am": True},
    ),
    "running applications": Case(
        "RUNNING_LIMIT", {"a": {"maximum_running_applications": 1}}, uses(1000, is_am=True),
        counted, keys={"is_am": True},
    ),
    "running applications of a user": Case(
        "RUNNING_LIMIT",
        {"p": {"maximum_running_applications_per_user": {"*": 1}, "queues": {"a": {}}}},
        uses(1000, "root.p.a", is_am=True), counted, keys={"is_am": True},
    ),
    "user limit": Case("USER_LIMIT", {"a": {"user_limit": "30%"}}, uses(3000),
                       stated("user_limit_ppm")),
    "queue's maximum": Case("QUEUE_MAX", {"a": {"maximum": "30%"}}, uses(3000), stated("maximum")),
    "queue's maximum in amounts": Case(
        "QUEUE_MAX", {"a": {"maximum": {"memory_mb": 3500}}}, uses(3000), stated("maximum")
    ),
    "parent's maximum": Case(
        "QUEUE_MAX", {"p": {"maximum": "30%", "queues": {"a": {}}}}, uses(3000, "root.p.a"),
        stated("maximum"),
    ),
    "parent's maximum in amounts": Case(
        "QUEUE_MAX", {"p": {"maximum": {"memory_mb": 3700}, "queues": {"a": {}}}},
        uses(3000, "root.p.a"), stated("maximum"),
    ),
    "maximum on a label": Case(
        "QUEUE_MAX", {"a": {"label_maximum": {"gpu": "60%"}}}, uses(2000, label="gpu"),
        stated("label_maximum"), (1000, 1), {"label": "gpu"},
    ),
    "label not allowed": Case("LABEL", {"a": {"labels": ["fpga"]}}, nothing, labelled,
                              keys={"label": "gpu"}),
    "no room": Case("NODE_FULL", {"a": {}}, full, resized, (1000, 1)),
    "too large for any node": Case("TOO_LARGE", {"a": {}}, nothing, resized, (4300, 1)),
    "strict locality": Case("LOCALITY", {"a": {}}, uses(3500), resized, (1000, 1),
                            {"hosts": {"n1": 1}, "racks": {"/r": 1}, "relax": False,
                             "strict_racks": ["/r"]}),
    "blacklist": Case("BLACKLISTED", {"a": {}}, blocked_by_blacklist, unban, (1000, 1)),
}  # fmt: skip


def at_leaves(policy: str, queues: dict[str, Any]) -> dict[str, Any]:
    return {
        name: spec | {"queues": at_leaves(policy, spec["queues"])}
        if "queues" in spec
        else spec | {"policy": policy}
        for name, spec in queues.items()
    }


def planted(case: Case, policy: str) -> Cluster:
    """Return a cluster of three nodes and one of gpu, where the application waits for the cause."""
    config = compiled("fifo" if policy in LEAF_POLICIES else policy, case.queues)
    if policy in LEAF_POLICIES:
        config = compiled("fifo", at_leaves(policy, case.queues))
    cluster = Cluster(config, nodes=[(4000, 8), (4000, 8), (4000, 8)])
    cluster.add_node(4, 4000, 8, label="gpu")
    return cluster


def waits(cluster: Cluster, case: Case) -> dict[str, Any]:
    case.plant(cluster) if case.code != "BLACKLISTED" else None
    leaf = next(q["path"] for q in cluster.compiled["queues"] if q["leaf"])
    cluster.add_app(APP, leaf)
    if case.code == "BLACKLISTED":
        case.plant(cluster)
    cluster.ask(APP, 1, case.size, **(case.keys or {}))
    settle(cluster)
    assert held(cluster) == 0
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


def rounds(cluster: Cluster, count: int = 4) -> None:
    for _ in range(count):
        cluster.heartbeat()
        cluster.round(1000)


def plant_strict(cluster: Cluster) -> None:
    cluster.add_app(1)
    cluster.ask(1, 1, (1024, 1))
    cluster.add_app(APP)
    cluster.ask(APP, 9, (1024, 1))


def plant_coupling(cluster: Cluster) -> None:
    cluster.add_app(APP, type="MAPREDUCE")
    cluster.ask(APP, 4, (1024, 1), priority=20)
    cluster.ask(APP, 9, (1024, 1), priority=10)


def plant_headroom(cluster: Cluster) -> None:
    for app, size in ((1, 4096), (APP, 1024), (3, 6000)):
        cluster.add_app(app)
        cluster.ask(app, 9 if app == APP else 1, (size, 1))


def plant_users(cluster: Cluster) -> None:
    for app, user in ((APP, "u"), (2, "v")):
        cluster.add_app(app, "root.a", user=user)
        cluster.ask(app, 20, (1024, 1))


def plant_slots(cluster: Cluster) -> None:
    cluster.add_app(APP)
    cluster.ask(APP, 20, (128, 1))


RULES: dict[str, tuple[Any, dict[str, Any] | None, Callable[[Cluster], None], str, str]] = {
    "strict": ("strict", None, plant_strict, "SHARE", "its share is 4096 MB, 4 vcores, it uses"),
    "coupling": ("coupling", None, plant_coupling, "PLACE", "maps 4, finished 0"),
    "hdrf": (
        "version: 1\nkind: policy\npolicy: hdrf\noptions: {headroom: true}\n", None,
        plant_headroom, "HEADROOM", "must be free on a server 6000 MB, 1 vcore, most is free",
    ),
    "capacity": (
        "capacity", {"a": {"guaranteed": "25%"}, "b": {}}, plant_users, "USER_LIMIT",
        "its user's limit is 0.25, the user uses 0.375",
    ),
    "slots": (
        "version: 1\nkind: policy\npolicy: slots\noptions: {slots_per_node: 4}\n", None,
        plant_slots, "SLOTS", "slots 4, free slots 0",
    ),
}  # fmt: skip


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
        queue = {
            "policy": "fifo", "options": {"reserve_after_ms": 1}, "reservation_share": "100%",
        }  # fmt: skip
        cluster = Cluster("fifo", nodes=[(4000, 8)], queues={"a": queue})
        cluster.add_app(1, "root.a")
        cluster.ask(1, 3, (1000, 1))
        settle(cluster)
        cluster.add_app(APP, "root.a")
        cluster.ask(APP, 1, (3500, 1))
        rounds(cluster, 2)
        cluster.add_app(2, "root.a")
        cluster.ask(2, 1, (1000, 1))
        settle(cluster)
        found, other = of_app(cluster), of_app(cluster, 2)
        (bound,) = found["asks"][0]["binding"]
        assert (bound["code"], bound["short"]["memory_mb"]) == ("RESERVATION", 2500)
        assert other["code"] == "NODE_RESERVED"
        assert cluster.state.applications[APP].id in other["sentence"]
        for number in list(cluster.containers)[:ended]:
            cluster.complete(number)
        cluster.round()
        assert held(cluster) == (ended == 3)


def test_a_refused_decision_is_named() -> None:
    """The policy allocates, and YARN refuses: that is the cause."""
    cluster = Cluster("fifo", nodes=[(4000, 8)], refuse=lambda _: Reason.STALE)
    cluster.add_app(APP)
    cluster.ask(APP, 1, (1000, 1))
    cluster.round()
    cluster.session.mirror.apply(cluster.batch(cluster.now))
    found = of_app(cluster)
    assert (found["code"], found["asks"][0]["rule"]) == ("REFUSED", "STALE")


# Whole explanations, word for word

WORDED = Path(__file__).parents[1] / "golden" / "explanations.json"
"""What is explained in each scene; `RECORD=1 .venv/bin/pytest tests/engine/test_explain.py` writes
it again.
"""
LIMITED = {
    "p": {
        "maximum": "75%", "weight": 3, "guaranteed": "60%",
        "queues": {
            "a": {
                "maximum": {"memory_mb": 5000, "vcores": 4}, "user_limit": "43.75%",
                "am_share": "25%", "guaranteed": "50%",
            },
            "b": {"user_limit": "33.3333%", "weight": 0.5},
        },
    },
    "c": {"policy": "sjf"},
}  # fmt: skip
THREE_TYPES = ("memory_mb", "vcores", "gpus")


def waits_for(
    cluster: Cluster, count: int = 1, size: tuple[int, ...] = (1000, 1), queue: int | str = 1,
    **keys: Any,
) -> Cluster:  # fmt: skip
    """Let the application ask, and play rounds until nothing more is allocated."""
    cluster.add_app(APP, queue, **{k: keys.pop(k) for k in ("user", "priority") if k in keys})
    if "blacklist" in keys:
        cluster.blacklist(APP, *keys.pop("blacklist"))
    cluster.ask(APP, count, size, **keys)
    settle(cluster)
    return cluster


def of_limits(queue: str, **keys: Any) -> Cluster:
    """Two applications use much of a tree of limits; one more waits in a queue."""
    cluster = Cluster("fair", nodes=[(8000, 8)], queues=LIMITED)
    for app, (where, user, size) in enumerate(
        [("root.p.a", "u", (3000, 3)), ("root.p.b", "v", (1900, 1))], 1
    ):
        cluster.add_app(app, where, user)
        cluster.ask(app, 1, size, is_am=True)
        settle(cluster)
    return waits_for(cluster, queue=queue, **keys)


def crowded(policy: str = "drf", ahead: int = 3, **queues: Any) -> Cluster:
    """Every place is taken; applications of two queues wait before the one that is explained."""
    cluster = Cluster(policy, nodes=[(4000, 8), (4000, 8)], queues={"a": {}, "b": queues or {}})
    cluster.add_app(1, "root.a")
    cluster.ask(1, 8, (1000, 1))
    settle(cluster)
    for app in range(2, 2 + ahead):
        cluster.add_app(app, "root.b" if app % 2 else "root.a")
        cluster.ask(app, app, (1000, 1))
    waits_for(cluster, 2, queue="root.a", priority=0)
    for number in list(cluster.containers)[:3]:
        cluster.complete(number)
    settle(cluster)
    return cluster


def of_gpus() -> Cluster:
    """Three types of resources; the container lacks all of them on each node."""
    cluster = Cluster("fifo", nodes=[(4000, 8, 2), (3000, 4, 1)], resource_types=THREE_TYPES)
    cluster.add_app(1)
    cluster.ask(1, 2, (2500, 3, 1))
    settle(cluster)
    return waits_for(cluster, 3, (3000, 6, 2))


def of_labels(**queue: Any) -> Cluster:
    """The labelled node is half used, and the queue's parent may use little more of it."""
    queues = {"p": {"label_maximum": {"gpu": "80%"}, "queues": {"a": queue}}}
    cluster = Cluster("fifo", nodes=[(4000, 8)], queues=queues)
    cluster.add_node(2, 4000, 8, label="gpu")
    if queue.get("labels") is None:
        uses(2000, "root.p.a", label="gpu")(cluster)
    return waits_for(cluster, 2, (1500, 5), "root.p.a", label="gpu")


def of_places(nodes: int = 7, taken: int = 0, **keys: Any) -> Cluster:
    """The application asks for some places only, of nodes with room."""
    cluster = Cluster("fifo", nodes=[(4000, 8)] * nodes)
    if taken:
        cluster.add_app(1)
        cluster.ask(1, taken, (3500, 1), hosts={f"n{n}": 1 for n in range(1, taken + 1)})
        settle(cluster)
    return waits_for(cluster, **keys)


def named_hosts(*hosts: str) -> dict[str, Any]:
    """An ask for these hosts alone."""
    return {
        "hosts": dict.fromkeys(hosts, 1), "racks": {"/x": 1}, "relax": False,
        "strict_racks": ["/x"],
    }  # fmt: skip


def reserved(app: int) -> Cluster:
    """Room is reserved for one application; the other wants some of it."""
    queue = {"policy": "fifo", "options": {"reserve_after_ms": 1}, "reservation_share": "100%"}
    cluster = Cluster("fifo", nodes=[(4000, 8)], queues={"a": queue})
    cluster.add_app(1, "root.a")
    cluster.ask(1, 3, (1000, 1))
    settle(cluster)
    cluster.add_app(app, "root.a")
    cluster.ask(app, 1, (3500, 1))
    rounds(cluster, 2)
    cluster.add_app(APP + 2 - app, "root.a")
    cluster.ask(APP + 2 - app, 1, (1000, 1))
    settle(cluster)
    return cluster


def refused() -> Cluster:
    cluster = Cluster("fifo", nodes=[(4000, 8)], refuse=lambda _: Reason.STALE)
    waits_for(cluster)
    cluster.session.mirror.apply(cluster.batch(cluster.now))
    return cluster


def of_rule(name: str) -> Cluster:
    policy, queues, plant, *_ = RULES[name]
    cluster = Cluster(policy, nodes=[(8192, 8)], queues=queues)
    plant(cluster)
    rounds(cluster)
    return cluster


def of_case(name: str) -> Cluster:
    cluster = planted(CASES[name], "fifo")
    waits(cluster, CASES[name])
    return cluster


def many_asks() -> Cluster:
    """More asks than an explanation lists, in two queues, for two reasons."""
    cluster = Cluster("drf", nodes=[(4000, 8)], queues={"a": {"maximum": "50%"}, "b": {}})
    cluster.add_app(1, "root.a")
    for priority in range(12):
        cluster.ask(1, 1 + priority, (500, 1), priority)
    waits_for(cluster, 20, (1500, 1), "root.b")
    cluster.ask(APP, 0)
    for priority in range(30, 42):
        cluster.ask(APP, 1, (3000, 1), priority)
    settle(cluster)
    return cluster


def asks_nothing() -> Cluster:
    return waits_for(Cluster("fifo", nodes=[(4000, 8)]))


def of_masters() -> Cluster:
    """An AM waits for room, and so does a container of its own application."""
    cluster = waits_for(Cluster("fifo", nodes=[(1000, 1)]), 1, (1500, 2), is_am=True)
    cluster.ask(APP, 2, (1000, 2), 30)
    rounds(cluster, 3)
    return cluster


SCENES: dict[str, Callable[[], Cluster]] = {
    **{name: lambda name=name: of_case(name) for name in CASES},
    **{f"rule of {name}": lambda name=name: of_rule(name) for name in RULES},
    "limits in amounts": lambda: of_limits("root.p.a", size=(4000, 6), user="u"),
    "limits of another user": lambda: of_limits("root.p.a", size=(2500, 1), user="w"),
    "limits of AMs": lambda: of_limits("root.p.a", size=(1500, 2), user="w", is_am=True),
    "limits in percent": lambda: of_limits("root.p.b", size=(3000, 6), user="v"),
    "more than the parent has": lambda: of_limits("root.p.b", size=(9000, 12), user="v"),
    "no limit": lambda: of_limits("root.c", size=(4000, 4), count=3),
    "three types": of_gpus,
    "label": of_labels,
    "label of two queues": lambda: of_labels(label_maximum={"gpu": "70%"}),
    "label without any": lambda: of_labels(labels=[]),
    "order within": lambda: crowded("fifo"),
    "order between": crowded,
    "order between, by weight": lambda: crowded("fair", weight=2.5),
    "order, one ahead": lambda: crowded("fifo", ahead=1),
    "order, many": lambda: crowded(ahead=6),
    "five with room elsewhere": lambda: of_places(5, **named_hosts("x1", "x2")),
    "seven with room elsewhere": lambda: of_places(7, **named_hosts("x1", "x2", "x3", "x4", "x5")),
    "the nearest of its places": lambda: of_places(4, 2, **named_hosts("n1", "n2")),
    "none of its places": lambda: of_places(2, size=(9000, 1), **named_hosts("x1")),
    "all banned": lambda: of_places(6, blacklist=["/r", *(f"n{n}" for n in range(1, 7))]),
    "some banned": lambda: of_places(6, 4, blacklist=["n5", "n6"]),
    "banned and too small": lambda: of_places(2, size=(9000, 1), blacklist=["n1", "n2"]),
    "no node": lambda: waits_for(Cluster("fifo")),
    "no node of its label": lambda: waits_for(Cluster("fifo", nodes=[(4000, 8)]), label="gpu"),
    "room reserved for itself": lambda: reserved(APP),
    "room reserved for another": lambda: reserved(2),
    "refused": refused,
    "many asks": many_asks,
    "nothing asked": asks_nothing,
    "an AM": of_masters,
}  # fmt: skip


def whole(cluster: Cluster) -> dict[str, Any]:
    """Return all that is explained of the application, its queue and root, and the trial."""
    mirror, tree = cluster.session.mirror, cluster.session.tree
    explainer, app = Explainer(mirror, tree, 1_600_000_000_000), mirror.state.applications[APP]
    mirror.now_ms += 3
    root = mirror.state.queues[0]
    found = {
        "application": explainer.application(app),
        "queue": explainer.queue(app.queue),
        "root": explainer.queue(root)["sentence"],
        "asks": explainer.asks(root, lambda: False)["asks"][:2],
    }
    del found["queue"]["chain"]
    asks = [ask for ask in app.asks if ask.count > 0]
    if asks:
        found["sentence"] = explainer.sentence(explainer.find(asks[-1]), {"text": "So it is"})
        found["order"] = trial.order(explainer, asks[-1])
    return found


@pytest.fixture(scope="module")
def worded() -> Iterator[dict[str, Any]]:
    """What is recorded of each scene; what the tests put there is written when all have ended."""
    recorded = json.loads(WORDED.read_text("utf-8")) if WORDED.exists() else {}
    yield recorded
    if os.environ.get("RECORD"):
        lines = (f"{json.dumps(name)}: {json.dumps(recorded[name])}" for name in SCENES)
        WORDED.write_text("{" + ",\n".join(lines) + "}\n", "utf-8")


@pytest.mark.parametrize("name", SCENES)
def test_the_explanation_is_word_for_word_as_recorded(name: str, worded: dict[str, Any]) -> None:
    """Of applications, queues, lists of asks and the order: every field and every text."""
    found = json.loads(json.dumps(whole(SCENES[name]())))
    if os.environ.get("RECORD"):
        worded[name] = found
    assert found == worded[name]


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
