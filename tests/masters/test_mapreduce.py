"""MapReduce's AM: when reduces are asked for, and how long they copy."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomcard.masters.mapreduce import (
    Progress,
    copied_ms,
    reduces_to_ask,
    reduces_to_preempt,
    slow_start_over,
)
from loomcard.workload.scenario import Fault
from scenarios import app, random_scenario, run, scenario, stage, times

GOLDEN = Path(__file__).parents[1] / "golden" / "player" / "reduces.json"
GB = (1024, 1)


def progress(**counts):
    none = dict.fromkeys(Progress.__slots__, 0)
    return Progress(**none | counts)


def job(maps, reduces, **keys):
    stages = stage(maps, id="map"), stage(reduces, 2, id="reduce", priority=10, after=[0])
    return app("j", *stages, kind="mapreduce", **keys)


@pytest.mark.parametrize(
    ("completed", "slowstart", "over"),
    [(0, 0.0, True), (0, 0.05, False), (1, 0.05, True), (19, 1.0, False), (20, 1.0, True)],
)
def test_slow_start_ends_with_that_part_of_twenty_maps(completed, slowstart, over):
    assert slow_start_over(progress(maps=20, maps_completed=completed), slowstart) is over


def test_when_every_map_has_a_container_all_reduces_are_asked_for():
    found = progress(maps=10, maps_completed=1, maps_assigned=9, reduces_pending=7)
    assert reduces_to_ask(found, GB, GB, (0, 0)) == 7


def test_reduces_get_the_part_of_completed_maps_and_what_maps_leave():
    # Limit 10 GB: 4 free and 6 maps. Half the maps are done: reduces may have 5; maps want 6 + 4,
    # so they leave nothing of their 5.
    found = progress(
        maps=20, maps_completed=10, maps_scheduled=4, maps_assigned=6, reduces_pending=9
    )
    assert reduces_to_ask(found, GB, GB, (4096, 4)) == 5
    # With two maps left to ask for, 8 are wanted of 5: still none to spare; with none running but
    # two asked for, three of the five are spare.
    found = progress(maps=20, maps_completed=18, maps_scheduled=2, reduces_pending=9)
    assert reduces_to_ask(found, GB, GB, (10240, 10)) == 8


def test_reduces_that_took_too_much_are_asked_for_no_more():
    found = progress(
        maps=20, maps_completed=2, maps_scheduled=18, reduces_scheduled=5, reduces_pending=2
    )
    assert reduces_to_ask(found, GB, GB, (10240, 10)) == -4


@given(
    st.integers(0, 50),
    st.lists(st.integers(0, 100), min_size=1, max_size=8).map(sorted),
    st.integers(0, 20),
)
def test_a_reduce_copies_one_output_after_another_none_before_its_map_has_ended(begun, ends, each):
    at = begun
    for end in ends:
        at = max(at, end) + each
    assert max(begun + len(ends) * each, copied_ms(ends, each)) == at


def test_reduces_wait_for_slow_start_copy_while_maps_run_and_then_reduce():
    record = run(scenario(job([100, 100, 200], [50], slowstart=0.6, ms_per_map=30)))
    reduce = next(row for row in times(record) if row[0] == "reduce")
    # Two of three maps have ended at 100; it copies theirs till 160, the last one's 200 to 230.
    assert reduce == ("reduce", 0, 1, "n1", 100, 280, "completed")


def test_reduces_yield_to_maps_where_there_is_no_room_for_both():
    record = run(scenario(job([100] * 8, [50] * 8, slowstart=0.0), slots=4))
    assert record.applications[0].state == "SUCCEEDED"
    reduces = [row for row in times(record) if row[0] == "reduce"]
    maps = [row for row in times(record) if row[0] == "map"]
    assert min(row[4] for row in maps) == 0
    assert max(row[4] for row in maps) < max(row[4] for row in reduces)


@pytest.mark.parametrize(
    ("counts", "headroom", "given_up"),
    [
        ({"maps_scheduled": 1, "reduces_assigned": 4}, (0, 0), 1),
        ({"maps_scheduled": 9, "reduces_assigned": 4}, (0, 0), 2),  # half of what it has
        ({"maps_scheduled": 9, "reduces_assigned": 1}, (512, 0), 1),
        ({"maps_scheduled": 9, "reduces_assigned": 4}, (1024, 1), 0),  # a map fits
        ({"maps_scheduled": 9, "maps_assigned": 1, "reduces_assigned": 4}, (0, 0), 0),
        ({"reduces_assigned": 4}, (0, 0), 0),
    ],
)
def test_reduces_are_given_up_only_for_maps_that_could_not_run_otherwise(
    counts, headroom, given_up
):
    assert reduces_to_preempt(progress(maps=20, **counts), GB, GB, headroom) == given_up


def test_a_map_that_is_lost_while_reduces_hold_all_room_gets_one_of_theirs():
    wanted = job([100, 300], [50, 50], slowstart=0.5, ms_per_map=0)
    wishes = stage([100, 300], id="map", nodes=[["n1"], ["n2"]])
    wanted = wanted.__class__(
        **{n: getattr(wanted, n) for n in wanted.__struct_fields__}
        | {"stages": [wishes, wanted.stages[1]]}
    )
    record = run(scenario(wanted, nodes=3, slots=1, faults=[Fault(200, "n2")]))
    assert record.applications[0].state == "SUCCEEDED"
    kinds = [(row[0], row[6]) for row in times(record)]
    assert ("map", "lost") in kinds
    assert ("reduce", "released") in kinds


@pytest.mark.parametrize("seed", [2713])
def test_a_deadlock_that_was_seen_is_none_any_more(seed):
    record = run(random_scenario(seed), "fifo")
    assert all(each.state for each in record.applications)


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text()), ids=lambda case: case["name"])
def test_reduces_are_asked_for_as_hadoops_own_class_does(case):
    """The player's tests hold the same cases against RMContainerAllocator."""
    kinds = 2 if case["with_vcores"] else 1
    map_size, reduce_size, headroom = (case[name][:kinds] for name in ("map", "reduce", "headroom"))
    counts = {"maps": case["counts"]["total_maps"]}
    for name, count in case["counts"].items():
        state, what = name.split("_")
        if state != "total":
            counts[f"{what}_{state}"] = count
    found = progress(**counts)
    asked = 0
    if found.reduces_pending and slow_start_over(found, case["slowstart"]):
        asked = reduces_to_ask(found, map_size, reduce_size, headroom)
    assert asked == case["change"]


@pytest.mark.parametrize("am_heartbeat_ms", [0, 1000])
def test_what_reduces_give_up_goes_to_maps(am_heartbeat_ms):
    big = stage([1000, 1000], id="map", size=(1024, 2))
    small = stage([500], 2, id="reduce", priority=10, after=[0])
    wanted = app("j", big, small, kind="mapreduce", slowstart=0.5)
    record = run(scenario(wanted, slots=2, am_heartbeat_ms=am_heartbeat_ms), "fifo")
    assert record.applications[0].state == "SUCCEEDED"


def test_a_reduce_that_failed_is_asked_for_by_the_rule_again():
    # The reduce fails while maps run; half of the four slots' share is not left for it then.
    maps = stage([100] * 4 + [1000] * 8, id="map")
    reduces = stage([50, 50], 2, id="reduce", priority=10, after=[0], fails_ms={0: [10]})
    record = run(scenario(app("j", maps, reduces, kind="mapreduce", slowstart=0.05)))
    assert record.applications[0].state == "SUCCEEDED"
    assert [row[6] for row in times(record) if row[:2] == ("reduce", 0)] == ["failed", "completed"]
