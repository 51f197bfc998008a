"""Coupling on real YARN: what is played, and the figures, on a run that is simulated."""

from benchmarks.papers_on_yarn import coupling, tables
from loomcard.config import compile_setup
from loomcard.simulator import simulate


def test_fifty_jobs_come_at_once_and_all_end():
    """In the simulator as it must be on YARN: nothing is refused or taken back."""
    made = coupling.fifty_jobs(1)
    assert [(app.kind, app.submit_ms) for app in made.applications] == [("mapreduce", 0)] * 50
    record = simulate(made, compile_setup("version: 1\npolicy: coupling\n", "x"), policy="x")
    assert {app.state for app in record.applications} == {"SUCCEEDED"}
    assert not record.refusals
    assert coupling.taken_back(record) == 0
    record.containers[0] = record.containers[0]._replace(kind="preempted")
    assert coupling.taken_back(record) == 1


def test_the_table_has_what_was_taken_back():
    found = {"applications": 50, "taken_back": [0, 0, 0], "succeeded": [50, 50, 50]}
    assert "| containers that were preempted, killed or lost | 0 / 0 / 0 |" in tables.fifty(found)
