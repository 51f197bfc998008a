"""Who may import whom: ARCHITECTURE.md's arrows, checked on the source and by import-linter."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "loomcard"
IMPURE = {"time", "datetime", "random", "os", "threading", "asyncio", "socket", "logging", "py4j"}
IMPURE |= {"yaml", "importlib"}
EXEMPT = {"random.py": IMPURE, "registry.py": {"importlib"}, "plain_data.py": {"importlib"}}
ROOMS = ("wire", "model", "api", "engine", "policies")
PURE = [p for room in ROOMS for p in sorted((PACKAGE / room).rglob("*.py"))]


def imported(source: str) -> set[str]:
    """The top-level names of all modules that the source imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(str(node.module).split(".")[0])
    return names


@pytest.mark.parametrize("path", PURE, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_what_decides_knows_no_clock_chance_or_machine(path: Path) -> None:
    """A policy sees the view and nothing else: that makes replay byte-identical."""
    forbidden = imported(path.read_text()) & (IMPURE - EXEMPT.get(path.name, set()))
    assert forbidden == set(), f"{path.relative_to(ROOT)} imports {sorted(forbidden)}"


def test_the_check_sees_every_form_of_import() -> None:
    """Plain, dotted, from, and inside a function; relative imports are our own."""
    source = (
        "import os.path\nfrom time import sleep\ndef f():\n    import yaml\nfrom . import random"
    )
    assert imported(source) == {"os", "time", "yaml"}


def test_arrows_point_one_way() -> None:
    """The layer contracts of pyproject.toml hold."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    here = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(ROOT)])}
    linted = subprocess.run(
        command, cwd=ROOT, env=here, capture_output=True, text=True, check=False
    )
    assert linted.returncode == 0, linted.stdout + linted.stderr
