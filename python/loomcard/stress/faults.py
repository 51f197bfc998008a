"""Scenarios in which something breaks: nodes are lost, a resource disappears, the policy is
swapped.
"""

from __future__ import annotations

from loomcard.stress.parts import SLOT, TURNOVER_MS, USUAL, app, nodes, workload
from loomcard.stress.predicates import Consistent, Ends, Guarantee, NoIdleRoom, NoStarvation
from loomcard.stress.scenario import StressScenario
from loomcard.workload.scenario import Fault

HALVES = {"a": {"guaranteed": "50%"}, "b": {"guaranteed": "50%"}}


def vanishing_resource() -> StressScenario:
    """All nodes with GPUs are lost for a while; other tasks continue, and those with GPUs run in
    the end.
    """
    types = ["memory_mb", "vcores", "gpu"]
    machines = nodes(4, (8192, 8, 0)) + nodes(2, (8192, 8, 4), name="g")
    faults = [Fault(20_000, "g1", 60_000), Fault(25_000, "g2", 60_000)]
    apps = [app(f"g{i}", 12, i * 3_000, "root.a", size=(1024, 1, 1)) for i in range(6)]
    apps += [
        app(f"c{i}", 60, i * 3_000, f"root.{'ab'[i % 2]}", size=(1024, 1, 0)) for i in range(8)
    ]
    name = "vanishing-resource"
    return StressScenario(
        name,
        "every node with a GPU is lost for a minute, while tasks wait for GPUs and others do not",
        workload(name, machines, apps, 1500, types=types, faults=faults),
        (*USUAL, Guarantee({"root.b": 0.5}, TURNOVER_MS)),
        HALVES,
        cheap=True,
    )


def nodes_lost() -> StressScenario:
    """Half of the nodes are lost for a minute with the AMs on them; one node is lost and returns
    repeatedly.
    """
    faults = [Fault(40_000, f"n{i}", 60_000) for i in range(1, 6)]
    faults += [Fault(at, "n6", 2_000) for at in range(20_000, 120_000, 10_000)]
    apps = [app(f"{q}{i}", 60, i * 500, f"root.{q}", am=SLOT) for q in "ab" for i in range(8)]
    name = "nodes-lost"
    return StressScenario(
        name,
        "half of the nodes are lost for a minute with their AMs, and one comes and goes",
        workload(name, nodes(10), apps, 1500, faults=faults),
        (*USUAL, Guarantee({"root.a": 0.5, "root.b": 0.5}, TURNOVER_MS)),
        {name: {**queue, "am_share": "50%"} for name, queue in HALVES.items()},
    )


def swap() -> StressScenario:
    """From fifo to the policy, to drf and back, under load."""
    apps = [app(f"{q}{i}", 40, i * 2_000, f"root.{q}", am=SLOT) for q in "ab" for i in range(10)]
    apps.append(app("large", 2, 15_000, "root.a", size=(2048, 2)))
    name = "swap"
    return StressScenario(
        name,
        "begins under fifo, is swapped to the policy, to drf and back, while everything runs",
        workload(name, nodes(6), apps, 1500),
        (
            Consistent(), Ends(), NoIdleRoom(), NoStarvation(),
            Guarantee({"root.a": 0.5, "root.b": 0.5}, TURNOVER_MS),
        ),
        {name: {**queue, "am_share": "50%"} for name, queue in HALVES.items()},
        begins_under="fifo",
        swaps=((20_000, None), (50_000, "drf"), (60_000, None)),
        cheap=True,
    )  # fmt: skip
