"""Tests of the engine: both states always agree, what a cluster would refuse is refused, and equal
runs are equal.
"""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scripted  # noqa: F401 - registers test policies
from loomcard import ClusterView, Plan, register
from loomcard.api.pending_plan import PendingPlan
from loomcard.engine.far_end import EPOCH
from loomcard.engine.session import replay
from loomcard.player.journal_reports import reported_states
from loomcard.results.metrics import facts
from loomcard.simulator import InvariantError, PolicyFaultError, Simulation, simulate
from loomcard.simulator.invariants import check_agreement
from loomcard.workload.scenario import write_scenario
from scenarios import app, compiled, random_scenario, run, scenario, stage, times

ROOT = Path(__file__).parents[2]


@given(st.integers(0, 1 << 32), st.sampled_from(["drf", "fifo", "capacity", "fair"]))
@settings(max_examples=30, deadline=None)
def test_every_application_ends_and_all_state_agrees_after_every_round(seed, policy):
    wanted = random_scenario(seed)
    record = run(wanted, policy)
    assert {each.state for each in record.applications} <= {"SUCCEEDED", "FAILED"}
    assert all(row.kind for row in record.containers)
    assert record.refusals == {}
    # A lost AM may not know of a task's end; its next attempt runs that task again.
    restarted = {r.application for r in record.containers if r.is_am and r.kind != "completed"}
    ended = Counter(
        (row.application, row.stage, row.task)
        for row in record.containers
        if row.kind == "completed" and row.task >= 0 and row.application not in restarted
    )
    assert set(ended.values()) <= {1}


@pytest.mark.parametrize(
    "queues",
    ["{a: {guaranteed: 75%}, b: {guaranteed: 25%}}", "{a: {}, b: {maximum: 25%}}"],
)
def test_jain_calls_fair_what_guarantees_and_maxima_ask_for(queues):
    """Two full queues use 3 and 1 of the 4 slots, as they may, in every window."""
    wanted = scenario(
        app("a", stage([30_000] * 18), queue="root.a"),
        app("b", stage([30_000] * 6), queue="root.b"),
    )
    config = (
        "version: 1\npolicy: capacity\noptions: {user_limit_factor: 4}\nqueues: " + queues + "\n"
    )
    assert facts(run(wanted, config))["jain_windows"] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("seed", [3, pytest.param(11, marks=pytest.mark.slow)])
def test_equal_runs_give_equal_bytes_whatever_the_hash_seed(seed, tmp_path):
    file = tmp_path / "scenario.json"
    file.write_bytes(write_scenario(random_scenario(seed)))
    script = (
        "import json, sys; sys.path.insert(0, 'tests/support')\n"
        "from scenarios import compiled; from loomcard.simulator import simulate\n"
        "from loomcard.workload.scenario import read_scenario\n"
        "from loomcard.results.metrics import facts\n"
        "s = read_scenario(open(sys.argv[1], 'rb').read())\n"
        "r = simulate(s, compiled(), policy='test')\n"
        "print(json.dumps(facts(r)), r.containers)"
    )
    said = {
        hashlib.sha256(
            subprocess.run(
                [sys.executable, "-c", script, str(file)],
                check=True, capture_output=True, cwd=ROOT,
                env=os.environ | {"PYTHONHASHSEED": hash_seed},
            ).stdout
        ).hexdigest()
        for hash_seed in ("0", "1", "77")
    }  # fmt: skip
    assert len(said) == 1


def test_the_journal_of_a_simulation_replays_to_the_byte(tmp_path):
    wanted = random_scenario(5)
    with_journal = simulate(wanted, compiled(), policy="test", journal=tmp_path)
    assert list(tmp_path.glob("*.jsonl"))
    assert replay(tmp_path) == []
    without = simulate(wanted, compiled(), policy="test")
    assert facts(with_journal) == facts(without)


def test_what_a_policy_reports_is_kept_and_the_journal_has_the_same(tmp_path):
    """Reports are a second apart, and one follows the last change. The record of a real run is read
    in the same way.
    """
    two = scenario(app("a", stage([1_500] * 4)), app("b", stage([700] * 6), submit_ms=800))
    record = simulate(two, compiled("test-reporter"), policy="p", journal=tmp_path)
    seen = {(row.at_ms, row.figure): row.value for row in record.states}
    assert [(at, value) for (at, name), value in seen.items() if name == "used"] == [
        (0, 1.0), (1_000, 1.0), (2_000, 1.0),
    ]  # fmt: skip
    assert seen[1_000, "waiting"] == 6
    assert {row.queue for row in record.states} == {"root.default"}
    assert reported_states(tmp_path, EPOCH, record.ended_ms) == record.states


def test_what_does_not_fit_is_refused_with_its_reason_and_stands_again(monkeypatch):
    lies = iter([True])
    allocate = PendingPlan.allocate

    def lying(pending, ask, node, instance, tag):
        """Allocate on node 2, once, instead of the node that was checked."""
        other = pending.state.nodes[2] if next(lies, False) else node
        allocate(pending, ask, other, instance, tag)

    monkeypatch.setattr(PendingPlan, "allocate", lying)
    big = app("j", stage([100], size=(4096, 4)))
    wanted = scenario(big, nodes=2)
    small = wanted.nodes[1].__class__("n2", "/r2", (1024, 1))
    wanted = wanted.__class__(
        **{name: getattr(wanted, name) for name in wanted.__struct_fields__}
        | {"nodes": [wanted.nodes[0], small]}
    )
    record = run(wanted, "fifo")
    assert record.refusals == {"NODE_FULL": 1}
    assert times(record) == [("s1", 0, 1, "n1", 0, 100, "completed")]


def test_a_policy_that_raises_stops_the_run_and_shows_where():
    with pytest.raises(PolicyFaultError, match="broken on purpose") as error:
        run(scenario(app("app2", stage([1]))), "test-broken")
    assert "at 0 ms, round 1" in str(error.value)
    assert "scripted.py" in error.value.hint
    assert "The run ends here" in error.value.hint
    assert "tried again" not in error.value.hint


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("test-exits", "SystemExit: 0"),
        ("test-forgets", "decide must return its Plan, and returned None"),
        ("test-nothing", "a count of 0"),
    ],
)
def test_what_is_no_answer_stops_the_run_too(policy, said):
    with pytest.raises(PolicyFaultError, match=said):
        run(scenario(app("j", stage([1]))), policy)


def test_a_policy_that_allocates_what_does_not_fit_is_stopped_with_a_remedy(monkeypatch):
    monkeypatch.setattr("loomcard.simulator.engine.ROUNDS_AT_A_TIME", 10)
    with pytest.raises(PolicyFaultError, match=r"11 rounds at \d+ ms .*NODE_FULL") as error:
        run(scenario(app("j", stage([1] * 50))), "test-allocates-unasked")
    assert "plan.why_not" in error.value.hint


def test_a_policy_that_wakes_itself_for_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr("loomcard.simulator.engine.ROUNDS_WITHOUT_PROGRESS", 1000)
    record = run(scenario(app("j", stage([10]))), "test-needs-rounds")
    assert record.applications[0].state == ""
    assert 900 < record.ended_ms < 1100


def test_a_policy_that_never_allocates_ends_the_run_unfinished():
    record = run(scenario(app("j", stage([10]))), "test-mean")
    assert record.applications[0].state == ""
    assert facts(record)["makespan_ms"] is None


def test_a_preempted_container_ends_after_its_grace_and_its_task_runs_again():
    record = run(
        scenario(app("j", stage([500])), app("k", stage([10]), submit_ms=100)), "test-taker"
    )
    assert times(record) == [
        ("s1", 0, 1, "n1", 0, 150, "preempted"),
        ("s1", 0, 1, "n1", 150, 650, "completed"),
    ]


def test_timers_wake_a_policy_that_waits():
    wishes = stage([10], nodes=[["n2"]])
    blocker = app("a", stage([9_000], size=(4096, 4), nodes=[["n2"]]))
    record = run(scenario(blocker, app("j", wishes, submit_ms=1), nodes=2), "test-delay")
    assert times(record) == [("s1", 0, 1, "n1", 5001, 5011, "completed")]


def test_heartbeats_are_reported_to_those_that_count_them():
    job = app("j", stage([2_500]))
    record = run(scenario(job, nodes=2, heartbeat_ms=1000), "test-beats")
    assert record.applications[0].state == "SUCCEEDED"
    assert Beats.seen["n1"] in (3, 4)
    assert Beats.seen["n1"] - Beats.seen["n2"] in (-1, 0, 1)


def test_ctrl_c_leaves_what_had_happened():
    def interrupt(_):
        raise KeyboardInterrupt

    job = app("j", *[stage([10] * 4000, i + 1, after=[i - 1] if i else []) for i in range(3)])
    record = simulate(scenario(job), compiled(), policy="x", on_progress=interrupt)
    assert record.finished is False
    assert 4000 < len(record.containers) < 12_000
    assert facts(record)["applications"][0]["finished_ms"] is None


def test_counts_that_do_not_add_up_are_noticed():
    simulation = Simulation(scenario(app("j", stage([10]))), compiled())
    simulation.run()
    check_agreement(simulation.rm)
    simulation.rm.state.nodes[1].free[0] -= 1
    with pytest.raises(InvariantError, match=r"node n1:8041: \[4095, 4\] is booked"):
        check_agreement(simulation.rm)


@register("test-mean")
@dataclass(frozen=True)
class Mean:
    """Allocates nothing."""

    def decide(self, view: ClusterView) -> Plan:
        return Plan(view)


@register("test-taker")
@dataclass(frozen=True)
class Taker:
    """Preempts the first container when a second application comes."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in plan.pending():
            for node in list(plan.nodes_fitting(ask))[:1]:
                plan.allocate(ask, node)
        apps = view.applications
        for container in list(apps[0].containers) if len(apps) > 1 else []:
            if container.number and container.preempting_since is None and container.node:
                plan.preempt(container, 50, "for the sake of the test")
        return plan


@register("test-beats")
@dataclass(frozen=True)
class Beats:
    """Counts heartbeats."""

    needs = frozenset({"heartbeats"})
    seen: ClassVar = {"n1": 0, "n2": 0}

    def decide(self, view: ClusterView, memory: None) -> tuple[Plan, None]:
        for change in view.changes:
            if type(change).__name__ == "NodeHeartbeat":
                self.seen[change.node.host] += 1
        plan = Plan(view)
        for ask in plan.pending():
            plan.allocate(ask, next(plan.nodes_fitting(ask)))
        return plan, memory


@register("test-exits")
@dataclass(frozen=True)
class Exits:
    """Ends the process."""

    def decide(self, view: ClusterView) -> Plan:
        raise SystemExit(view.now_ms)


@register("test-forgets")
@dataclass(frozen=True)
class Forgets:
    """Forgets to return its plan."""

    def decide(self, view: ClusterView) -> None:
        Plan(view)


@register("test-nothing")
@dataclass(frozen=True)
class Nothing:
    """Asks for an allocation of no containers."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in plan.pending():
            plan.allocate(ask, view.nodes[0], 0)
        return plan


@register("test-allocates-unasked")
@dataclass(frozen=True)
class AllocationsUnasked:
    """Allocates the first ask a hundred times, without a check of the node's free room."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        for ask in [*plan.pending()][:1] * 100:
            plan.allocate_checked(ask, view.nodes[0])
        return plan


@register("test-needs-rounds")
@dataclass(frozen=True)
class NeedsRounds:
    """Allocates nothing and asks to be called in each ms."""

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        plan.wake_at(view.now_ms + 1)
        return plan
