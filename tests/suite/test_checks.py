"""What is refused before anything runs."""

from pathlib import Path

import pytest

from fake_cluster import FakeCluster, FakeRest
from loomcard.cli.app import run
from loomcard.cli.suite import mixes
from loomcard.experiments.inputs import InputError
from loomcard.suite import checks
from loomcard.suite.checks import check_room
from loomcard.suite.prepare import Asked, prepare
from loomcard.suite.study import Study, run_study

SPARK = "a driver of 640 MB and an executor of 640 MB at a time"
MAPREDUCE = "an AM of 384 MB and a task of 256 MB at a time"


def study(
    tmp_path: Path, text: str, policies: tuple[str, ...] = ("drf",), on: str = "docker"
) -> Study:
    file = tmp_path / "mine.yml"
    file.write_text(f"version: 1\nkind: mix\n{text}\n")
    return prepare(Asked((str(file),), on, policies))


@pytest.mark.parametrize(
    ("job", "nodes", "said"),
    [
        ("scan", [(640, 1)], f"scan needs {SPARK}, a vcore each; the cluster has 1 node of 640 MB"),
        ("scan", [(1279, 8)], "the cluster has 1 node of 1279 MB and 8 vcores"),
        ("scan", [(2048, 1)], "the cluster has 1 node of 2048 MB and 1 vcore"),
        ("scan", [(639, 8)] * 3, "the cluster has 3 nodes of 639 MB and 8 vcores"),
        ("scan", [], "the cluster has no node"),
        ("sort", [(639, 8)], f"sort needs {MAPREDUCE}"),
        ("sort", [(640, 1)], "1 node of 640 MB and 1 vcore"),
        ("sort", [(383, 8), (256, 8)], "1 node of 383 MB and 8 vcores, 1 node of 256 MB"),
    ],
)
def test_a_job_that_never_fits_is_refused_at_its_line(
    tmp_path: Path, job: str, nodes: list[tuple[int, int]], said: str
) -> None:
    found = study(tmp_path, f"jobs:\n- {{benchmark: lr, count: 2}}\n- {{benchmark: {job}}}")
    with pytest.raises(InputError) as caught:
        check_room(found, nodes, "make some")
    line = caught.value.findings[-1]
    assert line.startswith(f"{tmp_path / 'mine.yml'}, line 5, column 15: jobs[1].benchmark: {job}")
    assert said in line
    assert line.endswith("(make some)")


@pytest.mark.parametrize(
    ("job", "nodes"),
    [
        ("scan", [(1280, 2)]),
        ("scan", [(640, 1), (640, 1)]),
        ("sort", [(640, 2)]),
        ("sort", [(256, 1), (384, 1)]),
    ],
)
def test_what_just_fits_is_not_refused(
    tmp_path: Path, job: str, nodes: list[tuple[int, int]]
) -> None:
    check_room(study(tmp_path, f"jobs: [{{benchmark: {job}}}]"), nodes, "make some")


def test_a_warm_up_must_fit_too(tmp_path: Path) -> None:
    found = study(tmp_path, "warm_up: [lr]\njobs: [{benchmark: sort}]")
    with pytest.raises(InputError, match=r"line 3, column 11: warm_up\[0\]: lr needs"):
        check_room(found, [(1000, 4)], "make some")


def test_a_scheduler_that_counts_memory_alone_needs_no_vcores(tmp_path: Path) -> None:
    """YARN's FIFO counts only memory, and so does Capacity if the configuration says so; Capacity
    without such a setting counts vcores too.
    """
    jobs, node = "jobs: [{benchmark: scan}]", [(2048, 1)]
    check_room(study(tmp_path, jobs, ("stock:fifo",)), node, "make some")
    with pytest.raises(InputError, match="scan needs"):
        check_room(study(tmp_path, jobs, ("stock:capacity",)), node, "make some")


def test_another_user_on_the_embedded_cluster_is_refused_at_its_line(tmp_path: Path) -> None:
    """The compose cluster has all users."""
    jobs = "jobs:\n- {benchmark: sort}\n- {benchmark: sort, user: alice}"
    with pytest.raises(InputError) as caught:
        study(tmp_path, jobs, on="local")
    [said] = caught.value.findings
    assert "mine.yml, line 5, column 27: jobs[1].user: sort is alice's, and the embedded" in said
    assert study(tmp_path, jobs, on="docker").cells


def test_a_queue_that_a_policy_lacks_is_named_at_its_line_once(tmp_path: Path) -> None:
    """The queue is named once, whatever the number of jobs of the entry; a job without a queue has
    the default one.
    """
    (tmp_path / "two.yml").write_text("version: 1\npolicy: drf\nqueues: {a: {}, b: {}}\n")
    jobs = "jobs:\n- {benchmark: sort, count: 3}\n- {benchmark: sort, queue: root.c}"
    with pytest.raises(InputError) as caught:
        study(tmp_path, jobs, (str(tmp_path / "two.yml"), "drf"))
    first, second, third = caught.value.findings
    leaves = "(its leaf queues are root.a, root.b)"
    assert "mine.yml, line 4, column 3: jobs[0].queue: " in first
    assert first.endswith(f"two.yml has no leaf queue 'root.default' {leaves}")
    assert "mine.yml, line 5, column 28: jobs[1].queue: " in second
    assert second.endswith(f"two.yml has no leaf queue 'root.c' {leaves}")
    assert third.endswith("drf has no leaf queue 'root.c' (its leaf queues are root.default)")


def test_what_has_run_stays_where_the_next_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written, neither results nor a cluster's folder."""
    right = study(tmp_path, "jobs: [{benchmark: sort}]")
    out = tmp_path / "out"
    run_study(right, FakeCluster(tmp_path), out, lambda *_: None)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    file = tmp_path / "mine.yml"
    file.write_text("version: 1\nkind: mix\njobs: [{benchmark: sort, user: alice}]\n")
    before[file] = file.read_bytes()
    assert run(["suite", "run", str(file), "--policy", "drf", "--out", str(out)]) == 2
    [said] = capsys.readouterr().err.splitlines()
    assert said.startswith(f"error: {file}, line 3, column 32: jobs[0].user: ")
    assert "SuiteError" not in said
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_the_compose_clusters_nodes_are_those_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = FakeCluster(tmp_path).rest
    lost = rest.nodes()[0] | {"state": "LOST"}
    monkeypatch.setattr(rest, "nodes", lambda: [*FakeRest().nodes(), lost])
    monkeypatch.setattr(checks, "running", lambda _: ({}, rest))
    assert checks.compose_nodes() == [(1024, 4)]


@pytest.mark.parametrize("on", ["local", "docker"])
def test_the_command_asks_before_it_begins(
    tmp_path: Path, on: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded cluster's nodes are in the mix; the compose cluster's are the nodes that run."""
    monkeypatch.setattr(mixes, "compose_nodes", lambda: [(640, 1)])
    monkeypatch.setattr(mixes, "_cluster", lambda *_: pytest.fail("it began"))
    file = tmp_path / "mine.yml"
    small = "cluster: {nodes: 1, node_memory_mb: 640, node_vcores: 1}"
    file.write_text(f"version: 1\n{small if on == 'local' else ''}\njobs: [{{benchmark: sort}}]\n")
    out = tmp_path / "out"
    words = ["suite", "run", str(file), "--on", on, "--policy", "drf", "--out", str(out)]
    assert run(words) == 2
    [said] = capsys.readouterr().err.splitlines()
    assert "sort needs an AM of 384 MB and a task of 256 MB" in said
    assert ("--node-memory-mb" if on == "docker" else "node_memory_mb") in said
    assert not out.exists()
