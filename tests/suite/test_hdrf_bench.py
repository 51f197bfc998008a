"""The bench of H-DRF: both sides of it choose alike, and it says what it found."""

import json

from typer.testing import CliRunner

from loomcard.suite import hdrf_bench
from loomcard.suite.hdrf_bench import Cell, Load


def test_the_structure_and_recomputation_choose_the_same_leaf():
    """After each end of a churn, in a tree of three levels."""
    load = Load(Cell(leaves=40, depth=3, types=3), seed=2)
    chosen = 0
    for _ in range(60):
        load.finish()
        while len(full := load.full()) < len(load.kinds):
            leaf = load.choose(full)
            assert leaf is load.choose_whole(full)
            if leaf is None:
                break
            load.start(leaf)
            chosen += 1
        load.tree.put_back()
    assert chosen > 30


def test_the_last_line_is_json(monkeypatch):
    """A figure for each cell; recomputation where the tree is small enough."""
    monkeypatch.setattr(hdrf_bench, "simulated", lambda *_: 1.0)
    monkeypatch.setattr(hdrf_bench, "SIZES_QUICK", [20])
    app = hdrf_bench.typer.Typer()
    app.command()(hdrf_bench.main)
    done = CliRunner().invoke(app, ["--quick", "--repeats", "1"])
    told = json.loads(done.output.splitlines()[-1])
    assert [cell["leaves"] for cell in told["decisions"]] == [20]
    assert told["decisions"][0]["incremental_us"]["median"] > 0
    assert {each["policy"] for each in told["simulations"]} == {"hdrf", "drf", "fair"}
