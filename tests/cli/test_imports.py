"""What is not imported before it is needed; `make bench-import` has the CPU time."""

import json
import subprocess
import sys

import pytest

HEAVY = {"jinja2", "matplotlib", "msgspec", "numpy", "polars", "pydantic", "requests", "yaml"}
HEAVY |= {"loomcard.exports", "loomcard.api", "loomcard.config", "loomcard.simulator"}


@pytest.mark.parametrize(
    "source",
    [
        "import loomcard",
        "from loomcard.cli.app import run; run(['--help'])",
        "from loomcard.cli.app import run; run(['--version'])",
    ],
)
def test_nothing_heavy_is_imported(source: str) -> None:
    """Neither for the package nor for the list of commands."""
    code = f"{source}\nimport json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY & set(json.loads(done.stderr)) == set()


@pytest.mark.parametrize("command", ["run", "report", "submit", "cluster"])
def test_help_needs_nothing_of_what_a_command_does(command: str) -> None:
    """Neither the libraries of results nor an HTTP client, templates or the simulator."""
    code = f"from loomcard.cli.app import run; run([{command!r}, '--help'])"
    code += "\nimport json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    there = set(json.loads(done.stderr))
    assert {"jinja2", "numpy", "polars", "requests", "loomcard.simulator"} & there == set()
