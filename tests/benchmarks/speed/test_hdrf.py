"""The bench of H-DRF: its cluster stays full under churn, and it prints its results."""

import json

import pytest
from typer.testing import CliRunner

from benchmarks.speed import hdrf
from benchmarks.speed.hdrf import Cell, Load


@pytest.mark.parametrize(
    "cell",
    [Cell(40), Cell(40, 9, 3, 2), Cell(30, 5, 12), Cell(40, watched=True),
     Cell(30, 5, 12, watched=True)],
)  # fmt: skip
def test_a_decision_gives_out_what_came_free(cell):
    """Every queue has applications, every shape is requested, and the cluster stays full."""
    load = Load(cell)
    before = len(load.running)
    assert load.churn(40) > 0
    assert abs(len(load.running) - before) <= before / 4
    state = load.session.mirror.state
    leaves = [queue for queue in state.queues if queue.leaf]
    assert (len(leaves), len(state.shapes)) == (cell.queues, cell.shapes)
    assert all(queue.pending_count for queue in leaves)
    free = state.free
    assert all(left <= 0.2 * whole for left, whole in zip(free, state.capacity, strict=True))


def test_plain_cells_hold_decisions_alone():
    """With a millisecond per decision as many containers are given out as end, nothing is reported,
    and nothing is preempted.
    """
    counts = counted(Cell(40))
    assert 36 <= counts.pop("given") <= 44
    assert counts == {"reported": 0, "looked": 0, "taken": 0}


@pytest.mark.parametrize("cell", [Cell(40, watched=True), Cell(30, 5, 12, watched=True)])
def test_watched_cells_hold_reports_and_looks_of_preemption_which_takes(cell):
    """With a second per decision, states are reported and preemption looks in every one. Once in
    ten decisions three applications give back nine tasks, and preemption takes some back.
    """
    counts = counted(cell)
    assert counts["given"] >= 40 + 4 * 3
    assert (counts["reported"], counts["looked"]) == (40, 40)
    assert counts["taken"] >= 4


def counted(cell):
    """Return the counts of forty decisions of a full cluster."""
    load = Load(cell)
    load.churn(10)
    load.counts.clear()
    load.churn(40)
    return dict(load.counts)


def test_the_bench_has_plain_cells_and_watched_ones():
    """The quick bench has them too."""
    for cells in (hdrf.CELLS, hdrf.CELLS_QUICK):
        assert {cell.watched for cell in cells} == {False, True}


def test_the_last_line_is_json(monkeypatch):
    """It has a figure for each cell, and whole simulations by policy."""
    monkeypatch.setattr(hdrf, "simulated", lambda *_: 1.0)
    monkeypatch.setattr(hdrf, "CELLS_QUICK", (Cell(20, 2, watched=True),))
    app = hdrf.typer.Typer()
    app.command()(hdrf.main)
    done = CliRunner().invoke(app, ["--quick", "--repeats", "1"])
    printed = json.loads(done.output.splitlines()[-1])
    assert [cell["applications"] for cell in printed["decisions"]] == [20]
    assert printed["decisions"][0]["us"]["median"] > 0
    assert printed["decisions"][0]["counts"]["looked"] == hdrf.DECISIONS
    assert {each["policy"] for each in printed["simulations"]} == {"hdrf", "drf", "fair"}
