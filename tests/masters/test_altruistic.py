"""An AM that plans itself, in the simulator: its marks, its share, and what comes of them."""

from collections import Counter
from statistics import mean

import pytest

from loomcard.api.stages.marked_asks import ALTRUISTIC_ASKS, DEFAULT_ASKS, unmarked
from loomcard.masters.must_starts import MustStarts
from loomcard.simulator.engine import Simulation
from loomcard.wire import messages as r
from loomcard.workload.scenario import Fault, Scenario
from scenarios import app, compiled, run, scenario, stage

UNIT = 10_000


def figure_2(asks: str = "altruistic", **keys: object) -> Scenario:
    """Two DAGs on 100 slots; both wait behind a gate of all slots that ends after two seconds, so
    that their AMs know their shares when the first task starts.
    """

    def tasks(count: int, slots: int, number: int, parts: int = 10, **more: object):
        return stage([UNIT * parts // 10] * count, number, size=(1024 * slots, slots), **more)

    stages = [tasks(2, 4, 1), tasks(3, 21, 2), tasks(1, 10, 3, 1, after=[0, 1])]
    gate = app("gate", stage([2000], size=(102_400, 100)))
    one = app("j1", *stages, asks=asks, submit_ms=500)
    two = app("j2", tasks(2, 29, 1), asks=asks, submit_ms=500)
    return scenario(gate, one, two, slots=100, **keys)


def ends(wanted: Scenario, policy: str) -> list[float]:
    """When j1 and j2 end, in the figure's unit from the gate's end."""
    found = run(wanted, policy).applications[1:]
    return [(each.demanding[-1][1] - 2000) / UNIT for each in found]


@pytest.mark.parametrize("beat_ms", [0, 100])
def test_figure_2_by_marks_alone(beat_ms):
    """As by the hint, 2.1 and 1.0; and under hard shares 2.1 and 2.0, whatever is marked. With
    heartbeats each stage and each round of tasks takes a bit longer.
    """
    wanted = figure_2(heartbeat_ms=beat_ms, am_heartbeat_ms=beat_ms)
    late = 8 * beat_ms / UNIT
    assert ends(wanted, "carbyne") == pytest.approx([2.1, 1.0], abs=late)
    assert ends(wanted, "strict") == pytest.approx([2.1, 2.0], abs=late)
    assert mean(ends(wanted, "carbyne")) < 1.56 + late


def played(wanted: Scenario, policy: str) -> tuple[Simulation, list[r.AskChangedRecord]]:
    """A run, and every ask that the ResourceManager heard."""
    simulation = Simulation(wanted, compiled(policy), check=True)
    asked: list[r.AskChangedRecord] = []
    send = simulation.rm.send

    def noted(record: r.AnyRecord) -> None:
        asked.extend([record] if isinstance(record, r.AskChangedRecord) else [])
        send(record)

    simulation.rm.send = noted  # type: ignore[method-assign]
    simulation.run()
    return simulation, asked


def test_rows_move_between_the_kinds_and_states_are_whole_numbers():
    """Of Fig 2's first job one task of stage 2 must start at first, and the others not; in the end
    every row is 0.
    """
    _, asked = played(figure_2(), "carbyne")
    one = [a for a in asked if a.attempt == 2]
    rows = [(a.allocation_request_id, a.count) for a in one]
    default, altruistic = DEFAULT_ASKS.start, ALTRUISTIC_ASKS.start
    assert rows[:2] == [(altruistic + 1, 2), (altruistic + 2, 3)]
    assert rows[2:4] == [(default + 2, 1), (altruistic + 2, 2)]
    assert {unmarked(a.allocation_request_id) for a in one} == {1, 2, 3}
    assert not any(a.allocation_request_id in (1, 2, 3) for a in one)


def random_jobs(**keys: object) -> Scenario:
    """Three jobs with failing tasks, wishes for nodes and an AM container, on two nodes; one is
    lost for a while.
    """
    first = stage(
        [3000] * 6, 1, fails_ms={1: [500], 4: [700, 900]}, nodes=[["n1"]] * 3 + [["n2"]] * 3
    )
    jobs = [
        app("a", first, stage([2000] * 4, 2, after=[0], size=(2048, 1)), asks="altruistic"),
        app("b", stage([5000] * 9, 1), asks="altruistic", am=(1024, 1), submit_ms=700),
        app("c", stage([1000] * 5, 1), stage([1000], 2, after=[0]), submit_ms=900),
    ]
    return scenario(*jobs, nodes=2, slots=5, faults=[Fault(4000, "n2", 3000)], **keys)


@pytest.mark.parametrize("policy", ["carbyne", "drf", "fifo", "tetris", "strict", "capacity"])
@pytest.mark.parametrize("beat_ms", [0, 200])
def test_every_task_runs_once_whatever_happens(policy, beat_ms):
    """Failures, a lost node and a lost AM: all end well, under every policy; nothing is asked for
    in the end. A container that was asked for twice is given back.
    """
    wanted = random_jobs(heartbeat_ms=beat_ms, am_heartbeat_ms=beat_ms)
    record = run(wanted, policy)
    assert {each.state for each in record.applications} == {"SUCCEEDED"}
    done = Counter(
        (row.application, row.stage, row.task)
        for row in record.containers
        if row.kind == "completed" and row.task >= 0
    )
    tasks = sum(len(s.durations_ms) for each in wanted.applications for s in each.stages)
    assert len(done) == tasks
    assert set(done.values()) == {1}


def test_wishes_for_nodes_stand_in_the_row_of_their_task():
    """What both rows wish for is together what all waiting tasks wish for."""
    one = stage([3000] * 6, 1, nodes=[["n1"]] * 2 + [["n2"]] * 4)
    simulation = Simulation(scenario(app("a", one), nodes=2), compiled("fifo"))
    waits = simulation.masters[0].model.stages[0]
    for task in range(6):
        waits.add(task)
    assert waits.split_rows(3) == (
        ({"n1": 2, "n2": 1}, {"/r1": 2, "/r2": 1}),
        ({"n2": 3}, {"/r2": 3}),
    )


def test_equal_runs_are_equal():
    wanted = random_jobs(heartbeat_ms=200, am_heartbeat_ms=200)
    first, second = (run(wanted, "carbyne").containers for _ in range(2))
    assert first == second


SLOT = (1024, 1)
CAPACITY = (102_400, 100)


def planned(*stages: object, tolerance_ms: int = 0) -> MustStarts:
    return MustStarts(stages, CAPACITY, tolerance_ms)  # type: ignore[arg-type]


def test_a_single_wave_may_wait_for_the_slack_of_the_longest():
    """Two stages without order, 10 s and 4 s, both fit the share: the short one may start 6 s
    later, and must then.
    """
    plan = planned(stage([10_000], 1), stage([4000], 2))
    share = (2048, 2)
    assert plan.decide(0, share, [1, 1], []) == ([1, 0], 6000)
    assert plan.decide(100, share, [0, 1], [(0, 100)]) == ([0, 0], 6000)
    assert plan.decide(6000, share, [0, 1], [(0, 100)]) == ([0, 1], None)


def test_what_is_due_within_the_tolerance_starts_now():
    """An AM that speaks once a second cannot wait for the last moment."""
    plan = planned(stage([10_000], 1), stage([4000], 2), tolerance_ms=1000)
    share = (2048, 2)
    assert plan.decide(0, share, [1, 1], []) == ([1, 0], 5000)
    assert plan.decide(5000, share, [0, 1], [(0, 0)]).must == [0, 1]


def test_a_larger_share_lets_more_start():
    """Four tasks one after the other, or all at once."""
    plan = planned(stage([1000] * 4, 1))
    assert plan.decide(0, SLOT, [4], []).must == [1]
    assert plan.decide(0, (4096, 4), [4], []).must == [4]


def test_a_job_of_too_long_a_schedule_asks_for_all(monkeypatch):
    """As one that knows no stages; its share is the scheduler's business."""
    monkeypatch.setattr("loomcard.masters.must_starts.MOST_STEPS", 3)
    plan = planned(stage([1000] * 40, 1))
    assert plan.decide(0, SLOT, [40], []) == ([40], None)
