"""The suite on a real YARN, as at the begin of docs/benchmarks/suite.md: MapReduce and Spark jobs,
checked results, and policies swapped while the cluster is up.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from loomcard.results.run_folder import read_json

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "benchmarks" / "suite.md").read_text()


def commands() -> list[str]:
    """Return the lines of the page's first block."""
    block = re.search(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert block is not None
    return block[1].splitlines()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, with the command on the path; the environment is made once."""
    binaries = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{binaries}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("LOOMCARD_SUITE", os.environ.get("LOOMCARD_SUITE", f"{ROOT}/build/suite"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_of_the_page_works(folder: Path) -> None:
    """Each exits with 0: every result is right, and the named policy decided every container."""
    for command in commands():
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    out = folder / "run" / "suite" / "slice"
    runs = read_json(out / "results.json")
    ran = [run for run in runs if "foretold" not in run["policy"]]
    assert [run["policy"] for run in ran] == ["drf", "dress"]
    for run in ran:
        account = read_json(out / run["folder"] / "manifest.json")["suite"]
        assert [job["result"] for job in account["jobs"]] == ["right"] * 3
        assert account["allocations"]["fallback"] == 0
        # An AM, two maps and a reduce; twice a driver and at least one executor.
        assert account["allocations"]["policy"] >= 8
        assert all(each["foretold_ms"] for each in account["foretold"])
        assert {each["state"] for each in run["applications"]} == {"SUCCEEDED"}
    assert len(runs) == 4
    assert "foretold" in (folder / "run" / "slice.html").read_text()
