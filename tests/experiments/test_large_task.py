"""The shipped workload large-task: a task of a node's size behind a stream of small ones."""

from dataclasses import fields
from pathlib import Path

import pytest

from loomcard.api import registry
from loomcard.config import compile_config
from loomcard.simulator import simulate
from loomcard.workload import load

POLICIES = [
    known.name
    for known in registry.names()
    if known.origin.startswith("loomcard.")
    and known.name != "dress"  # its quotas come first
    and any(f.name == "reserve_after_ms" and f.init for f in fields(registry.find(known.name)))
]
LONGEST_MS = 8_000  # length of the longest small task


def waited_ms(name: str, seed: int, reserve_after_ms: int) -> int:
    """Return the time from its submission until it ran."""
    options = f"options: {{reserve_after_ms: {reserve_after_ms}}}"
    config = compile_config(f"version: 1\npolicy: {name}\n{options}\n", "test")
    record = simulate(load(Path("large-task"), seed=seed), config, policy=name)
    [task] = [c for c in record.containers if c.application == "large"]
    [app] = [a for a in record.applications if a.id == "large"]
    assert task.started_ms is not None
    return task.started_ms - app.submitted_ms


@pytest.mark.parametrize("name", POLICIES)
def test_it_waits_for_one_round_of_small_tasks_and_not_for_the_stream(name: str) -> None:
    """With a reservation after a second it waits at most until the tasks that ran on one node then
    have ended, plus heartbeats. With reservations off it waits twice as long, mostly to the
    stream's end (strict caps those that came before it).
    """
    for seed in range(1, 6):
        assert waited_ms(name, seed, 1_000) <= 1_000 + LONGEST_MS + 1_000
    assert waited_ms(name, 1, 0) > 1.5 * waited_ms(name, 1, 1_000)


def test_who_holds_is_known() -> None:
    """They are the policies that the page on policies names."""
    assert {"capacity", "drf", "fair", "fifo", "slots", "strict", "tetris"} <= set(POLICIES)
