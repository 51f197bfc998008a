"""`loomcard trace` and `loomcard schema`, as a user types them."""

import json
from pathlib import Path

import pytest

from loomcard.cli.app import run
from loomcard.config.schema import schema as policy_schema
from loomcard.workload import load
from loomcard.workload.schema import schema as workload_schema

SWIM = Path(__file__).parents[1] / "workload" / "data" / "swim.tsv"


def test_inspect_shows_sums_and_plots(capsys: pytest.CaptureFixture[str]) -> None:
    """The content of a shipped workload is shown on one screen."""
    assert run(["trace", "inspect", "mixed-30"]) == 0
    shown = capsys.readouterr().out
    for part in ("30, submitted within", "5 nodes in 1 rack:", "large", "tasks by their time", "█"):
        assert part in shown


def test_inspect_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The same content is printed for programs."""
    assert run(["trace", "inspect", str(SWIM), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["format"], figures["applications"], figures["tasks"]) == ("swim", 3, 16)


def test_convert_writes_a_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The written workload can be loaded, and has no random values."""
    out = tmp_path / "w.yml"
    assert run(["trace", "convert", str(SWIM), "--out", str(out)]) == 0
    assert "3 applications" in capsys.readouterr().out
    assert load(out, seed=1).applications == load(out, seed=2).applications


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nowhere"], "no such file (shipped workloads: "),
        ([str(SWIM), "--format", "sls"], "swim.tsv, line 1, column 1: not JSON"),
        ([str(SWIM), "--format", "tape"], "no format 'tape'"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 2, with the file, the line and the remedy."""
    assert run(["trace", "inspect", *arguments]) == 2
    said = capsys.readouterr().err
    assert part in said
    assert len(said.splitlines()) == 1


def test_schemas_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The schema is that of configurations unless another kind is named."""
    for arguments, expected in (([], policy_schema()), (["workload"], workload_schema())):
        assert run(["schema", *arguments]) == 0
        assert json.loads(capsys.readouterr().out) == expected
