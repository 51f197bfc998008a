"""The compose cluster: real jobs of several users and frameworks, allocated by policies in Python.
One cluster is started for all tests; each test first applies the configuration that it needs.
"""

import contextlib
import functools
import json
import math
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
import requests
from testcontainers.compose import DockerCompose
from typer.testing import CliRunner

import waiting
from loomcard.cli.app import run
from loomcard.cli.policy.commands import policy
from loomcard.cluster import paths
from loomcard.cluster.compose import ComposeCluster
from loomcard.cluster.rm_client import Document, ResourceManagerClient
from loomcard.config.source import resolve
from loomcard.player.play_compose import play_on_compose
from loomcard.simulator import Progress
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
PROBE = (Path(__file__).parent / "compose_probe.py").read_text()
PYTHON = "/opt/loomcard/venv/bin/python"
wait_until = functools.partial(waiting.wait_until, seconds=300, pause_s=1)
WORKLOAD = Scenario(
    "small", 1, ["memory_mb", "vcores"],
    [ScenarioNode("n1", "/r1", (1024, 4)), ScenarioNode("n2", "/r2", (1536, 4))],
    [
        ScenarioApplication(
            "plain", 0, "root.default", "alice", "plain",
            [Stage("s", (200, 1), 20, 1, [1000] * 2, nodes=[["n2"]] * 2)],
        ),
        ScenarioApplication(
            "mapreduce", 0, "root.default", "bob", "mapreduce",
            [
                Stage("map", (256, 1), 20, 1, [500] * 2),
                Stage("reduce", (256, 1), 10, 2, [500], after=[0]),
            ],
            am=(250, 1),
        ),
    ],
    am_heartbeat_ms=200,
)  # fmt: skip
plays = pytest.mark.skipif(
    paths.hadoop_line() == "2.7", reason="the player needs what Hadoop 2.7 lacks"
)
SERVICES = ("namenode", "datanode", "resourcemanager", "nodemanager", "jobhistory")


@dataclass(frozen=True)
class Cluster:
    """A running compose cluster and its ResourceManager's REST interface, as administrator."""

    command: list[str]
    project: str
    rm: ResourceManagerClient

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `docker compose WORDS`; its outputs come as one text."""
        return subprocess.Popen(
            [*self.command, *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def client(self, user: str, *words: str) -> subprocess.Popen[str]:
        """Start a Hadoop command as `user`, in a container of its own."""
        return self.start("run", "--rm", "--no-TTY", f"--user={user}", "client", *words)

    def probe(self, *options: str) -> Document:
        """Return which containers live in RM, NMs and mirror; see compose_probe."""
        inside = ["exec", "--no-TTY", "resourcemanager", PYTHON, "-c", PROBE, *options]
        done = subprocess.run(
            [*self.command, *inside], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        report: Document = json.loads(done.stdout)
        return report

    def document(self) -> Document:
        """Return the scheduler's document."""
        info: Document = self.rm.scheduler()["schedulerInfo"]
        return info

    def apply(self, name: str) -> Document:
        """Swap to a policy, or to an example of policies/."""
        return self.rm.apply_policy(resolve(name).text, name)


def ended(process: subprocess.Popen[str], seconds: int = 600) -> str:
    """Wait until a client ends, and return its output. The client must have succeeded."""
    output, _ = process.communicate(timeout=seconds)
    assert process.returncode == 0, output[-3000:]
    return output


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two NodeManagers under fifo and Prometheus, on free ports, as `docker compose up` starts
    them.
    """
    project = f"loomcard-test-{os.getpid()}"
    variables = tmp_path_factory.mktemp("compose") / "variables.env"
    ports = ("NAMENODE", "RESOURCEMANAGER", "JOBHISTORY", "PROMETHEUS")
    lines = [f"COMPOSE_PROJECT_NAME={project}", *(f"LOOMCARD_{name}_PORT=0" for name in ports)]
    lines.append("COMPOSE_PROFILES=observe")
    variables.write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        # Ryuk would have to be pulled, and the fixture cleans up itself.
        patch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
        compose = DockerCompose(ROOT, build=True, env_file=str(variables))
        with compose:
            port = compose.get_service_port("resourcemanager", 8088)
            ours = ComposeCluster(ROOT, variables.parent / "unused", project=project)
            url = f"http://127.0.0.1:{port}"
            rm = ResourceManagerClient(url, "hadoop", lambda _: ours.token("resourcemanager"))
            yield Cluster(compose.docker_compose_command(), project, rm)


def test_every_service_is_healthy_and_published_on_loopback_only(
    cluster: Cluster, tmp_path: Path
) -> None:
    """`up --wait` returns when all daemons work; no other machine can reach them."""
    services = ComposeCluster(ROOT, tmp_path, project=cluster.project).status()
    healthy = [s.service for s in services if s.health == "healthy"]
    assert healthy == sorted([*SERVICES, "nodemanager", "prometheus"])
    published = {s.service: set(s.ports) for s in services if s.ports}
    assert published == {
        "namenode": {9870},
        "resourcemanager": {8088},
        "jobhistory": {19888},
        "prometheus": {9090},
    }
    listed = ended(cluster.start("ps", "--format=json"))
    assert set(re.findall(r'"URL":"([^"]*)","TargetPort":\d+,"PublishedPort":[1-9]', listed)) == {
        "127.0.0.1"
    }


def test_the_daemons_share_their_classes(cluster: Cluster) -> None:
    """The image has an archive of classes, and JVMs map it."""
    mapped = ("exec", "--no-TTY", "namenode", "sh", "-c", "cat /proc/$(pidof java)/maps")
    assert "/opt/hadoop/archive/" in ended(cluster.start(*mapped))


def test_a_part_of_the_archive_stops_no_daemon(cluster: Cluster) -> None:
    """A JVM crashes with a part of an archive, so the JVMs use none."""
    cut = "truncate --size=1M /opt/hadoop/archive/*.jsa && hadoop-role fs -ls /"
    as_root = ("run", "--rm", "--no-TTY", "--user=root", "--entrypoint=bash", "client", "-c", cut)
    assert "/user" in ended(cluster.start(*as_root))


def test_nodes_are_called_what_their_containers_are(cluster: Cluster) -> None:
    """A NodeManager's host is not a container id, in YARN's pages and in ours; Hadoop does not run
    as root.
    """
    hosts = sorted(str(node["nodeHostName"]) for node in cluster.rm.nodes())
    assert hosts == [f"{cluster.project}-nodemanager-{i}" for i in (1, 2)]
    owner = ("exec", "--no-TTY", "nodemanager", "sh", "-c", "stat -c %U /proc/$(pidof java)")
    assert ended(cluster.start(*owner)).strip() == "hadoop"


def test_a_job_is_allocated_by_the_policy_alone_and_replays(cluster: Cluster) -> None:
    """The policy decided every container of a MapReduce job, and a replay gives equal plans."""
    before = cluster.document()["allocations"]["policy"]
    output = ended(cluster.client("alice", "example", "pi", "3", "100"))
    assert "Estimated value of Pi is 3.1" in output
    allocations = cluster.document()["allocations"]
    assert allocations["policy"] - before >= 5  # the AM, three maps and a reduce
    assert allocations["fallback"] == 0
    report = cluster.probe("--replay")
    assert report["rounds"] > 0
    assert report["differences"] == 0


@pytest.mark.skipif(
    paths.hadoop_line() not in ("3.4", "3.5"),
    reason="3.3 counts no events that wait, and an earlier line has no /prom",
)
def test_every_panel_of_every_dashboard_has_data(cluster: Cluster, tmp_path: Path) -> None:
    """Prometheus scrapes a cluster whose policy reports figures, while a job runs."""
    services = ComposeCluster(ROOT, tmp_path, project=cluster.project).status()
    [port] = [each.ports[9090] for each in services if each.service == "prometheus"]
    cluster.apply("dress")
    ended(cluster.client("alice", "example", "pi", "2", "100"))
    panels = [
        (file.name, panel["title"], target["expr"])
        for file in (ROOT / "docker/observe/dashboards").glob("*.json")
        for panel in json.loads(file.read_text())["panels"]
        for target in panel["targets"]
    ]
    assert len({name for name, *_ in panels}) == 4

    def empty() -> list[tuple[str, str, str]]:
        return [each for each in panels if not _has_data(f"http://127.0.0.1:{port}", each[2])]

    with contextlib.suppress(AssertionError):
        wait_until(lambda: not empty(), seconds=60)
    assert empty() == []


def _has_data(prometheus: str, query: str) -> bool:
    """Whether a panel's query gave a number in the last two minutes."""
    for variable, value in (("$__rate_interval", "30s"), ("$job", ".*"), ("$queue", ".*")):
        query = query.replace(variable, value)
    url = f"{prometheus}/api/v1/query"
    parameters = {"query": f"last_over_time(({query})[2m:5s])"}
    answer = requests.get(url, params=parameters, timeout=30).json()
    assert answer["status"] == "success", f"{query}: {answer}"
    return any(math.isfinite(float(each["value"][1])) for each in answer["data"]["result"])


def test_a_swap_amid_a_running_job_loses_nothing(cluster: Cluster) -> None:
    """RM, NMs and mirror have the same containers before and after, and the job ends well."""
    cluster.apply("fifo")
    job = cluster.client("bob", "example", "sleep", "-m", "4", "-r", "0", "-mt", "90000")

    def all_running() -> Document | None:
        seen = cluster.probe()
        return seen if len(seen["rm"]) == 5 and seen["rm"] == seen["nm"] == seen["mirror"] else None

    before = wait_until(all_running)
    version = cluster.document()["config"]["version"]
    applied = cluster.apply("drf")
    assert applied["version"] == version + 1
    assert cluster.document()["config"]["policy"] == "drf"
    assert wait_until(all_running, seconds=60) == before
    output = ended(job)
    assert "Killed map tasks" not in output
    assert "Failed map tasks" not in output
    document = cluster.document()
    assert document["allocations"]["fallback"] == 0
    assert document["bridge"]["restarts"] == 0


def test_one_job_runs_under_three_policies(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """dress, hdrf and carbyne follow one another by `policy apply` while a MapReduce job runs. Each
    allocates containers of it, `status` names each, no container is lost, and a replay gives equal
    plans.
    """
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", cluster.project)

    def allocated() -> int:
        return int(cluster.document()["allocations"]["policy"])

    def apply(name: str) -> int:
        assert run(["policy", "apply", name, "--on", "docker"]) == 0
        capsys.readouterr()
        assert run(["status", "--rm", cluster.rm.url]) == 0
        assert f"policy {name}, version " in capsys.readouterr().out
        return allocated()

    def serves(first: int) -> None:
        wait_until(lambda: allocated() >= first + 4)

    before = first = apply("dress")
    maps = ("-m", "30", "-mt", "8000", "-Dmapreduce.map.speculative=false")
    job = cluster.client("bob", "example", "sleep", *maps, "-r", "1", "-rt", "100")
    for name in ("hdrf", "carbyne"):
        serves(first)
        first = apply(name)
    serves(first)
    output = ended(job)
    assert "completed successfully" in output
    assert not re.search("(Killed|Failed) (map|reduce) tasks", output)
    assert allocated() - before >= 32  # the AM, 30 maps and a reduce
    after = cluster.document()
    assert after["allocations"]["fallback"] == 0
    assert after["bridge"]["restarts"] == 0
    assert cluster.probe("--replay")["differences"] == 0


@plays
def test_a_workload_is_played_on_its_nodes(cluster: Cluster, tmp_path: Path) -> None:
    """The player acts for unmanaged applications and for AM containers. Tasks are processes on the
    NodeManagers, whose own times are in the record. Afterwards the earlier configuration is active
    again.
    """
    cluster.apply("fifo")
    # A client ends before its AM's container, which would still use room on a node.
    wait_until(lambda: not any(node["usedMemoryMB"] for node in cluster.rm.nodes()))
    compose = ComposeCluster(ROOT, tmp_path / "unused", project=cluster.project)
    warnings: list[str] = []
    record = play_on_compose(
        WORKLOAD, "drf", compose, folder=tmp_path,
        on_warning=warnings.append,
    )  # fmt: skip
    assert record.finished
    assert record.capacity == [(0, (3072, 8))]
    assert {app.id: app.state for app in record.applications} == {
        "plain": "SUCCEEDED",
        "mapreduce": "SUCCEEDED",
    }
    assert warnings[0].startswith("the cluster is not the workload's: n1 has 1536 MB and 4 vcores")
    rows = {(row.application, row.stage, row.task): row for row in record.containers}
    assert len(rows) == 6
    for row in rows.values():
        assert None not in (row.allocated_ms, row.started_ms, row.finished_ms)
        assert (row.allocated_ms or 0) < (row.started_ms or 0) < (row.finished_ms or 0)
        assert row.kind == "completed"
        assert row.node in ("n1", "n2")
    # A wish: what n2 has no room for at that moment goes elsewhere at once.
    assert "n2" in {row.node for row in rows.values() if row.stage == "s"}, rows
    assert [row.size for row in rows.values() if row.is_am] == [(256, 1)]
    assert cluster.document()["config"]["source"] == "fifo"


@plays
def test_ctrl_c_ends_a_played_workload(cluster: Cluster, tmp_path: Path) -> None:
    """No container of the client's service and no application is left, the record is partial, and
    the earlier configuration is active again.
    """
    cluster.apply("fifo")
    compose = ComposeCluster(ROOT, tmp_path / "unused", project=cluster.project)
    endless = Stage("s", (256, 1), 20, 1, [300, 600_000])
    scenario = msgspec.structs.replace(
        WORKLOAD,
        applications=[ScenarioApplication("a", 0, "root.default", "bob", "plain", [endless])],
    )

    def interrupt(progress: Progress) -> None:
        if progress.containers:
            raise KeyboardInterrupt

    record = play_on_compose(
        scenario, "drf", compose, folder=tmp_path, on_progress=interrupt,
        on_warning=lambda _: None,
    )  # fmt: skip
    assert not record.finished
    assert [row.kind == "completed" for row in record.containers] == [True, False]
    assert [app["state"] for app in cluster.rm.applications()[-2:]] == ["FINISHED", "KILLED"]
    assert "client" not in {service.service for service in compose.status()}
    assert cluster.document()["config"]["source"] == "fifo"


def test_spark_runs_in_cluster_mode_under_drf(cluster: Cluster) -> None:
    """Another framework's master and executors get their containers in the same way."""
    cluster.apply("drf")
    submit = "spark-submit --deploy-mode cluster $SPARK_HOME/examples/src/main/python/pi.py 4"
    spark = ("--profile=spark", "run", "--build", "--rm", "--no-TTY", "spark", "sh", "-c", submit)
    output = ended(cluster.start(*spark), 900)
    assert "final status: SUCCEEDED" in output
    application = cluster.rm.application(re.findall(r"application_\d+_\d+", output)[-1])
    assert application["applicationType"] == "SPARK"
    assert application["finalStatus"] == "SUCCEEDED"
    assert cluster.document()["allocations"]["fallback"] == 0


def test_who_may_not_submit_is_refused_with_the_reason(cluster: Cluster) -> None:
    """A queue that is open to bob refuses alice by name, and serves bob."""

    def idle() -> bool:
        return not any(q["applications"] for q in cluster.document()["queues"])

    assert wait_until(idle)  # a queue that still has an application is not removed
    cluster.apply("queues.yml")
    to_bob = ("example", "sleep", "-Dmapreduce.job.queuename=root.bob", "-m", "1", "-mt", "1")
    refused = cluster.client("alice", *to_bob)
    output, _ = refused.communicate(timeout=300)
    assert refused.returncode != 0
    reason = next(line for line in output.splitlines() if "alice" in line and "root.bob" in line)
    assert "submit" in reason
    assert "completed successfully" in ended(cluster.client("bob", *to_bob))
    latest = cluster.rm.applications()[-1]
    assert (latest["user"], latest["queue"]) == ("bob", "root.bob")


def test_the_command_knows_address_and_token(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command works with --on docker. With only its address the cluster refuses, and says what
    to do. The active configuration is applied again, because applications of earlier tests may live
    in its queues.
    """
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", cluster.project)
    version, same = cluster.rm.policy()["version"], tmp_path / "same.yml"
    same.write_text(cluster.rm.policy()["yaml"])
    done = CliRunner().invoke(policy, ["apply", str(same), "--on", "docker"])
    assert (done.exit_code, f"applied as version {version + 1}" in done.output) == (0, True)
    by_address = ["rollback", "--rm", cluster.rm.url, "--user", "hadoop"]
    refused = CliRunner().invoke(policy, by_address)
    assert (refused.exit_code, "--on docker" in refused.output) == (1, True)
    assert cluster.rm.policy()["version"] == version + 1


def test_node_managers_scale_to_five(cluster: Cluster) -> None:
    """More NodeManagers join a running cluster, and their racks are known."""
    ended(
        cluster.start(
            *("up", "--detach", "--wait", "--no-recreate", "--scale=nodemanager=5", "nodemanager")
        ),
        600,
    )

    def five_running() -> list[Document] | None:
        nodes = [node for node in cluster.rm.nodes() if node["state"] == "RUNNING"]
        return nodes if len(nodes) == 5 else None

    racks = {node["rack"] for node in wait_until(five_running)}
    assert racks == {"/rack-1", "/rack-2"}
    hosts = {str(node["nodeHostName"]) for node in wait_until(five_running)}
    assert hosts == {f"{cluster.project}-nodemanager-{i}" for i in range(1, 6)}
    assert cluster.document()["cluster"]["nodes"] == 5


def test_the_volumes_of_another_hadoop_line_are_refused(cluster: Cluster) -> None:
    """The state of one line is not read by another: the error names both, and a way out."""
    other = ("--rm", "--no-TTY", "--no-deps", "--env=LOOMCARD_HADOOP=9.9")
    client = cluster.start("run", *other, "namenode", "namenode")
    output, _ = client.communicate(timeout=300)
    assert client.returncode == 2
    assert f"of Hadoop {paths.hadoop_line()}, and this image is of 9.9: docker compose" in output


def test_a_killed_resource_manager_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    """kill -9 of the only ResourceManager during a running job: when it is back it has the applied
    policy, its history and the same containers, and the job ends well.
    """
    applied = cluster.apply("drf")
    history = cluster.rm.policy_history()
    job = cluster.client("bob", "example", "sleep", "-m", "3", "-r", "0", "-mt", "90000")

    def all_running() -> Document | None:
        try:
            seen = cluster.probe()
        except AssertionError:  # it is not back yet
            return None
        return seen if len(seen["rm"]) == 4 and seen["rm"] == seen["nm"] == seen["mirror"] else None

    before = wait_until(all_running)
    compose = ComposeCluster(ROOT, tmp_path / "unused", project=cluster.project)
    name = f"{cluster.project}-resourcemanager-1"
    for words in (("kill", "--signal=KILL", name), ("start", name)):
        subprocess.run(["docker", *words], check=True, capture_output=True)
    assert wait_until(all_running) == before
    # A container that starts again is published on another port.
    port = next(s.ports[8088] for s in compose.status() if s.service == "resourcemanager")
    rm = ResourceManagerClient(f"http://127.0.0.1:{port}", user="hadoop")
    assert rm.policy()["version"] == applied["version"]
    assert rm.policy_history() == history
    output = ended(job)
    assert "completed successfully" in output
    assert "Killed map tasks" not in output
