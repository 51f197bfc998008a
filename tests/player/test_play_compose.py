"""What is refused before a compose cluster is touched; test_compose.py plays on a real one."""

import json
import os
from pathlib import Path

import pytest

from loomcard.cluster.compose import ComposeCluster, ComposeError
from loomcard.player.play_compose import ContainerPlayer, play_on_compose
from loomcard.player.process import PlayError
from loomcard.workload.scenario import Scenario

EMPTY = Scenario("w", 1, ["memory_mb", "vcores"], [], [])
POLICY = "drf"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command `docker` that prints the file `answer` and writes its own arguments to `asked`."""
    fake = tmp_path / "docker"
    fake.write_text('#!/bin/sh\ncd "$(dirname "$0")"\necho "$@" >> asked\ncat answer\n')
    fake.chmod(0o755)
    (tmp_path / "answer").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def play(engine: Path, policy: Path | str) -> None:
    cluster = ComposeCluster(ROOT, engine / "conf", project="p")
    play_on_compose(EMPTY, policy, cluster, folder=engine, on_warning=print)


def test_a_cluster_that_does_not_run_is_named_with_the_command_that_starts_it(engine: Path) -> None:
    """The cluster is down, or starting without NodeManagers so far: nothing was started or
    changed.
    """
    with pytest.raises(ComposeError, match="no compose cluster p runs") as caught:
        play(engine, POLICY)
    assert "loomcard cluster up --on docker --nodes 3" in caught.value.hint
    row = {"Service": "nodemanager", "Name": "p-nodemanager-1", "State": "exited", "Health": ""}
    (engine / "answer").write_text(json.dumps(row))
    with pytest.raises(ComposeError, match="no compose cluster p runs"):
        play(engine, POLICY)
    assert [line.split()[5] for line in (engine / "asked").read_text().splitlines()] == ["ps", "ps"]


def test_a_stock_scheduler_is_refused(engine: Path) -> None:
    """That cluster runs Loomcard, and continues to do so."""
    with pytest.raises(PlayError, match="stock:fair cannot be applied") as caught:
        play(engine, "stock:fair")
    assert "local" in caught.value.hint
    assert not (engine / "asked").exists()


def test_a_player_s_container_is_removed_whatever_became_of_it(engine: Path) -> None:
    """It has a name of its own; its output is the player's log."""
    (engine / "answer").write_text('{"at_ms": 5, "event": "zero", "zero_ms": 5}\n')
    cluster = ComposeCluster(engine, engine / "conf", project="p")
    player = ContainerPlayer(EMPTY, engine, cluster.conf_dir, cluster=cluster)
    with pytest.raises(RuntimeError), player:
        raise RuntimeError
    assert player.events == [{"at_ms": 5, "event": "zero", "zero_ms": 5}]
    first, last = (engine / "asked").read_text().splitlines()
    assert f"run --rm --no-TTY --name {player.name} " in first
    assert f"{engine}/player-input.json:/play/input.json:ro client player --input" in first
    assert last == f"rm --force {player.name}"
