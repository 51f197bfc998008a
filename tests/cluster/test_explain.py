"""``loomcard explain`` on a real YARN: causes planted, named with their amounts, and relaxed by
exactly what was printed; one unit less changes nothing.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from loomcard.cluster import paths
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.cluster.embedded_config import Machine
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

ASKER = Path(__file__).parents[1] / "support" / "Asker.java"
UNIT = 0.0001
"""The least difference of two percentages in a configuration."""


@dataclass
class Asker:
    """Unmanaged AMs, by commands to a Java program."""

    process: subprocess.Popen[str]

    def __call__(self, *words: object) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer, f"{words}: the asker has ended"
        return answer

    def held(self, app: str) -> int:
        return int(self("held", app).removeprefix("held "))


@dataclass
class Yarn:
    """The cluster of all cases: two nodes without a label, and one of gpu."""

    cluster: LocalCluster
    asker: Asker

    def apply(self, text: str) -> None:
        self.cluster.rest.apply_policy("version: 1\nkind: policy\n" + text, "case.yml")

    def app(self, queue: str, user: str = "u") -> str:
        name = self.asker("submit", queue, user)
        assert name.startswith("application_"), name
        return name

    def ask(self, app: str, memory: int, count: int = 1, *words: str, vcores: int = 1) -> None:
        assert self.asker("ask", app, 20, memory, vcores, count, *words) == "ok"

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


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    folder = tmp_path_factory.mktemp("cluster")
    size = {"memory_mb": 4096, "vcores": 8}
    settings = LocalSettings(
        run_dir=folder / "run",
        machines=tuple(Machine(f"n{i}", "/rack1", size) for i in (1, 2, 3)),
        virtual=True,
        yarn={
            "yarn.node-labels.enabled": "true",
            "yarn.node-labels.fs-store.root-dir": f"file://{folder}/labels",
            "yarn.scheduler.maximum-allocation-mb": "8192",
            "loomcard.round.deadline-ms": "10000",
            "loomcard.swap.deadline-ms": "120000",
            "loomcard.restart.backoff-ms": "8000",
        },
    )
    with LocalCluster(settings) as running:
        url = f"http://{running.web}/ws/v1/cluster/"
        user = {"user.name": running.rest.user}
        labels = {"nodeLabelInfo": [{"name": "gpu", "exclusivity": True}]}
        rows = {"nodeToLabels": [{"nodeId": "n3", "labels": ["gpu"]}]}
        for path, body in (("add-node-labels", labels), ("replace-node-to-labels", rows)):
            assert requests.post(url + path, json=body, params=user, timeout=60).ok
        with subprocess.Popen(
            [
                str(paths.java_home() / "bin" / "java"), "-XX:TieredStopAtLevel=1",
                *running.client_options, "-cp", f"{running.conf_dir}:{paths.jars()}/*", str(ASKER),
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=(folder / "asker.log").open("w"),
            env=os.environ | {"HADOOP_CONF_DIR": str(running.conf_dir)},
        ) as process:  # fmt: skip
            yield Yarn(running, Asker(process))
            process.kill()


def less(to: str) -> str:
    """One unit less of a percentage."""
    return f"{float(to.removesuffix('%')) - UNIT:.4f}%"


def test_am_share(yarn: Yarn) -> None:
    """The second AM would exceed the AM share; diagnostics say so; the printed share starts it."""
    text = "policy: fifo\nqueues: {{a: {{am_share: {0}}}}}\n"
    yarn.apply(text.format("5%"))
    first = yarn.asker("master", "root.a", "u", 256)
    yarn.explained(first, "NOTHING_ASKED")
    second = yarn.asker("master", "root.a", "u", 512)
    found = yarn.explained(second, "AM_LIMIT")
    (bound,) = found["asks"][0]["binding"]
    assert (bound["limit"]["memory_mb"], bound["used"]["memory_mb"]) == (614, 256)
    assert (bound["asked"]["memory_mb"], bound["short"]) == (512, {"memory_mb": 154, "vcores": 1})
    assert found["order"]["text"] == "nobody is ahead of it"
    wait_until(lambda: "AM_LIMIT" in yarn.diagnostics(second), "diagnostics say it", seconds=5)
    assert "154 MB" in yarn.diagnostics(second)
    yarn.apply(text.format(less(bound["to"])))
    yarn.explained(second, "AM_LIMIT")
    yarn.apply(text.format(bound["to"]))
    yarn.explained(second, "NOTHING_ASKED")
    wait_until(lambda: "AM_LIMIT" not in yarn.diagnostics(second), "they end", seconds=10)
    for app in (first, second):
        yarn.cluster.rest.kill(app)
    yarn.end()
