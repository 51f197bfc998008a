"""Tests of how events lead to trackers: what counts as a start, an end or a task that waits, and
for how long.
"""

from dataclasses import replace

import pytest

from dressed import SECOND, begin, come, dress, memory, pools, shown, used
from loomcard.policies.dress.policy import Dress
from loomcard.wire import messages as r


def test_what_large_jobs_are_allocated_counts_as_held_until_the_tick():
    """An allocation is added at once; a release is subtracted only at the next tick."""
    cluster = dress()
    come(cluster, a1=30)
    allocated = cluster.round()
    assert memory(cluster).large_at_tick == [30 * 1024, 30]
    for each in allocated[:5]:
        cluster.complete(each.number)
    cluster.round()
    assert (used(cluster), memory(cluster).large_at_tick) == ((0, 25), [30 * 1024, 30])
    cluster.round(SECOND)
    assert memory(cluster).large_at_tick == [25 * 1024, 25]


def test_a_allocated_task_that_does_not_run_yet_belongs_to_the_phases_width():
    """Four tasks are allocated, nothing more is asked for, and one task runs."""
    cluster = dress()
    come(cluster, a1=4)
    begin(cluster, cluster.round()[:1])
    cluster.round(SECOND)
    [phase] = memory(cluster).jobs[1].tracker.phases
    assert (phase.w, phase.c) == (4, 1)


def test_a_job_is_followed_until_its_windows_are_empty():
    """Ten tasks start over 18 s, six end at once, and then nothing happens. The trailing tasks are
    passed on, and no release is forecast any more.
    """
    cluster = dress()
    come(cluster, a1=10)
    allocated = cluster.round()
    for each in allocated:
        begin(cluster, [each])
        cluster.round(2 * SECOND)
    for _ in range(12):
        cluster.round(SECOND)
    for each in allocated[:6]:
        cluster.complete(each.number)
    cluster.round(SECOND)
    assert shown(cluster)["small_forecast"] > 0
    for _ in range(11):
        cluster.round(SECOND)
    assert shown(cluster)["small_forecast"] == 0
    assert memory(cluster).live == {}


@pytest.mark.parametrize(
    ("kind", "status", "counts"),
    [
        pytest.param("completed", 0, True, id="ended well"),
        pytest.param("released", -100, True, id="as Spark ends its executors"),
        pytest.param("completed", 1, False, id="failed"),
        pytest.param("killed", -105, False, id="killed"),
        pytest.param("lost", -100, False, id="its node was lost"),
    ],
)
def test_only_some_ends_are_part_of_a_burst(kind, status, counts):
    """Every end frees the container. Ends with exit status 0, and releases by the job, are
    counted.
    """
    cluster = dress()
    come(cluster, a1=3)
    allocated = cluster.round()
    begin(cluster, allocated)
    cluster.round(SECOND)
    del cluster.containers[allocated[0].number]
    cluster.send(r.ContainerCompletedRecord(cluster.now, allocated[0].number, kind, status))
    cluster.round(SECOND)
    [phase] = memory(cluster).jobs[1].tracker.phases
    assert (len(phase.fins), len(phase.running)) == (int(counts), 2)


def test_a_recovered_container_is_carried():
    """No plan of this process placed the container, and its start was not seen."""
    cluster = dress()
    come(cluster, a1=2)
    first = cluster.round()[0]
    cluster.containers[900] = replace(first, number=900)
    facts = (first.attempt, 900, first.node, first.size, *first.ask[1:], False, "running", "policy")
    cluster.send(r.ContainerAddedRecord(cluster.now, 900, *facts))
    cluster.round(SECOND)
    assert memory(cluster).jobs[1].tracker.carry == {900: (1024, 1)}
    assert pools(cluster).held("small") == [3 * 1024, 3]


def test_a_start_that_is_reported_with_a_new_memory_is_a_start():
    """A task that ran before is carried; one that begins in that very call is seen to begin."""
    cluster = dress()
    come(cluster, a1=4)
    allocated = cluster.round()
    begin(cluster, allocated[:1])
    cluster.round(SECOND)
    instance = cluster.session.tree.instances[1]
    instance.memory = Dress().initial(instance.view, None)
    begin(cluster, allocated[1:])
    cluster.round(SECOND)
    [phase] = memory(cluster).jobs[1].tracker.phases
    assert (phase.began, phase.c) == (3, 4)
