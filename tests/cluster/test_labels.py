"""Node labels on a real YARN: an idle partition lends, an exclusive one does not, and a queue gets
its guarantee and its default.
"""

from collections.abc import Callable, Iterator
from functools import partial
from getpass import getuser
from pathlib import Path
from typing import Any

import pytest
import requests

from loomcard.cluster.container_times import ContainerRun, read_runs
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.cluster.example_jobs import Program, example
from loomcard.cluster.submit import Client, Submission
from loomcard.engine.session import replay
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

DEADLINE_S = 420.0  # a minute on a quiet machine
POLICY = """
version: 1
kind: policy
policy: fifo
queues:
  first: {}
  owed: {label_guaranteed: {gpu: 100%}}
  programmed: {default_label: fpga}
"""
TAKING_BACK = """
version: 1
kind: policy
policy: capacity
options:
  user_limit_factor: -1
  preempt_after_ms: 1000
  preempt_grace_ms: 1000
  preempt_budget: 1
  preempt_cooldown_ms: 1000
queues:
  first: {label_maximum: {gpu: 50%}}
  owed: {label_guaranteed: {gpu: 100%}}
  programmed: {default_label: fpga}
"""
NODES = {"n1": "", "n2": "gpu", "n3": "fpga"}

Run = Callable[..., Submission]


def administer(
    cluster: LocalCluster, path: str, body: dict[str, Any], method: str = "POST"
) -> None:
    url = f"http://{cluster.web}/ws/v1/cluster/{path}"
    user = {"user.name": getuser()}
    answer = requests.request(method, url, json=body, params=user, timeout=60)
    assert answer.ok, answer.text


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A cluster with n1 without a label, n2 of gpu, which lends, and n3 of fpga, which is
    exclusive.
    """
    folder = tmp_path_factory.mktemp("cluster")
    policy = folder / "labels.yml"
    policy.write_text(POLICY)
    settings = LocalSettings(
        run_dir=folder / "run", nodes=3, node_memory_mb=768, policy=policy,
        yarn={
            "yarn.node-labels.enabled": "true",
            "yarn.node-labels.fs-store.root-dir": f"file://{folder}/labels",
        },
    )  # fmt: skip
    with LocalCluster(settings) as running:
        labels = [{"name": "gpu", "exclusivity": False}, {"name": "fpga", "exclusivity": True}]
        administer(running, "add-node-labels", {"nodeLabelInfo": labels})
        rows = [{"nodeId": n, "labels": [label]} for n, label in NODES.items() if label]
        administer(running, "replace-node-to-labels", {"nodeToLabels": rows})
        yield running


@pytest.fixture
def run(cluster: LocalCluster) -> Iterator[Run]:
    """Return a function that submits a job of sleeping maps; no client outlives its test."""
    client = Client(cluster.conf_dir, cluster.run_dir / "work", tuple(cluster.client_options))
    started: list[Submission] = []

    def start(queue: str, maps: int, ms: int, label: str = "") -> Submission:
        defined = [f"-Dmapreduce.job.queuename={queue}"]
        defined += [f"-Dmapreduce.map.node-label-expression={label}"] if label else []
        arguments = (*defined, "-m", f"{maps}", "-r", "0", "-mt", f"{ms}")
        program: Program = example("sleep", arguments)
        started.append(client.submit(program))
        return started[-1]

    yield start
    for submission in started:
        submission.stop()


def tasks(cluster: LocalCluster, *jobs: Submission) -> list[list[ContainerRun]]:
    """Return the containers that each job ran besides its AM, after it has succeeded."""
    for job in jobs:
        assert job.wait(DEADLINE_S) == 0, job.reason()
    runs = [r for r in read_runs(cluster.container_times) if not r.is_am]
    return [[r for r in runs if r.application == job.application()] for job in jobs]


def test_an_idle_partition_lends_unless_it_is_exclusive(cluster: LocalCluster, run: Run) -> None:
    """A job without a label fills its own node and that of gpu; it runs nothing on fpga."""
    (ran,) = tasks(cluster, run("first", 12, 3000))
    assert {r.node for r in ran} == {"n1", "n2"}


def test_a_queue_gets_its_guarantee(cluster: LocalCluster, run: Run) -> None:
    """First in, first out would serve the older job first, which takes longer than the test may,
    but the nodes are owed to the younger one. Both stay on the nodes that they name.
    """
    older = run("first", 500, 4000, "gpu")
    name = older.application()
    (owed,) = tasks(cluster, run("owed", 4, 4000, "gpu"))
    first = [r for r in read_runs(cluster.container_times) if r.application == name and not r.is_am]
    administer(cluster, f"apps/{name}/state", {"state": "KILLED"}, "PUT")
    assert {r.node for r in first + owed} == {"n2"}
    assert first
    assert len(first) < 500


def test_a_job_without_a_label_runs_on_its_queues(cluster: LocalCluster, run: Run) -> None:
    """Its AM too: YARN asks the queue for the label of an ask that names none."""
    job = run("programmed", 2, 1000)
    assert job.wait(DEADLINE_S) == 0, job.reason()
    runs = [r for r in read_runs(cluster.container_times) if r.application == job.application()]
    assert (len(runs), {r.node for r in runs}) == (3, {"n3"})


def test_the_owner_gets_its_room_back_and_a_maximum_binds_what_is_lent(
    cluster: LocalCluster, run: Run
) -> None:
    """A job without a label holds gpu's idle node with long tasks, but no more of it than its
    queue's maximum on gpu. The owner's job, which asks for the label, then has the whole node long
    before those tasks end.
    """
    cluster.rest.apply_policy(TAKING_BACK, "taking-back.yml")
    lent = run("first", 8, 90_000)
    used = partial(of_first, cluster)
    # Its maximum there is 384 MB, and a map takes 256 MB: one map fits, two do not.
    wait_until(lambda: used()["memory_mb"] == 256, "first has what it may", seconds=DEADLINE_S)
    owner = run("owed", 2, 1000, "gpu")
    assert owner.wait(DEADLINE_S) == 0, owner.reason()
    runs = [r for r in read_runs(cluster.container_times) if not r.is_am]
    owed = [r for r in runs if r.application == owner.application()]
    first = [r for r in runs if r.application == lent.application()]
    assert {r.node for r in owed} == {"n2"}
    assert min(r.started_ms for r in owed) < min(r.started_ms for r in first) + 60_000


def of_first(cluster: LocalCluster) -> dict[str, int]:
    """Return what the queue first uses of gpu's nodes."""
    queues = cluster.rest.scheduler()["schedulerInfo"]["queues"]
    row = next(queue for queue in queues if queue["path"] == "root.first")
    return dict(row["by_label"]["gpu"]["used"])


def test_all_of_it_replays(cluster: LocalCluster) -> None:
    """The journal contains which partitions lend; every round replays equally."""
    assert replay(Path(cluster.journal_dir)) == []
