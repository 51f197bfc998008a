"""The output of the Makefile's tools."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(shutil.which("mvn") is None, reason="no Maven here")
def test_maven_prints_no_escape_sequence_into_a_pipe() -> None:
    """A log of `make setup` is plain text, and Maven options of the caller stay."""
    rule = 'include Makefile\nversion:\n\t@$(MVN) -v && echo "options $$MAVEN_OPTS"\n'
    here = os.environ | {"MAVEN_OPTS": "-Xmx64m"}
    ran = subprocess.run(
        ["make", "--no-print-directory", "-f", "-", "version"],
        cwd=ROOT, env=here, input=rule.encode(), capture_output=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert b"\x1b" not in ran.stdout + ran.stderr
    assert b"options -Xmx64m " in ran.stdout
