"""Each example of docs/write/api.md runs as it is written there."""

import inspect
import re
from pathlib import Path
from pydoc import locate

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "write" / "api.md").read_text()
NAMES = re.findall(r"^::: (\S+)$", PAGE, re.MULTILINE)
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_runs(example: str) -> None:
    """Its own assertions say what comes out."""
    assert "assert" in example
    exec(compile(example, "docs/write/api.md", "exec"), {})  # noqa: S102 (ours)


def test_no_docstring_has_what_a_browser_takes_for_a_tag() -> None:
    """The docstrings are rendered as Markdown, in which `<number>` outside of code would vanish."""
    texts = []
    for found in map(locate, NAMES):
        texts.append(inspect.getdoc(found) or "")
        if inspect.isclass(found):
            own = [member for name, member in vars(found).items() if not name.startswith("_")]
            documented = (m for m in own if callable(m) or inspect.isdatadescriptor(m))
            texts += [member.__doc__ or "" for member in documented]
    code = re.compile(r"(`+).*?\1", re.DOTALL)
    assert [text for text in texts if re.search(r"<[a-z]", code.sub("", text))] == []
