"""Loomcard is put into a Hadoop that was set up by hand, with its own daemons, and removed
again.
"""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loomcard.cluster import paths
from loomcard.cluster.embedded_config import free_ports
from loomcard.cluster.rm_client import ResourceManagerClient, RestError
from waiting import wait_until

DEADLINE_S = 480.0
YARN = "org.apache.hadoop.yarn.server"
RESOURCE_MANAGER = f"{YARN}.resourcemanager.ResourceManager"
NODE_MANAGER = f"{YARN}.nodemanager.NodeManager"
JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 --add-opens=java.base/java.lang=ALL-UNNAMED"
PI = ["org.apache.hadoop.examples.ExampleDriver", "pi", "2", "10"]
SLOW = {
    # A slow machine must not make the fallback serve, nor end a swap.
    "loomcard.round.deadline-ms": "60000",
    "loomcard.round.hard-deadline-ms": "300000",
    "loomcard.start.deadline-ms": "300000",
    "loomcard.start.grace-ms": "300000",
    "loomcard.swap.deadline-ms": "100000",
}
CAPACITY = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "0.6",
}


class Hadoop:
    """One ResourceManager and one NodeManager, started with plain `java -cp`."""

    def __init__(self, root: Path) -> None:
        self.root, self.conf, self.lib = root, root / "conf", root / "lib"
        self.state = root / "state"
        self.conf.mkdir()
        self.lib.mkdir()
        for jar in paths.jars().glob("*.jar"):
            if not jar.name.startswith(("loomcard-", "py4j")):
                (self.lib / jar.name).symlink_to(jar)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.web = self._configure()
        self.rest = ResourceManagerClient(self.web, getpass.getuser(), pauses_s=())

    def _configure(self) -> str:
        ports = iter(free_ports(5))
        rm = "yarn.resourcemanager"
        addresses = ("address", "scheduler.address", "resource-tracker.address", "admin.address")
        yarn = {f"{rm}.{name}": f"127.0.0.1:{next(ports)}" for name in addresses}
        web = f"127.0.0.1:{next(ports)}"
        nm = "yarn.nodemanager"
        classes = f"{self.conf},{self.lib}/*"
        self.write("core-site.xml", {"hadoop.tmp.dir": str(self.root / "tmp")})
        self.write("capacity-scheduler.xml", CAPACITY)
        self.write(
            "yarn-site.xml",
            {
                **yarn,
                **SLOW,
                f"{rm}.webapp.address": web,
                "yarn.acl.enable": "true",
                "yarn.admin.acl": getpass.getuser(),
                "yarn.scheduler.minimum-allocation-mb": "128",
                f"{nm}.address": "127.0.0.1:0",
                f"{nm}.localizer.address": "127.0.0.1:0",
                f"{nm}.webapp.address": "127.0.0.1:0",
                f"{nm}.resource.memory-mb": "1536",
                f"{nm}.resource.cpu-vcores": "4",
                f"{nm}.vmem-check-enabled": "false",
                f"{nm}.log-dirs": str(self.root / "userlogs"),
                f"{nm}.aux-services": "mapreduce_shuffle",
                f"{nm}.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
                f"{nm}.env-whitelist": "JAVA_HOME,PATH",
                "yarn.application.classpath": classes,
            },
        )
        self.write(
            "mapred-site.xml",
            {
                "mapreduce.framework.name": "yarn",
                "mapreduce.application.classpath": classes,
                "mapreduce.shuffle.port": "0",
                "mapreduce.task.timeout": "0",
                "mapreduce.task.io.sort.mb": "32",
                "mapreduce.map.memory.mb": "256",
                "mapreduce.reduce.memory.mb": "256",
                "mapreduce.map.java.opts": f"-Xmx160m {JVM}",
                "mapreduce.reduce.java.opts": f"-Xmx160m {JVM}",
                "yarn.app.mapreduce.am.resource.mb": "384",
                "yarn.app.mapreduce.am.command-opts": f"-Xmx256m {JVM}",
                "yarn.app.mapreduce.am.staging-dir": str(self.root / "staging"),
            },
        )
        return f"http://{web}"

    def write(self, name: str, properties: dict[str, str]) -> None:
        """Write a site file with one property per line."""
        rows = (
            f"  <property><name>{name}</name><value>{value}</value></property>\n"
            for name, value in properties.items()
        )
        text = f'<?xml version="1.0"?>\n<configuration>\n{"".join(rows)}</configuration>\n'
        (self.conf / name).write_text(text)

    def java(self, log: str, *words: str) -> subprocess.Popen[bytes]:
        """Return a Java process on this Hadoop's class path."""
        home = paths.java_home()
        command = [str(home / "bin" / "java"), "-Xmx384m", *JVM.split()]
        command += ["-cp", f"{self.conf}:{self.lib}/*", *words]
        with (self.root / f"{log}.log").open("ab") as out:
            return subprocess.Popen(
                command, cwd=self.root, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                env=os.environ | {"JAVA_HOME": str(home), "HADOOP_CONF_DIR": str(self.conf)},
            )  # fmt: skip

    def start(self) -> None:
        """Start both daemons, and wait until the node is there."""
        self.processes = {
            each.rpartition(".")[2]: self.java(each.rpartition(".")[2], each)
            for each in (RESOURCE_MANAGER, NODE_MANAGER)
        }
        until(lambda: self.rest.metrics()["activeNodes"] == 1, "the node is there", self)

    def stop(self) -> None:
        """Stop both daemons, and wait until they have ended."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(DEADLINE_S)
        self.processes = {}

    def pi(self) -> dict[str, Any]:
        """Return the application of a pi job after its end. Its client may come too late for the
        AM; then it asks a history server that does not exist.
        """
        before = {each["id"] for each in self.rest.applications()}
        client = self.java("client", *PI)

        def new() -> list[dict[str, Any]]:
            return [each for each in self.rest.applications() if each["id"] not in before]

        try:
            until(lambda: [each["state"] for each in new()] == ["FINISHED"], "pi has ended", self)
        finally:
            client.terminate()
            client.wait(DEADLINE_S)
        return new()[0]


def until(condition: Callable[[], bool], what: str, hadoop: Hadoop) -> None:
    """Waits for a condition; also waits for a ResourceManager that does not answer yet."""

    def holds() -> bool:
        try:
            return condition()
        except RestError:
            ended = [name for name, each in hadoop.processes.items() if each.poll() is not None]
            assert not ended, (
                f"{ended} ended: {(hadoop.root / f'{ended[0]}.log').read_text()[-3000:]}"
            )
            return False

    wait_until(holds, what, seconds=DEADLINE_S)


def loomcard(hadoop: Hadoop, *words: str, status: int = 0) -> str:
    """Return the output of the command, which must succeed or end with the given status."""
    done = subprocess.run(
        [sys.executable, "-c", "from loomcard.cli import main; main()", *words],
        cwd=hadoop.root, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == status, f"{words}: {done.stdout}"
    return done.stdout


@pytest.fixture
def hadoop(tmp_path: Path) -> Iterator[Hadoop]:
    laid_out = Hadoop(tmp_path)
    yield laid_out
    laid_out.stop()


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_installed_swapped_and_back_at_stock(hadoop: Hadoop) -> None:
    """Install, a job, another policy, a job, the first policy again, uninstall; then the stock
    scheduler runs a job.
    """
    files = {each.name: each.read_bytes() for each in hadoop.conf.iterdir()}
    conf, rm = ["--hadoop-conf", str(hadoop.conf)], ["--rm", hadoop.web]
    places = ["--jar-dir", str(hadoop.lib), "--state-dir", str(hadoop.state)]
    assert "+  <property><name>loomcard.python" in loomcard(hadoop, "install", *conf, *places)
    hadoop.start()
    until(
        lambda: hadoop.rest.scheduler()["schedulerInfo"]["bridge"]["state"] == "up",
        "the policy process is up",
        hadoop,
    )
    assert "WRONG" not in loomcard(hadoop, "doctor", *conf, *rm)
    assert hadoop.pi()["finalStatus"] == "SUCCEEDED"
    token = hadoop.state / "apply.token"
    assert f"{token} on the" in loomcard(hadoop, "policy", "apply", "drf", *rm, status=1)
    words = ["policy", "apply", "drf", *rm, "--token-file", str(token)]
    assert "applied as version" in loomcard(hadoop, *words)
    assert "drf" in loomcard(hadoop, "status", *rm)
    # By the address; only the client's files say where MapReduce's jars are on the nodes.
    assert "SUCCEEDED" in loomcard(hadoop, "submit", "pi", "2", "10", *rm, *conf)
    allocations = hadoop.rest.scheduler()["schedulerInfo"]["allocations"]
    assert allocations["policy"] >= 8
    assert allocations["fallback"] == 0
    back = loomcard(hadoop, "policy", "rollback", *rm, "--token-file", str(token))
    assert "applied as version 3" in back
    hadoop.stop()
    loomcard(hadoop, "uninstall", *conf)
    assert {each.name: each.read_bytes() for each in hadoop.conf.iterdir()} == files
    assert not list(hadoop.lib.glob("loomcard-*")) + list(hadoop.lib.glob("py4j*"))
    hadoop.start()
    assert hadoop.rest.scheduler()["schedulerInfo"]["type"] == "capacityScheduler"
    for command in (["apply", "drf"], ["history"], ["rollback"]):
        said = loomcard(hadoop, "policy", *command, *rm, status=1)
        assert "runs another scheduler: capacityScheduler" in said
    assert hadoop.pi()["finalStatus"] == "SUCCEEDED"
