"""The output of the Makefile's tools, and the Hadoop line that HADOOP= chooses."""

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


def dry_run(*words: str) -> subprocess.CompletedProcess[str]:
    """Return what the commands of a target would be."""
    return subprocess.run(
        ["make", "--no-print-directory", "-n", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_line_means_its_release() -> None:
    """Maven gets the release that the line's list of jars names; the own line needs none."""
    release = "-Dhadoop.line=3.5 -Dhadoop.version=3.5.0\n"
    assert "surefire:test " + release in dry_run("java", "HADOOP=3.5").stdout
    assert "-Dhadoop" not in dry_run("java", "HADOOP=3.4").stdout
    for target in ("chaos", "bench"):
        assert "LOOMCARD_HADOOP=3.5 " in dry_run(target, "HADOOP=3.5").stdout


def test_an_unknown_line_names_the_known_ones() -> None:
    """Make ends with status 2 before Maven begins."""
    ran = dry_run("yarn-tests", "HADOOP=3.9")
    assert ran.returncode == 2
    assert "HADOOP=3.9: no such line: name one of 3.4 " in ran.stderr
