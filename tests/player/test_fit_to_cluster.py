"""A scenario on the nodes of a cluster that already runs."""

from typing import Any

import pytest

from loomcard.player.fit_to_cluster import fit
from loomcard.player.process import PlayError
from loomcard.workload.scenario import (
    Executors,
    Fault,
    Scenario,
    ScenarioApplication,
    ScenarioNode,
    Stage,
)

TYPES = ["memory_mb", "vcores"]


def node(host: str, rack: str = "/rack-1", used: int = 0) -> dict[str, Any]:
    """Return a node of 4096 MB and 4 vcores, as the ResourceManager reports it."""
    return {
        "nodeHostName": host, "rack": rack, "usedMemoryMB": used, "availMemoryMB": 4096 - used,
        "usedVirtualCores": 1, "availableVirtualCores": 3,
    }  # fmt: skip


def scenario(*nodes: ScenarioNode, **more: Any) -> Scenario:
    stage = Stage("s", (500, 0), 20, 1, [10, 10], nodes=[["n1"], ["n1", "n2"]])
    return Scenario(
        "w", 1, TYPES, list(nodes),
        [
            ScenarioApplication("a", 0, "root.default", "u", "plain", [stage], am=(1, 1)),
            ScenarioApplication(
                "b", 0, "root.default", "u", "spark", [], executors=Executors(2, (130, 2))
            ),
        ],
        **more,
    )  # fmt: skip


N1, N2 = ScenarioNode("n1", "/r1", (4096, 4)), ScenarioNode("n2", "/r1", (4096, 4))


def test_the_cluster_is_what_it_is() -> None:
    """Names come in order, racks and amounts from the cluster, sizes as it rounds them; an
    additional node has its own name.
    """
    found = fit(scenario(N1, N2), [node("x", "/rack-2", 512), node("y"), node("z")], 128)
    assert found.real_names == {"n1": "x", "n2": "y", "z": "z"}
    assert found.scenario.nodes == [
        ScenarioNode("n1", "/rack-2", (4096, 4)),
        ScenarioNode("n2", "/rack-1", (4096, 4)),
        ScenarioNode("z", "/rack-1", (4096, 4)),
    ]
    first, second = found.scenario.applications
    assert (first.am, first.stages[0].size) == ((128, 1), (512, 1))
    assert second.executors == Executors(2, (256, 2))
    assert first.stages[0].nodes == [["n1"], ["n1", "n2"]]
    assert found.differences == ["3 nodes in place of 2", "other racks", "sizes rounded up"]


def test_a_wish_for_a_node_that_is_not_there_is_dropped() -> None:
    """No task waits for a node that never comes."""
    other = ScenarioNode("n1", "/r1", (1024, 2))
    found = fit(scenario(other, N2), [node("x")], 128)
    assert found.scenario.applications[0].stages[0].nodes == [["n1"], ["n1"]]
    assert found.differences == [
        "1 nodes in place of 2",
        "n1 has 4096 MB and 4 vcores in place of 1024 MB and 2 vcores",
        "sizes rounded up",
    ]
    without = fit(scenario(ScenarioNode("m", "/r1", (4096, 4))), [node("x")], 128)
    assert without.scenario.applications[0].stages[0].nodes == []
    assert without.differences == ["sizes rounded up"]


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        pytest.param(scenario(N1, faults=[Fault(1, "n1")]), "loses nodes", id="faults"),
        pytest.param(
            Scenario("w", 1, [*TYPES, "gpu"], [], []), "resource types memory_mb, vcores, gpu",
            id="types",
        ),
        pytest.param(
            Scenario(
                "w", 1, TYPES, [N1],
                [
                    ScenarioApplication(
                        "a", 0, "root.default", "u", "plain", [Stage("s", (4097, 1), 1, 1, [1])]
                    )
                ],
            ),
            "memory_mb 4224, vcores 1, more than any node has",
            id="too large",
        ),
    ],
)  # fmt: skip
def test_what_it_cannot_play_is_refused(workload: Scenario, said: str) -> None:
    """It is refused before anything is changed on the cluster."""
    with pytest.raises(PlayError, match=said) as caught:
        fit(workload, [node("x")], 128)
    assert caught.value.hint
