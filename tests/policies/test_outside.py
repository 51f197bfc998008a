"""Policies of other authors, written against the public API alone, make the plans of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loomcard.config import compile_config
from loomcard.engine.session import Session
from loomcard.testing import Cluster
from loomcard.testing.random_cluster import RandomCluster
from loomcard.wire.journal import rounds

OUTSIDE = Path(__file__).parents[1] / "outside"
TREE = """
version: 1
policy: capacity
options: {minimum_user_limit_percent: 50}
queues:
  a: {guaranteed: 50%}
  b: {guaranteed: 50%, maximum: 80%, queues: {one: {weight: 2}, two: {}}}
"""
LEAF = "version: 1\npolicy: tetris\n"
FAIR = "version: 1\npolicy: tetris\noptions: {fairness: 0.5, reserve_after_ms: 1}\n"
TEN = [
    *(pytest.param(LEAF, seed, id=f"tetris-{seed}") for seed in (1, 2, 3)),
    *(pytest.param(FAIR, seed, id=f"tetris-fair-{seed}") for seed in (4, 5)),
    *(pytest.param(TREE, seed, id=f"capacity-{seed}") for seed in (1, 2, 3, 4, 5)),
]
ROUNDS = 60


def instead(config: dict[str, Any]) -> None:
    """Replace our policies in the configuration by the outside ones, with those of the options that
    they have.
    """
    name = {"tetris": "PlainTetris", "capacity": "PlainCapacity"}
    for queue in config["queues"]:
        policy = queue["policy"]
        if policy in name:
            queue["policy"] = f"{OUTSIDE / policy}.py:{name[policy]}"
            for option in ("ordering", "calculator"):
                queue["options"].pop(option, None)


def other_plans(journal: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the recorded plan of each round, and the plan of the outside policy for the same
    batch.
    """
    session = None
    for each in rounds(journal):
        if session is None:
            session = Session(each.segment.hello)
        batch = json.loads(each.batch_text)
        for record in batch[-1]:
            if record[0] == "config":
                [config] = (part for part in record if isinstance(part, dict))
                instead(config)
        yield plain(each.plan_text), plain(session.decide(json.dumps(batch)))


def plain(text: str) -> Any:
    """Return a plan without what its policies saved, because that is stored under their names."""
    reply = json.loads(text)
    return [part for index, part in enumerate(reply) if index != SAVED]


SAVED = 6
FAULTS = 6  # without the part before it


@pytest.mark.parametrize(("config", "seed"), TEN)
def test_an_outside_policy_gives_the_plans_of_ours(config: str, seed: int, tmp_path: Path) -> None:
    """Decisions, timers, reasons, reports and headroom are equal in each round of a cluster on
    which nodes, applications and containers come and go.
    """
    cluster = Cluster(compile_config(config, "test.yml"), journal=tmp_path)
    RandomCluster(cluster, seed).run(ROUNDS, lambda: None)
    assert cluster.session.journal is not None
    cluster.session.journal.close()
    compared = list(other_plans(tmp_path))
    assert len(compared) > ROUNDS
    assert sum(len(ours[2]) for ours, _ in compared) > ROUNDS / 2, "too little was decided"
    assert all(not ours[FAULTS] for ours, _ in compared)
    for number, (ours, theirs) in enumerate(compared, 1):
        assert theirs == ours, f"round {number}"
