"""One embedded cluster that the tests of a session share, one after the other. Each test applies
the policy that it needs. pytest finds these fixtures through tests/conftest.py.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loomcard.cluster.embedded import LocalCluster, LocalSettings
from processes import command_line, pids
from waiting import wait_until

PYPROJECT = """
[build-system]
requires = ["hatchling==1.33.0"]
build-backend = "hatchling.build"
[project]
name = "newest-first"
version = "1"
[project.entry-points."loomcard.policies"]
newest_first = "newest_first:NewestFirst"
silent = "newest_first:Silent"
[tool.hatch.build.targets.wheel]
only-include = ["newest_first.py"]
"""

THIRD_PARTY = '''
"""The last to come is served first."""

from dataclasses import dataclass

from loomcard import ClusterView, Plan, fill


@dataclass(frozen=True)
class NewestFirst:
    """Serve the application with the latest submission first."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        return fill(plan, order=lambda member: -member.submitted_ms)


@dataclass(frozen=True)
class Silent:
    """Answer, and allocation nothing."""

    def decide(self, view: ClusterView) -> Plan:
        return Plan(view)
'''


@pytest.fixture(scope="session")
def third_party(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A package of one file outside the repository, which pip installs into its own folder.

    The tests can import it too, because they replay journals.
    """
    package = tmp_path_factory.mktemp("package")
    (package / "pyproject.toml").write_text(PYPROJECT)
    (package / "newest_first.py").write_text(THIRD_PARTY)
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--target", str(target), str(package)], check=True)
    sys.path.append(str(target))
    yield target
    sys.path.remove(str(target))


@pytest.fixture(scope="session")
def shared_cluster(
    third_party: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalCluster]:
    """A cluster under fifo. Its policy process restarts slowly, so that the fallback can be
    observed.
    """
    settings = LocalSettings(
        run_dir=tmp_path_factory.mktemp("cluster"),
        nodes=3,
        node_memory_mb=768,
        yarn={
            "loomcard.restart.backoff-ms": "4000",
            "loomcard.journal.segment-rounds": "50",
            # On a slow machine the fallback must not serve, and a swap must not be given up.
            "loomcard.round.deadline-ms": "10000",
            "loomcard.swap.deadline-ms": "120000",
        },
        environment={"PYTHONPATH": os.pathsep.join([str(third_party), *sys.path])},
    )
    with LocalCluster(settings) as running:
        yield running
    here = str(settings.run_dir)
    wait_until(lambda: not any(here in command_line(pid) for pid in pids()), "all have ended")
