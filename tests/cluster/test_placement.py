"""Placement rules and created queues on a real ResourceManager, with its restarts."""

import functools
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.engine.session import replay
from processes import policy_process
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

until = functools.partial(wait_until, seconds=120.0)

POLICY = """
version: 1
policy: drf
placement:
  - {named: true, queue: "%specified", else: reject}
  - {user: mallory, reject: true}
  - {group: data, queue: root.data.%user, create: leaf}
  - {application: nightly, queue: root.batch}
  - {tag: gpu, queue: root.batch}
  - {queue: root.users.%primary_group.%user, create: true}
  - {queue: root.users.%user, create: leaf}
  - {queue: root.default}
queues:
  default: {}
  batch: {}
  data: {auto_create: {template: {maximum: 20%, policy: fair}, maximum_queues: 2}}
  users: {auto_create: {depth: 2, maximum_queues: 5000, remove_after: 2}}
"""
GROUPS = "alice=staff,data;bob=staff,other;carl=staff;dora=data;emil=data;mallory=staff"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    folder = tmp_path_factory.mktemp("placement")
    policy = folder / "queues.yml"
    policy.write_text(POLICY)
    settings = LocalSettings(
        run_dir=folder / "run", nodes=1, policy=policy,
        core={"hadoop.user.group.static.mapping.overrides": GROUPS},
        yarn={"yarn.webapp.ui2.enable": "false"},
    )  # fmt: skip
    with LocalCluster(settings) as started:
        yield started


def web(cluster: LocalCluster) -> str:
    return cluster.rest.url + "/ws/v1/cluster"


def submit(cluster: LocalCluster, user: str, **more: Any) -> tuple[str, requests.Response]:
    """Submit an application whose AM only sleeps; an unmanaged one starts no process."""
    as_user = {"user.name": user}
    new = requests.post(f"{web(cluster)}/apps/new-application", params=as_user, timeout=60)
    number = new.json()["application-id"]
    body = {
        "application-id": number, "application-name": "test", "application-type": "YARN",
        "am-container-spec": {"commands": {"command": "sleep 600"}}, "unmanaged-AM": True,
        "resource": {"memory": 128, "vCores": 1}, **more,
    }  # fmt: skip
    sent = requests.post(f"{web(cluster)}/apps", params=as_user, json=body, timeout=60)
    return number, sent


def application(cluster: LocalCluster, number: str) -> Any:
    return requests.get(f"{web(cluster)}/apps/{number}", timeout=60).json()["app"]


def accepted(cluster: LocalCluster, user: str, **more: Any) -> tuple[str, str]:
    """Return the id of an application that was accepted, and its queue."""
    number, sent = submit(cluster, user, **more)
    assert sent.status_code == 202, sent.text
    states = ("ACCEPTED", "RUNNING")
    until(lambda: application(cluster, number)["state"] in states, "it is accepted")
    return number, application(cluster, number)["queue"]


@pytest.fixture(autouse=True)
def no_application_lives_longer(cluster: LocalCluster) -> Iterator[None]:
    """A test's applications end with it, so that their queues become idle."""
    yield
    states = {"states": "ACCEPTED,RUNNING,SUBMITTED"}
    found = requests.get(f"{web(cluster)}/apps", params=states, timeout=60).json()["apps"]
    living = (found or {"app": []})["app"]
    for each in living[:20]:  # the last test leaves many, and the cluster ends with it
        kill(cluster, each["id"], each["user"])


def queues(cluster: LocalCluster) -> list[str]:
    found = cluster.rest.scheduler()["schedulerInfo"]["queues"]
    return [each["path"] for each in found]


def kill(cluster: LocalCluster, number: str, user: str) -> None:
    url = f"{web(cluster)}/apps/{number}/state"
    requests.put(url, params={"user.name": user}, json={"state": "KILLED"}, timeout=60)
    until(lambda: application(cluster, number)["finalStatus"] == "KILLED", "it has ended")


def test_applications_without_a_queue_go_by_the_rules(cluster: LocalCluster) -> None:
    """Groups, names, tags and users decide, and a refused submitter reads by which rule."""
    tags = {"tag": ["GPU"]}
    found = [
        accepted(cluster, "alice"), accepted(cluster, "bob"),
        accepted(cluster, "carl", **{"application-name": "nightly"}),
        accepted(cluster, "carl", **{"application-tags": tags}),
        accepted(cluster, "carl", queue="default"), accepted(cluster, "carl", queue="root.batch"),
    ]  # fmt: skip
    assert [queue for _, queue in found] == [
        "root.data.alice", "root.users.staff.bob", "root.batch", "root.batch",
        "root.users.staff.carl", "root.batch",
    ]  # fmt: skip
    _, refused = submit(cluster, "mallory")
    assert refused.status_code >= 400
    assert "rule 2 refuses it" in refused.text
    _, refused = submit(cluster, "carl", queue="nowhere")
    assert "rule 1: no queue, or more than one, is called 'nowhere'" in refused.text
    assert cluster.rest.scheduler()["schedulerInfo"]["config"]["version"] == 1


def test_a_created_queue_survives_a_restart_a_swap_and_a_dead_policy(cluster: LocalCluster) -> None:
    """While an application runs in it, whatever happens; its container lives on."""
    number, queue = accepted(cluster, "dora", **{"unmanaged-AM": False})
    assert queue == "root.data.dora"
    until(lambda: application(cluster, number)["runningContainers"] == 1, "its AM runs")
    cluster.restart_resource_manager()
    until(lambda: application(cluster, number)["runningContainers"] == 1, "it is back")
    assert "root.data.dora" in queues(cluster)
    changed = POLICY.replace("maximum: 20%", "maximum: 30%")
    assert cluster.rest.apply_policy(changed, "queues.yml")["version"] == 2
    assert "root.data.dora" in queues(cluster)
    cluster.restart_resource_manager()
    until(lambda: application(cluster, number)["runningContainers"] == 1, "it is back")
    assert application(cluster, number)["queue"] == "root.data.dora"
    os.kill(policy_process(cluster), signal.SIGKILL)
    other, queue = accepted(cluster, "bob")
    assert queue == "root.users.staff.bob"
    kill(cluster, other, "bob")
    until(
        lambda: cluster.rest.scheduler()["schedulerInfo"]["bridge"]["state"] == "up",
        "the policy is back",
    )
    kill(cluster, number, "dora")


def test_limits_and_the_removal_of_idle_queues(cluster: LocalCluster) -> None:
    """The next rule decides when no more may be created; idle queues go, and come again."""
    number, queue = accepted(cluster, "bob")
    assert queue == "root.users.staff.bob"
    kill(cluster, number, "bob")
    until(lambda: "root.users.staff.bob" not in queues(cluster), "it is removed")
    assert accepted(cluster, "bob")[1] == "root.users.staff.bob"
    assert accepted(cluster, "alice")[1] == "root.data.alice"
    assert accepted(cluster, "dora")[1] == "root.data.dora"
    assert accepted(cluster, "emil")[1] == "root.users.data.emil"  # those two are all


def test_a_thousand_users_at_once(cluster: LocalCluster) -> None:
    """All their queues are created in few steps, and the plans can be replayed."""
    lock = threading.Lock()
    sent: list[str] = []

    def one(number: int) -> None:
        application_id, answer = submit(cluster, f"user{number}")
        assert answer.status_code == 202, answer.text
        with lock:
            sent.append(application_id)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(1000)))
    wanted = set(sent)

    def waiting() -> bool:
        found = requests.get(f"{web(cluster)}/apps", params={"states": "ACCEPTED"}, timeout=60)
        assert found.ok, found.text
        apps = (found.json()["apps"] or {"app": []})["app"]
        return wanted <= {each["id"] for each in apps}

    until(waiting, "all are accepted")
    created = {path for path in queues(cluster) if path.rpartition(".")[2].startswith("user")}
    assert len(created) >= 1000
    log = Path(cluster.run_dir, "logs", "cluster.log").read_text()
    changes = log.count("AutoQueues: Creating ")
    assert changes < 500, f"{changes} changes for 1000 queues"
    assert replay(cluster.journal_dir) == []
