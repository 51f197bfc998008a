"""The example notebook runs from top to bottom, and is stored without its outputs."""

from pathlib import Path

import pytest

pytest.importorskip("nbclient", reason="`make rest` installs it, the extra notebook")
import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

BOOK = Path(__file__).parents[2] / "docs" / "examples" / "first-policy.ipynb"


@pytest.mark.slow
def test_the_example_runs() -> None:
    """Each cell that ends in an expression shows something; the last one is true."""
    book = nbformat.read(BOOK, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)
    NotebookClient(book, timeout=500, kernel_name="python3").execute()
    shown = [cell.outputs[-1]["data"] for cell in code]
    assert [next(iter({"text/html", "image/svg+xml"} & set(data)), "") for data in shown] == [
        "text/html", "text/html", "text/html", "image/svg+xml", "",
    ]  # fmt: skip
    assert "drf" in shown[0]["text/html"]
    assert "last first" in shown[2]["text/html"]
    assert shown[4]["text/plain"] == "True"
