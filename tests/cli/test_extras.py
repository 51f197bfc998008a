"""What runs without the extras `simulate` and `report`, and the messages of all other commands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BLOCKER = """
import sys
class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {"numpy", "polars", "matplotlib", "cramjam", "distributed"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent)
"""


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which Python finds no package of an extra."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "sitecustomize.py").write_text(BLOCKER)
    return os.environ | {"PYTHONPATH": str(folder)}


def ran(words: list[str], env: dict[str, str], where: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from loomcard.cli import main; main()", *words],
        cwd=where, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_host_of_the_resource_manager_needs_no_extra(
    without: dict[str, str], tmp_path: Path
) -> None:
    """The policy process with every policy runs, and so do the commands of `cluster` and
    `submit`.
    """
    modules = (
        "bridge.process",
        "cli.cluster.commands",
        "cli.cluster.jobs",
    )
    source = "".join(f"import loomcard.{each}\n" for each in modules)
    source += "from loomcard.config.catalog import catalog\nassert len(catalog()) > 10\n"
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=tmp_path, env=without, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_reads_no_results_needs_no_extra(without: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "tree.yml").write_text("version: 1\npolicy: hdrf\nqueues: {a: {}, b: {}}\n")
    for words in (
        ["policy", "check", "tree.yml"],
        ["cluster", "render", "rendered", "--on", "docker", "--policy", "tree.yml"],
        ["schema", "policy"],
        ["schema", "mix"],
        ["suite", "list"],
    ):
        done = ran(words, without, tmp_path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["simulate", "mixed-30", "--policy", "drf"], "simulate"),
        (["stress", "drf"], "simulate"),
        (["replay", "journal"], "simulate"),
        (["suite", "run", "sort"], "simulate"),
        (["run", "mixed-30"], "simulate"),
        (["report", "results"], "report"),
        (["demo"], "report"),
    ],
)
def test_what_needs_an_extra_says_which(
    words: list[str], extra: str, without: dict[str, str], tmp_path: Path
) -> None:
    """The error is one line with the command to type, exit status 2."""
    done = ran(words, without, tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.rstrip().endswith(f'(pip install "loomcard[{extra}]")')
