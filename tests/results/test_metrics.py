"""Figures of tiny schedules, computed by hand, and properties that they have on any schedule."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomcard.results.container_rows import ContainerRow
from loomcard.results.containers import shares
from loomcard.results.metrics import facts, summary
from loomcard.results.record import ApplicationRecord, QueueShare, RunRecord
from loomcard.results.tables import application_frame

MINUTE = 60_000


def ran(
    application: str,
    start: int | None,
    end: int | None,
    size: tuple[int, ...] = (1, 1),
    *,
    am: bool = False,
) -> ContainerRow:
    """Return a container that was allocated when it started."""
    stage, task = ("", -1) if am else ("s", 0)
    kind = "completed" if end is not None else ""
    return ContainerRow(application, stage, task, 1, "n1", am, size, start, start, end, kind)


def came(
    name: str, at_ms: int, *demanding: tuple[int, int], queue: str = "root.default"
) -> ApplicationRecord:
    return ApplicationRecord(name, queue, at_ms, [], list(demanding), "SUCCEEDED")


def run(
    applications: Sequence[ApplicationRecord],
    containers: Sequence[ContainerRow],
    *,
    capacity: Sequence[tuple[int, tuple[int, ...]]] = ((0, (10, 10)),),
    queues: dict[str, QueueShare] | None = None,
) -> RunRecord:
    ends = [row.finished_ms or 0 for row in containers]
    return RunRecord(
        policy="p.yml",
        workload="w",
        seed=0,
        engine="simulator",
        resource_types=["memory_mb", "vcores"],
        capacity=list(capacity),
        applications=list(applications),
        containers=list(containers),
        queues=queues or {},
        ended_ms=max(ends, default=0),
    )


def test_waiting_completion_and_makespan_leave_the_am_out() -> None:
    """They go from submission to the first and last container that is not the AM's."""
    record = run(
        [came("a", 1000, (1500, 9000)), came("b", 3000, (3000, 12_000))],
        [
            ran("a", 1200, 9500, am=True),
            ran("a", 2000, 5000),
            ran("a", 4000, 9000),
            ran("b", 5000, 12_000),
            ran("b", None, 4000),  # released before it ran: neither first nor last
        ],
    )
    found = summary(record)
    first, second = found["applications"]
    assert found["makespan_ms"] == 11_000
    assert (first["first_container_ms"], first["finished_ms"]) == (2000, 9000)
    assert (first["waiting_ms"], first["completion_ms"]) == (1000, 8000)
    assert (second["waiting_ms"], second["completion_ms"]) == (2000, 9000)


def test_the_unfinished_is_none() -> None:
    """A stopped run has no makespan, and an application that has not ended has no completion."""
    running, waiting = came("a", 0, (0, 4000)), came("b", 0, (0, 4000))
    running.state = waiting.state = ""
    record = run([running, waiting], [ran("a", 1000, None, (5, 0))])
    record.finished, record.ended_ms = False, 4000
    found = summary(record)
    assert found["makespan_ms"] is None
    assert [row["finished_ms"] for row in found["applications"]] == [None, None]
    assert [row["waiting_ms"] for row in found["applications"]] == [1000, None]
    assert found["utilization"] == {"memory_mb": 0.375, "vcores": 0.0}


def test_utilization_is_the_mean_over_the_makespan() -> None:
    """Half of the memory is used for half of the time, and the AM's counts."""
    record = run(
        [came("a", 0, (0, 1000))],
        [ran("a", 0, 500, (5, 1)), ran("a", 500, 1000, (0, 1)), ran("a", 0, 2000, (0, 1), am=True)],
    )
    assert summary(record)["utilization"] == {"memory_mb": 0.25, "vcores": 0.2}


def test_utilization_follows_the_capacity_of_the_moment() -> None:
    """5 of 10, then 5 of 5, for equally long: three quarters."""
    record = run(
        [came("a", 0, (0, 1000))],
        [ran("a", 0, 1000, (5, 0))],
        capacity=[(0, (10, 10)), (500, (5, 10)), (5000, (0, 0))],
    )
    assert summary(record)["utilization"]["memory_mb"] == 0.75


def test_a_part_of_nothing_is_nothing() -> None:
    """A cluster may have none of a type of resource, or no node for a while."""
    assert shares(np.array([[0, 2]]), np.array([[0, 4]])).tolist() == [[0.0, 0.5]]


def test_what_a_result_does_not_state_is_empty() -> None:
    """Results of other programs may state less than ours."""
    frame = application_frame([{"policy": "drf", "seed": 1, "applications": [{"id": "a"}]}])
    assert frame.select("workload", "engine", "parameters").rows() == [("", "", "{}")]


def test_jain_of_dominant_shares() -> None:
    """The dominant shares are 0.6 and 0.2, the fair shares 0.5: (1.2 + 0.4)^2 / (2 (1.44 +
    0.16)).
    """
    record = run(
        [came("a", 0, (0, MINUTE)), came("b", 0, (0, MINUTE))],
        [ran("a", 0, MINUTE, (6, 1)), ran("b", 0, MINUTE, (1, 2))],
    )
    assert summary(record)["jain"] == {"min": 0.8, "mean": 0.8, "max": 0.8}


def test_what_exceeds_the_fair_share_counts_in_the_plain_index_only() -> None:
    """a has 0.6 of 0.5 and b 0.2: plain 1.2 and 0.4, capped 1 and 0.4."""
    record = run(
        [came("a", 0, (0, MINUTE)), came("b", 0, (0, MINUTE))],
        [ran("a", 0, MINUTE, (6, 1)), ran("b", 0, MINUTE, (1, 2))],
    )
    found = facts(record)
    assert found["jain_windows"] == [0.8]
    assert found["capped_jain_windows"] == pytest.approx([1.4**2 / (2 * 1.16)])


def test_jain_has_a_value_a_window() -> None:
    """A window with one application is fair; one of the two windows has two applications, at 0.6
    and 0.2.
    """
    record = run(
        [came("a", 0, (0, 2 * MINUTE)), came("b", 0, (MINUTE, 2 * MINUTE))],
        [ran("a", 0, 2 * MINUTE, (6, 1)), ran("b", MINUTE, 2 * MINUTE, (1, 2))],
    )
    assert facts(record)["jain_windows"] == [1.0, 0.8]
    assert summary(record)["jain"] == {"min": 0.8, "mean": 0.9, "max": 1.0}


def test_jain_is_fair_where_all_wait_and_none_has_anything() -> None:
    """Two demand for two minutes and get containers only in the second: the index is 1, not 0 /
    0.
    """
    record = run(
        [came("a", 0, (0, 2 * MINUTE)), came("b", 0, (0, 2 * MINUTE))],
        [ran("a", MINUTE, 2 * MINUTE, (6, 1)), ran("b", MINUTE, 2 * MINUTE, (1, 2))],
    )
    assert facts(record)["jain_windows"] == [1.0, 0.8]


def test_jain_averages_over_the_time_in_which_one_demands() -> None:
    """b demands for half of the window only and then gets what a gets: that is fair. a: 0.4 / 1 for
    30 s, then 0.4 / 0.5 for 30 s, on average 0.6; b: 0.3 / 0.5 = 0.6.
    """
    record = run(
        [came("a", 0, (0, MINUTE)), came("b", 0, (30_000, MINUTE))],
        [ran("a", 0, MINUTE, (4, 0)), ran("b", 30_000, MINUTE, (3, 0))],
    )
    assert facts(record)["jain_windows"] == [1.0]


def test_jain_leaves_out_what_is_held_without_demand() -> None:
    """b's AM waits for 30 s of the window, which does not count in b's mean: 0.5 / 0.5 like a's."""
    record = run(
        [came("a", 0, (0, 20_000), (40_000, MINUTE)), came("b", 0, (40_000, MINUTE))],
        [
            ran("a", 0, 20_000, (10, 0)),
            ran("a", 40_000, MINUTE, (5, 0)),
            ran("b", 0, MINUTE, (2, 0), am=True),
            ran("b", 40_000, MINUTE, (3, 0)),
        ],
    )
    # a: 1 / 1 for 20 s and 0.5 / 0.5 for 20 s; b: 0.5 / 0.5 for 20 s
    assert facts(record)["jain_windows"] == [1.0]


def test_jain_takes_the_capacity_of_the_moment() -> None:
    """When memory halves, a's dominant share doubles and b's, of vcores, stays.

    a: (0.2 + 0.4) / 2 of 0.5; b: 0.4 of 0.5.
    """
    record = run(
        [came("a", 0, (0, MINUTE)), came("b", 0, (0, MINUTE))],
        [ran("a", 0, MINUTE, (2, 0)), ran("b", 0, MINUTE, (0, 4))],
        capacity=[(0, (10, 10)), (30_000, (5, 10))],
    )
    assert facts(record)["jain_windows"] == pytest.approx([1.4**2 / (2 * (0.6**2 + 0.8**2))])


def test_fair_shares_follow_the_weights_of_the_queues_that_demand() -> None:
    """3 to 1 is fair between such queues; a queue without demand takes nothing. In the second
    window c joins a's queue: fair shares 3/8, 3/8 and 1/4 against 0.3, 0.3, 0.25.
    """
    deep = "root.x.y"
    record = run(
        [
            came("a", 0, (0, 2 * MINUTE), queue=deep),
            came("b", 0, (0, 2 * MINUTE), queue="root.z"),
            came("c", 0, (MINUTE, 2 * MINUTE), queue=deep),
        ],
        [
            ran("a", 0, MINUTE, (75, 0)),
            ran("a", MINUTE, 2 * MINUTE, (30, 0)),
            ran("b", 0, 2 * MINUTE, (25, 0)),
            ran("c", MINUTE, 2 * MINUTE, (30, 0)),
        ],
        capacity=[(0, (100, 100))],
        queues={
            "root.x": QueueShare(3.0),
            "root.x.y": QueueShare(),
            "root.x.idle": QueueShare(9.0),
            "root.z": QueueShare(),
            "root.w": QueueShare(5.0),
        },
    )
    x = [0.8, 0.8, 1.0]
    want = sum(x) ** 2 / (3 * sum(each**2 for each in x))
    assert facts(record)["jain_windows"] == pytest.approx([1.0, want])


def test_an_empty_run_has_figures_too() -> None:
    """If nothing was submitted, nothing was unfair."""
    found = summary(run([], []))
    assert (found["makespan_ms"], found["jain"]["mean"]) == (None, 1.0)
    assert found["utilization"] == {"memory_mb": 0.0, "vcores": 0.0}


TIMES = st.tuples(st.integers(0, 200_000), st.integers(1, 90_000))
SCHEDULES = st.lists(
    st.tuples(TIMES, st.lists(st.tuples(TIMES, st.integers(1, 5)), max_size=4)), max_size=5
)


PARTS = st.sampled_from([0.0, 0.1, 0.25, 0.33])
SHARES = st.builds(
    QueueShare, st.sampled_from([0.5, 1.0, 2.0]), PARTS, st.sampled_from([0.34, 0.5, 1.0])
)


@given(SCHEDULES, st.lists(SHARES, min_size=1, max_size=3))
@settings(deadline=None)
def test_sums_over_arrays_equal_sums_over_time(
    schedule: list[tuple[tuple[int, int], list[tuple[tuple[int, int], int]]]],
    queues: list[QueueShare],
) -> None:
    """The index agrees with its definition, computed second by second (all times are whole
    seconds).
    """
    applications, containers = [], []
    for index, ((at, length), tasks) in enumerate(schedule):
        begin, end = at // 1000, at // 1000 + 1 + length // 1000
        name = f"a{index}"
        applications.append(
            came(name, 0, (begin * 1000, end * 1000), queue=f"root.q{index % len(queues)}")
        )
        for (task_at, task_length), size in tasks:
            start = begin + task_at // 1000 % (end - begin)
            stop = min(end, start + 1 + task_length // 1000)
            containers.append(ran(name, start * 1000, stop * 1000, (size, 0)))
    record = run(applications, containers, capacity=[(0, (20, 1)), (70_000, (30, 1))])
    record.queues = {f"root.q{index}": own for index, own in enumerate(queues)}
    assert facts(record)["jain_windows"] == pytest.approx(by_definition(record), abs=1e-6)


def by_definition(record: RunRecord) -> list[float]:
    """Return Jain's index of each window, by a walk over every second."""
    ends = [row.finished_ms or 0 for row in record.containers]
    seconds = max(ends, default=0) // 1000
    windows = []
    for low in range(0, seconds, 60):
        x: dict[str, list[float]] = {}
        for second in range(low, min(low + 60, seconds)):
            for name, value in moment(record, second * 1000).items():
                x.setdefault(name, []).append(value)
        means = [sum(values) / len(values) for values in x.values()]
        squares = sum(value**2 for value in means)
        fair = len(means) < 2 or math.isclose(squares, 0)
        windows.append(1.0 if fair else sum(means) ** 2 / (len(means) * squares))
    return windows


def moment(record: RunRecord, now: int) -> dict[str, float]:
    """Return share over fair share of each application that demands now."""
    whole = [amounts for at, amounts in record.capacity if at <= now][-1][0]
    demanding = [a for a in record.applications if any(b <= now < e for b, e in a.demanding)]
    queues = {a.queue for a in demanding}
    part = filled({queue: record.queues[queue] for queue in queues})
    found = {}
    for each in demanding:
        held = sum(
            row.size[0]
            for row in record.containers
            if row.application == each.id and (row.started_ms or 0) <= now < (row.finished_ms or 0)
        )
        mates = sum(a.queue == each.queue for a in demanding)
        found[each.id] = held / whole / (part[each.queue] / mates)
    return found


def filled(queues: dict[str, QueueShare]) -> dict[str, float]:
    """Return each demanding queue's part, by bisection on the level to which weights are filled."""

    def at(level: float) -> dict[str, float]:
        return {name: min(q.maximum, q.guaranteed + level * q.weight) for name, q in queues.items()}

    low, high = 0.0, 4.0
    for _ in range(60):
        level = (low + high) / 2
        low, high = (level, high) if sum(at(level).values()) < 1 else (low, level)
    return at(low)
