"""Small workloads, computed by hand to the millisecond."""

import pytest

import scripted  # noqa: F401 - registers test policies
from loomcard.api.random import pick
from loomcard.simulator import MismatchError, simulate
from loomcard.workload.scenario import Executors, Fault
from scenarios import app, compiled, run, scenario, stage, times


def test_four_slots_hold_four_tasks_and_the_fifth_follows_the_first_to_end():
    record = run(scenario(app("j", stage([300, 100, 400, 200, 50]))))
    assert times(record) == [
        ("s1", 1, 1, "n1", 0, 100, "completed"),
        ("s1", 4, 1, "n1", 100, 150, "completed"),
        ("s1", 3, 1, "n1", 0, 200, "completed"),
        ("s1", 0, 1, "n1", 0, 300, "completed"),
        ("s1", 2, 1, "n1", 0, 400, "completed"),
    ]
    assert [each.state for each in record.applications] == ["SUCCEEDED"]
    assert record.ended_ms == 400


def test_a_stage_begins_when_all_before_it_have_ended():
    first, second = stage([100, 200]), stage([50], 2)
    third = stage([10], 3, after=[0, 1])
    record = run(scenario(app("j", first, second, third)))
    assert times(record)[-1] == ("s3", 0, 1, "n1", 200, 210, "completed")


def test_launch_delay_and_a_managed_am_come_before_the_first_task():
    job = app("j", stage([100]), am=(512, 1))
    record = run(scenario(job, launch_delay_ms=30, am_start_ms=500))
    am = next(row for row in record.containers if row.is_am)
    # The AM's container runs at 30 and asks at 530; its task runs 30 ms later.
    assert (am.started_ms, am.finished_ms) == (30, 660)
    assert times(record) == [("s1", 0, 1, "n1", 560, 660, "completed")]


def test_heartbeats_report_ends_late_and_hand_out_allocates_late():
    wanted = scenario(
        app("j", stage([100]), stage([10], 2, after=[0])), heartbeat_ms=1000, am_heartbeat_ms=300
    )
    phase = pick(1, "n1", 0, 1000)
    record = run(wanted)
    # The task is asked for and allocated at 0. The AM learns of it with its heartbeat at 300, and
    # the task ends at 400. The node's next heartbeat reports that; the AM learns of it at its next
    # heartbeat. It asks again one heartbeat later, and learns of the allocation one after that.
    reported = phase if phase >= 400 else phase + 1000
    asked = (reported // 300 + 2) * 300
    assert times(record)[0] == ("s1", 0, 1, "n1", 300, 400, "completed")
    assert times(record)[1][4] == asked + 300


def test_a_failing_attempt_is_repeated_and_the_fourth_failure_ends_the_application():
    record = run(scenario(app("j", stage([100], fails_ms={0: [10, 20]}))))
    assert [(row[2], row[5], row[6]) for row in times(record)] == [
        (1, 10, "failed"),
        (2, 30, "failed"),
        (3, 130, "completed"),
    ]
    record = run(scenario(app("j", stage([100, 500], fails_ms={0: [10, 10, 10, 10]}))))
    assert record.applications[0].state == "FAILED"
    assert record.ended_ms == 40
    assert times(record)[-1] == ("s1", 1, 1, "n1", 0, 40, "released")


def test_a_lost_node_takes_its_containers_and_their_tasks_run_again_elsewhere():
    job = app("j", stage([100, 100], nodes=[["n1"], ["n2"]]))
    record = run(scenario(job, nodes=2, slots=1, faults=[Fault(40, "n1", 1000)]))
    assert times(record) == [
        ("s1", 0, 1, "n1", 0, 40, "lost"),
        ("s1", 1, 1, "n2", 0, 100, "completed"),
        ("s1", 0, 1, "n2", 100, 200, "completed"),
    ]
    assert record.capacity == [(0, (2048, 2)), (40, (1024, 1))]


def test_a_node_that_is_back_serves_again():
    record = run(scenario(app("j", stage([100])), faults=[Fault(40, "n1", 60)]))
    assert times(record)[-1] == ("s1", 0, 1, "n1", 100, 200, "completed")
    assert record.capacity == [(0, (4096, 4)), (40, (0, 0)), (100, (4096, 4))]


def test_a_lost_am_is_tried_again_and_what_had_ended_stays_ended():
    job = app("j", stage([50, 500], nodes=[["n2"], ["n2"]]), am=(1024, 1))
    record = run(scenario(job, nodes=2, slots=2, faults=[Fault(100, "n1")]))
    assert [(row[1], row[4], row[5], row[6]) for row in times(record)] == [
        (0, 0, 50, "completed"),
        (1, 0, 100, "killed"),
        (1, 100, 600, "completed"),
    ]
    assert record.applications[0].state == "SUCCEEDED"


def test_tasks_run_where_they_want_to_where_there_is_room():
    wishes = [["n3"], ["n1"], ["n2"], ["n3"]]
    record = run(scenario(app("j", stage([10, 10, 10, 10], nodes=wishes)), nodes=3, slots=2))
    assert {(row[1], row[3]) for row in times(record)} == {
        (0, "n3"), (1, "n1"), (2, "n2"), (3, "n3"),
    }  # fmt: skip


def test_spark_holds_its_executors_over_all_stages_and_runs_tasks_in_their_slots():
    job = app(
        "j", stage([100, 100, 100]), stage([50], 2, after=[0]),
        kind="spark", executors=Executors(1, (2048, 2)),
    )  # fmt: skip
    record = run(scenario(job))
    # Two slots: tasks 0 and 1 run until 100, task 2 until 200, the second stage until 250.
    assert times(record) == [("", -1, 1, "n1", 0, 250, "released")]


def test_a_lost_executor_is_replaced_and_its_tasks_run_again():
    job = app("j", stage([100]), kind="spark", executors=Executors(1, (1024, 1)))
    record = run(scenario(job, nodes=2, faults=[Fault(30, "n1")]))
    assert [row[3:] for row in times(record)] == [
        ("n1", 0, 30, "lost"),
        ("n2", 30, 130, "released"),
    ]


def test_queues_that_are_not_there_are_refused_before_anything_runs():
    job = app("j", stage([1]), queue="root.nowhere")
    with pytest.raises(MismatchError, match=r"no leaf queue 'root\.nowhere'") as error:
        simulate(scenario(job), compiled(), policy="x")
    assert "root.default" in error.value.hint


def test_who_counts_heartbeats_needs_some():
    config = compiled() | {"needs": ["heartbeats"]}
    with pytest.raises(MismatchError, match="heartbeat_ms is 0") as error:
        simulate(scenario(app("j", stage([1]))), config, policy="x")
    assert "heartbeat_ms: 1000" in error.value.hint


def test_a_task_of_spark_does_not_end_on_a_node_that_is_gone():
    job = app("j", stage([5_200]), kind="spark", executors=Executors(1, (1024, 1)))
    faults = [Fault(6_050, "n1")]
    record = run(scenario(job, nodes=2, am_heartbeat_ms=1000, faults=faults))
    # It ran from 1000 and would have ended at 6200. The AM learns of it at 7000, asks at 8000.
    assert [row[3:] for row in times(record)] == [
        ("n1", 1000, 6050, "lost"),
        ("n2", 8000 + 1000, 9000 + 5200, "released"),
    ]


@pytest.mark.parametrize("policy", ["drf", "test-delay"])
def test_quiet_weeks_and_long_tasks_are_no_stall(policy):
    day = 24 * 3600 * 1000
    late = app("late", stage([10]), submit_ms=20 * day)
    record = run(scenario(app("long", stage([9 * day])), late, heartbeat_ms=1000), policy)
    assert [each.state for each in record.applications] == ["SUCCEEDED", "SUCCEEDED"]
