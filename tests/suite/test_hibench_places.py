"""Where HiBench's workloads run: running clusters, and what their clients must know of them."""

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loomcard.cluster.compose import ComposeError, Service
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench import places
from loomcard.suite.hibench.places import Compose, ConfiguredCluster, policies


def test_clients_of_the_compose_cluster_know_its_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They get every container's address, and this machine's own, which executors use to reach the
    driver.
    """
    running = [Service("namenode", "p-namenode-1", "running", "", {})]
    compose = SimpleNamespace(project="p", conf_dir=tmp_path, status=lambda: running)
    network = {"IPAddress": "172.18.0.3", "Gateway": "172.18.0.1"}
    inspected = {
        "Name": "/p-namenode-1",
        "Config": {"Hostname": "namenode"},
        "NetworkSettings": {"Networks": {"other": {"IPAddress": ""}, "cluster": network}},
    }
    monkeypatch.setattr(places, "_inspected", lambda names: [inspected for _ in names])
    rest = SimpleNamespace(
        nodes=lambda: [
            {"state": "LOST", "nodeHostName": "n0"},
            {"state": "RUNNING", "nodeHostName": "n1"},
        ]
    )
    suite: Any = SimpleNamespace(compose=compose, rest=rest)
    known = Compose(suite, tmp_path).cluster()
    lines = (tmp_path / "hosts").read_text().splitlines()
    assert lines == [
        "127.0.0.1 localhost", f"172.18.0.1 {socket.gethostname()}", "172.18.0.3 namenode",
        "172.18.0.3 p-namenode-1",
    ]  # fmt: skip
    assert known.java_options == f"-Djdk.net.hosts.file={tmp_path / 'hosts'}"
    assert (known.slaves, known.spark["spark.driver.host"]) == (("n1",), "172.18.0.1")
    assert known.variables == {"HADOOP_USER_NAME": "hadoop"}
    running.clear()
    with pytest.raises(ComposeError, match="no container of p has an address"):
        Compose(suite, tmp_path).cluster()


def test_a_stock_scheduler_cannot_be_brought_into_a_cluster_that_runs(tmp_path: Path) -> None:
    """Policies can be swapped; a stock scheduler needs a restart of the ResourceManager."""
    applied: list[str] = []
    rest: Any = SimpleNamespace(apply_policy=lambda _, name: applied.append(name))
    [ours] = policies(["drf"], "local")
    ConfiguredCluster(tmp_path, rest).schedule(ours)
    with pytest.raises(SuiteError, match="stock:capacity cannot be brought into"):
        policies(["drf", "stock:capacity"], "local")
    assert len(policies(["drf", "stock:capacity"], "docker")) == 2
    assert applied == ["drf"]
    assert "am_share" in (ours.text or "")
