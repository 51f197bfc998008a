"""Whole explanations, word for word, and the order that a trial in this process finds."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loomcard.engine import trial
from loomcard.engine.explain import Explainer
from loomcard.model.reasons import Reason
from loomcard.testing import Cluster
from planted_waits import APP, CASES, RULES, planted, reserved, rounds, settle, stand, uses

WORDED = Path(__file__).parents[1] / "golden" / "explanations.json"
"""What is explained in each scene. `RECORD=1 .venv/bin/pytest tests/engine/test_explained_words.py`
writes it again.
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
    stand(cluster, CASES[name])
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
    mirror.epoch_ms = 1_600_000_000_000
    explainer, app = Explainer(mirror, tree), mirror.state.applications[APP]
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
        found["sentence"] = explainer.sentence(explainer.find(asks[-1]))
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
