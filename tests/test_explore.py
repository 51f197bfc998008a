"""Properties draw the same examples in every `make test`, and others in `make explore`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
BROKEN = """
from hypothesis import given, strategies as st

@given(st.integers(0, 10**9))
def test_all_are_small(number):
    assert number % 7 != 3
"""


@pytest.mark.skipif("LOOMCARD_EXAMPLES" in os.environ, reason="examples were asked to differ")
def test_examples_are_the_same_in_every_run() -> None:
    """Neither chance, nor the time that an example takes, nor an earlier run decides."""
    assert settings().derandomize
    assert settings().deadline is None
    assert settings().database is None


@pytest.mark.slow
def test_a_find_is_shown_with_the_seed_that_gives_it_again(tmp_path: Path) -> None:
    """Every round continues with its own seed, and the status says that something was found."""
    (tmp_path / "test_broken.py").write_text(BROKEN)
    command = [
        sys.executable, str(TESTS / "explore.py"), "--rounds", "2", "--seed", "5",
        str(tmp_path), f"--rootdir={tmp_path}", "-p", "conftest",
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS / 'support'}"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "explore: seed 5 fails" in done.stdout
    assert "--rounds 1 --seed 6" in done.stdout
    assert "test_all_are_small(" in done.stdout
    assert done.stdout.endswith("explore: 0 of 2 seeds from 5 on held\n")
