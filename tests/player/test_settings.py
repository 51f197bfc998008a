"""The embedded cluster of a scenario, and scenarios that a real YARN cannot run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loomcard.player.faults import Faults
from loomcard.player.process import PlayError
from loomcard.player.settings import AT_ONCE_MS, capacity, settings
from loomcard.workload.scenario import Fault, Scenario, ScenarioApplication, ScenarioNode, Stage

POLICY = Path("drf.yml")


def scenario(size: tuple[int, ...] = (512, 1, 0), **changes: Any) -> Scenario:
    nodes = [ScenarioNode("big", "/r1", (8192, 16, 2)), ScenarioNode("n2", "/r2", (4096, 8, 0))]
    stage = Stage("s", size, 20, 1, [100])
    app = ScenarioApplication("a", 0, "root.default", "u", "plain", [stage])
    built = Scenario("s", 1, ["memory_mb", "vcores", "gpu"], nodes, [app])
    return msgspec.structs.replace(built, **changes)


def test_the_cluster_is_the_scenarios() -> None:
    """Names, racks, amounts of every type, heartbeats and rounding are the scenario's."""
    made = settings(
        scenario(minimum=(256, 2, 0), heartbeat_ms=0), POLICY, Path("/run"), virtual=True
    )
    assert [(m.name, m.rack, dict(m.capacity)) for m in made.machines] == [
        ("big", "/r1", {"memory_mb": 8192, "vcores": 16, "gpu": 2}),
        ("n2", "/r2", {"memory_mb": 4096, "vcores": 8, "gpu": 0}),
    ]
    assert made.resource_types == ("gpu",)
    assert made.heartbeat_ms == AT_ONCE_MS
    assert (made.minimum_memory_mb, made.minimum_vcores) == (256, 2)
    assert (made.policy, made.scheduler, made.virtual) == (POLICY, "loomcard", True)
    stock = settings(scenario(), "stock:fair", Path("/run"), virtual=False)
    assert (stock.policy, stock.scheduler, stock.is_loomcard) == (None, "stock:fair", False)
    assert (stock.minimum_memory_mb, stock.minimum_vcores) == (1, 1)


@pytest.mark.parametrize(
    ("size", "policy", "said"),
    [
        ((0, 1, 0), POLICY, "'a' asks for memory_mb 0.*without memory"),
        ((64, 0, 0), "stock:capacity", "at least one vcore"),
        ((9000, 1, 0), POLICY, "more than any node has"),
        ((5000, 1, 3), POLICY, "gpu 3, more than any node"),
    ],
)
def test_what_yarn_cannot_hold_is_refused(
    size: tuple[int, ...], policy: Path | str, said: str
) -> None:
    """There is one clear error before anything is started."""
    with pytest.raises(PlayError, match=said) as caught:
        settings(scenario(size), policy, Path("/run"), virtual=True)
    assert caught.value.hint


def test_hadoop_2_7_cannot_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOMCARD_HADOOP", "2.7")
    with pytest.raises(PlayError, match=r"Hadoop 2\.7 has no allocation request ids") as caught:
        settings(scenario(), POLICY, Path("/run"), virtual=False)
    assert "such as 2.10" in caught.value.hint


def test_no_vcores_are_no_vcores_under_our_own_scheduler() -> None:
    """Only under our scheduler may requests stay at 0: YARN would round them up to 1."""
    assert settings(scenario((64, 0, 0)), POLICY, Path("/run"), virtual=True).minimum_vcores == 0


def test_faults_change_the_capacity_as_they_happen() -> None:
    """A node is away between its two commands; one whose command fails is reported."""
    done: list[str] = []
    faults = Faults(scenario(faults=[Fault(2, "n2", 1)]), done.append, lambda: 5)
    assert faults.plan() == [(2, "stop-node", "n2"), (3, "start-node", "n2")]
    faults.start()
    assert faults._thread is not None
    faults._thread.join(10)
    assert done == ["stop-node n2", "start-node n2"]
    assert faults.steps == [(0, (12288, 24, 2)), (5, (8192, 16, 2)), (5, (12288, 24, 2))]
    assert capacity(scenario(), ["big", "n2"]) == (0, 0, 0)


def test_no_fault_happens_after_the_end() -> None:
    """No further fault of a run happens after its end."""
    done: list[str] = []
    faults = Faults(scenario(faults=[Fault(60_000, "n2")]), done.append, lambda: 0)
    assert replace(faults).plan() == [(60_000, "stop-node", "n2")]
    faults.start()
    faults.stop()
    assert done == []
