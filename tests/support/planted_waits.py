"""Applications that wait for every cause that explanations name, by what plants each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loomcard.testing import Cluster
from loomcard.testing.policy_configs import compiled
from loomcard.wire import messages as r

APP = 9
"""The application that waits in each case."""
POLICIES = ("fifo", "fair", "drf", "capacity", "strict", "hdrf")
LEAF_POLICIES = ("sjf", "srtf", "tetris", "carbyne", "dress", "coupling")
"""Every one of them honours the same limits."""


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


def stand(cluster: Cluster, case: Case) -> None:
    """Let the application wait for the cause."""
    case.plant(cluster) if case.code != "BLACKLISTED" else None
    leaf = next(q["path"] for q in cluster.compiled["queues"] if q["leaf"])
    cluster.add_app(APP, leaf)
    if case.code == "BLACKLISTED":
        case.plant(cluster)
    cluster.ask(APP, 1, case.size, **(case.keys or {}))
    settle(cluster)
    assert held(cluster) == 0


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
