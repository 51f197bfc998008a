"""Tests of room that is reserved for a large reduce under a stream of small tasks."""

from __future__ import annotations

import pytest

from coupled import REDUCE, SLOT, beat, coupling, exhausted, finish, job
from loomcard.testing.cluster import Cluster

FAILED = 5
NODE = (4096, 4)
"""The size of a whole node."""


def under_a_stream(made: Cluster, rounds: int = 20, ms: int = 200) -> int:
    """Run rounds in which one small task of another application ends and the next one comes. Return
    how many reservations there were at most.
    """
    most = 0
    if 9 not in made.applications:
        made.add_app(9)
        made.ask(9, 8, SLOT, 1)
        made.round()
    for _ in range(rounds):
        if any(each.attempt == 9 for each in made.containers.values()):
            finish(made, 9, 1, 1)
        made.ask(9, 1, SLOT, 1)
        made.round(ms)
        beat(made, *made.nodes)
        most = max(most, len(list(made.state.reservations)))
    return most


def reduces(made: Cluster) -> int:
    return sum(each.ask[1] == REDUCE for each in made.containers.values())


@pytest.mark.parametrize(("after_ms", "served"), [(1000, 1), (0, 0)])
def test_a_large_reduce_that_may_start_gets_a_node(after_ms: int, served: int) -> None:
    """Without reservations the stream takes all room that becomes free."""
    made = coupling(4, 4, reserve_after_ms=after_ms)
    exhausted(made, 1)
    made.ask(1, 1, NODE, REDUCE)
    assert under_a_stream(made) == served
    assert reduces(made) == served


def test_for_a_reduce_that_waits_for_its_maps_nothing_is_held() -> None:
    """Eight maps run on node 3, and the ninth waits for that node."""
    made = coupling(4, 4, 8)
    job(made, 1, 9, 1, hosts={"n3": 9}, racks={"/a": 9}, relax=False)
    assert len(beat(made, 3)) == 8
    made.ask(1, 1, NODE, REDUCE)
    assert under_a_stream(made) == 0
    assert reduces(made) == 0


def test_a_hold_ends_when_maps_have_to_run_again() -> None:
    """All maps were lost while room was reserved; their room comes first."""
    made = coupling(4, 4)
    exhausted(made, 1)
    made.ask(1, 1, NODE, REDUCE)
    assert any(under_a_stream(made, 1) for _ in range(20))
    made.ask(1, 9, SLOT, FAILED)
    made.round()
    assert not list(made.state.reservations)
    assert made.reasons[1, REDUCE, 0] == "MAPS_FIRST"
