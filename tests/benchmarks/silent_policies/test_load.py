"""How long asks waited, on events worked out by hand, and the configurations that are applied."""

from typing import Any

import pytest

from benchmarks.silent_policies import __main__ as program
from benchmarks.silent_policies import load
from benchmarks.silent_policies.load import Wait
from loomcard.api import registry
from loomcard.cluster.container_times import ContainerRun
from loomcard.config import compile_config
from loomcard.workload.scenario import Scenario, ScenarioApplication, Stage

YARN = "application_1_0001"


def ran(name: str, started_ms: int, *, is_am: bool = False) -> ContainerRun:
    return ContainerRun(name, YARN, "n1", is_am, 1, 1, started_ms, None)


def test_a_container_waits_since_its_ask_last_got_one() -> None:
    """The AM waits from its submission on; a container that never came waits to the end of the
    run.
    """
    stage = Stage("s", (1, 1), 20, 1, [5, 5, 5])
    app = ScenarioApplication("a", 0, "root.a", "u", "plain", [stage], am=(1, 1))
    scenario = Scenario("x", 1, ["memory_mb", "vcores"], [], [app])
    events: list[dict[str, Any]] = [
        {"event": "zero", "at_ms": 0, "zero_ms": 0},
        {"event": "submitted", "at_ms": 10, "application": "a", "yarn": YARN},
        {"event": "demand", "at_ms": 100, "application": "a", "on": True},
        {"event": "allocated", "at_ms": 140, "application": "a", "stage": "s", "container": "c2"},
        {"event": "allocated", "at_ms": 690, "application": "a", "stage": "s", "container": "c3"},
    ]
    runs = [ran("c1", 60, is_am=True), ran("c2", 150), ran("c3", 700)]
    assert load.waits(scenario, events, runs, 1_000) == [
        Wait(50, 50, served=True), Wait(50, 50, served=True), Wait(550, 600, served=True),
        Wait(300, 900, served=False),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", program.SILENT)
def test_each_silent_policy_can_be_applied(kind: str) -> None:
    """A liar may let an ask that fits wait longer, by the time that it is believed."""
    folder = (program.Path(program.__file__).parent,)
    assert compile_config(program.silent_config(kind), "x.yml", policy_path=folder)
    assert program.bound_of(kind) == (20_000 if kind in program.LIARS else 12_000)


@pytest.mark.parametrize("name", sorted(registry.built_in()))
def test_each_built_in_policy_can_be_applied(name: str) -> None:
    """It is applied over two queues, or in each of them."""
    assert compile_config(program.built_in_config(name), "x.yml")


def test_a_run_is_good_within_its_bound_and_without_stalls() -> None:
    """A silent policy is judged by its longest wait, a built-in one by its stalls."""
    waits = [Wait(900, 2_000, served=True)]
    assert program.Found("x", waits, 3, 1_000).is_good
    assert not program.Found("x", waits, 3, 800).is_good
    assert not program.Found("x", [], 0, 800).is_good, "nothing was asked for"
    assert program.Found("fifo", waits, 0, None).is_good
    assert not program.Found("fifo", waits, 1, None).is_good
