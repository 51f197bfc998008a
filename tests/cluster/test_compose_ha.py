"""Two ResourceManagers on the compose cluster: first one is killed during running jobs, then the
other. One pair is started for all tests, which follow one another: each leaves both
ResourceManagers up.
"""

import functools
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import waiting
from loomcard.cluster.compose import ComposeCluster, Service
from loomcard.cluster.hadoop_config import compose_settings
from loomcard.cluster.rm_client import Document, ResourceManagerClient, RestError
from loomcard.config.source import resolve

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
PROBE = (Path(__file__).parent / "compose_probe.py").read_text()
PYTHON = "/opt/loomcard/venv/bin/python"
wait_until = functools.partial(waiting.wait_until, seconds=300, pause_s=1)
PORTS = ("NAMENODE", "RESOURCEMANAGER", "RESOURCEMANAGER2", "JOBHISTORY")


@dataclass(frozen=True)
class Pair:
    """The running pair."""

    compose: ComposeCluster

    def services(self) -> list[Service]:
        """Return both ResourceManagers, running or not."""
        found = self.compose.status()
        return [each for each in found if each.service.startswith("resourcemanager")]

    def rm(self) -> ResourceManagerClient:
        """Return a client that follows the active one; a container gets another port when it
        starts.
        """
        urls = {
            f"http://127.0.0.1:{each.ports[8088]}": each.service
            for each in self.services()
            if 8088 in each.ports
        }
        return ResourceManagerClient(
            ",".join(urls), "hadoop", lambda url: self.compose.token(urls[url])
        )

    def state(self, service: Service) -> str:
        """Return what one reports about itself: ACTIVE, STANDBY, or nothing."""
        if 8088 not in service.ports:
            return ""
        one = ResourceManagerClient(f"http://127.0.0.1:{service.ports[8088]}", pauses_s=())
        try:
            return str(one.info()["haState"])
        except RestError:
            return ""

    def active(self) -> Service | None:
        """Return the active one as soon as its policy process serves."""
        for each in self.services():
            if self.state(each) == "ACTIVE":
                try:
                    bridge = self.rm().scheduler()["schedulerInfo"]["bridge"]
                except RestError:
                    return None
                return each if bridge["state"] == "up" else None
        return None

    def document(self) -> Document:
        """Return the document of the active one's scheduler."""
        info: Document = self.rm().scheduler()["schedulerInfo"]
        return info

    def client(self, *words: str) -> subprocess.Popen[str]:
        """Start a Hadoop command as alice, in a container of its own."""
        return subprocess.Popen(
            [*self.compose.command, "run", "--rm", "--no-TTY", "--user=alice", "client", *words],
            cwd=ROOT,
            env=os.environ | self.compose.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def containers(self, service: Service) -> Document:
        """Return which containers live in this ResourceManager, on the nodes and in its mirror."""
        done = self.docker("exec", service.container, PYTHON, "-c", PROBE)
        report: Document = json.loads(done)
        return report

    def docker(self, *words: str) -> str:
        """Run a docker command; return what it printed."""
        done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def all_running(self, count: int) -> Document | None:
        """Wait for this many containers, the same everywhere."""
        active = self.active()
        if active is None:
            return None
        seen = self.containers(active)
        same = seen["rm"] == seen["nm"] == seen["mirror"]
        return seen if same and len(seen["rm"]) == count else None


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two ResourceManagers, ZooKeeper and two NodeManagers under fifo, on free ports."""
    compose = ComposeCluster(
        ROOT,
        tmp_path_factory.mktemp("ha") / "conf",
        f"loomcard-ha-{os.getpid()}",
        {f"LOOMCARD_{name}_PORT": "0" for name in PORTS},
    )
    try:
        compose.up(compose_settings(ha=True))
        yield Pair(compose)
    finally:
        compose.down(volumes=True)


def ended(process: subprocess.Popen[str]) -> str:
    """Wait until a client ends, and return its output. The client must have succeeded."""
    output, _ = process.communicate(timeout=900)
    assert process.returncode == 0, output[-3000:]
    return output


def test_jobs_go_on_when_the_active_one_is_killed(pair: Pair) -> None:
    """The other takes over within about a minute, under the applied policy, with the same
    containers, all allocated by the policy. A running job ends well, and so does a new one.
    """
    killed = wait_until(pair.active)
    assert pair.rm().apply_policy(resolve("drf").text, "drf")["version"] == 2
    job = pair.client("example", "sleep", "-m", "4", "-r", "0", "-mt", "90000")
    before = wait_until(lambda: pair.all_running(5))
    pair.docker("kill", "--signal=KILL", killed.container)
    active = wait_until(pair.active, seconds=180)
    assert active.service != killed.service
    document = pair.document()
    assert (document["config"]["version"], document["config"]["policy"]) == (2, "drf")
    assert wait_until(lambda: pair.all_running(5), seconds=60) == before
    output = ended(job)
    assert "completed successfully" in output
    assert "Killed map tasks" not in output
    assert "Estimated value of Pi" in ended(pair.client("example", "pi", "2", "100"))
    assert pair.document()["allocations"]["fallback"] == 0
    pair.docker("start", killed.container)
    wait_until(lambda: _states(pair) == ["ACTIVE", "STANDBY"])


def test_the_first_one_takes_over_again(pair: Pair) -> None:
    """What was applied to the second is active on the first, with the history of both; its journal
    is read from where it begins again.
    """
    second = wait_until(pair.active)
    assert pair.rm().apply_policy(resolve("sjf").text, "sjf")["version"] == 3
    job = pair.client("example", "sleep", "-m", "2", "-r", "0", "-mt", "60000")
    before = wait_until(lambda: pair.all_running(3))
    pair.docker("kill", "--signal=KILL", second.container)
    assert wait_until(pair.active, seconds=180).service != second.service
    assert pair.document()["config"]["version"] == 3
    versions = pair.rm().policy_history()
    assert [(each["version"], each["source"]) for each in versions] == [
        (3, "sjf"),
        (2, "drf"),
        (1, "fifo"),
    ]
    assert pair.rm().roll_back_policy(2)["version"] == 4
    assert pair.document()["config"]["policy"] == "drf"
    assert wait_until(lambda: pair.all_running(3), seconds=60) == before
    assert "completed successfully" in ended(job)
    pair.docker("start", second.container)
    wait_until(lambda: _states(pair) == ["ACTIVE", "STANDBY"])


def test_the_nodes_lose_the_active_one_for_a_while(pair: Pair) -> None:
    """A ResourceManager that stands still is replaced; when it continues, it steps back and applies
    nothing.
    """
    stopped = wait_until(pair.active)
    pair.docker("pause", stopped.container)
    try:
        wait_until(
            lambda: next(
                (s for s in pair.services() if s != stopped and pair.state(s) == "ACTIVE"), None
            ),
            seconds=180,
        )
    finally:
        pair.docker("unpause", stopped.container)
    wait_until(lambda: _states(pair) == ["ACTIVE", "STANDBY"], seconds=120)
    processes = pair.docker("top", stopped.container)
    assert "loomcard.bridge.process" not in processes
    assert wait_until(pair.active).service != stopped.service


def _states(pair: Pair) -> list[str]:
    return sorted(pair.state(each) for each in pair.services())
