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
