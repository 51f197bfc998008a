"""`make golden`: which journals exist, how a difference is shown, and recording again."""

import lzma
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from loomcard.api.registry import built_in
from loomcard.wire.journal import read_segment

GOLDEN = Path(__file__).parent / "golden"
PAIR = "swap/drf"
FILE = f"{PAIR}.jsonl.xz"


@pytest.fixture
def golden(tmp_path: Path):
    """Run the script on a folder of its own, under a seed of hashes."""

    def run(*arguments: str, seed: int = 1) -> tuple[int, str]:
        command = [sys.executable, GOLDEN / "run.py", "--journals", tmp_path, "--processes", "1"]
        environment = os.environ | {"PYTHONHASHSEED": str(seed)}
        done = subprocess.run(
            [*command, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_every_policy_has_a_journal_on_every_workload():
    """The workloads are the same for all policies, at least a dozen; each file states its
    schema.
    """
    workloads = {folder.name: folder for folder in (GOLDEN / "journals").iterdir()}
    assert len(workloads) >= 12
    for folder in workloads.values():
        found = {path.name.removesuffix(".jsonl.xz") for path in folder.iterdir()}
        assert found >= set(built_in())
        assert read_segment(folder / "drf.jsonl.xz").hello.schema >= 3


def test_a_journal_is_recorded_alike_under_other_hashes(golden):
    """They are equal byte by byte; a second recording writes nothing."""
    status, said = golden("--record", PAIR, seed=1)
    assert (status, said) == (0, "golden: 1 journals recorded: 1 changed, 0 removed\n")
    status, said = golden("--record", PAIR, seed=2)
    assert (status, said) == (0, "golden: 1 journals recorded: 0 changed, 0 removed\n")


def test_a_difference_names_journal_policy_round_and_both_decisions(golden, tmp_path):
    """The first decision that differs is shown as it was recorded and as it is now."""
    text = lzma.decompress((GOLDEN / "journals" / FILE).read_bytes()).decode()
    changed, count = re.subn(r'(\["allocate",\d+,\d+,\d+),\d+,', r"\1,99,", text, count=1)
    assert count
    (tmp_path / "swap").mkdir()
    (tmp_path / FILE).write_bytes(lzma.compress(changed.encode()))
    status, said = golden()
    first, recorded, now, last = said.splitlines()
    assert status == 1
    assert first.startswith(f"{FILE}: policy drf, round ")
    assert "decisions[" in first
    assert "node=99" in recorded
    assert "node=" in now.replace("node=99", "")
    assert last.endswith("1 of 1 journals differ")


def test_a_policy_that_cannot_be_loaded_is_a_difference(golden, tmp_path):
    """The script does not wait for its worker, whose error cannot be sent to another process."""
    text = lzma.decompress((GOLDEN / "journals" / FILE).read_bytes()).decode()
    changed, count = re.subn(r"\bdrf\b", "gone", text)
    assert count
    (tmp_path / "swap").mkdir()
    (tmp_path / FILE).write_bytes(lzma.compress(changed.encode()))
    status, said = golden()
    assert status == 1
    assert "swap/drf.jsonl.xz: cannot be replayed: PolicyNotFoundError: " in said
