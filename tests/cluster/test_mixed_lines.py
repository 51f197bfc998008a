"""A cluster of Hadoop 2.7 with a ResourceManager of 2.10, which alone has our jar."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from loomcard.cluster import hadoop_jars, paths
from loomcard.cluster.embedded_config import LocalSettings, render_conf
from loomcard.cluster.example_jobs import example
from loomcard.cluster.rm_client import ResourceManagerClient, RestError
from loomcard.cluster.submit import Client
from waiting import wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(paths.hadoop_line() != "2.7", reason="for `make lines` with LINES=2.7"),
]

DEADLINE_S = 240
YARN = "org.apache.hadoop.yarn"
JAVA = [
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
]


def java(conf: Path, class_path: str, main: str, *arguments: str) -> list[str]:
    program = str(paths.java_home() / "bin" / "java")
    named = [f"-Djdk.net.hosts.file={conf / 'hosts'}", f"-Djava.io.tmpdir={conf.parent / 'tmp'}"]
    return [program, "-Xmx384m", *JAVA, *named, "-cp", f"{conf}:{class_path}", main, *arguments]


@contextmanager
def daemon(command: list[str], log: Path) -> Iterator[None]:
    home = {"JAVA_HOME": str(paths.java_home())}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | home)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def test_a_resource_manager_of_2_10_schedules_nodes_and_clients_of_2_7(tmp_path: Path) -> None:
    """A MapReduce job runs and `yarn rmadmin -refreshQueues` applies another policy; neither the
    node nor the client has a jar of ours.
    """
    settings = LocalSettings(
        run_dir=tmp_path,
        nodes=1,
        policy="fifo",
        yarn={
            "yarn.nodemanager.address": "n1:0",
            "yarn.nodemanager.localizer.address": "n1:0",
            "yarn.nodemanager.webapp.address": "n1:0",
            "yarn.nodemanager.local-dirs": str(tmp_path / "local"),
            "yarn.nodemanager.log-dirs": str(tmp_path / "containers"),
        },
        mapred={"mapreduce.shuffle.port": "0"},
    )
    render_conf(settings)
    (tmp_path / "tmp").mkdir()
    conf = tmp_path / "conf"
    old = [jar for jar in paths.jars().glob("*.jar") if not jar.name.startswith("loomcard-")]
    jars = {"2.7": ":".join(map(str, old)), "2.10": f"{hadoop_jars.class_path_folder('2.10')}/*"}
    site = (conf / "yarn-site.xml").read_text()
    web = site.partition("resourcemanager.webapp.address</name><value>")[2].partition("<")[0]
    rest = ResourceManagerClient(f"http://{web}")

    def ready() -> bool:
        try:
            bridge = rest.scheduler()["schedulerInfo"]["bridge"]["state"]
            return bridge == "up" and [each["state"] for each in rest.nodes()] == ["RUNNING"]
        except RestError:
            return False

    with ExitStack() as running:
        manager = f"{YARN}.server.resourcemanager.ResourceManager"
        running.enter_context(daemon(java(conf, jars["2.10"], manager), tmp_path / "rm.log"))
        node = f"{YARN}.server.nodemanager.NodeManager"
        running.enter_context(daemon(java(conf, jars["2.7"], node), tmp_path / "nm.log"))
        wait_until(ready, "the node of 2.7 runs", seconds=DEADLINE_S)
        assert str(rest.info()["hadoopVersion"]).startswith("2.10.")
        assert str(rest.nodes()[0]["version"]).startswith("2.7.")
        hosts = (f"-Djdk.net.hosts.file={conf / 'hosts'}",)
        job = Client(conf, tmp_path / "work", hosts).submit(example("pi", ("2", "100")))
        job.application(DEADLINE_S)
        (conf / "policy.yml").write_text("version: 1\nkind: policy\npolicy: drf\n")
        refresh = java(conf, jars["2.7"], f"{YARN}.client.cli.RMAdminCLI", "-refreshQueues")
        done = subprocess.run(refresh, capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stderr
        assert rest.scheduler()["schedulerInfo"]["config"]["policy"] == "drf"
        assert job.wait(DEADLINE_S) == 0, job.reason()
        assert "Estimated value of Pi" in job.log.read_text()
        assert rest.scheduler()["schedulerInfo"]["allocations"]["fallback"] == 0
