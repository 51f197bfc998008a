"""The examples of docs/write/policy-guide.md are policies that work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loomcard.testing import Clause, check_contract

PAGE = Path(__file__).parents[2] / "docs" / "write" / "policy-guide.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
PUBLIC = re.compile(r"^(?:from|import) (\S+)", re.MULTILINE)


BY_DESIGN = {"InTurn": [Clause.WAIT], "Polite": [Clause.IDLE]}
"""What an example does not keep, and the page says so."""


def name_of(block: str) -> str:
    """Return the name of the policy, which is the last dataclass of the block."""
    return re.findall(r"^@dataclass\(frozen=True\)\nclass (\w+)", block, re.MULTILINE)[-1]


@pytest.mark.parametrize(
    "block",
    [BLOCKS[0], *(pytest.param(block, marks=pytest.mark.slow) for block in BLOCKS[1:])],
    ids=name_of,
)
def test_each_example_keeps_the_contract(block: str, tmp_path: Path) -> None:
    assert set(PUBLIC.findall(block)) <= {"dataclasses", "loomcard"}
    file = tmp_path / "example.py"
    file.write_text(block)
    skip = BY_DESIGN.get(name_of(block), [])
    check_contract(f"{file}:{name_of(block)}", seeds=[0], skip=[*skip, Clause.STRESS])


def test_there_are_as_many_as_the_page_promises() -> None:
    assert len(BLOCKS) == 5
