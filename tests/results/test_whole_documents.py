"""The whole of what is kept of a run, in every field: its facts, tables, manifest and names."""

import json
import platform
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import polars as pl
import pytest

from loomcard.results import manifest as manifests
from loomcard.results.container_rows import ContainerRow
from loomcard.results.manifest import manifest
from loomcard.results.metrics import facts
from loomcard.results.policy_series import StateRow
from loomcard.results.record import ApplicationRecord, QueueShare, RunRecord
from loomcard.results.run_folder import cell_name, read_run, write_run
from loomcard.results.tables import cell_table, container_table, state_table


def small_run() -> RunRecord:
    """Return a run of 100 s on (8, 2): one application that ended, one that failed, one that
    waits.
    """
    record = RunRecord(
        "p.yml", "w", 7, "local", ["memory_mb", "gpu"], [(0, (8, 2)), (50_000, (4, 2))]
    )
    record.applications = [
        ApplicationRecord("b", "root.x", 1000, ["small", "t"], [(1000, 41_000)], "SUCCEEDED"),
        ApplicationRecord("a", "root.y", 0, [], [(60_000, 100_000), (0, 20_000)], "FAILED", "why"),
        ApplicationRecord("c", "root.y", 90_000, [], [(90_000, 100_000)]),
    ]
    record.containers = [
        ContainerRow("b", "s", 1, 1, "n2", False, (2, 1), 2000, 11_000, 41_000, "completed"),
        ContainerRow("b", "", -1, 1, "n1", True, (1, 0), 1000, 1000, 42_000, "completed"),
        ContainerRow("a", "s", 0, 2, "n1", False, (4, 0), 0, 10_000, 20_000, "killed"),
        ContainerRow("c", "s", 0, 1, "n1", False, (4, 0), 95_000, None, None, ""),
    ]
    record.parameters = {"policy.theta": 0.5, "a": "x"}
    record.refusals = {"NODE_FULL": 2, "LATE": 1}
    record.bounds = {"makespan_ms": 5, "completion_ms": 4}
    record.ideals_ms = {"b": 30_000}
    record.queues = {"root.y": QueueShare(2.0, 0.5, 1.0), "root.x": QueueShare(1.0, 0.0, 1.0)}
    record.states = [StateRow(5, "root.x", "delta", "", "", "shares", 0.5)]
    record.ended_ms = 100_000
    return record


A = {
    "id": "a", "queue": "root.y", "tags": [], "state": "FAILED", "submitted_ms": 0,
    "first_container_ms": 10_000, "finished_ms": 20_000, "waiting_ms": 10_000,
    "completion_ms": 20_000, "diagnostics": "why", "ideal_ms": None,
    "demanding": [[0, 20_000], [60_000, 100_000]],
}  # fmt: skip
B = {
    "id": "b", "queue": "root.x", "tags": ["small", "t"], "state": "SUCCEEDED",
    "submitted_ms": 1000, "first_container_ms": 11_000, "finished_ms": 41_000, "waiting_ms": 10_000,
    "completion_ms": 40_000, "ideal_ms": 30_000, "demanding": [[1000, 41_000]],
}  # fmt: skip
C = {
    "id": "c", "queue": "root.y", "tags": [], "state": "", "submitted_ms": 90_000,
    "first_container_ms": None, "finished_ms": None, "waiting_ms": None, "completion_ms": None,
    "ideal_ms": None, "demanding": [[90_000, 100_000]],
}  # fmt: skip


def test_all_that_is_kept_of_a_run():
    """Of memory 4/8 were used for 10 s, 2/8 for 30 s and 1/8 for 41 s of 100 s; of GPUs 1/2 for
    30 s. An application waits, so that there is no makespan.
    """
    found = facts(small_run())
    jain, windows = found.pop("jain"), found.pop("jain_windows")
    assert len(found.pop("capped_jain_windows")) == len(windows)
    assert found == {
        "policy": "p.yml", "workload": "w", "seed": 7, "engine": "local", "finished": True,
        "parameters": {"a": "x", "policy.theta": 0.5}, "makespan_ms": None,
        "utilization": {"memory_mb": 0.17625, "gpu": 0.15},
        "refusals": {"LATE": 1, "NODE_FULL": 2}, "applications": [B, A, C],
        "bounds": {"completion_ms": 4, "makespan_ms": 5}, "resource_types": ["memory_mb", "gpu"],
        "capacity": [[0, [8, 2]], [50_000, [4, 2]]], "window_ms": 60_000,
        "queues": {
            "root.x": {"weight": 1.0, "guaranteed": 0.0, "maximum": 1.0},
            "root.y": {"weight": 2.0, "guaranteed": 0.5, "maximum": 1.0},
        },
    }  # fmt: skip
    assert list(found["parameters"]) == ["a", "policy.theta"]
    assert list(found["refusals"]) == ["LATE", "NODE_FULL"]
    assert list(found["queues"]) == ["root.x", "root.y"]
    assert (len(windows), jain["min"], jain["max"]) == (2, min(windows), max(windows))
    assert jain["mean"] == pytest.approx(sum(windows) / 2)


def test_a_run_in_which_all_ended_has_a_makespan():
    record = small_run()
    record.applications.pop()
    found = facts(record)
    assert found["makespan_ms"] == 41_000
    assert found["utilization"]["gpu"] == pytest.approx(0.5 * 30 / 41)
    assert facts(replace(record, finished=False))["makespan_ms"] is None


def test_all_columns_of_the_tables():
    """A row for each application with the run's facts before its own; the containers in the order
    of their allocations.
    """
    record = small_run()
    run = facts(record)
    table = cell_table([run, facts(replace(record, seed=8, engine="simulator"))])
    assert table.columns == [
        "run", "policy", "workload", "seed", "engine", "a", "policy.theta", "finished",
        "makespan_ms", "jain_min", "jain_mean", "jain_max", "utilization_memory_mb",
        "utilization_gpu", "id", "queue", "tags", "state", "submitted_ms", "first_container_ms",
        "finished_ms", "waiting_ms", "completion_ms",
    ]  # fmt: skip
    jain = run["jain"]
    assert table.row(1) == (
        0, "p.yml", "w", 7, "local", "x", 0.5, True, None, jain["min"], jain["mean"], jain["max"],
        0.17625, 0.15, *list(A.values())[:9],
    )  # fmt: skip
    assert table["run"].to_list() == [0, 0, 0, 1, 1, 1]
    assert (table["seed"].to_list()[3], table["engine"].to_list()[3]) == (8, "simulator")
    containers = container_table(record)
    assert containers.columns == [
        "policy", "workload", "seed", "engine", "a", "policy.theta", "application", "stage", "task",
        "attempt", "node", "is_am", "memory_mb", "gpu", "allocated_ms", "started_ms",
        "finished_ms", "kind",
    ]  # fmt: skip
    run_of = ("p.yml", "w", 7, "local", "x", 0.5)
    assert containers.rows() == [
        (*run_of, "a", "s", 0, 2, "n1", False, 4, 0, 0, 10_000, 20_000, "killed"),
        (*run_of, "b", "", -1, 1, "n1", True, 1, 0, 1000, 1000, 42_000, "completed"),
        (*run_of, "b", "s", 1, 1, "n2", False, 2, 1, 2000, 11_000, 41_000, "completed"),
        (*run_of, "c", "s", 0, 1, "n1", False, 4, 0, 95_000, None, None, ""),
    ]
    states = state_table(record)
    assert states.columns[:6] == containers.columns[:6]
    assert states.row(0)[:6] == run_of
    assert states.height == 1
    assert cell_table([]).columns == [c for c in table.columns if c in ("run", *table.columns[1:5],
                                      *table.columns[-9:])]  # fmt: skip


def test_a_folder_has_a_folder_for_each_run_by_its_name(tmp_path: Path):
    """``results.json`` says which; the manifest has the seconds of each."""
    record = small_run()
    record.seconds = 1.23456
    runs = write_run(tmp_path, [record], manifest({}))
    [name] = [folder.name for folder in (tmp_path / "cells").iterdir()]
    assert name.startswith("p.yml_w_theta=0.5_a=x_s7-")
    assert runs == read_run(tmp_path).runs
    assert runs == [json.loads(json.dumps(facts(record))) | {"folder": f"cells/{name}"}]
    assert read_run(tmp_path).manifest["seconds"] == {name: 1.235}
    assert read_run(tmp_path / "cells" / name).manifest["seconds"] == 1.235
    own = read_run(tmp_path / "cells" / name).runs
    assert own == [json.loads(json.dumps(facts(record)))]
    assert pl.read_csv(tmp_path / "cells.csv")["tags"].to_list() == ["small;t", "", ""]


def test_what_a_name_of_a_run_looks_like():
    """Letters, digits, = . - stay; the hash is of all that a run is."""
    hashed = cell_name("a b/c", "w", 1, "simulator", {"x.y": 1})
    assert hashed == "a-b-c_w_y=1_s1-" + hashed[-8:]
    assert cell_name("p", "w", 2, "simulator", {}) == "p_w_s2"
    long = cell_name("p" * 200, "w", 2, "simulator", {})
    assert long.startswith("p" * 120 + "_s2-")
    assert len(long) == 120 + len("_s2-") + 8


def test_all_fields_of_a_manifest(monkeypatch: pytest.MonkeyPatch):
    made = manifest({"b": b"", "a": b"x"})
    assert list(made) == [
        "format", "command", "engine", "seeds", "inputs", "versions", "host", "git", "made_at",
    ]  # fmt: skip
    assert (made["format"], made["command"], made["engine"], made["seeds"]) == (
        1, [], "simulator", [],
    )  # fmt: skip
    assert list(made["inputs"]) == ["a", "b"]
    names = ["loomcard", "msgspec", "numpy", "polars", "pydantic", "python", "pyyaml"]
    assert list(made["versions"]) == names
    assert made["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert made["versions"]["numpy"] == version("numpy")
    assert list(made["host"]) == ["system", "machine", "cores", "memory_mb", "jdk"]
    assert made["host"]["system"] == f"{platform.system()} {platform.release()}"
    assert made["host"]["machine"] == platform.machine()
    assert manifest({}, engine="local", hadoop="3.4")["versions"]["hadoop"] == "3.4"
    monkeypatch.setattr(manifests, "_MATTER", ("no-such-package",))
    assert manifests._versions()["no-such-package"] == "unknown"


def test_the_jdk_is_that_of_java_home_or_else_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As its file ``release`` states it; None if there is no JDK, or a file without a version."""
    for name, text in (("one", 'A="1"\nJAVA_VERSION="17.0.1"\n'), ("two", 'JAVA_VERSION="21"\n')):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "release").write_text(text)
    java = tmp_path / "two" / "bin" / "java"
    java.write_text("")
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(java.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "one"))
    assert manifests._jdk() == "17.0.1"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    assert manifests._jdk() == "21"
    monkeypatch.delenv("JAVA_HOME")
    assert manifests._jdk() == "21"
    (tmp_path / "two" / "release").write_text("VERSION=1\n")
    assert manifests._jdk() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert manifests._jdk() is None
