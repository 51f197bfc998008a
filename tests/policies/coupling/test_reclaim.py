"""Tests of the order of maps and reduces that want the same room, and of a map that must run again
while reduces of its own job use all of it.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from compiled import flat
from coupled import MAP, REDUCE, SLOT, beat, coupling, finish, job
from loomcard.policies.coupling.jobs import maps_of
from loomcard.testing.cluster import Cluster

FAILED_MAP = 5
AFTER_MS = 60_000


def full_of_reduces(*slots: int, after_ms: int = AFTER_MS, reduces: int = 3) -> Cluster:
    """Return a cluster in which one job's two maps have finished, its reduces use all slots, and it
    asks for more.
    """
    made = coupling(*slots, reclaim_after_ms=after_ms)
    job(made, 1, 2, reduces)
    while len(made.containers) < 2:
        beat(made, *made.nodes)
    finish(made, 1, 2)
    made.ask(1, reduces, SLOT, REDUCE)
    for _ in range(40):
        beat(made, *made.nodes)
    assert len(running(made, REDUCE)) == sum(slots)
    return made


def running(made: Cluster, priority: int) -> list[int]:
    return [n for n, each in sorted(made.containers.items()) if each.ask[1] == priority]


def test_a_reduce_makes_room_for_a_map_of_its_own_job() -> None:
    """A reduce is taken back once no map has run or found room for as long as the option says, and
    not before. The map gets the room, although a reduce waits for it too.
    """
    made = full_of_reduces(1, 2, reduces=5)
    youngest = running(made, REDUCE)[-1]
    made.ask(1, 1, SLOT, FAILED_MAP)
    made.round()
    made.round(AFTER_MS - 10)
    assert len(running(made, REDUCE)) == 3
    made.round(20)
    for _ in range(4):
        beat(made, *made.nodes)
    assert running(made, FAILED_MAP)
    assert len(running(made, REDUCE)) == 2
    assert youngest not in made.containers


def test_no_reduce_is_taken_where_a_map_has_room_or_runs() -> None:
    """A map that runs will end, and then the one that waits may follow."""
    made = full_of_reduces(1, 2)
    made.ask(1, 2, SLOT, FAILED_MAP)
    made.add_node(9, *SLOT)
    beat(made, 9)
    assert len(running(made, FAILED_MAP)) == 1
    for _ in range(3):
        made.round(AFTER_MS)
    assert len(running(made, REDUCE)) == 3


def test_a_map_that_a_limit_keeps_out_has_no_room_either() -> None:
    """The queue may use half of the node, which its reduces do; the other half is free."""
    compiled = flat("coupling", reclaim_after_ms=AFTER_MS)
    compiled["queues"][1]["maximum"] = {"ppm": 500_000}
    made = Cluster(compiled)
    made.add_node(1, 4096, 4)
    job(made, 1, 2, 2)
    beat(made, 1)
    finish(made, 1, 2)
    made.ask(1, 2, SLOT, REDUCE)
    for _ in range(10):
        beat(made, 1)
    assert len(running(made, REDUCE)) == 2
    made.ask(1, 1, SLOT, FAILED_MAP)
    made.round()
    made.round(AFTER_MS + 10)
    for _ in range(2):
        beat(made, 1)
    assert (len(running(made, REDUCE)), len(running(made, FAILED_MAP))) == (1, 1)


def test_nothing_is_taken_for_ever_or_where_it_would_not_help() -> None:
    """Nothing is taken without the option, nor for a map that is larger than what the job's reduces
    use on any node. Two reduces are taken for a map of two slots.
    """
    for after_ms, size, left in ((0, SLOT, 4), (AFTER_MS, (4096, 1), 4), (AFTER_MS, (2048, 1), 2)):
        made = full_of_reduces(2, 2, after_ms=after_ms, reduces=4)
        made.ask(1, 1, size, FAILED_MAP)
        made.round()
        made.round(AFTER_MS + 10)
        made.round()
        assert len(running(made, REDUCE)) == left, (after_ms, size)


def test_nothing_is_taken_on_a_node_that_the_map_will_not_have() -> None:
    """Nothing is taken on a node that the application has blacklisted, nor on a node without the
    map's label.
    """
    for label, blacklist in (("", ["n1"]), ("gpu", [])):
        made = full_of_reduces(2, reduces=2)
        made.blacklist(1, *blacklist)
        made.ask(1, 1, SLOT, FAILED_MAP, label=label)
        made.round()
        made.round(AFTER_MS + 10)
        made.round()
        assert len(running(made, REDUCE)) == 2, (label, blacklist)


def test_a_map_goes_before_the_reduces_of_its_job_where_none_runs() -> None:
    """The job's reduce is the candidate, and a map asks for the only slot as well."""
    made = coupling(1)
    job(made, 1, 6, 1)
    for _ in range(5):
        beat(made, 1)
        finish(made, 1)
    made.ask(1, 1, SLOT, REDUCE)
    found = [allocation for _ in range(3) for allocation in beat(made, 1)]
    assert found == [(1, MAP, 1)]


@pytest.mark.parametrize(("held", "first"), [(0, (2, MAP, 1)), (2, (1, REDUCE, 1))])
def test_a_reduce_and_the_maps_of_others_stand_in_one_fair_order(
    held: int, first: tuple[int, int, int]
) -> None:
    """Job 1 runs one map, and its reduce may start in the only free slot. A map of a job without
    containers goes before it; a map of a job that runs two maps goes after it.
    """
    made = coupling(1, 1, 2)
    job(made, 1, 3, 1)
    assert len(beat(made, 1, 2)) == 2
    finish(made, 1, 2)
    assert beat(made, 2) == [(1, MAP, 2)]
    job(made, 2, held, 0)
    beat(made, 3)
    made.ask(1, 1, SLOT, REDUCE)
    assert beat(made, 1) == []
    made.ask(2, 1, SLOT, MAP)
    assert beat(made, 1) == [first]


def test_the_maps_of_a_job_are_all_its_maps_and_nothing_else() -> None:
    """An AM can ask with the priority of maps; a task of another priority is no map."""

    def ask(priority: int, is_am: bool = False) -> Any:
        return SimpleNamespace(key=SimpleNamespace(priority=priority), is_am=is_am)

    near, anywhere = ask(MAP), ask(FAILED_MAP)
    own: Any = SimpleNamespace(maps=[near], others=[ask(MAP, is_am=True), ask(1), anywhere])
    assert maps_of(own) == [near, anywhere]
