"""The wheel in an empty environment outside the checkout, beside a package with other pins."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JARS = ROOT / "jvm-bridge" / "dist" / "target" / "lib"
# Made by `make wheel` and `make test`; here Maven would overwrite jars under running clusters.
CLASS_PATH = JARS.parent / "classpath.txt"
THEIRS = """
[project]
name = "their-policies"
version = "1"
dependencies = ["loomcard[simulate]", "numpy==2.3.5", "rich==14.2.0", "pydantic==2.12.5"]
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project.entry-points."loomcard.policies"]
oldest = "their_policies:Oldest"
"""
POLICY = '''
"""Oldest first."""

from dataclasses import dataclass

from loomcard import ClusterView, Plan, fill


@dataclass(frozen=True)
class Oldest:
    """Serve the application that was submitted first."""

    def decide(self, view: ClusterView) -> Plan:
        return fill(Plan(view), order=lambda member: member.submitted_ms)
'''


def run(command: list[str], where: Path, **env: str) -> str:
    """Return both outputs of a command, which must succeed."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LOOMCARD_JARS")}
    done = subprocess.run(
        command, cwd=where, env=kept | env, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}"
    return done.stdout


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not CLASS_PATH.exists(), reason="run `make wheel` first: it needs Maven")
def test_an_installed_wheel_runs_a_cluster(tmp_path: Path) -> None:
    """It is built, installed with pip, `cluster up` works, and a job runs under a third party's
    policy.
    """
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], ROOT)
    (wheel,) = tmp_path.glob("loomcard-*.whl")
    package = tmp_path / "theirs"
    package.mkdir()
    (package / "pyproject.toml").write_text(THEIRS)
    (package / "their_policies.py").write_text(POLICY)
    venv = tmp_path / "venv"
    run([sys.executable, "-m", "venv", str(venv)], tmp_path)
    bin_ = venv / "bin"
    run([str(bin_ / "pip"), "install", "-q", str(wheel), str(package)], tmp_path)
    assert "No broken requirements" in run([str(bin_ / "pip"), "check"], tmp_path)
    where = {"LOOMCARD_CACHE": str(tmp_path / "cache"), "LOOMCARD_JARS_FROM": str(JARS)}
    loomcard = str(bin_ / "loomcard")
    said = run([loomcard, "cluster", "up", "--nodes", "1", "--policy", "oldest"], tmp_path, **where)
    try:
        assert "fetching" in said
        job = run([loomcard, "submit", "pi", "2", "10"], tmp_path, **where)
        assert "SUCCEEDED" in job
        assert "oldest" in run([loomcard, "status"], tmp_path, **where)
    finally:
        run([loomcard, "cluster", "down"], tmp_path, **where)
    root = "from loomcard.cluster.image_files import add_jars, compose_root as root;"
    root += "add_jars(root(), '3.4'); print(root())"
    image = Path(run([str(bin_ / "python"), "-c", root], tmp_path, **where).strip())
    assert {"Dockerfile", "docker-compose.yml", "hadoop-jars", "jars", "policies"} <= {
        each.name for each in image.iterdir()
    }
    assert len(list((image / "jars" / "3.4" / "loomcard").iterdir())) == 3
