"""Real jobs on the embedded cluster, scheduled by policies written in Python. The cluster's policy
process comes back slowly (four seconds), so that the tests can see the fallback serve.
"""

import functools
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from getpass import getuser
from pathlib import Path
from typing import Any

import pytest
import requests
from typer.testing import CliRunner

from loomcard.cli.policy.commands import policy
from loomcard.cluster import paths, start_up
from loomcard.cluster.container_times import read_runs
from loomcard.cluster.embedded import ClusterError, LocalCluster, LocalSettings
from loomcard.cluster.example_jobs import Program, example
from loomcard.cluster.rm_client import RestError
from loomcard.cluster.submit import Client, Submission
from loomcard.engine.session import replay
from loomcard.experiments.capsule import opened, show
from loomcard.player.container_ids import ContainerKey
from loomcard.wire.journal import read_segments
from loomcard.wire.messages import SavedStateRecord
from processes import (
    command_line,
    of_mirror,
    of_nodes,
    pids,
    policy_process,
    resource_manager_has,
)
from waiting import wait_until

pytestmark = pytest.mark.cluster

DEADLINE_S = 420.0  # a minute on a quiet machine

Submit = Callable[[Program], Submission]

FIFO = "version: 1\nkind: policy\npolicy: fifo\n"
PAST_USE = """\
version: 1
kind: policy
policy: fair
options: {half_life_hours: 24}
queues: {default: {}}
"""

until = functools.partial(wait_until, seconds=DEADLINE_S)


@pytest.fixture(scope="module")
def cluster(shared_cluster: LocalCluster) -> LocalCluster:
    return shared_cluster


@pytest.fixture
def submit(cluster: LocalCluster) -> Iterator[Submit]:
    """Return a function that submits a program; no client outlives its test."""
    client = Client(cluster.conf_dir, cluster.run_dir / "work", tuple(cluster.client_options))
    started: list[Submission] = []

    def start(program: Program) -> Submission:
        started.append(client.submit(program))
        return started[-1]

    yield start
    for submission in started:
        submission.stop()


def status(cluster: LocalCluster) -> Any:
    return cluster.rest.scheduler()["schedulerInfo"]


def sleep_job(maps: int, milliseconds: int) -> Program:
    """Return a job whose maps run in one container each, even if some are slower than others."""
    once = "-Dmapreduce.map.speculative=false"
    return example("sleep", (once, "-m", f"{maps}", "-r", "0", "-mt", f"{milliseconds}"))


def tasks(cluster: LocalCluster, application: str) -> list[str]:
    """Return the application's running containers that are not its AM."""
    return [
        run.container
        for run in read_runs(cluster.container_times)
        if run.application == application and not run.is_am and run.ended_ms is None
    ]


@contextmanager
def held(cluster: LocalCluster, application: str, count: int) -> Iterator[None]:
    """Wait until so many tasks run, and keep them running while the block does, however fast this
    machine is: their processes are stopped until then.

    A task that runs has no process yet for a moment, and a process may start another just before it
    is stopped. So each task needs a stopped process, and a last look must find no other.
    """
    stopped: dict[int, str] = {}

    def all_are_stopped() -> bool:
        running = tasks(cluster, application)
        found = {
            pid: container
            for pid in set(pids()) - stopped.keys()
            for container in running
            if container in command_line(pid)
        }
        for pid, container in found.items():
            with suppress(ProcessLookupError):  # a command of the container's script ends at once
                os.kill(pid, signal.SIGSTOP)
                stopped[pid] = container
        return len(running) == count and not found and {*running} <= {*stopped.values()}

    try:
        until(all_are_stopped, f"{count} tasks run")
        yield
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def ran(cluster: LocalCluster, application: str) -> int:
    """Return how many containers of the application ever ran, its AM's included."""
    return sum(run.application == application for run in read_runs(cluster.container_times))


def all_agree(cluster: LocalCluster) -> set[ContainerKey]:
    """Return the live containers when ResourceManager, nodes and mirror have the same. The mirror
    is read from the journal, which is written behind the rounds.
    """

    def agreed() -> list[set[ContainerKey]]:
        nodes = of_nodes(cluster.container_times)
        same = nodes == of_mirror(cluster.journal_dir) and resource_manager_has(cluster.rest, nodes)
        return [nodes] if same else []

    return until(agreed, "all hold the same containers")[0]


def succeeded(cluster: LocalCluster, submission: Submission) -> str:
    assert submission.wait(DEADLINE_S) == 0, submission.reason()
    application = submission.application()
    assert cluster.rest.application(application)["finalStatus"] == "SUCCEEDED"
    return application


def test_each_node_has_a_name_and_a_rack(cluster: LocalCluster) -> None:
    """Locality has a meaning: there are three names and two racks, and every node is RUNNING."""
    nodes = {each["nodeHostName"]: (each["rack"], each["state"]) for each in cluster.rest.nodes()}
    assert nodes == {
        "n1": ("/rack1", "RUNNING"),
        "n2": ("/rack2", "RUNNING"),
        "n3": ("/rack1", "RUNNING"),
    }


def test_the_scheduler_puts_its_web_side_in_itself(cluster: LocalCluster) -> None:
    """No property names a class of the web side; page and script come from the ResourceManager
    only.
    """
    assert "loomcard.yarn.web" not in (cluster.conf_dir / "yarn-site.xml").read_text()
    page = requests.get(f"{cluster.rest.url}/cluster/scheduler", timeout=DEADLINE_S)
    assert page.ok
    assert page.headers["Content-Security-Policy"].startswith("default-src 'self'")
    for path in ("/cluster/scheduler/page.js", "/cluster/scheduler/page.css", "/static/yarn.css"):
        assert f'"{path}"' in page.text
        assert requests.get(f"{cluster.rest.url}{path}", timeout=DEADLINE_S).ok
    shown = cluster.rest.scheduler()["schedulerInfo"]
    assert shown["type"] == "loomcard"
    assert shown["hadoop"]["version"] == cluster.rest.info()["hadoopVersion"]
    assert bool(shown["hadoop"]["lacking"]) == (paths.hadoop_line() in ("2.7", "2.10"))


def test_it_starts_with_what_an_earlier_cluster_left(cluster: LocalCluster) -> None:
    """Its JVM maps the archive of classes, or shall write one; its key is the one that was kept
    when it started. Up to 3.2 a ResourceManager makes no key.
    """
    memory = Path(f"/proc/{cluster.pid}/maps").read_text()
    words = command_line(cluster.pid)
    assert ("class-data" in memory) == ("-XX:SharedArchiveFile=" in words)
    assert ("class-data" in memory) != ("-XX:ArchiveClassesAtExit=" in words)
    state = cluster.run_dir / "rm-state"
    assert state.stat().st_mode & 0o777 == 0o700
    own = [file.read_bytes() for file in sorted(state.glob("*/ProxyCARoot/ca*"))]
    kept = start_up.kept_key()
    assert kept is not None or paths.hadoop_line() in ("2.7", "2.10", "3.1", "3.2")
    configured = (cluster.conf_dir / "yarn-site.xml").stat().st_mtime
    if kept is None:
        assert own == []
    elif start_up.kept_key_file().stat().st_mtime < configured:
        assert own == kept  # of clusters that start at once each makes one, and one is kept


def bean(cluster: LocalCluster, name: str) -> dict[str, Any]:
    """Return one source of the ResourceManager's metrics, as monitoring reads it."""
    query = f"Hadoop:service=ResourceManager,name={name}"
    answer = requests.get(f"{cluster.rest.url}/jmx", params={"qry": query}, timeout=30)
    (found,) = answer.json()["beans"]
    return dict(found)


def test_every_container_of_pi_is_allocated_by_the_policy(
    cluster: LocalCluster, submit: Submit
) -> None:
    """A MapReduce job gets all its containers by decisions of a Python object; the replay agrees.
    A queue's figures are filled as under YARN's own schedulers, and the bridge has its source.
    2.7 has no figure for the first delay.
    /jmx may be some seconds behind: Hadoop reads a source for it no more often.
    """
    before = status(cluster)["allocations"]["policy"]
    delays = "AppAttemptFirstContainerAllocationDelayNumOps"
    reported = bean(cluster, "QueueMetrics,q0=root,q1=default")
    application = succeeded(cluster, submit(example("pi", ("2", "100"))))
    ran = [run for run in read_runs(cluster.container_times) if run.application == application]
    allocations = status(cluster)["allocations"]
    assert len(ran) >= 4
    assert allocations["fallback"] == 0
    assert allocations["policy"] - before >= len(ran)
    assert replay(cluster.journal_dir) == []
    # The AM's environment may contain secrets; only what is meant for schedulers is written down.
    assert not [file for file in cluster.journal_dir.iterdir() if "CLASSPATH" in file.read_text()]

    def the_job_is_reported() -> bool:
        queue = bean(cluster, "QueueMetrics,q0=root,q1=default")
        delayed = queue.get(delays, 1) > reported.get(delays, 0)
        return bool(queue["AppsCompleted"] > reported["AppsCompleted"] and delayed)

    def all_is_reported() -> bool:
        root = bean(cluster, "QueueMetrics,q0=root")
        nodes = cluster.rest.nodes()
        capacity = sum(each["usedMemoryMB"] + each["availMemoryMB"] for each in nodes)
        return bool(0 < capacity == root["AllocatedMB"] + root["AvailableMB"])

    until(the_job_is_reported, "the job and its first delay are reported")
    until(all_is_reported, "what is allocated and what is left are the cluster")
    bridge = bean(cluster, "LoomcardBridge")
    assert (bridge["Up"], bridge["tag.State"], bridge["AllocatedByFallback"]) == (1, "up", 0)
    assert bridge["AllocatedByPolicy"] >= len(ran)
    assert bridge["NodeUpdates"] > 0
    assert bridge["RoundMicros"] >= bridge["LastRoundMicros"] > 0


def test_a_swap_amid_running_jobs_loses_nothing(cluster: LocalCluster, submit: Submit) -> None:
    """Before and after the swap, RM, nodes and mirror have the same containers, and the job
    succeeds.
    """
    version = status(cluster)["config"]["version"]
    job = submit(sleep_job(4, 1))
    application = job.application()
    with held(cluster, application, 4):
        running = all_agree(cluster)
        assert {container[0] for container in running} == {application}
        applied = cluster.rest.apply_policy("version: 1\nkind: policy\npolicy: drf\n", "drf.yml")
        assert applied["version"] == version + 1
        now = status(cluster)["config"]
        assert (now["version"], now["source"]) == (version + 1, "drf.yml")
        assert all_agree(cluster) == running
    succeeded(cluster, job)
    assert ran(cluster, application) == 5, "a container was lost, and its task ran again"
    assert replay(cluster.journal_dir) == []


def contains(file: Path, secret: bytes) -> bool:
    """Return whether a file contains these bytes; a node may delete an ended job's files."""
    try:
        return file.is_file() and secret in file.read_bytes()
    except FileNotFoundError:
        return False


def test_an_earlier_version_is_applied_again(cluster: LocalCluster) -> None:
    """The history says who applied what and when; a rollback is a new version with the old text."""
    version = cluster.rest.apply_policy(FIFO, "mine.yml")["version"]
    cluster.rest.apply_policy(FIFO.replace("fifo", "drf"), "drf.yml")
    newest, before = cluster.rest.policy_history()[:2]
    assert (newest["version"], newest["source"], newest["governs"]) == (
        version + 1,
        "drf.yml",
        True,
    )
    assert (before["version"], before["source"], before["governs"]) == (version, "mine.yml", False)
    assert newest["user"] == getuser()
    assert newest["applied_at_ms"] >= before["applied_at_ms"] > cluster.rest.info()["startedOn"]
    rollback = ["rollback", str(version), "--rm", cluster.rest.url, "--json"]
    refused = CliRunner().invoke(policy, rollback)
    assert (refused.exit_code, str(cluster.token_file) in refused.output) == (1, True)
    done = CliRunner().invoke(policy, [*rollback, "--token-file", str(cluster.token_file)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["applied"]["version"] == version + 2
    assert cluster.rest.policy()["yaml"] == FIFO
    assert status(cluster)["config"]["source"] == "mine.yml"
    with pytest.raises(RestError, match="Version 999 is not kept") as unknown:
        cluster.rest.roll_back_policy(999)
    assert f"{version + 1}, {version}" in unknown.value.hint
    assert len(cluster.rest.policy_history()) <= 10
    secret = cluster.token_file.read_bytes()
    files = [each for each in cluster.run_dir.rglob("*") if contains(each, secret)]
    assert files == [cluster.token_file]
    assert secret.decode() not in json.dumps([status(cluster), cluster.rest.configuration()])


def test_a_job_survives_the_death_of_the_policy_process(
    cluster: LocalCluster, submit: Submit
) -> None:
    """kill -9 in a job: it succeeds, fallback allocations are counted, the policy takes over
    again. The policy is a third party's: a package of one file, installed with pip and named in the
    YAML.
    """
    cluster.rest.apply_policy("version: 1\nkind: policy\npolicy: newest_first\n", "newest.yml")
    queues = {queue["path"]: queue["policy"] for queue in status(cluster)["queues"]}
    assert queues["root.default"] == "newest_first"
    fallback = status(cluster)["allocations"]["fallback"]
    job = submit(sleep_job(10, 1_500))
    application = job.application()
    until(lambda: len(tasks(cluster, application)) >= 2, "tasks run")
    first = policy_process(cluster)
    assert first is not None

    def fallback_allocations_while_the_policy_is_dead() -> bool:
        # On a slow machine it may be back before a task has made room: then it is killed again.
        if (victim := policy_process(cluster)) is not None:
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        return bool(status(cluster)["allocations"]["fallback"] > fallback)

    until(fallback_allocations_while_the_policy_is_dead, "the fallback allocates")
    until(lambda: status(cluster)["bridge"]["state"] == "up", "the policy is back")
    assert policy_process(cluster) not in (None, first)
    succeeded(cluster, job)
    before = status(cluster)["allocations"]
    succeeded(cluster, submit(sleep_job(1, 100)))
    after = status(cluster)["allocations"]
    assert after["fallback"] == before["fallback"]
    assert after["policy"] - before["policy"] >= 2


def test_a_job_runs_under_a_policy_that_allocates_nothing(
    cluster: LocalCluster, submit: Submit
) -> None:
    """The watchdog for progress serves the policy's queue, reports that, and keeps a capsule of
    it.
    """
    cluster.rest.apply_policy(FIFO.replace("fifo", "silent"), "silent.yml")
    stalls = status(cluster)["bridge"]["stalls"]
    before = status(cluster)["allocations"]
    job = submit(sleep_job(1, 100))
    application = job.application()
    until(lambda: status(cluster)["bridge"]["stalls"] > stalls, "its queue has stalled")
    [stall] = status(cluster)["bridge"]["stalled"]
    assert stall["queue"] == "root.default"
    assert f"{application} has waited" in stall["message"]
    until(lambda: tasks(cluster, application), "the task runs")
    diagnostics = cluster.rest.application(application)["diagnostics"]
    lacking = status(cluster)["hadoop"]["lacking"]
    if "diagnostics of an application by the scheduler" not in lacking:
        assert "Loomcard: queue root.default is stalled" in diagnostics
    succeeded(cluster, job)
    assert status(cluster)["allocations"]["policy"] == before["policy"]
    capsules = cluster.run_dir / "loomcard" / "capsules"
    capsule = until(lambda: sorted(capsules.glob("*-stalled.zip")), "a capsule")[-1]
    with opened(capsule) as kept:
        assert "silent.yml" in str(kept.about)
        assert "still waits for 1 x" in str(show(kept).fault)
    cluster.rest.apply_policy(FIFO, "fifo.yml")
    assert status(cluster)["bridge"]["stalled"] == []


def test_an_ask_waits_no_longer_because_policies_are_swapped(
    cluster: LocalCluster, submit: Submit
) -> None:
    """Each of many policies that allocate nothing is replaced before its own deadline. The queue
    stalls nevertheless, and the job gets its AM.
    """
    silent = FIFO.replace("fifo", "silent")
    cluster.rest.apply_policy(silent, "silent.yml")
    stalls = status(cluster)["bridge"]["stalls"]
    job = submit(sleep_job(1, 100))

    def swapped_until_its_queue_stalls() -> bool:
        cluster.rest.apply_policy(silent, "silent.yml")
        return bool(status(cluster)["bridge"]["stalls"] > stalls)

    until(swapped_until_its_queue_stalls, "its queue has stalled")
    cluster.rest.apply_policy(FIFO, "fifo.yml")
    assert status(cluster)["bridge"]["stalled"] == []
    succeeded(cluster, job)


def past_use(cluster: LocalCluster) -> tuple[float, float]:
    """Return how much memory root.default has used, in MB x minutes, in the journal's newest
    segment: as the policy was told at its begin, and as it saved it last.
    """
    newest = list(read_segments(cluster.journal_dir))[-1]
    records = [record for each in newest for record in each.batch.records]
    told = [record.saved for record in records if isinstance(record, SavedStateRecord)]
    saved = [each.plan.saved for each in newest]

    def last(found: list[dict[str, Any]]) -> float:
        of_fair = [each["root:fair"] for each in found if each.get("root:fair")]
        return float(of_fair[-1]["past"]["root.default"][0]) if of_fair else 0.0

    return last(told), last(saved)


def test_a_job_keeps_its_containers_over_an_rm_restart(
    cluster: LocalCluster, submit: Submit
) -> None:
    """Work-preserving recovery: the same containers continue in the same attempt, and are known.
    What their queue has used until then still counts.
    """
    cluster.rest.apply_policy(PAST_USE, "past-use.yml")
    job = submit(sleep_job(3, 1))
    application = job.application()
    with held(cluster, application, 3):
        before = all_agree(cluster)
        until(lambda: past_use(cluster)[1] > 0, "past use is saved")
        config, history = status(cluster)["config"], cluster.rest.policy_history()
        assert history[0]["version"] == config["version"]
        cluster.restart_resource_manager()
        assert all_agree(cluster) == before
    assert status(cluster)["config"] == config
    assert cluster.rest.policy_history() == history
    assert past_use(cluster)[0] > 0, "the new ResourceManager did not return what was saved"
    succeeded(cluster, job)
    assert ran(cluster, application) == 4, "a container was lost, and its task ran again"
    assert len(cluster.rest.attempts(application)) == 1
    assert replay(cluster.journal_dir) == []


def test_two_clusters_do_not_share_a_folder(cluster: LocalCluster) -> None:
    """A second cluster in the same folder is refused; the first is not disturbed."""
    with pytest.raises(ClusterError, match="runs already"):
        LocalCluster(LocalSettings(run_dir=cluster.run_dir)).up()
    assert cluster.alive()
