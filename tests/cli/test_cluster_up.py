"""The options of `loomcard cluster`: each is honoured, or refused before anything is started."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loomcard.cli.app import run
from loomcard.cli.commands import load
from loomcard.cluster import paths
from loomcard.cluster.compose import ComposeCluster
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.cluster.hadoop_config import FIFO_SCHEDULER, Settings

Seen = dict[str, Any]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Seen]:
    """Record what the clusters are asked to start with, and start none; the latest is the last."""
    asked: list[Seen] = []

    def local(cluster: LocalCluster, detached: bool = False) -> None:
        assert detached
        asked.append(vars(cluster.settings))

    def docker(_: ComposeCluster, settings: Settings, policy: str | None, *, nodes: int) -> None:
        asked.append(dict(settings) | {"policy": policy, "nodes": nodes})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOOMCARD_HADOOP", "")
    monkeypatch.setattr(paths, "jars", lambda: tmp_path)
    monkeypatch.setattr(LocalCluster, "up", local)
    monkeypatch.setattr(ComposeCluster, "up", docker)
    monkeypatch.setattr(ComposeCluster, "status", lambda _: [])
    (tmp_path / "mine").mkdir()
    return asked


def is_(name: str, wanted: object) -> Callable[[Seen], bool]:
    return lambda seen: seen[name] == wanted


HONOURED: list[tuple[str, list[str], Callable[[Seen], bool]]] = [
    ("local", [], is_("nodes", 3)),
    ("local", [], is_("node_memory_mb", LocalSettings.node_memory_mb)),
    ("local", [], is_("node_vcores", LocalSettings.node_vcores)),
    ("local", ["--policy", "drf"], is_("policy", "drf")),
    ("local", ["--nodes", "5"], is_("nodes", 5)),
    ("local", ["--node-memory-mb", "4096"], is_("node_memory_mb", 4096)),
    ("local", ["--node-vcores", "3"], is_("node_vcores", 3)),
    ("local", ["--scheduler", "stock:fifo"], is_("scheduler", "stock:fifo")),
    ("local", ["--hadoop", "3.3"], lambda _: paths.hadoop_line() == "3.3"),
    ("local", ["--policy-path", "mine"], lambda seen: seen["policy_path"][0].name == "mine"),
    ("docker", [], is_("nodes", 3)),
    ("docker", [], is_("node_memory_mb", 1536)),
    ("docker", [], is_("node_vcores", 4)),
    ("docker", ["--policy", "drf"], is_("policy", "drf")),
    ("docker", ["--nodes", "5"], is_("nodes", 5)),
    ("docker", ["--node-memory-mb", "4096"], is_("node_memory_mb", 4096)),
    ("docker", ["--node-vcores", "3"], is_("node_vcores", 3)),
    ("docker", ["--scheduler", "stock:fifo"], is_("scheduler_class", FIFO_SCHEDULER)),
    ("docker", ["--hadoop", "3.3"], lambda _: paths.hadoop_line() == "3.3"),
    ("docker", ["--ha"], lambda seen: len(seen["resourcemanagers"]) == 2),
]
REFUSED = [
    ("local", ["--ha"], "--ha: the embedded cluster has one ResourceManager"),
    ("docker", ["--policy-path", "mine"], "--policy-path mine: the compose cluster's containers"),
]


@pytest.mark.parametrize(("on", "words", "honoured"), HONOURED)
def test_an_option_reaches_the_cluster(
    on: str, words: list[str], honoured: Callable[[Seen], bool], started: list[Seen]
) -> None:
    run(["cluster", "up", "--on", on, *words])
    assert [honoured(seen) for seen in started] == [True]


@pytest.mark.parametrize(("on", "words", "says"), REFUSED)
def test_an_option_that_a_cluster_has_no_use_for_is_refused(
    on: str, words: list[str], says: str, started: list[Seen], capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is one line with a remedy, and nothing is started."""
    assert run(["cluster", "up", "--on", on, *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {says}")
    assert line.endswith(")")
    assert started == []


def test_every_option_of_up_is_in_the_tables() -> None:
    """The tables cover both kinds of cluster; --on and --json belong to the command."""
    options = {p.opts[0] for p in load("cluster").commands["up"].params} - {"--on", "--json"}
    pairs = {(on, words[0]) for on, words, *_ in [*HONOURED, *REFUSED] if words}
    assert pairs == {(on, option) for on in ("local", "docker") for option in options}


@pytest.mark.parametrize("on", ["local", "docker"])
@pytest.mark.parametrize("name", ["LOOMCARD_NODE_MEMORY_MB", "LOOMCARD_NODE_VCORES"])
def test_a_variable_of_the_environment_stands_for_its_option(
    on: str, name: str, started: list[Seen], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "555")
    run(["cluster", "up", "--on", on])
    assert [seen[name.removeprefix("LOOMCARD_").lower()] for seen in started] == [555]


@pytest.mark.parametrize("on", ["local", "docker"])
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--policy", "drf", "--scheduler", "stock:fifo"], "--policy: --scheduler stock:fifo"),
        (["--policy-path", "mine", "--scheduler", "a.B"], "--policy-path: --scheduler a.B runs no"),
        (
            ["--node-memory-mb", "127"],
            "Input should be greater than or equal to 128",
        ),
        (["--node-vcores", "0"], "Input should be greater than or equal to 1"),
        (["--nodes", "65"], "Input should be less than or equal to 64"),
        (["--scheduler", "bogus"], "--scheduler bogus: no such scheduler"),
    ],
)
def test_what_no_cluster_can_do_is_refused(
    on: str,
    words: list[str],
    says: str,
    started: list[Seen],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Refused are a policy beside a stock scheduler, and nodes that YARN would reject."""
    assert run(["cluster", "up", "--on", on, *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert says in line
    assert started == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["render", "out", "--on", "docker", "--nodes", "5"], "--nodes: the compose cluster's"),
        (["render", "out", "--on", "docker", "--policy-path", "mine"], "--policy-path mine: the"),
        (["render", "out", "--scheduler", "bogus"], "--scheduler bogus: no such scheduler"),
        (["render", "out", "--scheduler", "stock:fair", "--policy", "drf"], "--policy: --sched"),
        (["logs", "namenode"], "namenode: the embedded cluster has one log"),
    ],
)
def test_other_commands_refuse_what_they_would_leave_aside(
    words: list[str],
    says: str,
    started: list[Seen],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They refuse it, and nothing is written."""
    assert run(["cluster", *words]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {says}")
    assert not (tmp_path / "out").exists()


def test_logs_of_the_compose_cluster_are_as_long_as_asked(
    started: list[Seen], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[list[str]] = []
    monkeypatch.setattr(ComposeCluster, "compose", lambda _, words, **__: said.append(words))
    assert run(["cluster", "logs", "namenode", "--on", "docker", "--lines", "7"]) == 0
    assert said == [["logs", "--tail=7", "namenode"]]


def test_the_launch_rate_is_that_of_the_executor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rate is that of virtual containers, unless real processes are requested."""
    monkeypatch.setattr("loomcard.player.play.measured_rate", {"virtual": 90.04, "process": 7}.get)
    for words, rate in (([], 90.0), (["--executor", "process"], 7)):
        assert run(["cluster", "launch-rate", *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["containers_per_second"] == rate
