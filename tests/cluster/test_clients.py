"""Clients that others wrote, unmodified: what they show of our queues is what they show under stock
CapacityScheduler with the file that was imported, in the same state.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from asking import asker
from loomcard.cluster import paths
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.cluster.embedded_config import Machine
from loomcard.install.convert import convert, written
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

XML = Path(__file__).parents[2] / "benchmarks/agreement/stock_workloads/imported-capacity.xml"
PACKAGES = ("yarn-api-client==1.0.3", "yarn-burrow==0.1.8")
QUEUES = ("root.prod", "root.dev", "root.dev.etl", "root.dev.web", "root.adhoc")
ROUNDING = 0.02
"""By how much percentages may differ: CapacityScheduler rounds its own along the way."""
HELD = {"paul": ("root.prod", 4), "erin": ("root.dev.etl", 6), "alice": ("root.adhoc", 2),
        "bob": ("root.adhoc", 1)}  # fmt: skip
FIGURES = (
    "queueName", "queuePath", "type", "queueType", "mode", "state", "capacity", "maxCapacity",
    "usedCapacity", "absoluteCapacity", "absoluteMaxCapacity", "absoluteUsedCapacity",
    "numApplications", "allocatedContainers", "pendingContainers", "reservedContainers",
    "numContainers", "numActiveApplications", "numPendingApplications", "maxApplications",
    "maxApplicationsPerUser", "userLimit", "userLimitFactor", "orderingPolicyInfo",
    "configuredMaxAMResourceLimit",
)  # fmt: skip
API = """
import json, sys
from yarn_api_client import ResourceManager
rm = ResourceManager([sys.argv[1]])
queues = {path: rm.cluster_scheduler_queue(path.rpartition(".")[2]) for path in sys.argv[2:]}
print(json.dumps({"queues": queues, "metrics": rm.cluster_metrics().data["clusterMetrics"]}))
"""


@dataclass
class Shown:
    """What the clients show under one scheduler."""

    api: dict[str, Any]
    status: dict[str, str]
    top: list[str]
    doctor: str


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clients")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), *PACKAGES]
    subprocess.run(pip, check=True, timeout=300)
    return folder


def shown(folder: Path, packages: Path, scheduler: str) -> Shown:
    policy = folder / "imported.yml"
    policy.write_text(written(convert(XML)), "utf-8")
    ours = scheduler == "loomcard"
    size = {"memory_mb": 8192, "vcores": 8}
    settings = LocalSettings(
        run_dir=folder / "run",
        machines=tuple(Machine(f"n{i}", "/rack1", size) for i in range(1, 6)),
        virtual=True,
        scheduler=scheduler,
        policy=policy if ours else None,
        stock_file=None if ours else XML,
    )
    with LocalCluster(settings) as cluster, asker(cluster, folder) as ask:
        for user, (queue, count) in HELD.items():
            app = ask("submit", queue, user)
            assert ask("ask", app, 20, 1024, 1, count) == "ok"
            wait_until(lambda app=app, n=count: ask.held(app) == n, f"{app} holds all")

        def settled() -> bool:  # the metrics of what is free are a second old at most
            return cluster.rest.metrics()["totalMB"] == 5 * 8192

        wait_until(settled, "the figures are those of now")
        return Shown(
            json.loads(_python(packages, API, f"http://{cluster.web}", *QUEUES)),
            {path: _java(cluster, "QueueCLI", "-status", path) for path in QUEUES},
            _java(cluster, "TopCLI", "-cols", "160", "-rows", "30", limit=15).splitlines(),
            _burrow(packages, f"http://{cluster.web}"),
        )


def _python(packages: Path, code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    found = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"PYTHONPATH": str(packages)},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout


def _java(cluster: LocalCluster, name: str, *arguments: str, limit: int = 120) -> str:
    """Return what a command of Hadoop prints; `yarn top` prints until it is ended."""
    java = str(paths.java_home() / "bin" / "java")
    classes = f"{cluster.conf_dir}:{paths.jars()}/*"
    main = f"org.apache.hadoop.yarn.client.cli.{name}"
    command = ["timeout", str(limit), java, *cluster.client_options, "-cp", classes, main]
    found = subprocess.run(
        [*command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=limit + 60,
        env=os.environ | {"HADOOP_CONF_DIR": str(cluster.conf_dir), "TERM": "xterm"},
    )  # fmt: skip
    return found.stdout


def _burrow(packages: Path, url: str) -> str:
    found = subprocess.run(
        [str(packages / "bin" / "burrow"), "--rm", url, "doctor"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return found.stdout


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, packages: Path) -> tuple[Shown, Shown]:
    """What is shown under ours, and under stock."""
    schedulers = ("loomcard", "stock:capacity")
    ours, stock = (shown(tmp_path_factory.mktemp("c"), packages, each) for each in schedulers)
    return ours, stock


def test_yarn_api_client(both: tuple[Shown, Shown]) -> None:
    """It finds each queue, with the same capacities, use, limits, applications and users."""
    ours, stock = (each.api["queues"] for each in both)
    for path in QUEUES:
        for name in FIGURES:
            mine, theirs = ours[path].get(name), stock[path].get(name)
            if isinstance(theirs, float):
                theirs = pytest.approx(theirs, abs=ROUNDING)
            assert mine == theirs, (path, name)
        assert _users(ours[path]) == _users(stock[path]), path
        used = [each[path]["resourcesUsed"] for each in (ours, stock)]
        assert used[0]["memory"] == used[1]["memory"]
        assert used[0]["vCores"] == used[1]["vCores"]


def _users(queue: dict[str, Any]) -> dict[str, tuple[int, int, int, int, bool]]:
    rows = (queue.get("users") or {}).get("user") or []
    return {
        row["username"]: (
            row["resourcesUsed"]["memory"], row["resourcesUsed"]["vCores"],
            row["numActiveApplications"], row["numPendingApplications"], row["isActive"],
        )
        for row in rows
    }  # fmt: skip


def test_metrics_of_the_cluster(both: tuple[Shown, Shown]) -> None:
    """The totals that yarn-api-client reads are the same."""
    names = ("totalMB", "allocatedMB", "availableMB", "reservedMB", "totalVirtualCores",
             "allocatedVirtualCores", "availableVirtualCores", "containersAllocated",
             "appsRunning", "appsPending", "activeNodes")  # fmt: skip
    ours, stock = ({name: each.api["metrics"][name] for name in names} for each in both)
    assert ours == stock


def test_queue_status(both: tuple[Shown, Shown]) -> None:
    """Hadoop's own command shows the same state and capacities, and how many may run."""
    for path in QUEUES:
        ours, stock = (_lines(each.status[path]) for each in both)
        for name in ("Queue Path", "State", "Capacity", "Current Capacity", "Maximum Capacity",
                     "Weight", "Maximum Parallel Apps"):  # fmt: skip
            mine, theirs = (each[name].removesuffix("%") for each in (ours, stock))
            same = mine == theirs or abs(float(mine) - float(theirs)) <= ROUNDING
            assert same, (path, name, mine, theirs)


def _lines(text: str) -> dict[str, str]:
    pairs = (line.strip().partition(" : ") for line in text.splitlines())
    return {name: value for name, _, value in pairs}


def test_yarn_top(both: tuple[Shown, Shown]) -> None:
    """It shows the same applications with the same containers, and what is allocated and
    available."""
    ours, stock = (_top(each.top) for each in both)
    assert ours == stock
    assert len(ours) == len(HELD) + 4


def _top(lines: list[str]) -> list[list[str]]:
    first = [line.replace("\x1b[K", "").split() for line in lines[: 8 + len(HELD)]]
    apps = [["app", *each[-14:][:9]] for each in first if "application_" in " ".join(each)]
    of = ("Applications:", "Containers:", "Mem(GB):", "VCores:")
    whole = [each for each in first if each[:1] == ["Queue(s)"] and each[1] in of]
    return sorted(apps) + whole


def test_burrow(both: tuple[Shown, Shown]) -> None:
    """It takes the scheduler for a CapacityScheduler, as its page of queues needs."""
    for each in both:
        assert "scheduler=capacity" in each.doctor
