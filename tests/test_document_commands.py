"""The commands that the documents tell a reader to type work unchanged."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from document_commands import ROOT, RUN, commands

pytestmark = pytest.mark.cluster

NEEDS_A_CLUSTER = (
    "docs/policies/overview.md",
    "docs/simulate/dag.md",
    "docs/simulate/simulator.md",
)
"""Pages that expect a running cluster on which a job has run."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all pages, with the files of a checkout that they name; no cluster is left."""
    made = tmp_path_factory.mktemp("documents")
    shutil.copy(ROOT / "README.md", made)
    shutil.copytree(ROOT / "policies", made / "policies")
    (made / "run").mkdir()
    yield made
    shell("loomcard cluster down --on local", made)


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the line in that folder, with this environment's commands on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(  # noqa: S602
        line, shell=True, cwd=folder, env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip


QUICK = ("README.md",)
"""The pages whose commands run in every run of the tests; the others are slow."""


@pytest.mark.parametrize(
    "page",
    [page if page in QUICK else pytest.param(page, marks=pytest.mark.slow) for page in RUN],
)
def test_the_commands_of_a_page_work(page: str, folder: Path) -> None:
    """Each exits with 0, typed in order; a page that says "up" also says "down"."""
    if page in NEEDS_A_CLUSTER:
        assert shell("loomcard cluster up --on local", folder).returncode == 0
        assert shell("loomcard submit pi 1 10", folder).returncode == 0
    typed = [each for each in commands(page) if each.is_run()]
    assert typed
    for each in typed:
        done = shell(each.line, folder)
        assert done.returncode == 0, f"{each.line}\n{done.stdout}\n{done.stderr}"
    if page in NEEDS_A_CLUSTER:
        assert shell("loomcard cluster down --on local", folder).returncode == 0
