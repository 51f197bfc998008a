"""docs/write/api.md: each of its examples runs as it stands there."""

import inspect
import re
from pathlib import Path
from pydoc import locate

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "write" / "api.md").read_text()
GROUPS = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
NAMES = re.findall(r"^::: (\S+)$", PAGE, re.MULTILINE)
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("group", "text"), GROUPS, ids=[group for group, _ in GROUPS])
def test_each_group_has_an_example_that_runs(group: str, text: str) -> None:
    """Its own assertions say what comes out. Those of testing are in docs/write/testing.md."""
    examples = EXAMPLE.findall(text)
    if group == "Testing a policy":
        assert "(testing.md)" in text
        return
    assert len(examples) == 1
    assert "assert" in examples[0]
    exec(compile(examples[0], f"docs/write/api.md, {group}", "exec"), {})  # noqa: S102 (ours)


def test_no_docstring_has_what_a_browser_takes_for_a_tag() -> None:
    """The docstrings are rendered as Markdown: outside of code `<number>` would vanish."""
    texts = []
    for found in map(locate, NAMES):
        texts.append(inspect.getdoc(found) or "")
        if inspect.isclass(found):
            own = [member for name, member in vars(found).items() if not name.startswith("_")]
            documented = (m for m in own if callable(m) or inspect.isdatadescriptor(m))
            texts += [member.__doc__ or "" for member in documented]
    code = re.compile(r"(`+).*?\1", re.DOTALL)
    assert [text for text in texts if re.search(r"<[a-z]", code.sub("", text))] == []
