"""Memory that is promised twice slows a machine down, and a workload's time may end before its
applications.
"""

from msgspec.structs import replace

from loomcard.results.metrics import facts
from scenarios import app, run, scenario, stage


def crowded(physical_mb, *, factor=3.0, heartbeat_ms=0, lengths=(10_000, 10_000, 4_000)):
    """Return one node that promises three slots of 1 GB. The third task comes after 2 s and takes 4
    s.
    """
    a = app("a", stage(list(lengths[:2])))
    b = app("b", stage(list(lengths[2:])), submit_ms=2_000)
    wanted = scenario(a, b, slots=3, nodes=1)
    nodes = [replace(node, physical_mb=physical_mb) for node in wanted.nodes]
    return replace(wanted, nodes=nodes, thrashing=factor, heartbeat_ms=heartbeat_ms)


def ends(record):
    """Return when each task's process ended, by application and task."""
    rows = [row for row in record.containers if row.kind == "completed"]
    return {(row.application, row.task): row.finished_ms for row in rows}


def test_a_machine_thrashes_only_while_more_runs_than_it_has_memory_for():
    """From 2 s to 14 s all tasks run at a third of their speed: b's 4 s take 12, and 4 s of a's
    work are done.
    """
    assert ends(run(crowded(2048), "fifo")) == {
        ("b", 0): 14_000, ("a", 0): 18_000, ("a", 1): 18_000,
    }  # fmt: skip
    assert ends(run(crowded(3072), "fifo")) == {
        ("b", 0): 6_000, ("a", 0): 10_000, ("a", 1): 10_000,
    }  # fmt: skip


def test_memory_is_free_when_the_process_ends_not_when_the_resourcemanager_hears():
    """With heartbeats of 5 s the other tasks still run at full speed from 14 s on."""
    record = run(crowded(2048, heartbeat_ms=5_000), "fifo")
    started = next(row.started_ms for row in record.containers if row.application == "b")
    assert ends(record)["b", 0] == started + 12_000
    assert ends(record)["a", 0] == 18_000


def test_a_released_container_gives_its_memory_back():
    """When an application fails its tasks end, and the other tasks are fast again."""
    wanted = crowded(2048)
    failing = replace(wanted.applications[1].stages[0], fails_ms={0: [1_000]})
    b = replace(wanted.applications[1], stages=[failing], max_attempts=1)
    record = run(replace(wanted, applications=[wanted.applications[0], b]), "fifo")
    assert ends(record)["a", 0] == 12_000  # from 2 s to 5 s it did 1 s of work


def test_a_workloads_time_ends_before_its_applications():
    """Applications that ended count, the others are unfinished, and the run counts in reports."""
    record = run(replace(crowded(None), stop_ms=7_000), "fifo")
    assert record.finished
    assert record.ended_ms == 7_000
    assert {each.id: each.state for each in record.applications} == {"a": "", "b": "SUCCEEDED"}
    assert sum(row.kind == "" for row in record.containers) == 2
    assert facts(record)["makespan_ms"] is None
