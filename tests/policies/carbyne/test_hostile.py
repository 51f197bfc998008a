"""Tests of carbyne against applications that lie or flood it: each can harm only itself."""

from collections.abc import Sequence

import pytest

from carbyne_clusters import carbyne
from loomcard.api.stages import earlier_runs
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.testing.cluster import Cluster

SLOT = (1024, 1)


def run_of(made: Cluster, number: int, user: str, name: str, stages: Sequence[str]) -> None:
    """Run an application with one task of 100 ms of each stage until it ends."""
    rows = [DagStage(stage, i + 1, 1, 0, SLOT) for i, stage in enumerate(stages)]
    made.add_app(number, user=user, name=name, hints={HINT: write_dag(rows)})
    for i in range(len(stages)):
        made.ask(number, 1, SLOT, priority=i + 1)
    made.round(0)
    made.now += 100
    for container in [n for n, c in made.containers.items() if c.attempt == number]:
        made.complete(container)
    made.round(0)
    made.end_app(number)
    made.round(0)


def test_earlier_runs_are_remembered_by_user_and_name():
    """A job of the same name that another user ran has no influence."""
    made = carbyne(4)
    run_of(made, 1, "alice", "etl", ["maps", "joins"])
    run_of(made, 2, "mallory", "etl", ["maps"])
    learnt = {"etl": {"maps": [1, 100], "joins": [1, 100]}}
    assert made.memory()["runs"] == {"alice": learnt, "mallory": {"etl": {"maps": [1, 100]}}}
    hint = write_dag([DagStage("maps", 1, 8, 0, SLOT)])
    for number, user, expected in ((3, "alice", 200), (4, "bob", 60_000)):
        made.add_app(number, user=user, name="etl", hints={HINT: hint})
        made.ask(number, 8, SLOT, priority=1)
        made.round(10_000)
        assert made.reports["root.default"]["jobs"][0]["left_ms"] == expected
        made.end_app(number)
        made.round(0)


def test_what_is_remembered_of_earlier_runs_is_bounded(monkeypatch):
    """Long names are not kept. The user with the most entries loses some first, so no user
    displaces the entries of others.
    """
    monkeypatch.setattr(earlier_runs, "STAGES_KEPT", 10)
    made = carbyne(4)
    run_of(made, 1, "alice", "etl", ["maps"])
    for number in range(2, 12):
        run_of(made, number, "mallory", f"n{number}", ["a", "b"])
    run_of(made, 20, "mallory", "n" * 1000, ["a"])
    run_of(made, 21, "mallory", "last", ["s" * 100_000, ""])
    runs = made.memory()["runs"]
    assert runs["alice"] == {"etl": {"maps": [1, 100]}}
    assert list(runs["mallory"]) == ["n10", "n11", "last"]
    assert runs["mallory"]["last"] == {}


@pytest.mark.parametrize("tasks", [0, 1, 10**9])
@pytest.mark.parametrize("ms", [0, 5e-324, 1e12])
@pytest.mark.parametrize("size", [(), (0, 0), SLOT, (10**12,) * 2])
def test_numbers_of_no_job_in_a_hint_stop_nobody(tasks, ms, size):
    """The policy does not raise, and an honest job gets its half."""
    made = carbyne(8)
    made.add_app(1, hints={HINT: write_dag([DagStage("s", 20, tasks, ms, size)])})
    made.add_app(2)
    for number in (1, 2):
        made.ask(number, 9)
    made.round(0)
    assert sum(c.attempt == 2 for c in made.containers.values()) >= 4
    for container in list(made.containers):
        made.complete(container)
    assert made.round(1000)
