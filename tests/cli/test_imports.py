"""What is not imported before it is needed; `make bench-import` measures the CPU time."""

import json
import subprocess
import sys
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement

from loomcard.cli.app import EXTRAS

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
    """Neither the package nor the list of commands imports anything heavy."""
    code = f"{source}\nimport json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY & set(json.loads(done.stderr)) == set()


REFUSED = {"jinja2", "py4j", "requests", "loomcard.bridge", "loomcard.engine", "loomcard.simulator"}
REFUSED |= {"loomcard.workload.loading", *EXTRAS}
"""Packages that no help imports: those that an installation may lack, and those that take long."""

HELP_OF_ALL = """
import contextlib, io, json, sys
refused = set(json.loads(sys.argv[1]))
tried = []

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in refused:
            tried.append(name)  # also where a try keeps the error from us
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent)
from loomcard.cli.app import run
from loomcard.cli.commands import COMMANDS, load

def paths(command, path):
    yield path
    for name, each in getattr(command, "commands", {}).items():
        yield from paths(each, [*path, name])

def help_of(path):
    tried.clear()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = run([*path, "--help"])
    return {"status": status, "usage": "Usage:" in printed.getvalue(), "tried": sorted(set(tried))}

def all_paths():
    for name in COMMANDS:
        try:
            yield from paths(load(name), [name])
        except ModuleNotFoundError:
            yield [name]  # its help fails likewise

print(json.dumps({" ".join(path): help_of(path) for path in [[], *all_paths()]}))
"""


def test_every_help_prints_without_what_a_command_does() -> None:
    """Each command and sub-command prints its help without the extras, an HTTP client, templates
    and simulator.
    """
    done = subprocess.run(
        [sys.executable, "-c", HELP_OF_ALL, json.dumps(sorted(REFUSED))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seen = json.loads(done.stdout)
    assert {"", "simulate", "suite run", "cluster up", "hibench doctor"} <= seen.keys()
    well = {"status": 0, "usage": True, "tried": []}
    assert {path: found for path, found in seen.items() if found != well} == {}


def test_every_package_of_an_extra_is_known() -> None:
    """Each package of `simulate`, `report` and `dask` has a line that names the extra, and is
    refused above.
    """
    wanted = (Requirement(line) for line in requires("loomcard") or ())
    brought = {
        each.name
        for each in wanted
        for extra in ("simulate", "report", "dask")
        if each.marker is not None
        and each.marker.evaluate({"extra": extra})
        and not each.marker.evaluate({"extra": ""})
    }
    assert brought - {"loomcard"} <= EXTRAS.keys()
