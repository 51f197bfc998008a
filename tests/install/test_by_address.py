"""A cluster of which only the ResourceManager's address is known: a job, its policy, its state."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loomcard.cluster.client_conf import folder_of, write_client_conf
from loomcard.cluster.embedded import LocalCluster
from loomcard.cluster.rm_client import AddressError, ResourceManagerClient

RM = "yarn.resourcemanager"


class Configured(ResourceManagerClient):
    """A ResourceManager at rm.example.org that has these properties."""

    def __init__(self, properties: dict[str, str]) -> None:
        super().__init__("http://rm.example.org:8088")
        self.properties = properties

    def configuration(self) -> dict[str, str]:
        return self.properties


def written(properties: dict[str, str], folder: Path, name: str = "yarn-site.xml") -> str:
    write_client_conf(Configured(properties), folder)
    return (folder / name).read_text()


def test_an_address_that_nobody_can_call_becomes_the_one_that_answered(tmp_path: Path) -> None:
    """A daemon that listens on all addresses reports 0.0.0.0, but a client needs a host."""
    text = written({f"{RM}.hostname": "0.0.0.0", f"{RM}.address": "0.0.0.0:8032"}, tmp_path)  # noqa: S104
    assert f"<name>{RM}.hostname</name><value>rm.example.org</value>" in text
    assert f"<name>{RM}.address</name><value>rm.example.org:8032</value>" in text


def test_what_daemons_alone_need_is_left_out(tmp_path: Path) -> None:
    """A job's configuration goes to its AM, so it must not name the folder of our secret."""
    text = written({"loomcard.state.dir": "/s", "fs.defaultFS": "hdfs://a<b"}, tmp_path)
    assert "loomcard" not in text
    assert "<value>hdfs://a&lt;b</value>" in text


def test_a_job_goes_to_yarn_where_no_file_says_so(tmp_path: Path) -> None:
    """MapReduce's own default would run the job in the client's process."""
    found = written({}, tmp_path, "mapred-site.xml")
    assert "<name>mapreduce.framework.name</name><value>yarn</value>" in found


def test_a_clients_own_files_stand_in_place_of_the_daemons(tmp_path: Path) -> None:
    """The ResourceManager may not know where the jars of MapReduce are on the nodes."""
    given = tmp_path / "given"
    given.mkdir()
    for name in ("mapred-site.xml", "yarn-site.xml"):
        (given / name).write_text("<configuration>given</configuration>")
    write_client_conf(Configured({"fs.defaultFS": "hdfs://a"}), tmp_path / "conf", given)
    assert "given" in (tmp_path / "conf" / "mapred-site.xml").read_text()
    assert "hdfs://a" in (tmp_path / "conf" / "yarn-site.xml").read_text()
    assert "hdfs://a" in (tmp_path / "conf" / "core-site.xml").read_text()
    with pytest.raises(AddressError, match="no such folder"):
        write_client_conf(Configured({}), tmp_path / "conf", tmp_path / "missing")


def test_each_cluster_has_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two clusters' configurations are kept apart; a pair has one."""
    monkeypatch.chdir(tmp_path)
    assert folder_of("http://a:8088,http://b:8088").name == "rm-a-8088"
    assert folder_of("http://b:9088").name == "rm-b-9088"


@pytest.fixture(scope="module")
def cluster(shared_cluster: LocalCluster) -> LocalCluster:
    return shared_cluster


def loomcard(
    cluster: LocalCluster, where: Path, *words: str, status: int = 0, java: str = ""
) -> str:
    """Return the output of the command in a folder that knows only the cluster's address and the
    place of the token.
    """
    known = {"LOOMCARD_RM": f"http://{cluster.web}", "LOOMCARD_TOKEN_FILE": str(cluster.token_file)}
    environment = os.environ | known
    environment.pop("HADOOP_CONF_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", "from loomcard.cli import main; main()", *words],
        cwd=where, text=True, check=False, capture_output=True,
        env=environment | ({"JAVA_TOOL_OPTIONS": java} if java else {}),
    )  # fmt: skip
    assert done.returncode == status, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout if status == 0 else done.stderr


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_a_job_is_submitted_by_address(cluster: LocalCluster, tmp_path: Path) -> None:
    """It runs, and the ResourceManager reports its end; the node's name is not known here."""
    said = json.loads(loomcard(cluster, tmp_path, "submit", "pi", "1", "10", "--json"))
    assert said["state"] == "SUCCEEDED"
    assert said["elapsed_ms"] > 0
    assert said["id"] in loomcard(cluster, tmp_path, "status")
    assert cluster.rest.application(said["id"])["finalStatus"] == "SUCCEEDED"


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_the_policy_is_swapped_by_address(cluster: LocalCluster, tmp_path: Path) -> None:
    """The policy is checked against the cluster, applied, listed and rolled back; doctor finds it
    healthy.
    """
    address = ("--rm", f"http://{cluster.web}")
    assert "applied as version" in loomcard(cluster, tmp_path, "policy", "apply", "fifo")
    assert "drf: valid" in loomcard(cluster, tmp_path, "policy", "check", "drf", *address)
    assert "applied as version" in loomcard(cluster, tmp_path, "policy", "apply", "drf")
    assert "drf" in loomcard(cluster, tmp_path, "policy", "history")
    assert "fifo: applied" in loomcard(cluster, tmp_path, "policy", "rollback")
    assert "policy process up" in loomcard(cluster, tmp_path, "doctor")


@pytest.mark.cluster
@pytest.mark.timeout(1200)
def test_what_is_submitted_to_two_clusters_is_refused(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """--on docker names another cluster than the address."""
    said = loomcard(cluster, tmp_path, "submit", "pi", "--on", "docker", status=2)
    assert said.startswith("error: --on docker and --rm name two clusters")
