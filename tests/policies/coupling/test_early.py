"""Reduces whose job has waiting maps use a part of the room at most, so that maps always run."""

from __future__ import annotations

from typing import Any

import pytest

from compiled import flat
from coupled import MAP, REDUCE, SLOT, beat
from loomcard.testing.cluster import Cluster
from scenarios import app, run, scenario, stage


def most_reduces(made: Cluster, more: tuple[int, ...] = (), reduce: tuple[int, ...] = ()) -> int:
    """Return how many reduces ran at most while maps waited. The job has 100 maps, of which 80 have
    finished, so it has earned its four reduces; one other map ends in each round. ``more`` is added
    to a map's size.
    """
    made.add_app(1, type="MAPREDUCE", tags=["maps=100", "reduces=4"])
    made.ask(1, 80, (*SLOT, *more), MAP)
    while any(ask.count for ask in made.asks.values()) or made.containers:
        beat(made, *made.nodes)
        for number in made.containers:
            made.complete(number)
    made.ask(1, 20, (*SLOT, *more), MAP)
    made.ask(1, 4, reduce or SLOT, REDUCE)
    most = 0
    while waiting_maps(made):
        beat(made, *made.nodes)
        kinds = [each.ask[1] for each in made.containers.values()]
        most = max(most, kinds.count(REDUCE)) if waiting_maps(made) else most
        made.complete(min(n for n, each in made.containers.items() if each.ask[1] == MAP))
    return most


def waiting_maps(made: Cluster) -> bool:
    return any(ask.priority == MAP and ask.count for ask in made.asks.values())


def cluster(nodes: int, slots: int, keys: dict[str, Any] | None = None, **options: Any) -> Cluster:
    """Return a cluster of nodes with this many slots each; ``keys`` are added to the queue."""
    compiled = flat("coupling", reserve_after_ms=0, **options)
    compiled["queues"][1] |= keys or {}
    made = Cluster(compiled)
    for number in range(1, nodes + 1):
        made.add_node(number, 1024 * slots, slots)
    return made


@pytest.mark.parametrize(("share", "most"), [(0.25, 1), (0.5, 2), (0.75, 3), (1.0, 3)])
def test_early_reduces_hold_their_part_at_most(share: float, most: int) -> None:
    """There are four slots. The fourth is kept free if otherwise none of the job's maps would
    run.
    """
    assert most_reduces(cluster(1, 4, early_share=share)) == most


@pytest.mark.parametrize("keys", [{"maximum": {"ppm": 500_000}}, {"user_limit_ppm": 500_000}])
def test_a_limit_counts_as_if_there_were_no_room_beyond_it(keys: dict[str, Any]) -> None:
    """The limit is half of eight slots."""
    assert most_reduces(cluster(1, 8, keys)) == 2


def test_room_behind_another_label_does_not_count() -> None:
    made = cluster(1, 4)
    made.add_node(9, 1024 * 90, 90, label="gpu")
    assert most_reduces(made) == 2


def test_what_maps_do_not_need_is_the_reduces_own() -> None:
    """There are slots of two kinds, as in the paper: six of one kind, and two that only reduces
    use.
    """
    made = Cluster(
        flat("coupling", reserve_after_ms=0), resource_types=("memory_mb", "vcores", "slots")
    )
    made.add_node(1, 1024 * 6, 6, 2)
    assert most_reduces(made, (0,), (*SLOT, 1)) == 2


def test_whose_reduce_must_wait_for_maps_keeps_nobody_from_waiting_for_a_place() -> None:
    """Early reduces may have two of four slots. Job 1 is further ahead and asks for three."""
    made = cluster(1, 4)
    jobs = ((1, (3072, 1), 2), (2, SLOT, 4))  # number, size of reduce, waiting maps
    for number, _, more in jobs:
        made.add_app(number, type="MAPREDUCE", tags=[f"maps={4 + more}", "reduces=1"])
        made.ask(number, 4, SLOT, MAP)
        while len(made.containers) < 4:
            beat(made, 1)
        for each in made.containers:
            made.complete(each)
    for number, size, more in jobs:
        made.ask(number, 1, size, REDUCE)
        made.ask(number, more, SLOT, MAP)
    beat(made, 1)
    assert made.memory().waiting[0].candidate.endswith("_0002")


@pytest.mark.slow
@pytest.mark.parametrize(("share", "stuck"), [(0.5, False), (1, True)])
def test_a_crowd_of_jobs_does_not_wait_for_itself(share: float, stuck: bool) -> None:
    """Sixteen jobs with AMs share 24 slots and ask for all their tasks at once. The paper's rule is
    for slots of two kinds: under it reduces use all that AMs leave, and wait for maps that have no
    room, until some are taken back.
    """
    jobs = [
        app(
            f"j{i}", stage([5_000] * 12, id="map"),
            stage([5_000] * 4, 2, id="reduce", size=(2048, 1), priority=10, after=[0]), am=SLOT,
            kind="mapreduce", slowstart=0.0, reduce_asks="all", tags=["maps=12", "reduces=4"],
        )
        for i in range(16)
    ]  # fmt: skip
    wanted = scenario(*jobs, nodes=3, slots=8, heartbeat_ms=1000, am_heartbeat_ms=1000)
    ours = f"policy: coupling, options: {{early_share: {share}}}, am_share: 100%"
    record = run(wanted, f"version: 1\npolicy: fifo\nqueues: {{default: {{{ours}}}}}\n")
    assert {each.state for each in record.applications} == {"SUCCEEDED"}
    assert any(row.kind == "preempted" for row in record.containers) == stuck
