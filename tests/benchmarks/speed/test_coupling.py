"""The bench of Coupling: its cluster is busy under each policy, and it prints its results."""

import json

import pytest
import typer
from typer.testing import CliRunner

from benchmarks.speed import coupling
from benchmarks.speed.coupling import JOBS, Load, scenario


@pytest.mark.parametrize("policy", ["fair", "coupling"])
def test_a_window_counts_what_was_done_in_it(policy):
    """The number of jobs stays the same, containers come and go, and every round was timed."""
    load = Load(policy, scenario(20), 3_000)
    found = load.window(2_000)
    assert len(load.decide_ms) == len(load.answer_ms)
    assert 0 < found["decide_ms"] <= found["answer_ms"]
    assert found["running"] > 40
    assert found["refused"] == 0
    assert len(load.rm.state.applications) == JOBS


def test_only_coupling_hears_every_heartbeat():
    rounds = [Load(p, scenario(20), 3_000).window(2_000)["rounds"] for p in ("fair", "coupling")]
    assert rounds[1] > rounds[0]
    assert rounds[1] >= 10  # twenty nodes, one heartbeat per second; some at the same millisecond


def test_the_bench_prints_one_line_of_json_with_ratios():
    """The first policy's ratio is 1."""
    words = ["--nodes", "20", "--repeats", "2", "--ms", "2000", "--warm-ms", "3000"]
    app = typer.Typer()
    app.command()(coupling.main)
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0
    cells = json.loads(result.output.splitlines()[-1])
    assert [cell["policy"] for cell in cells] == ["fair", "coupling"]
    assert cells[0]["answer_ms_ratio"] == {"min": 1, "median": 1, "max": 1}
    assert cells[1]["answer_ms_ratio"]["median"] > 0
