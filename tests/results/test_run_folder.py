"""Run folders: reading returns what was written, equal runs give equal bytes, errors help."""

import errno
import json
import shutil
import subprocess
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from loomcard.report.runs import read_study
from loomcard.results.container_rows import ContainerRow
from loomcard.results.manifest import manifest
from loomcard.results.policy_series import StateRow
from loomcard.results.record import ApplicationRecord, RunRecord
from loomcard.results.run_folder import (
    CELLS,
    STATES,
    ResultError,
    cell_name,
    read_containers,
    read_run,
    read_states,
    whole,
    write_cell,
    write_run,
)

FILES = [
    "cells",
    "cells.csv",
    "cells.parquet",
    "containers.parquet",
    "manifest.json",
    "results.json",
]


def record(policy: str = "a.yml", seed: int = 1, **parameters: float | str) -> RunRecord:
    made = RunRecord(policy, "w", seed, "simulator", ["memory_mb", "gpu"], [(0, (8, 2))])
    made.applications = [ApplicationRecord("j1", "root.default", 0, ["small"], [(0, 9)])]
    made.applications[0].state = "SUCCEEDED"
    made.containers = [
        ContainerRow("j1", "s", 1, 1, "n2", False, (2, 0), 4, 5, 9, "completed"),
        ContainerRow("j1", "s", 0, 1, "n1", False, (2, 1), 0, 1, 5, "completed"),
    ]
    made.parameters = dict(parameters)
    made.ended_ms = 9
    return made


def test_a_run_folder_reads_back(tmp_path: Path) -> None:
    """Rows of every run come back with policy, seed and parameters, in the order of their
    allocations.
    """
    write_run(tmp_path, [record(), record(seed=2, theta=0.5)], manifest({"w.yml": b"x"}))
    read = read_run(tmp_path)
    assert [(run["policy"], run["seed"]) for run in read.runs] == [("a.yml", 1), ("a.yml", 2)]
    assert read.runs[1]["capacity"] == [[0, [8, 2]]]
    table = pl.read_parquet(tmp_path / "cells.parquet")
    assert table["completion_ms"].to_list() == [9, 9]
    assert table["tags"].to_list() == [["small"], ["small"]]
    containers = read_containers(tmp_path)
    assert containers["started_ms"].to_list() == [1, 5, 1, 5]
    assert containers["theta"].to_list() == [None, None, 0.5, 0.5]
    assert containers.select("memory_mb", "gpu").row(0) == (2, 1)
    assert sorted(file.name for file in tmp_path.iterdir()) == FILES


@pytest.mark.parametrize(
    "raised",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        pl.exceptions.ComputeError("parquet: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_names_the_file(tmp_path: Path, raised: Exception) -> None:
    """This is true for a write of Python's and for one of polars'."""

    def write() -> None:
        with whole(tmp_path / "f") as draft:
            draft.write_text("half")
            raise raised

    with pytest.raises(OSError, match="No space left on device") as caught:
        write()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "f"))
    assert list(tmp_path.iterdir()) == []


def test_what_policies_reported_has_a_file_of_its_own(tmp_path: Path) -> None:
    """It has the run's policy, seed and parameters; it is absent if nothing was reported."""
    expected = record(theta=0.5)
    expected.states = [StateRow(at_ms, "root", "p", "x", "X", "share", 0.5) for at_ms in (1, 2)]
    write_cell(tmp_path, expected, manifest({}))
    rows = read_states(tmp_path)
    assert rows.select("policy", "seed", "theta", "at_ms", "value").rows() == [
        ("a.yml", 1, 0.5, 1, 0.5), ("a.yml", 1, 0.5, 2, 0.5),
    ]  # fmt: skip
    write_cell(tmp_path, record(), manifest({}))
    assert not (tmp_path / STATES).exists()


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    """Neither the order in which an engine noted its containers nor its running time matters."""
    one, other = record(theta=0.5), record(theta=0.5)
    other.containers.reverse()
    other.seconds = 99.0
    for name, each in (("one", one), ("other", other)):
        write_run(tmp_path / name, [each], manifest({}))
    for file in ("results.json", "containers.parquet"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()


def test_what_differs_shows_in_the_bytes(tmp_path: Path) -> None:
    """The comparison above does not compare two empty things."""
    write_run(tmp_path / "one", [record()], manifest({}))
    write_run(tmp_path / "other", [record(seed=2)], manifest({}))
    for file in ("results.json", "containers.parquet"):
        assert (tmp_path / "one" / file).read_bytes() != (tmp_path / "other" / file).read_bytes()


def test_a_resource_may_be_called_as_a_column_is(tmp_path: Path) -> None:
    """With a resource type `task` the task's number is still there."""
    made = record()
    made.resource_types = ["memory_mb", "task"]
    write_run(tmp_path, [made], manifest({}))
    rows = read_containers(tmp_path).select("task", "resource_task").rows()
    assert rows == [(0, 1), (1, 0)]


def test_no_runs_are_a_folder_too(tmp_path: Path) -> None:
    """A run that was stopped before its first result leaves files that can be read."""
    write_run(tmp_path, [], manifest({}))
    assert read_run(tmp_path).runs == []
    assert (
        read_containers(tmp_path).height == pl.read_parquet(tmp_path / "cells.parquet").height == 0
    )


def test_the_manifest_names_versions_seeds_and_inputs() -> None:
    """It has enough to make the run again and to see that its inputs are the same."""
    made = manifest({"w.yml": b"x"}, command=["loomcard", "run"], seeds=[3], hadoop="3.4.2")
    assert made["inputs"] == {"w.yml": sha256(b"x").hexdigest()}
    assert (made["seeds"], made["command"]) == ([3], ["loomcard", "run"])
    assert {"loomcard", "python", "polars", "hadoop"} <= set(made["versions"])
    assert made["host"]["cores"] >= 1
    assert made["host"]["memory_mb"] > 100
    assert datetime.fromisoformat(made["made_at"]).tzinfo is not None


def test_the_manifest_names_the_commit_of_a_checkout() -> None:
    """For a clone it has the commit and whether it was changed; for an unpacked archive nothing."""
    made = manifest({})
    root = Path(__file__).parents[2]
    if (root / ".git").exists():
        head = ["git", "-C", str(root), "rev-parse", "HEAD"]
        commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
        assert made["git"]["commit"] == commit
        assert isinstance(made["git"]["dirty"], bool)
    else:
        assert made["git"] is None


def test_the_wall_clock_is_in_the_manifest_only(tmp_path: Path) -> None:
    """The time that a run took is useful, but does not belong to the result."""
    made = record()
    made.seconds = 1.5
    write_run(tmp_path, [made], manifest({}))
    found = read_run(tmp_path)
    assert found.manifest["seconds"] == {"a.yml_w_s1": 1.5}
    assert "seconds" not in found.runs[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(None, "holds no results.json", id="no file"),
        pytest.param("[1,\n2", "not JSON: .*line 2", id="half a file"),
        pytest.param('{"a": 1}', "Expected `array`, got `object`", id="something else"),
        pytest.param("[{}]", r"missing required field `policy` - at `\$\[0\]`", id="an empty run"),
    ],
)
def test_errors_name_the_file_and_the_remedy(
    tmp_path: Path, text: str | None, expected: str
) -> None:
    """Each error is one line that tells a reader what to do."""
    if text is not None:
        (tmp_path / "results.json").write_text(text)
    with pytest.raises(ResultError, match=f"(?s){tmp_path}.*{expected}.*\\(.*\\)"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ({"makespan_ms": "x"}, r"Expected `int \| null`, got `str` - at `\$\[0\]\.makespan_ms`"),
        ({"seed": 10**30}, r"Expected `int` <= \d+ - at `\$\[0\]\.seed`"),
        ({"utilization": {"memory_mb": 0.5}}, r"a share of each of .*\$\[0\]\.utilization"),
        ({"capacity": [[0, [4096]]]}, r"an amount of each of .*\$\[0\]\.capacity\[0\]"),
    ],
)
def test_a_damaged_figure_is_named_with_its_place(
    tmp_path: Path, damage: dict[str, object], expected: str
) -> None:
    """Otherwise it would show as a traceback in the middle of a report."""
    write_run(tmp_path, [record()], manifest({}))
    file = tmp_path / "results.json"
    file.write_text(json.dumps([json.loads(file.read_text())[0] | damage]))
    with pytest.raises(ResultError, match=f"{file}: not as Loomcard writes it: .*{expected}.*\\("):
        read_run(tmp_path)


def test_a_damaged_manifest_is_named_too(tmp_path: Path) -> None:
    """The page shows the manifest."""
    write_run(tmp_path, [record()], manifest({}) | {"seeds": "one"})
    with pytest.raises(ResultError, match=r"manifest\.json: .*Expected `array`.*\$\.seeds"):
        read_run(tmp_path)


def test_a_folder_of_an_older_simulate_reads_back(tmp_path: Path) -> None:
    """It had all its runs and containers in one folder, without cells."""
    write_run(tmp_path, [record(), record("b.yml")], manifest({}))
    file, before = tmp_path / "results.json", read_study([tmp_path])
    runs = json.loads(file.read_text())
    file.write_text(json.dumps([run for run in runs if run.pop("folder")]))
    shutil.rmtree(tmp_path / CELLS)
    after = read_study([tmp_path])
    assert after.applications.equals(before.applications)
    assert [run.containers().height for run in after.runs] == [2, 2]


def test_no_two_runs_have_one_folder() -> None:
    """The name says all if possible; otherwise it ends with a hash."""
    names = [
        cell_name(*run)
        for run in (
            ("a", "w", 1, "simulator", {}),
            ("a", "w", 1, "local", {}),
            ("a", "w", 11, "simulator", {}),
            ("a", "b-w", 1, "simulator", {}),
            ("a-b", "w", 1, "simulator", {}),
            ("a_b", "w", 1, "simulator", {}),
            ("a", "b_w", 1, "simulator", {}),
            ("a", "w", 1, "simulator", {"workload.x": 1}),
            ("a", "w", 1, "simulator", {"policy.x": 1}),
            ("a" * 150, "w", 1, "simulator", {}),
            ("a" * 151, "w", 1, "simulator", {}),
        )
    ]
    assert names[:3] == ["a_w_s1", "a_w_s1-" + names[1][-8:], "a_w_s11"]
    assert len(set(names)) == len(names)


def test_a_manifest_without_a_format_or_none_at_all_is_of_this_one(tmp_path: Path) -> None:
    """As tools write it that add a folder of their own."""
    write_run(tmp_path, [record()], manifest({}))
    file = tmp_path / "manifest.json"
    made = json.loads(file.read_text())
    del made["format"]
    file.write_text(json.dumps(made))
    assert read_run(tmp_path).manifest == made
    file.unlink()
    assert read_run(tmp_path).manifest == {}


def test_names_are_written_as_they_are(tmp_path: Path) -> None:
    """In UTF-8: a file is read by people, too."""
    named = record("é.yml")
    named.applications[0].id = "Größe"
    write_run(tmp_path, [named], manifest({"ü.yml": b"x"}))
    assert "é.yml" in (tmp_path / "results.json").read_text("utf-8")
    assert "Größe" in (tmp_path / "cells.csv").read_text("utf-8")
    assert "ü.yml" in (tmp_path / "manifest.json").read_text("utf-8")
    assert (tmp_path / "results.json").read_text("utf-8").count("\n") == 3  # a line for each run


@pytest.mark.parametrize("found", [2, None, "1"])
def test_a_folder_of_another_version_is_refused(tmp_path: Path, found: object) -> None:
    """Its results are not read: they may differ, or only seem to fit."""
    write_run(tmp_path, [record()], manifest({}) | {"format": found})
    for results in ("{}", "[]"):
        (tmp_path / "results.json").write_text(results)
        with pytest.raises(
            ResultError, match=rf"manifest\.json: expected format 1, found {found!r}"
        ):
            read_run(tmp_path)


def test_damaged_containers_are_named_when_they_are_wanted(tmp_path: Path) -> None:
    """The cases are half a file, and one with a column of something else."""
    write_run(tmp_path, [record()], manifest({}))
    file, whole = tmp_path / "containers.parquet", read_containers(tmp_path)
    whole.with_columns(pl.col("started_ms").cast(pl.String)).write_parquet(file)
    with pytest.raises(ResultError, match=r"a column 'started_ms' of Int64 \("):
        read_containers(tmp_path)
    file.write_bytes(b"PAR1")
    with pytest.raises(ResultError, match=f"{file}: not a table of containers: .*\\("):
        read_containers(tmp_path)


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is written completely or not at all."""
    write_run(tmp_path, [record()], manifest({}))
    before = (tmp_path / "containers.parquet").read_bytes()

    def full(_: pl.DataFrame, file: Path, **__: object) -> None:
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(OSError, match="No space"):
        write_run(tmp_path, [record(seed=5)], manifest({}))
    assert (tmp_path / "containers.parquet").read_bytes() == before
    assert read_run(tmp_path).runs[0]["seed"] == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == FILES
