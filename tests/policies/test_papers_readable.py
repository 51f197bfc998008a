"""A paper's package begins with `paper.py`, and what stands there is what runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
POLICIES = ROOT / "python" / "loomcard" / "policies"
PAPERS = sorted(POLICIES.glob("*/paper.py"))
TIE = re.compile(r"(tests/[\w/]+\.py)::(\w+)")


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    return {n.name: n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)}


def names(tree: ast.AST) -> set[str]:
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def in_production(paper: Path) -> set[str]:
    """The paper's functions that its policy calls, or that those call."""
    beside = [p for p in paper.parent.glob("*.py") if p.name not in (paper.name, "__init__.py")]
    known, used = functions(paper), set()
    wanted = set.union(*(names(ast.parse(path.read_text())) for path in beside)) & set(known)
    while wanted:
        used |= wanted
        wanted = set.union(*(names(known[name]) for name in wanted)) & set(known) - used
    return used


def ties(function: ast.FunctionDef) -> list[tuple[str, str]]:
    return TIE.findall(ast.get_docstring(function) or "")


def test_each_papers_package_has_one() -> None:
    assert {path.parent.name for path in PAPERS} >= {"dress", "hdrf", "tetris"}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.parent.name)
def test_a_function_runs_or_names_the_test_that_ties_it_to_what_runs(paper: Path) -> None:
    running = in_production(paper)
    for name, function in functions(paper).items():
        assert name in running or ties(function), f"{name} of {paper} runs nowhere"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.parent.name)
def test_the_tests_that_are_named_exist_and_use_the_function(paper: Path) -> None:
    known = functions(paper)
    for name, function in known.items():
        callers = {name, *(other for other, body in known.items() if name in names(body))}
        for file, test in ties(function):
            assert test in functions(ROOT / file), f"{name}: no {file}::{test}"
            assert callers & names(ast.parse((ROOT / file).read_text())), f"{file} without {name}"
