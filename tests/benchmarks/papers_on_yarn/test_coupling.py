"""Coupling on real YARN: the scenarios, and the figures, on a simulated run."""

import pytest
from msgspec.structs import replace

from benchmarks.papers_on_yarn import coupling, tables
from loomcard.config import compile_config
from loomcard.simulator import simulate


def test_fifty_jobs_come_at_once_and_all_end():
    """In the simulator, as required on YARN, nothing is refused or taken back."""
    made = coupling.fifty_jobs(1)
    assert [(app.kind, app.submit_ms) for app in made.applications] == [("mapreduce", 0)] * 50
    record = simulate(made, compile_config("version: 1\npolicy: coupling\n", "x"), policy="x")
    assert {app.state for app in record.applications} == {"SUCCEEDED"}
    assert not record.refusals
    assert coupling.taken_back(record) == 0
    first, *others = record.containers
    record.containers = [first._replace(kind="preempted"), *others]
    assert coupling.taken_back(record) == 1


def test_the_papers_jobs_are_compared_with_delay_seed_by_seed(tmp_path, monkeypatch):
    """Figure 13's short jobs are simulated, not played. The delay of delay scheduling is divided
    like all times, jobs under coupling ask for reduces from the beginning, and figures are in the
    workload's own seconds.
    """
    played = []

    def short(workload, seed, by, row):
        made = jobs_of(workload, seed, by, row)
        return replace(made, applications=made.applications[1:4], network=None)

    def play(scenario, config, *, folder):
        played.append((folder.name, scenario.applications[0].slowstart))
        return simulate(scenario, compile_config(config.read_text(), "x"), policy="x")

    jobs_of = coupling.jobs_of
    monkeypatch.setattr(coupling, "jobs_of", short)
    monkeypatch.setattr(coupling, "play", play)
    found = coupling.compare("coupling-fig13", tmp_path, [1, 2], 10, lambda _: None)
    names = [name for name, _ in played]
    assert names == ["1-delay", "1-fair", "1-coupling", "2-coupling", "2-fair", "2-delay"]
    assert [start for _, start in played[:3]] == [0.05, 0.05, 0]
    assert "delay_node_ms: 1500," in (tmp_path / "1-delay" / "setup.yml").read_text()
    rows = found["rows"]
    assert rows["delay"]["completion_s_change"] == [0, 0, 0]
    assert 40 < rows["delay"]["completion_s"][0] < 200
    assert all(0 < row["local_percent"][0] <= 100 for row in rows.values())
    assert "| coupling |" in tables.coupled(found)


@pytest.mark.parametrize(
    ("part", "asks"), [("coupling-table4", "all"), ("coupling-table4-ramp", "ramp")]
)
def test_how_the_jobs_of_a_part_ask_for_reduces(part, asks):
    made = coupling.jobs_of(part, 1, 10, "delay")
    assert {app.reduce_asks for app in made.applications} == {asks}


def test_starvation_and_local_maps_of_a_run(tmp_path):
    """In Table IV's first jobs a map elsewhere is not local, and a reduce after the last map
    waits.
    """
    made = coupling.jobs_of("coupling-table4", 1, 10, "coupling")
    made = replace(made, applications=made.applications[2:5], network=None)
    record = simulate(made, compile_config("version: 1\npolicy: coupling\n", "x"), policy="x")
    before = coupling.figures(made, record, tmp_path, 10)
    record.containers = rows = [*record.containers]
    late = next(row for row in rows if row.stage == "reduce")
    rows[rows.index(late)] = late._replace(started_ms=late.started_ms + 100_000)
    mapped = next(row for row in rows if row.application == "j04" and row.task == 0)
    wishes = made.applications[1].stages[0].nodes[0]
    elsewhere = next(node.name for node in made.nodes if node.name not in wishes)
    rows[rows.index(mapped)] = mapped._replace(node=elsewhere)
    after = coupling.figures(made, record, tmp_path, 10)
    assert after["starvation_s"] > before["starvation_s"]
    assert after["local_percent"] < before["local_percent"] <= 100


def test_the_table_has_what_was_taken_back():
    found = {"applications": 50, "taken_back": [0, 0, 0], "succeeded": [50, 50, 50]}
    assert "| containers that were preempted, killed or lost | 0 / 0 / 0 |" in tables.fifty(found)
