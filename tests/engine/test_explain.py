"""What explanations name binds exactly: relaxed by what is printed the ask gets its container in the
next round, by one unit less it does not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from loomcard.bridge.explanations import Explanations
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


@pytest.mark.parametrize("policy", [*POLICIES, *LEAF_POLICIES])
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
        assert found["order"]["text"] == "nobody is ahead of it"
        case.relax(cluster, bound, units)
        cluster.round()
        assert held(cluster) == granted, found["sentence"]
