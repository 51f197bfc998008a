"""Loomcard's own policies use what anybody's may use, and nothing else."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import loomcard

ROOT = Path(__file__).parents[2]
POLICIES = ROOT / "python" / "loomcard" / "policies"
FILES = sorted(POLICIES.rglob("*.py"))
OUTSIDE = sorted((ROOT / "tests" / "outside").glob("*.py"))
HELPERS = {"mypy_extensions"}


def offences(source: str, own: str) -> Iterator[str]:
    """What a policy of the package ``own`` may not write: imports of anything but the standard
    library, ``loomcard`` and its own package, and private names of others' objects.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [str(node.module)]
            if node.module == "loomcard":
                unknown = {alias.name for alias in node.names} - set(loomcard.__all__)
                yield from (f"line {node.lineno}: loomcard exports no {name}" for name in unknown)
        else:
            if isinstance(node, ast.Attribute) and private(node.attr):
                owner = node.value
                if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                    yield f"line {node.lineno}: private name {node.attr}"
            continue
        for module in modules:
            top = module.split(".")[0]
            allowed = top in sys.stdlib_module_names or top in HELPERS or module == "loomcard"
            if not allowed and not f"{module}.".startswith(f"{own}."):
                yield f"line {node.lineno}: imports {module}"


def private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def package_of(path: Path) -> str:
    """``loomcard.policies.hdrf`` of a file in it; of a policy in one file that file."""
    first = path.relative_to(POLICIES).parts[0]
    return f"loomcard.policies.{first.removesuffix('.py')}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(POLICIES)))
def test_a_policy_uses_the_public_api_alone(path: Path) -> None:
    assert list(offences(path.read_text(), package_of(path))) == []


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.name)
def test_the_outside_policies_use_it_alone_too(path: Path) -> None:
    assert list(offences(path.read_text(), "outside")) == []


@pytest.mark.parametrize(
    "line",
    [
        "from loomcard.model.resource import fits",
        "import loomcard.api.view",
        "from loomcard.policies.hdrf.paper import Node",
        "from loomcard import Mirror",
        "def f(view):\n    return view._state",
        "def f():\n    import msgspec",
    ],
)
def test_the_check_sees_it(line: str) -> None:
    assert len(list(offences(line, "loomcard.policies.dress"))) == 1


def test_what_is_allowed() -> None:
    source = """
from dataclasses import dataclass
from loomcard import Plan
from loomcard.policies.dress.paper import LARGE
class A:
    def f(self):
        return self._own.__class__
"""
    assert list(offences(source, "loomcard.policies.dress")) == []


def test_all_names_each_once_and_exists() -> None:
    assert len(loomcard.__all__) == len(set(loomcard.__all__))
    assert all(hasattr(loomcard, name) for name in loomcard.__all__)
