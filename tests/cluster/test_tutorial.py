"""The tutorial as a test: its files are written and its commands run, in order, as on the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "write" / "tutorial.md").read_text()
BLOCK = re.compile(r"(?:^`([\w.]+)`:\n\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def files() -> dict[str, str]:
    """Return the text of every block that the line above it names."""
    return {name: text for name, _, text in BLOCK.findall(PAGE) if name}


def commands() -> list[str]:
    """Return the lines of the shell blocks, in order."""
    return [
        line
        for _, kind, text in BLOCK.findall(PAGE)
        if kind == "sh"
        for line in text.split("\n")
        if line
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder; a cluster that was started there is stopped in the end, whatever happens."""
    binaries = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{binaries}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    for name, text in files().items():
        (tmp_path / name).write_text(text)
    yield tmp_path
    subprocess.run(["loomcard", "cluster", "down"], capture_output=True, check=False)


def test_every_command_of_the_tutorial_works(folder):
    """Each exits with 0; the small jobs gain, the replay finds nothing, the swap is visible."""
    said = {}
    for command in commands():
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        said.setdefault(command.partition(" --")[0], []).append(done.stdout)
    assert " passed" in said["python -m pytest -q test_smallest_first.py"][0]
    first, second = said["loomcard status"]
    assert "version 1" in first
    assert "version 2" in second


def test_the_page_shows_all_that_it_uses():
    """The page shows the files of code, configurations and workloads; no block is without a
    test.
    """
    kinds = {kind for _, kind, _ in BLOCK.findall(PAGE)}
    assert kinds == {"python", "yaml", "sh", "toml"}
    assert len(files()) == len(re.findall(r"^```(?:python|yaml)$", PAGE, re.MULTILINE)) == 5
    assert len(commands()) == 11
