"""Each example of docs/write/testing.md runs as it is written there."""

import re
from pathlib import Path

import pytest

from loomcard.testing import Clause

PAGE = (Path(__file__).parents[2] / "docs" / "write" / "testing.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(example: str) -> None:
    """The example's own assertions check the results."""
    assert "assert" in example or "check_contract" in example
    exec(compile(example, "docs/write/testing.md", "exec"), {})  # noqa: S102 (the page is ours)


def test_every_clause_is_in_the_table() -> None:
    """The table has each clause's text in errors and its name for `skip`. A new clause needs a
    row.
    """
    rows = re.findall(r"^\| `(\S+)` \| `([A-Z_]+)` \|", PAGE, re.MULTILINE)
    assert rows == [(clause.value, clause.name) for clause in Clause]
