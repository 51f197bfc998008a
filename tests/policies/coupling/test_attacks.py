"""Attacks on coupling. Jobs that lie, fail for ever, ask for what no node has or are refused for
ever must delay no other job, raise nothing and leave nothing behind.
"""

from __future__ import annotations

from collections import Counter
from math import isfinite
from unittest.mock import patch

import pytest

from compiled import flat
from coupled import (
    MAP,
    REDUCE,
    SLOT,
    beat,
    coupling,
    exhausted,
    finish,
    job,
    reduces,
    rounds_till,
    state,
)
from loomcard.policies.coupling import output as output_module
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r

FAILED = 5
LARGE = (99_999, 1)


# Jobs that cannot be served


def test_a_job_whose_maps_fail_for_ever_holds_nobody_up():
    made = coupling(2, 2)
    job(made, 1, 2, 1)
    job(made, 2, 2, 1)
    for app in (1, 2):
        made.ask(app, 1, SLOT, REDUCE)
    found = []
    for _ in range(12):
        found += beat(made, 1, 2)
        for number, each in sorted(made.containers.items()):
            if each.attempt == 1:
                made.send(r.ContainerCompletedRecord(made.now, number, "completed", 1))
                made.ask(1, 2, SLOT, FAILED)
            elif each.ask[1] == MAP:
                made.complete(number)
    assert reduces(found) == [2]
    assert state(made)["jobs"][0]["finished_maps"] == 0


HOPELESS = {
    "too large": {"size": LARGE},
    "a host that is not there": {"hosts": {"n99": 1}, "racks": {"/z": 1}, "relax": False},
    "a label that no node has": {"label": "gpu"},
}


@pytest.mark.parametrize("why", [*HOPELESS, "all nodes blacklisted"])
@pytest.mark.parametrize("count", [1, 2, 6])
def test_jobs_whose_reduces_may_go_nowhere_hold_nobody_up(why, count):
    """This holds for any number of such jobs, although their mismatch is the largest. Each is the
    candidate once, for four rounds at most, before the job that can be served.
    """
    made = coupling(2, 2)
    hopeless = range(1, count + 1)
    exhausted(made, 9, *hopeless)
    for app in hopeless:
        made.ask(app, 1, priority=REDUCE, **HOPELESS.get(why, {}))
        if why == "all nodes blacklisted":
            made.blacklist(app, "n1", "n2")
    beat(made, 1)
    made.ask(9, 2, SLOT, REDUCE)
    assert rounds_till(made, 9, 5 * (count + 1)) <= 4 * (count + 1) + 1


@pytest.mark.parametrize(("count", "most"), [(1, 31), (3, 46)])
def test_on_a_full_cluster_too(count, most):
    """Room for one container becomes free every fifth round and is gone at the next heartbeat, so
    the job that waits at that time gets it. Of two jobs, the hopeless one waits every other time.
    If it were chosen again as soon as it gave up, 45 rounds would pass.
    """
    made = coupling(1, 1, 1, 1, reserve_after_ms=0)
    hopeless = range(1, count + 1)
    exhausted(made, 9, *hopeless)
    job(made, 8, 9_999, 0)
    beat(made, 1, 2, 3, 4)
    for app in hopeless:
        made.ask(app, 1, LARGE, REDUCE)
    made.ask(9, 2, SLOT, REDUCE)

    def ends(number):
        if number % 5 == 0:
            finish(made, 8, node=number // 5 % 4 + 1)

    assert rounds_till(made, 9, most, ends) < most


@pytest.mark.parametrize("count", [2, 3])
def test_who_waits_in_vain_again_and_again_has_fewer_turns(count):
    """There is room for the other job only at the heartbeat at which a hopeless one gives up, and a
    map takes it. If they took turns, the hopeless jobs would wait for ever, so each is passed over
    for longer each time that the other job could have been served.
    """
    made = coupling(1, 1, 1, 1, reserve_after_ms=0)
    hopeless = range(1, count + 1)
    exhausted(made, 9, *hopeless)
    job(made, 8, 9_999, 0)
    beat(made, 1, 2, 3, 4)
    for app in hopeless:
        made.ask(app, 1, LARGE, REDUCE)
    made.ask(9, 2, SLOT, REDUCE)
    found: list[int] = []
    while not found and made.memory().beats < 400:
        waiting, node = made.memory().waiting[0], made.memory().beats % 4 + 1
        others_turn = waiting.candidate is not None and waiting.candidate.endswith("_0009")
        if waiting.wait == (2 if others_turn else 16):
            finish(made, 8, node=node)
        found = reduces(beat(made, node))
    assert found == [9]


@pytest.mark.parametrize("count", [2, 6])
def test_who_is_refused_for_ever_holds_nobody_up(count):
    """Many such jobs would have all the turns if each did not come after the others for longer each
    time.
    """
    made = coupling(2, 2)
    refused = range(1, count + 1)
    exhausted(made, 9, *refused)
    for app in refused:
        made.ask(app, 1, SLOT, REDUCE)
    made.ask(9, 2, SLOT, REDUCE)
    made.refuse = lambda decision: None if decision.attempt == 9 else "NODE_FULL"
    for _ in range(60):
        beat(made, 1, 2)
    assert [c.attempt for c in made.containers.values()] == [9, 9]


def test_at_a_users_limit_others_go_on():
    """The user of jobs 1 and 2 may have no further container."""
    made = Cluster(flat("coupling"))
    made.compiled["queues"][1]["user_limit_ppm"] = 250_000
    made = Cluster(made.compiled)
    for node in (1, 2):
        made.add_node(node, 2048, 2)
    for app, user in ((1, "alice"), (2, "alice"), (3, "bob")):
        made.add_app(app, user=user, type="MAPREDUCE", tags=["maps=1", "reduces=1"])
        made.ask(app, 1, SLOT, MAP)
        beat(made, 1, 2)
        finish(made, app)
    made.add_app(4, user="alice")
    made.ask(4, 1)
    beat(made, 1)
    for app in (1, 2, 3):
        made.ask(app, 1, SLOT, REDUCE)
    assert rounds_till(made, 3, 4) <= 1


# Jobs that lie


def test_a_job_of_reduces_alone_is_served():
    """Nothing tells the policy that maps will come."""
    made = coupling(3, 3)
    made.add_app(1, type="MAPREDUCE")
    made.ask(1, 4, SLOT, REDUCE)
    found = [each for _ in range(20) for each in reduces(beat(made, 1, 2))]
    assert found == [1] * 4


@pytest.mark.parametrize("priority", [MAP, FAILED, REDUCE])
def test_an_application_that_asks_for_all_at_one_priority_is_served(priority):
    """The application says that it is of type MAPREDUCE; an honest job beside it is served as
    well.
    """
    made = coupling(8, 8)
    made.add_app(1, type="MAPREDUCE")
    made.ask(1, 9, SLOT, priority)
    exhausted(made, 2)
    made.ask(2, 2, SLOT, REDUCE)
    for _ in range(40):
        beat(made, 1, 2)
    assert Counter(c.attempt for c in made.containers.values()) == {1: 9, 2: 2}


def test_a_mapreduce_application_that_is_none_is_served_at_once():
    """None of its asks has a priority of MapReduce, so heartbeats do not matter."""
    made = coupling(4)
    made.add_app(1, type="MAPREDUCE")
    made.ask(1, 3, SLOT, 1)
    made.ask(1, 1, SLOT, 0, is_am=True)
    assert len(made.round()) == 4


@pytest.mark.parametrize("priority", [MAP, REDUCE])
def test_an_am_is_no_task_whatever_its_priority(priority):
    made = coupling(2)
    made.add_app(1, type="MAPREDUCE")
    made.ask(1, 1, SLOT, priority, is_am=True)
    assert len(made.round()) == 1
    row = state(made)["jobs"][0]
    assert (row["maps"], row["launched_reduces"]) == (0, 0)


TAGS = [
    [], ["maps=0", "reduces=0"], ["maps=1", "reduces=1"], ["maps=999999999", "reduces=999999999"],
    ["maps=1", "reduces=999999999"], ["maps=-1", "reduces=1e9"], ["maps=", "reduces"],
    ["maps=7", "maps=3", "reduces=2"], ["maps=\u0663", "reduces=2"], ["maps=" + "9" * 5_000],
]  # fmt: skip


@pytest.mark.parametrize("tags", TAGS)
def test_tags_that_lie_harm_nobody(tags):
    """The job has twelve maps and three reduces, whatever its tags say; both jobs end."""
    made = coupling(4, 4)
    job(made, 1, 12, 3, tags=tags)
    job(made, 2, 12, 3)
    for app in (1, 2):
        made.ask(app, 3, SLOT, REDUCE)
    found: Counter[int] = Counter()
    for _ in range(60):
        for app, _, _ in beat(made, 1, 2):
            found[app] += 1
        for row in state(made)["jobs"]:
            assert 0 <= row["finished_maps"] <= row["maps"]
            assert isfinite(row["mismatch"])
            assert row["mismatch"] <= 5
        for number in sorted(made.containers)[:4]:
            made.complete(number)
    assert found == {1: 15, 2: 15}


def test_counts_that_go_backwards():
    """The AM takes maps back, finishes more than it asked for, and asks for all of them again."""
    made = coupling(4, 4)
    job(made, 1, 20, 2, tags=["maps=4", "reduces=2"])
    made.ask(1, 2, SLOT, REDUCE)
    for count in (20, 3, 0, 30, 1, 0):
        made.ask(1, count, SLOT, MAP)
        beat(made, 1, 2)
        for number, each in sorted(made.containers.items()):
            if each.ask[1] == MAP:
                made.complete(number)
        row = state(made)["jobs"][0]
        assert 0 <= row["finished_maps"] <= row["maps"]
    found = [each for _ in range(12) for each in beat(made, 1, 2)]
    assert len(reduces(found)) + sum(c.ask[1] == REDUCE for c in made.containers.values()) >= 2


def test_a_large_hint_is_read_once():
    """The hint names a thousand hosts, and costs are computed again at each heartbeat."""
    hint = "{" + ", ".join(f'"h{n}": {n}' for n in range(1_000)) + "}"
    made = coupling(9, *(2,) * 5, kept_nodes=1)
    made.add_app(1, type="MAPREDUCE", hints={"loomcard.map_output_bytes": hint})
    made.ask(1, 2, SLOT, MAP)
    beat(made, 6)
    finish(made, 1, 2)
    made.add_app(2)
    made.ask(1, 1, SLOT, REDUCE)
    with patch.object(output_module, "loads", wraps=output_module.loads) as loads:
        for number in range(7, 12):
            beat(made, 1)
            made.ask(2, 1)
            made.add_node(number, *SLOT)  # costs are computed again
            made.round()
    assert loads.call_count == 1


# Many jobs, and what they leave behind


@pytest.mark.slow
def test_five_hundred_jobs_with_one_reduce_each_are_all_served():
    """Each needs at least two heartbeats; no job that asked is passed over twice."""
    made = coupling(8, 8, 8, 8)
    for app in range(1, 501):
        job(made, app, 1, 1)
    served: Counter[int] = Counter()
    for _ in range(60):
        for app, _, _ in beat(made, 1, 2, 3, 4):
            served[app] += 1
        for number, each in sorted(made.containers.items()):
            made.complete(number)
            if each.ask[1] == MAP:
                made.ask(each.attempt, 1, SLOT, REDUCE)
        if all(count == 2 for count in served.values()) and len(served) == 500:
            break
    for _ in range(600):
        for app, _, _ in beat(made, 1, 2, 3, 4):
            served[app] += 1
        for number in sorted(made.containers):
            made.complete(number)
        if not made.asks:
            break
    assert served == dict.fromkeys(range(1, 501), 2)


def test_nothing_is_left_of_jobs_that_ended():
    """Sixty jobs of every kind come and go, some while their reduce waits, some after a wait was
    given up. What is kept of shapes is bounded.
    """
    made = coupling(4, 4, peeked_nodes=1)
    for app in range(1, 61):
        exhausted(made, app)
        made.ask(app, 1, LARGE if app % 3 else (1024 + app, 1), REDUCE)
        for _ in range(3 if app % 2 else 5):
            beat(made, 1, 2)
        made.end_app(app)
        beat(made, 1, 2)
    assert state(made)["gave_up"] > 10
    exhausted(made, 61)
    for size in range(1, 200):
        made.ask(61, 1, (1024 + size, 1), REDUCE)
        beat(made, 1, 2)
        finish(made, 61, sum(c.ask[1] == REDUCE for c in made.containers.values()), REDUCE)
    made.end_app(61)
    made.add_app(62, type="MAPREDUCE", hints={"loomcard.map_output_bytes": '{"n1": 9}'})
    made.ask(62, 1, SLOT, MAP)
    beat(made, 1)
    finish(made, 62)
    made.ask(62, 1, SLOT, REDUCE)
    assert [*beat(made, 1), *beat(made, 1)] == [(62, REDUCE, 1)]
    made.end_app(62)
    beat(made, 1, 2)
    memory = made.memory()
    assert (memory.jobs, memory.excluded, memory.waiting[0].candidate) == ({}, {}, None)
    view = next(i.view for i in made.session.tree.instances.values() if i.queue.path != "root")
    found = view.cache("jobs", lambda: None)
    known = ("by_id", "eligible", "without_map", "entries", "shapes")
    for name in (*known, "_running", "_stated", "_outputs", "_reduces_on"):
        assert not getattr(found, name), name
    places = view.cache("places", lambda: None)
    assert not any(any(row) for sums in found._early._held.values() for row in sums)
    assert len(places.rooms._of) <= 64


def test_who_ends_while_a_wait_of_four_rounds_is_over_leaves_nothing():
    made = coupling(2, 2, reserve_after_ms=0)
    exhausted(made, 1)
    made.ask(1, 1, LARGE, REDUCE)
    while made.memory().waiting[0].wait < 8:
        beat(made, 1)
    made.end_app(1)
    beat(made, 1)
    assert made.memory().excluded == {}
    assert state(made)["gave_up"] == 0
