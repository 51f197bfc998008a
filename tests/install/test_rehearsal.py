"""A restart under Loomcard is rehearsed on a copy of a running ResourceManager's stored state."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.install.test_by_hand import CAPACITY, RESOURCE_MANAGER, Hadoop, loomcard, until

RM = "yarn.resourcemanager"
STORES = "org.apache.hadoop.yarn.server.resourcemanager.recovery"
QUEUES = "version: 1\npolicy: drf\nqueues:\n  a: {}\n  b: {}\n"


class Recovering(Hadoop):
    """A ResourceManager with CapacityScheduler and queues a and b, without nodes."""

    def __init__(self, root: Path, store: dict[str, str]) -> None:
        super().__init__(root)
        key = "yarn.scheduler.capacity.root"
        halves = {f"{key}.queues": "a,b", f"{key}.a.capacity": "50", f"{key}.b.capacity": "50"}
        self.write("capacity-scheduler.xml", CAPACITY | halves)
        rows = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>\n"
            for name, value in ({f"{RM}.recovery.enabled": "true"} | store).items()
        )
        site = self.conf / "yarn-site.xml"
        site.write_text(site.read_text().replace("</configuration>", f"{rows}</configuration>"))
        (root / "queues.yml").write_text(QUEUES)
        self.options = ["--hadoop-conf", str(self.conf), "--jar-dir", str(self.lib)]
        self.options += ["--state-dir", str(self.state)]

    def start(self) -> None:
        """Start only the ResourceManager."""
        self.processes = {"ResourceManager": self.java("ResourceManager", RESOURCE_MANAGER)}
        # Its web side answers before it has recovered, and would accept an application too early.
        until(lambda: self.rest.info()["haState"] == "ACTIVE", "the ResourceManager is there", self)

    def submit(self, queue: str) -> str:
        """Submit an application that waits for a node."""
        user = {"user.name": getpass.getuser()}
        apps = f"{self.web}/ws/v1/cluster/apps"
        answer = requests.post(f"{apps}/new-application", params=user, timeout=60)
        name = str(answer.json()["application-id"])
        document = {
            "application-id": name,
            "application-name": name,
            "queue": queue,
            "am-container-spec": {"commands": {"command": "true"}},
            "resource": {"memory": 128, "vCores": 1},
        }
        done = requests.post(apps, params=user, json=document, timeout=60)
        assert done.status_code == 202, done.text
        self.wait_state(name, "ACCEPTED")
        return name

    def wait_state(self, application: str, state: str) -> None:
        """Wait until an application has that state."""
        until(lambda: self.rest.application(application)["state"] == state, state, self)


@pytest.fixture
def hadoop(tmp_path: Path) -> Iterator[Recovering]:
    store = {
        f"{RM}.store.class": f"{STORES}.FileSystemRMStateStore",
        f"{RM}.fs.state-store.uri": f"file://{tmp_path}/rmstore",
    }
    laid_out = Recovering(tmp_path, store)
    yield laid_out
    laid_out.stop()


def files(folder: Path) -> dict[str, bytes]:
    """Return every file below the folder, with its bytes."""
    found = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in found}


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_what_the_rehearsal_shows_the_restart_does(
    hadoop: Recovering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds the applications that a policy without their queues would lose, and says that one
    with these queues recovers all. Nothing that runs is changed. The restart then does the same.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    hadoop.start()
    mine, killed = [hadoop.submit("a"), hadoop.submit("b")], hadoop.submit("b")
    hadoop.rest.kill(killed)
    hadoop.wait_state(killed, "KILLED")
    before = files(hadoop.conf), files(tmp_path / "rmstore"), sorted(hadoop.lib.iterdir())

    said = loomcard(hadoop, "install", *hadoop.options, "--rehearse", "--force", status=1)
    assert f"LOST {mine[0]} of {getpass.getuser()} in a: FAILED" in said
    assert f"error: {mine[1]} would be lost: Application {mine[1]} submitted by user" in said
    (log,) = scratch.glob("loomcard-rehearsal-*/*")
    assert log.name == "rehearsal.log"

    policy = ["--policy", str(tmp_path / "queues.yml")]
    said = loomcard(hadoop, "install", *hadoop.options, *policy, "--rehearse")
    assert all(f"recovered {each} of " in said for each in mine)
    assert "1 applications had ended before\npolicy process up: policy configuration" in said
    assert len(list(scratch.iterdir())) == 1
    assert (
        files(hadoop.conf), files(tmp_path / "rmstore"), sorted(hadoop.lib.iterdir())
    ) == before  # fmt: skip
    assert not hadoop.state.exists()
    assert {e["id"] for e in hadoop.rest.applications() if e["state"] == "ACCEPTED"} == set(mine)

    loomcard(hadoop, "install", *hadoop.options, *policy)
    hadoop.stop()
    hadoop.start()
    for each in mine:
        hadoop.wait_state(each, "ACCEPTED")
    assert hadoop.rest.scheduler()["schedulerInfo"]["type"] == "loomcard"


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_rehearsal_says_why_it_would_not_start(tmp_path: Path) -> None:
    """The reason is in the scheduler's words, and a rehearsal that is impossible is not a
    success.
    """
    hadoop = Recovering(tmp_path, {"loomcard.round.deadline-ms": "soon"})
    said = loomcard(hadoop, "install", *hadoop.options, "--force", "--rehearse", status=1)
    assert 'error: the ResourceManager could not start: loomcard.round.deadline-ms = "soon"' in said
    (tmp_path / "empty").mkdir()
    options = ["--hadoop-conf", str(hadoop.conf), "--jar-dir", str(tmp_path / "empty")]
    said = loomcard(hadoop, "install", *options, "--force", "--rehearse", status=2)
    assert "error: no rehearsal: neither `yarn` nor Hadoop's jars are found" in said
    other = {f"{RM}.store.class": f"{STORES}.MemoryRMStateStore"}
    hadoop = Recovering(tmp_path / "empty", other)
    said = loomcard(hadoop, "install", *hadoop.options, "--force", "--rehearse", status=2)
    assert "MemoryRMStateStore cannot be copied, so what it holds cannot be rehearsed" in said
