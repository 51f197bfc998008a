"""The four papers that Loomcard is meant to carry can be said in its Plan API."""

import ast
import re
from pathlib import Path

import pytest

from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView

ROOT = Path(__file__).parents[1]
PAPERS = re.findall(
    r"^### ([^(\n]+) \(.*?^```python\n(.*?)^```",
    (ROOT / "ARCHITECTURE.md").read_text(),
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize(("paper", "loop"), PAPERS, ids=[paper for paper, _ in PAPERS])
def test_each_paper_can_be_said_in_the_plan_api(paper: str, loop: str) -> None:
    """The decide loop of a paper takes at most 30 lines and uses only what view and plan have."""
    assert len(loop.splitlines()) <= 30
    spoken = {"plan": Plan, "view": ClusterView}
    used = {
        (node.value.id, node.attr)
        for node in ast.walk(ast.parse(loop))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    instance = {"queue", "now_ms"}  # set on each view, not on the class
    unknown = [
        f"{name}.{attr}"
        for name, attr in sorted(used)
        if name in spoken and attr not in instance and not hasattr(spoken[name], attr)
    ]
    assert unknown == []


def test_all_four_papers_are_there() -> None:
    """H-DRF, DRESS, Coupling and Carbyne are what the API was cut for."""
    assert [paper for paper, _ in PAPERS] == ["H-DRF", "DRESS", "Coupling", "Carbyne"]
