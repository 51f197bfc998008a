"""``loomcard explain`` on a real YARN: causes planted, named with their amounts, and relaxed by
exactly what was printed; one unit less changes nothing.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from asking import Asker, asker
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.cluster.embedded_config import Machine
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

UNIT = 0.0001
"""The least difference of two percentages in a configuration."""


@dataclass
class Yarn:
    """The cluster of all cases: two nodes without a label, and one of gpu."""

    cluster: LocalCluster
    asker: Asker

    def apply(self, text: str) -> None:
        self.cluster.rest.apply_policy("version: 1\nkind: policy\n" + text, "case.yml")

    def app(self, queue: str, user: str = "u", *kind: str) -> str:
        """``kind``: its type, and its tags joined by commas."""
        name = self.asker("submit", queue, user, *kind)
        assert name.startswith("application_"), name
        return name

    def ask(
        self, app: str, memory: int, count: int = 1, *words: str, vcores: int = 1,
        priority: int = 20,
    ) -> None:  # fmt: skip
        assert self.asker("ask", app, priority, memory, vcores, count, *words) == "ok"

    def end(self, *apps: str) -> None:
        for app in apps:
            assert self.asker("end", app) == "ok"
        wait_until(
            lambda: self.cluster.rest.metrics()["containersAllocated"] == 0, "nothing is used"
        )

    def holds(self, app: str, count: int) -> None:
        wait_until(lambda: self.asker.held(app) == count, f"{app} holds {count}", seconds=30)

    def explained(self, name: str, code: str) -> dict[str, Any]:
        """Return the explanation once its code is the expected one."""
        seen: list[dict[str, Any]] = []

        def told() -> bool:
            seen.append(self.cluster.rest.explain(name))
            return seen[-1]["code"] == code

        try:
            wait_until(told, f"{name} waits for {code}", seconds=20)
        except AssertionError as error:
            raise AssertionError(json.dumps(seen[-1], indent=1)) from error
        return seen[-1]

    def diagnostics(self, app: str) -> str:
        return str(self.cluster.rest.application(app)["diagnostics"])


@pytest.fixture
def yarn(shared: Yarn) -> Iterator[Yarn]:
    """The cluster without the applications of other cases, also where one failed."""
    yield shared
    assert shared.asker("reset") == "ok"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    folder = tmp_path_factory.mktemp("cluster")
    sizes = {f"n{i}": {"memory_mb": 8192 if i == 3 else 4096, "vcores": 64} for i in (1, 2, 3)}
    settings = LocalSettings(
        run_dir=folder / "run",
        machines=tuple(Machine(name, "/rack1", size) for name, size in sizes.items()),
        virtual=True,
        yarn={
            "yarn.node-labels.enabled": "true",
            "yarn.node-labels.fs-store.root-dir": f"file://{folder}/labels",
            "yarn.scheduler.maximum-allocation-mb": "8192",
            "loomcard.round.deadline-ms": "10000",
            "loomcard.swap.deadline-ms": "120000",
            "loomcard.restart.backoff-ms": "8000",
            "yarn.nodemanager.disk-health-checker.interval-ms": "500",
        },
    )
    with LocalCluster(settings) as running:
        url = f"http://{running.web}/ws/v1/cluster/"
        user = {"user.name": running.rest.user}
        labels = {"nodeLabelInfo": [{"name": "gpu", "exclusivity": True}]}
        rows = {"nodeToLabels": [{"nodeId": "n3", "labels": ["gpu"]}]}
        for path, body in (("add-node-labels", labels), ("replace-node-to-labels", rows)):
            assert requests.post(url + path, json=body, params=user, timeout=60).ok
        with asker(running, folder) as program:
            yield Yarn(running, program)


def less(to: str) -> str:
    """One unit less of a percentage."""
    return f"{float(to.removesuffix('%')) - UNIT:.4f}%"


def test_am_share(yarn: Yarn) -> None:
    """The second AM would exceed the AM share; diagnostics say so; the printed share starts it."""
    text = "policy: fifo\nqueues: {{a: {{am_share: {0}}}}}\n"
    yarn.apply(text.format("4%"))
    first = yarn.asker("master", "root.a", "u", 256)
    yarn.explained(first, "NOTHING_ASKED")
    second = yarn.asker("master", "root.a", "u", 512)
    found = yarn.explained(second, "AM_LIMIT")
    (bound,) = found["asks"][0]["binding"]
    assert (bound["limit"]["memory_mb"], bound["used"]["memory_mb"]) == (655, 256)
    assert (bound["asked"]["memory_mb"], bound["short"]) == (512, {"memory_mb": 113, "vcores": 0})
    assert found["order"]["text"] == "Nobody is ahead of it"
    wait_until(lambda: "AM_LIMIT" in yarn.diagnostics(second), "diagnostics say it", seconds=5)
    assert "113 MB" in yarn.diagnostics(second)
    yarn.apply(text.format(less(bound["to"])))
    yarn.explained(second, "AM_LIMIT")
    yarn.apply(text.format(bound["to"]))
    yarn.explained(second, "NOTHING_ASKED")
    wait_until(lambda: "AM_LIMIT" not in yarn.diagnostics(second), "they end", seconds=10)
    for app in (first, second):
        yarn.cluster.rest.kill(app)
    yarn.end()


def test_running_applications(yarn: Yarn) -> None:
    """An application beyond the limit waits before its AM starts, whoever it is; diagnostics say
    so. The printed number starts one, and so does the end of another.
    """
    text = "policy: fifo\nqueues: {{a: {{maximum_running_applications: {0}}}}}\n"
    yarn.apply(text.format(1))
    first, second, third = (yarn.asker("master", "root.a", user, 256) for user in "uvw")
    yarn.explained(first, "NOTHING_ASKED")
    (bound,) = yarn.explained(second, "RUNNING_LIMIT")["asks"][0]["binding"]
    assert (bound["key"], bound["to"]) == ("maximum_running_applications", 2)
    wait_until(lambda: "is 1; 1 run" in yarn.diagnostics(second), "diagnostics say it", seconds=10)
    yarn.apply(text.format(bound["to"]))
    yarn.explained(second, "NOTHING_ASKED")
    yarn.explained(third, "RUNNING_LIMIT")
    yarn.cluster.rest.kill(first)
    yarn.explained(third, "NOTHING_ASKED")
    yarn.apply("policy: fifo\nqueues: {a: {maximum_running_applications_per_user: {u: 0}}}\n")
    last = yarn.asker("master", "root.a", "u", 256)
    assert yarn.explained(last, "RUNNING_LIMIT")["asks"][0]["binding"][0]["to"] == {"u": 1}
    for app in (second, third, last):
        yarn.cluster.rest.kill(app)
    yarn.end()


# Limits and room, relaxed by what is printed


@dataclass(frozen=True)
class Planted:
    """An application that waits, who else is there, and how the cause is relaxed."""

    app: str
    others: tuple[str, ...]
    bound: dict[str, Any]


def relaxed(yarn: Yarn, planted: Planted, code: str, text: str, key_text: str) -> None:
    """Apply one unit less than the printed value, which changes nothing, then the value itself."""
    to = planted.bound["to"]
    units = [(less(to), 0), (to, 1)] if isinstance(to, str) else []
    if not units:
        memory = to["memory_mb"]
        units = [(f"{{memory_mb: {memory - 1}}}", 0), (f"{{memory_mb: {memory}}}", 1)]
    for value, held in units:
        yarn.apply(text.replace(key_text, str(value)))
        if not held:
            yarn.explained(planted.app, code)
        yarn.holds(planted.app, held)
    yarn.end(planted.app, *planted.others)


LIMITS = {
    "user limit": ("USER_LIMIT", "policy: {policy}\nqueues: {{a: {{user_limit: 8%}}}}\n", "8%"),
    "queue's maximum": ("QUEUE_MAX", "policy: {policy}\nqueues: {{a: {{maximum: 8%}}}}\n", "8%"),
    "queue's maximum in amounts": (
        "QUEUE_MAX",
        "policy: {policy}\nqueues: {{a: {{maximum: {{memory_mb: 1200}}}}}}\n",
        "{memory_mb: 1200}",
    ),
    "parent's maximum": (
        "QUEUE_MAX",
        "policy: {policy}\nqueues: {{a: {{maximum: 8%, queues: {{b: {{}}}}}}}}\n",
        "8%",
    ),
}


@pytest.mark.parametrize("policy", ["fifo", "drf", "hdrf"])
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_relaxed_by_what_is_printed(yarn: Yarn, name: str, policy: str) -> None:
    """A user's, a queue's and a parent's limit: 1,024 MB are used, 512 MB more are asked."""
    code, text, stated = LIMITS[name]
    text = text.format(policy=policy)
    yarn.apply(text)
    queue = "root.a.b" if "parent" in name else "root.a"
    first = yarn.app(queue)
    yarn.ask(first, 1024)
    yarn.holds(first, 1)
    app = yarn.app(queue)
    yarn.ask(app, 512)
    found = yarn.explained(app, code)
    (bound,) = found["asks"][0]["binding"]
    most = 1200 if "amounts" in name else 1310
    assert (bound["where"], bound["limit"]["memory_mb"]) == ("root.a", most)
    assert (bound["used"]["memory_mb"], bound["asked"]["memory_mb"]) == (1024, 512)
    assert bound["short"]["memory_mb"] == 1536 - most
    assert found["order"]["text"] == "Nobody is ahead of it"
    relaxed(yarn, Planted(app, (first,), bound), code, text, stated)


def test_maximum_on_a_label(yarn: Yarn) -> None:
    """The node of gpu has 8,192 MB, and the queue may use a part of it."""
    text = "policy: fifo\nqueues: {a: {label_maximum: {gpu: 20%}}}\n"
    yarn.apply(text)
    app = yarn.app("root.a")
    yarn.ask(app, 2048, 1, "label=gpu")
    found = yarn.explained(app, "QUEUE_MAX")
    (bound,) = found["asks"][0]["binding"]
    assert (bound["limit"]["memory_mb"], bound["short"]["memory_mb"]) == (1638, 410)
    relaxed(yarn, Planted(app, (), bound), "QUEUE_MAX", text, "20%")


def test_label_that_the_queue_may_not_use(yarn: Yarn) -> None:
    """The label is printed as what the queue's key lacks."""
    yarn.apply("policy: fifo\nqueues: {a: {labels: [gpu]}}\n")
    app = yarn.app("root.a")
    yarn.ask(app, 8192, 2, "label=gpu")
    yarn.holds(app, 1)
    yarn.apply("policy: fifo\nqueues: {a: {labels: []}}\n")
    assert yarn.asker("release", app) == "ok"
    wait_until(
        lambda: len(yarn.explained(app, "LABEL")["asks"][0]["binding"]) == 1, "the node is empty"
    )
    (bound,) = yarn.explained(app, "LABEL")["asks"][0]["binding"]
    assert (bound["key"], bound["to"]) == ("labels", ["gpu"])
    yarn.holds(app, 0)
    yarn.apply("policy: fifo\nqueues: {a: {labels: [gpu]}}\n")
    yarn.holds(app, 1)
    yarn.end(app)


FIFO = "policy: fifo\nqueues: {a: {}, b: {}}\n"


def fills(yarn: Yarn, memory: int, count: int, *words: str, queue: str = "root.a") -> str:
    """An application that holds so many containers."""
    app = yarn.app(queue)
    yarn.ask(app, memory, count, *words)
    yarn.holds(app, count)
    return app


def test_no_room(yarn: Yarn) -> None:
    """What is printed as too little on the node is what must end there."""
    yarn.apply(FIFO)
    first = fills(yarn, 3072, 2)
    small = fills(yarn, 512, 1)
    app = yarn.app("root.a")
    yarn.ask(app, 1152)
    found = yarn.explained(app, "NODE_FULL")
    (bound,) = found["asks"][0]["binding"]
    assert (bound["short"], bound["free"]["memory_mb"]) == ({"memory_mb": 128, "vcores": 0}, 1024)
    yarn.asker("release", small)  # on the other node 1,024 MB are free then, 128 MB too little
    yarn.explained(app, "NODE_FULL")
    yarn.holds(app, 0)
    yarn.ask(app, 1024)
    yarn.holds(app, 1)
    yarn.end(first, small, app)


def test_too_large_for_any_node(yarn: Yarn) -> None:
    """No node would have room if it were empty; a container smaller by the printed amount fits."""
    yarn.apply(FIFO)
    app = yarn.app("root.a")
    yarn.ask(app, 5120)
    found = yarn.explained(app, "TOO_LARGE")
    (bound,) = found["asks"][0]["binding"]
    assert bound["short"] == {"memory_mb": 1024, "vcores": 0}
    yarn.ask(app, 5120 - bound["short"]["memory_mb"] + 128)
    yarn.explained(app, "TOO_LARGE")
    yarn.ask(app, 5120 - bound["short"]["memory_mb"])
    yarn.holds(app, 1)
    yarn.end(app)


def test_larger_than_the_maximum_allocation(yarn: Yarn) -> None:
    """YARN refuses the AM's call; the application's diagnostics say why."""
    yarn.apply("policy: fifo\nqueues: {a: {maximum_allocation: {memory_mb: 1024}}}\n")
    app = yarn.app("root.a")
    answer = yarn.asker("ask", app, 20, 1152, 1, 1)
    assert "maximum allowed allocation" in answer, answer
    assert "1152" in answer
    yarn.ask(app, 1024)
    yarn.holds(app, 1)
    yarn.end(app)


def test_strict_locality(yarn: Yarn) -> None:
    """The named host lacks room while another one has it; and a host that is not there."""
    yarn.apply(FIFO)
    first = fills(yarn, 3584, 1, "host=n1@/rack1", "strict")
    app = yarn.app("root.a")
    yarn.ask(app, 768, 1, "host=n1@/rack1", "strict")
    found = yarn.explained(app, "LOCALITY")
    (bound,) = found["asks"][0]["binding"]
    assert bound["where"].startswith("n1:")
    assert bound["short"] == {"memory_mb": 256, "vcores": 0}
    yarn.ask(app, 768 - 256 + 128, 1, "host=n1@/rack1", "strict")
    yarn.explained(app, "LOCALITY")
    yarn.ask(app, 768 - 256, 1, "host=n1@/rack1", "strict")
    yarn.holds(app, 1)
    other = yarn.app("root.a")
    yarn.ask(other, 512, 1, "host=n99@/rack9", "strict")
    assert "n99" in yarn.explained(other, "LOCALITY")["sentence"]
    yarn.ask(other, 512, 0, "host=n99@/rack9", "strict")
    yarn.explained(other, "NOTHING_ASKED")
    yarn.end(first, app, other)


def test_blacklist(yarn: Yarn) -> None:
    """Only a node that the AM has blacklisted has room."""
    yarn.apply(FIFO)
    first = fills(yarn, 4096, 1, "host=n1@/rack1", "strict")
    app = yarn.app("root.a")
    assert yarn.asker("ban", app, "n2") == "ok"
    yarn.ask(app, 512)
    found = yarn.explained(app, "BLACKLISTED")
    assert found["asks"][0]["binding"][0]["where"].startswith("n2:")
    assert yarn.asker("unban", app, "n2") == "ok"
    yarn.holds(app, 1)
    yarn.end(first, app)


def test_reserved_room(yarn: Yarn) -> None:
    """Room is reserved for a large container; another application that would fit waits for it."""
    yarn.apply(
        "policy: fifo\nqueues: {a: {policy: fifo, options: {reserve_after_ms: 1},"
        " reservation_share: 100%}}\n"
    )
    first = fills(yarn, 3072, 2)
    large = yarn.app("root.a")
    yarn.ask(large, 4096)
    yarn.explained(large, "NODE_FULL")
    yarn.ask(large, 4096)  # in the round after the one in which it fitted nowhere
    found = yarn.explained(large, "RESERVATION")
    (bound,) = found["asks"][0]["binding"]
    assert bound["short"]["memory_mb"] == 3072
    small = yarn.app("root.a")
    yarn.ask(small, 640, 3)  # one fits beside the reserved room
    yarn.holds(small, 1)
    assert large in yarn.explained(small, "NODE_RESERVED")["sentence"]
    yarn.asker("end", small)
    yarn.asker("end", first)
    yarn.holds(large, 1)
    yarn.end(large)


# The order


def test_order_within_the_queue_and_before_other_queues(yarn: Yarn) -> None:
    """The policy's order is named as the cause: how many are ahead, who is next, by which rule."""
    yarn.apply(FIFO)
    first = fills(yarn, 4096, 2)
    second, third, fourth = (yarn.app(q) for q in ("root.a", "root.a", "root.b"))
    for app in (second, third, fourth):
        yarn.ask(app, 4096)
        yarn.explained(app, "NODE_FULL")
    found = yarn.explained(third, "NODE_FULL")["order"]
    assert (found["applications"], found["next"]) == (1, second), found
    assert "policy fifo of root.a" in found["text"]
    last = yarn.explained(fourth, "NODE_FULL")["order"]
    assert last["applications"] >= 1
    assert last["next"] == second
    assert "policy fifo of root serves root.a before root.b" in last["text"]
    yarn.asker("release", first)
    yarn.holds(second, 1)
    assert yarn.explained(third, "NODE_FULL")["order"]["text"] == "Nobody is ahead of it"
    yarn.asker("release", first)
    yarn.holds(third, 1)
    yarn.end(first, second, third, fourth)


def test_queue_below_its_share(yarn: Yarn) -> None:
    """A queue that is entitled to half of the cluster waits for another one's containers."""
    yarn.apply("policy: drf\nqueues: {a: {}, b: {}}\n")
    first = fills(yarn, 2048, 4)
    app = yarn.app("root.b")
    yarn.ask(app, 2048, 2)
    found = yarn.explained("root.b", "NODE_FULL")
    assert found["below_share"]
    assert found["causes"][0]["containers"] == 2
    assert found["chain"][-1]["entitlement"]["memory_mb"] >= 2048
    yarn.end(first, app)


# Rules of policies


def test_strict_shares(yarn: Yarn) -> None:
    """Nothing is lent: an application that has its share waits although room is free."""
    yarn.apply("policy: fifo\nqueues: {a: {policy: strict}}\n")
    others = [fills(yarn, 128, 1) for _ in range(3)]
    app = yarn.app("root.a")
    yarn.ask(app, 1024, 9)
    yarn.holds(app, 4)
    found = yarn.explained(app, "SHARE")
    assert "policy strict of root.a (its share is 4096 MB" in found["sentence"]
    assert found["asks"][0]["binding"] == []
    wait_until(lambda: "SHARE" in yarn.diagnostics(app), "diagnostics say it", seconds=10)
    yarn.end(app, *others)


def test_slots(yarn: Yarn) -> None:
    """Every slot is taken while room is free; the end of any container frees one."""
    yarn.apply("policy: fifo\nqueues: {a: {policy: slots, options: {slots_per_node: 2}}}\n")
    first = fills(yarn, 128, 2, queue="root.a")
    second = fills(yarn, 128, 2, queue="root.a")
    app = yarn.app("root.a")
    yarn.ask(app, 128)
    found = yarn.explained(app, "SLOTS")
    assert "policy slots of root.a (slots 6, free slots 2)" in found["sentence"]  # two of gpu
    yarn.holds(app, 0)
    yarn.asker("release", first)
    yarn.holds(app, 1)
    yarn.end(first, second, app)


def test_reduces_wait_for_maps(yarn: Yarn) -> None:
    """A map waits for its host and none has finished, so no reduce may start; the counts of the job
    are named.
    """
    yarn.apply("policy: fifo\nqueues: {a: {policy: coupling, options: {maps: any}}}\n")
    app = yarn.app("root.a", "u", "MAPREDUCE", "maps=3,reduces=1")
    yarn.ask(app, 128, 1, "host=n99@/rack9", "strict", priority=5)
    yarn.ask(app, 128, 2)
    yarn.ask(app, 256, 1, priority=10)
    yarn.holds(app, 2)

    def reduce() -> dict[str, Any]:
        asks = yarn.cluster.rest.explain(app)["asks"]
        return next((ask for ask in asks if ask["priority"] == 10), {"code": ""})

    wait_until(lambda: reduce()["code"] == "MAPS_FIRST", "the reduce waits for maps")
    said = "policy coupling of root.a (maps 3, finished 0, reduces 1, started 0"
    assert said in reduce()["text"]
    other = yarn.app("root.a")  # whose type has no maps: it is not coupled
    yarn.ask(other, 256, 1, priority=10)
    yarn.holds(other, 1)
    yarn.end(app, other)


def test_quota_of_large_jobs(yarn: Yarn) -> None:
    """Six tenths of the cluster are kept for small jobs: a large one waits although room is free,
    and a small one gets it.
    """
    yarn.apply(
        "policy: fifo\nqueues: {a: {policy: dress,"
        " options: {dmin: 0.6, order: submission, eager: false}}}\n"
    )
    large = yarn.app("root.a")
    yarn.ask(large, 128, 128)
    found = yarn.explained(large, "RESERVED")
    assert "the category's quota is" in found["sentence"]
    assert "it uses 6528 MB, 51 vcores" in found["sentence"]
    small = yarn.app("root.a")
    yarn.ask(small, 128, 2)
    yarn.holds(small, 2)
    yarn.explained(large, "RESERVED")
    yarn.end(large, small)


# What only Java knows


def test_stopped_queue_and_most_applications(yarn: Yarn) -> None:
    """YARN refuses the submission; the explanation of the application says why."""
    yarn.apply("policy: fifo\nqueues: {a: {state: stopped}, b: {maximum_applications: 1}}\n")
    refused = yarn.asker("master", "root.a", "u", 256)
    first = yarn.app("root.b")
    second = yarn.asker("master", "root.b", "u", 256)
    for answer, said in ((refused, "STOPPED"), (second, "already has 1 applications")):
        assert said in answer
        id_ = re.search(r"application_\d+_\d+", answer)
        assert id_ is not None
        assert said in yarn.explained(id_[0], "NOT_WAITING")["sentence"]
    yarn.end(first)


def test_lost_node(yarn: Yarn) -> None:
    """The only node of the label is gone: the explanation names it with its state."""
    yarn.apply(FIFO)
    app = yarn.app("root.a")
    yarn.cluster.command("stop-node n3")
    wait_until(lambda: len(yarn.cluster.rest.scheduler()["schedulerInfo"]) > 0)
    yarn.ask(app, 512, 1, "label=gpu")
    found = yarn.explained(app, "NO_NODE")
    wait_until(lambda: "n3" in yarn.cluster.rest.explain(app)["sentence"], "the lost node is named")
    assert "label gpu" in found["sentence"]
    yarn.cluster.command("start-node n3")
    yarn.holds(app, 1)
    yarn.end(app)


def test_unhealthy_node(yarn: Yarn) -> None:
    """The only node of the label has no folder to work in: it is named with its state and what it
    reports, until its folder is back.
    """
    yarn.apply(FIFO)
    app = yarn.app("root.a")
    (local,) = yarn.cluster.run_dir.rglob("n3/local")
    aside = local.with_name("aside")
    local.rename(aside)
    local.touch()  # a file in place of the folder
    metrics = yarn.cluster.rest.metrics
    wait_until(lambda: metrics()["unhealthyNodes"] == 1, "YARN has noticed")
    yarn.ask(app, 512, 1, "label=gpu")
    yarn.explained(app, "NO_NODE")
    said = lambda: yarn.cluster.rest.explain(app)["sentence"]  # noqa: E731
    wait_until(lambda: "UNHEALTHY" in said(), "the state of the node is named")
    assert re.search(r"n3:\d+ is UNHEALTHY \(.*local-dirs", said()), said()
    local.unlink()
    aside.rename(local)
    yarn.holds(app, 1)
    yarn.end(app)


def test_fallback_serves(yarn: Yarn) -> None:
    """The policy process is ended: explanation and diagnostics say that the FIFO serves."""
    yarn.apply(FIFO)
    first = fills(yarn, 4096, 2)
    app = yarn.app("root.a")
    yarn.ask(app, 512)
    yarn.explained(app, "NODE_FULL")
    process = yarn.cluster.rest.scheduler()["schedulerInfo"]["bridge"]["process"]
    os.kill(int(process.removeprefix("pid ")), 9)
    yarn.explained(app, "FALLBACK")
    wait_until(lambda: "FALLBACK" in yarn.diagnostics(app), "diagnostics say it", seconds=5)
    assert yarn.explained(app, "NODE_FULL")["asks"][0]["count"] == 1
    wait_until(lambda: "NODE_FULL" in yarn.diagnostics(app), "they say the cause again")
    yarn.end(first, app)
