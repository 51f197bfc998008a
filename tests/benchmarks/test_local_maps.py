"""How many tasks ran where they wished, on rows worked out by hand and on a run of a workload."""

import json
from pathlib import Path

import pytest

from benchmarks.local_maps import local_percent, main
from loomcard.experiments.run import Request, prepare, run
from loomcard.workload.scenario import ScenarioApplication, Stage


def job(name: str, nodes: list[list[str]]) -> ScenarioApplication:
    """Return two stages of equally many tasks; the first wishes for nodes, the second does not."""
    count = [1_000] * len(nodes)
    maps = Stage("map", (1, 1), 20, 1, count, [], nodes=nodes)
    reduces = Stage("reduce", (1, 1), 10, 2, count, [0])
    return ScenarioApplication(name, 0, "root.default", "u", "mapreduce", [maps, reduces])


def test_tasks_that_wish_for_no_node_do_not_count() -> None:
    """Three of four tasks wish for a node; two of them ran there."""
    app = job("a", [["n1"], ["n1", "n2"], ["n3"], []])
    rows = [("a", "map", 0, "n1"), ("a", "map", 1, "n2"), ("a", "map", 2, "n1"),
            ("a", "map", 3, "n1"), ("a", "reduce", 0, "n1")]  # fmt: skip
    assert local_percent([app], rows) == pytest.approx(200 / 3)


def test_where_nobody_wishes_there_is_no_figure() -> None:
    assert local_percent([job("a", [[]])], [("a", "map", 0, "n1")]) is None


def test_a_folder_without_results_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["local_maps", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: holds no results.json")


def test_runs_of_a_workload_that_ships(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """There is one row for each policy in each setting, over its seeds; for a single run, drawn
    again, the three figures are equal. Settings differ in ``remote``, which this experiment sweeps.
    """
    prepared = prepare(Request("coupling-fig1", policies=("fair",), seeds=(1,), journal=False))
    run(prepared, tmp_path, lambda _: None)
    monkeypatch.setattr("sys.argv", ["local_maps", str(tmp_path)])
    main()
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(row["policy"], row["seeds"]) for row in rows] == [("fair", 1), ("fair", 1)]
    near, far = (row["setting"] for row in rows)
    assert near != far
    assert "coupling-fig1" in near
    for row in rows:
        assert 50 < row["min"] == row["mean"] == row["max"] < 100
