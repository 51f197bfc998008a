"""A run writes only to its own folder."""

from pathlib import Path

import pytest

from loomcard.cli.app import run
from loomcard.cli.suite import mixes
from loomcard.experiments.inputs import InputError
from loomcard.experiments.out_folder import refuse_other_folder

WORKLOAD = """version: 1
kind: workload
cluster: {nodes: [{count: 1, memory_mb: 4096, vcores: 4}]}
applications: [{id: a, stages: [{id: s, tasks: 1, memory_mb: 1024, duration_ms: 1000}]}]
"""


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"results.json": "my own"}, "holds results.json, which no run has written"),
        ({"notes.txt": "my own", "cells/x": ""}, "holds notes.txt, which no run has written"),
        ({"manifest.json": "my own"}, "holds the results of another run"),
        ({"manifest.json": "[]"}, "holds the results of another run"),
        ({"manifest.json": '{"experiment": 1}'}, "holds the results of another run"),
        (
            {"manifest.json": '{"experiment": {"name": "b"}}', "results.json": "[]"},
            "holds the results of 'b', and this is 'a' (name another folder with --out",
        ),
    ],
)
def test_what_is_somebody_elses_is_refused(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    fill(tmp_path, files)
    with pytest.raises(InputError) as caught:
        refuse_other_folder(tmp_path, "a")
    [line] = caught.value.findings
    assert line.startswith(f"{tmp_path}: {said}")


@pytest.mark.parametrize(
    "files",
    [
        {},
        {".hidden": ""},
        {"cells/.a_s1.99/x": "", "cluster/x": "", "cells.csv": ""},
        {"manifest.json": '{"experiment": {"name": "a"}}', "report.html": "", "results.json": ""},
    ],
)
def test_its_own_it_goes_on_with(tmp_path: Path, files: dict[str, str]) -> None:
    """A run continues in its own folder, even if it was killed before it had written what it is."""
    fill(tmp_path, files)
    before = sorted(tmp_path.rglob("*"))
    refuse_other_folder(tmp_path, "a")
    refuse_other_folder(tmp_path / "none", "a")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    fill(tmp_path, {"x": ""})
    with pytest.raises(InputError, match="x: no folder"):
        refuse_other_folder(tmp_path / "x", "a")


def test_another_workloads_results_are_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same workload continues there, also under another policy."""
    out = tmp_path / "out"
    for name in ("a", "b"):
        (tmp_path / f"{name}.yml").write_text(WORKLOAD)
    words = ["--processes", "1", "--out", str(out)]
    for policy in ("fifo", "drf"):
        assert run(["run", str(tmp_path / "a.yml"), "--policy", policy, *words]) == 0
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    assert run(["run", str(tmp_path / "b.yml"), "--policy", "fifo", *words]) == 2
    assert "holds the results of 'a', and this is 'b'" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before


def test_the_suite_asks_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixes, "_cluster", lambda *_: pytest.fail("it began"))
    fill(tmp_path, {"results.json": "my own"})
    assert run(["suite", "run", "sort", "--policy", "drf", "--out", str(tmp_path)]) == 2
    [said] = capsys.readouterr().err.splitlines()
    assert "holds results.json" in said
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
