"""docs/api.md: each of its examples runs as it stands there."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
GROUPS = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("group", "text"), GROUPS, ids=[group for group, _ in GROUPS])
def test_each_group_has_an_example_that_runs(group: str, text: str) -> None:
    """Its own assertions say what comes out. Those of testing are in docs/testing.md."""
    examples = EXAMPLE.findall(text)
    if group == "Testing a policy":
        assert "(testing.md)" in text
        return
    assert len(examples) == 1
    assert "assert" in examples[0]
    exec(compile(examples[0], f"docs/api.md, {group}", "exec"), {})  # noqa: S102 (the page is ours)
