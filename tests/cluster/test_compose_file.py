"""The promises of docker-compose.yml, read from the file itself, and the settings from
variables.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from loomcard.cluster import paths
from loomcard.cluster.compose import ComposeCluster, ComposeError, settings_from
from loomcard.cluster.hadoop_config import (
    CAPACITY_SCHEDULER,
    LOOMCARD_SCHEDULER,
    RenderError,
    compose_settings,
)

ROOT = Path(__file__).parents[2]
ADDRESS = f"127.{os.getpid() % 250 + 1}.{os.getpid() // 250 % 250}.9"
DAEMONS = ("namenode", "datanode", "resourcemanager", "nodemanager", "jobhistory")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return document["services"]  # type: ignore[no-any-return]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command `docker` that prints the file `answer` and writes its own arguments to `asked`."""
    fake = tmp_path / "docker"
    fake.write_text(
        '#!/bin/sh\ncd "$(dirname "$0")"\necho "$@" >> asked\n'
        "echo $LOOMCARD_CONF_DIR > conf_dir\n[ ! -e answer ] || cat answer\n[ ! -e broken ]\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize("daemon", DAEMONS)
def test_every_daemon_says_whether_it_is_well(services: dict[str, Any], daemon: str) -> None:
    """`up --wait` and dependants rely on a check of each daemon's own, and on bounded memory."""
    service = services[daemon]
    assert service["healthcheck"]["test"] == ["CMD", "healthy", daemon]
    assert service["mem_limit"]
    assert service["init"] is True
    assert service["restart"].startswith("on-failure")


def test_ports_are_published_on_loopback_only(services: dict[str, Any]) -> None:
    """YARN without Kerberos trusts every caller, so no other machine may call."""
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert len(ports) == 5
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_the_pair_is_started_by_its_profile_only(services: dict[str, Any]) -> None:
    """The second ResourceManager and ZooKeeper report whether they are well, and cost nothing
    unless requested. The two ResourceManagers differ only in place and name.
    """
    assert {name for name, service in services.items() if service.get("profiles") == ["ha"]} == {
        "resourcemanager2",
        "zookeeper",
    }
    one, two = services["resourcemanager"], services["resourcemanager2"]
    assert one["healthcheck"] == two["healthcheck"]
    assert one["mem_limit"] == two["mem_limit"]
    assert one["depends_on"]["zookeeper"]["required"] is False
    assert services["zookeeper"]["healthcheck"]["test"] == ["CMD", "healthy", "zookeeper"]


def test_node_managers_can_be_scaled(services: dict[str, Any]) -> None:
    """A fixed name, host name, port or shared state would allow only one."""
    node = services["nodemanager"]
    assert {"container_name", "hostname", "ports"} & set(node) == set()
    assert [v for v in node["volumes"] if not v.endswith(":ro")] == ["/data"]


def test_the_default_cluster_fits_an_8_gb_laptop(services: dict[str, Any]) -> None:
    """The limits of all daemons, with two NodeManagers, leave the laptop two of its gigabytes."""

    def mebibytes(text: str) -> int:
        return int(text[:-1]) * {"m": 1, "g": 1024}[text[-1]]

    limits = {name: mebibytes(services[name]["mem_limit"]) for name in DAEMONS}
    assert sum(limits.values()) + limits["nodemanager"] <= 6.2 * 1024


def test_variables_become_settings() -> None:
    """The variables that docker-compose.yml passes on reach the templates."""
    settings, policy = settings_from(
        {
            "LOOMCARD_POLICY": "drf",
            "LOOMCARD_SCHEDULER": "stock:capacity",
            "LOOMCARD_NODE_MEMORY_MB": "1024",
        }
    )
    assert (settings.scheduler_class, settings.node_memory_mb) == (CAPACITY_SCHEDULER, 1024)
    assert policy == "drf"
    assert settings_from({"LOOMCARD_HA": "true"})[0].zookeeper == "zookeeper:2181"
    settings, policy = settings_from({"LOOMCARD_HA": "false"})
    assert (settings, policy) == settings_from({})
    assert settings.zookeeper == ""
    assert (settings.scheduler_class, policy) == (LOOMCARD_SCHEDULER, None)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("LOOMCARD_SCHEDULER", "lottery", "stock:capacity"),
        ("LOOMCARD_NODE_MEMORY_MB", "2g", "1536"),
        ("LOOMCARD_HA", "yes", "neither true nor false"),
        ("LOOMCARD_NODE_VCORES", "-1", "whole number"),
        ("LOOMCARD_NODE_VCORES", "0", "whole number"),
    ],
)
def test_a_bad_variable_is_named(name: str, value: str, hint: str) -> None:
    """The message names variable, value and what is allowed."""
    with pytest.raises(RenderError) as caught:
        settings_from({name: value})
    assert f"{name}={value}" in str(caught.value)
    assert hint in str(caught.value) + caught.value.hint


def test_up_renders_first_and_mounts_what_it_rendered(engine: Path) -> None:
    """The containers see the files that this machine rendered, and as many nodes as requested."""
    conf_dir = engine / "conf"
    ComposeCluster(ROOT, conf_dir, project="p").up(nodes=3)
    assert (conf_dir / "setup.json").is_file()
    assert (engine / "conf_dir").read_text().strip() == str(conf_dir)
    asked = (engine / "asked").read_text()
    assert "--project-name p up --detach --wait --scale=nodemanager=3 --build" in asked


def test_up_refuses_an_unknown_hadoop_line(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is rendered and nothing asked of the engine."""
    monkeypatch.setenv("LOOMCARD_HADOOP", "9.9")
    with pytest.raises(RenderError, match=r"Hadoop 9\.9: no such line") as caught:
        ComposeCluster(ROOT, engine / "conf").up()
    assert "3.3, 3.4, 3.5" in caught.value.hint
    assert {each.name for each in engine.iterdir()} == {"docker"}


def test_clients_are_of_the_line_of_the_cluster(
    engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client's image is that of the containers that run, whatever the shell's variable says."""
    monkeypatch.setenv("LOOMCARD_HADOOP", "")
    cluster = ComposeCluster(ROOT, engine / "conf")
    (engine / "answer").write_text("")
    cluster.use_line()
    assert paths.hadoop_line() == "3.4"
    row = {"Service": "resourcemanager", "Name": "p-resourcemanager-1", "State": "running"}
    row |= {"Health": "healthy", "Image": "loomcard:0.1.0-hadoop-2.10"}
    (engine / "answer").write_text(json.dumps(row))
    cluster.use_line()
    assert paths.hadoop_line() == "2.10"


def test_the_project_of_another_source_tree_is_left_alone(engine: Path) -> None:
    """The project of another source tree is refused: up would recreate its containers with our
    files, and down would remove them.
    """
    theirs = {
        "Name": "loomcard",
        "Status": "running(4)",
        "ConfigFiles": "/theirs/docker-compose.yml",
    }
    cluster = ComposeCluster(ROOT, engine / "conf")
    (engine / "answer").write_text(json.dumps([theirs]))
    for change in (cluster.up, cluster.down):
        with pytest.raises(ComposeError, match="project loomcard belongs to /theirs") as caught:
            change()
        assert "COMPOSE_PROJECT_NAME" in caught.value.hint
    ours = theirs | {"ConfigFiles": str(ROOT / "docker-compose.yml")}
    (engine / "answer").write_text(json.dumps([ours, theirs | {"Name": "loomcard2"}]))
    cluster.down()
    assert "--project-name loomcard --profile=client" in (engine / "asked").read_text()


def test_the_project_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the project may be set as compose itself allows it."""
    monkeypatch.delenv("COMPOSE_PROJECT_NAME", raising=False)
    assert ComposeCluster.here().project == "loomcard"
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "mine")
    assert ComposeCluster.here().project == "mine"


def test_up_starts_the_profile_of_a_pair(engine: Path) -> None:
    """Files for two ResourceManagers start two."""
    ComposeCluster(ROOT, engine / "conf").up(compose_settings(ha=True))
    assert "--profile=ha up --detach" in (engine / "asked").read_text()


def test_status_reads_either_form_of_compose_ps(engine: Path) -> None:
    """Both forms are read: compose printed an array up to 2.20 and prints an object per line
    since.
    """
    publisher = {"URL": "127.0.0.1", "TargetPort": 8088, "PublishedPort": 9999}
    rows = [
        {"Service": s, "Name": f"p-{s}-1", "State": "running", "Health": "healthy", "Publishers": p}
        for s, p in (("resourcemanager", [publisher]), ("datanode", None))
    ]
    cluster = ComposeCluster(ROOT, engine / "conf")
    (engine / "answer").write_text("\n".join(map(json.dumps, rows)))
    by_line = cluster.status()
    (engine / "answer").write_text(json.dumps(rows))
    assert cluster.status() == by_line
    assert [(s.service, s.ports) for s in by_line] == [
        ("datanode", {}),
        ("resourcemanager", {8088: 9999}),
    ]
    (engine / "answer").write_text("")
    assert cluster.status() == []


def test_a_failure_of_docker_is_one_sentence(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing or failing docker is reported with a hint and without a traceback."""
    cluster = ComposeCluster(ROOT, engine / "conf")
    (engine / "broken").touch()
    with pytest.raises(ComposeError, match="ls failed with status 1") as caught:
        cluster.down()
    assert "docker info" in caught.value.hint
    monkeypatch.setenv("PATH", str(engine / "nowhere"))
    with pytest.raises(ComposeError, match="no command docker") as caught:
        cluster.down()
    assert "--on local" in caught.value.hint
    with pytest.raises(ComposeError, match="0 NodeManagers"):
        cluster.up(nodes=0)


@pytest.mark.docker
def test_compose_accepts_the_file() -> None:
    """Compose itself accepts the file with its anchors, variables and conditions."""
    done = subprocess.run(
        ["docker", "compose", "--profile=client", "--profile=spark", "config", "--services"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {*DAEMONS, "configuration", "client", "spark"}


@pytest.mark.docker
@pytest.mark.parametrize(("variable", "line"), [("", "3.4"), ("2.10", "2.10")])
def test_a_line_has_an_image_of_its_own(variable: str, line: str) -> None:
    """One variable chooses the image of all daemons, and what is built into it."""
    done = subprocess.run(
        ["docker", "compose", "config", "--format=json"],
        cwd=ROOT,
        env=os.environ | {"LOOMCARD_HADOOP": variable},
        capture_output=True,
        text=True,
        check=True,
    )
    services = json.loads(done.stdout)["services"]
    assert {service["image"].partition("-")[2] for service in services.values()} == {
        f"hadoop-{line}"
    }
    assert services["configuration"]["build"]["args"]["HADOOP"] == line


@pytest.mark.parametrize("command", [["example", "pi", "1", "1"], ["fs", "-ls", "/"]])
def test_no_command_runs_without_a_configuration(tmp_path: Path, command: list[str]) -> None:
    """Without a configuration a command is refused: Hadoop would run the job in the client, on no
    cluster, and report success.
    """
    said = subprocess.run(
        ["bash", str(ROOT / "docker/bin/hadoop-role"), *command],
        env=os.environ | {"HADOOP_CONF_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (said.returncode, said.stdout) == (2, "")
    assert "no yarn-site.xml" in said.stderr
    assert "loomcard submit --on docker" in said.stderr


class _Daemon(BaseHTTPRequestHandler):
    """A history server that becomes healthy after some requests."""

    asked = 0
    well_after = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.end_headers()
        if self.asked > self.well_after:
            self.wfile.write(b'{"historyInfo":{"startedOn":1}}')

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def daemon() -> Iterator[type[_Daemon]]:
    """A history server at its port, on a loopback address that no other test uses."""

    class Ours(_Daemon):
        pass

    with ThreadingHTTPServer((ADDRESS, 19888), Ours) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Ours
        server.shutdown()


def _check(was_well: Path) -> int:
    return subprocess.run(
        ["bash", str(ROOT / "docker/bin/healthy"), "jobhistory"],
        env=os.environ | {"HOSTNAME": ADDRESS, "WAS_WELL": str(was_well)},
        timeout=60,
        check=False,
    ).returncode


def test_a_check_waits_for_the_daemon_the_first_time(daemon: type[_Daemon], tmp_path: Path) -> None:
    """The first check asks until the daemon is healthy; a later one asks once and reports the
    result.
    """
    daemon.well_after = 2
    assert _check(tmp_path / "was-well") == 0
    assert daemon.asked == 3
    assert _check(tmp_path / "was-well") == 0
    daemon.well_after = 9
    assert _check(tmp_path / "was-well") == 1
    assert daemon.asked == 5


def test_a_check_ends_where_no_daemon_answers(tmp_path: Path) -> None:
    """A check without an answer ends, and the engine counts a failure; the next one still waits."""
    assert _check(tmp_path / "was-well") == 1
    assert not (tmp_path / "was-well").exists()
