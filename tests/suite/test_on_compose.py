"""The suite on a compose cluster of its own: users' jobs, MapReduce and Spark, under a policy and,
after a restart of the ResourceManager, under a stock scheduler.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loomcard.cluster.compose import ComposeCluster
from loomcard.player.play_compose import running
from loomcard.results.run_folder import read_json

pytestmark = [pytest.mark.docker, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
MIX = """\
version: 1
kind: mix
jobs:
  - {benchmark: wordcount, user: alice}
  - {benchmark: join, user: bob, executors: 1}
"""


def loomcard(*words: str) -> str:
    """Return the output of the command, which must succeed."""
    command = [str(Path(sys.executable).parent / "loomcard"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder, and two nodes on free ports under fifo."""
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", f"loomcard-suite-{os.getpid()}")
    for name in ("NAMENODE", "RESOURCEMANAGER", "JOBHISTORY"):
        monkeypatch.setenv(f"LOOMCARD_{name}_PORT", "0")
    monkeypatch.chdir(tmp_path)
    build = ["docker", "compose", "--profile", "spark", "build", "--quiet", "spark"]
    subprocess.run(build, cwd=ROOT, check=True)
    try:
        loomcard("cluster", "up", "--on", "docker", "--nodes", "2")
        yield tmp_path
    finally:
        ComposeCluster.here().down(volumes=True)


def accounts(out: Path) -> dict[str, dict[str, Any]]:
    """Return what each measured run's manifest says of its jobs, by policy."""
    ran = [run for run in read_json(out / "results.json") if "foretold" not in run["policy"]]
    return {run["policy"]: read_json(out / run["folder"] / "manifest.json")["suite"] for run in ran}


def test_a_policy_and_a_stock_scheduler_run_users_jobs(folder: Path) -> None:
    """Every result is right, the policy allocated every container, and its run is predicted.
    Afterwards the cluster is in its earlier state, and nothing of the suite is left on it.
    """
    (folder / "mine.yml").write_text(MIX)
    compose = ComposeCluster.here()
    before = running(compose)[1].policy()["yaml"]
    policies = ("--policy", "drf", "--policy", "stock:capacity")
    loomcard("suite", "run", "mine.yml", "--on", "docker", *policies, "--out", "out")
    found = accounts(folder / "out")
    assert list(found) == ["drf", "stock:capacity"]
    for account in found.values():
        assert [job["result"] for job in account["jobs"]] == ["right", "right"]
    assert found["drf"]["allocations"]["fallback"] == 0
    # An AM, two maps and a reduce; a driver and an executor.
    assert found["drf"]["allocations"]["policy"] >= 6
    assert all(each["foretold_ms"] for each in found["drf"]["foretold"])
    assert found["stock:capacity"]["allocations"] == {}
    _, rest = running(compose)
    assert rest.policy()["yaml"] == before
    users = {each["name"]: each["user"] for each in rest.applications()}
    assert set(users.values()) == {"alice", "bob"}
    assert "submitter" not in {each.service for each in compose.status()}
