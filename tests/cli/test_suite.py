"""`loomcard suite`: its output, and its refusals."""

import json
from pathlib import Path

import pytest

from loomcard.cli.app import run


def test_list_names_the_ten_and_grep(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == 11
    assert {each["framework"] for each in found} == {"mapreduce", "spark"}
    assert run(["suite", "list"]) == 0
    assert "terasort" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["grip"], "no benchmark 'grip' (there are wordcount, "),
        (["wordcount", "--size", "huge"], "no size 'huge' (there are tiny, small, large)"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["suite", "try", *words]) == 2
    assert capsys.readouterr().err.startswith(f"error: {said}")


@pytest.mark.parametrize("words", [["try", "kmeans"], ["run", "kmeans", "--policy", "drf"]])
def test_spark_needs_its_environment(
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is checked before anything runs; a wrong name for it is bad input."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOOMCARD_SUITE", str(tmp_path / "none"))
    said = f"no environment with pyspark in {tmp_path / 'none'} (make one with `loomcard suite"
    assert run(["suite", *words]) == 1
    assert capsys.readouterr().err.startswith(f"error: {said}")
    assert run(["suite", *words, "--environment", str(tmp_path / "none")]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_run_takes_mixes_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The suite runs a mix, or an experiment of mixes, on a real cluster."""
    (tmp_path / "e.yml").write_text(
        "version: 1\nkind: experiment\npolicies: [drf]\nworkloads: [slice]\n"
    )
    for what in ("slice", str(tmp_path / "e.yml")):
        assert run(["run", what, "--policy", "drf", "--seed", "2"]) == 2
        said = capsys.readouterr().err
        assert "--seed is not for mixes" in said
        assert "add --on local or --on docker" in said
    assert run(["run", "slice", "--on", "local"]) == 2
    assert "the suite needs a policy to run under" in capsys.readouterr().err
