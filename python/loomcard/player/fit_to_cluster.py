"""Fit a scenario to a cluster that runs already, with its given nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from loomcard.cluster.rm_client import Document
from loomcard.player.process import PlayError
from loomcard.player.settings import refuse_what_yarn_cannot_hold, sizes
from loomcard.workload.scenario import Amounts, Scenario, ScenarioApplication, ScenarioNode, Stage

_TYPES = ["memory_mb", "vcores"]


@dataclass(frozen=True)
class Fit:
    """`scenario` with the cluster's racks, amounts and rounding; `real_names`: the cluster's hosts
    by the scenario's names; `differences`: what was changed, in words.
    """

    scenario: Scenario
    real_names: dict[str, str]
    differences: list[str]


def fit(scenario: Scenario, nodes: Sequence[Document], minimum_mb: int) -> Fit:
    """The scenario on `nodes`, the ResourceManager's documents of those that run, in this order;
    sizes become multiples of `minimum_mb` and of one vcore.

    Nodes beyond the scenario's are used under their own names; a task's wish for a node that is
    not there is dropped. Raises PlayError where the cluster cannot play it: faults, further
    resource types, a container larger than any node.
    """
    if scenario.faults:
        raise PlayError(
            f"workload {scenario.name!r} loses nodes, and the compose cluster's stay",
            "play it on local, or without its faults",
        )
    if scenario.resource_types != _TYPES:
        raise PlayError(
            f"workload {scenario.name!r} has resource types {', '.join(scenario.resource_types)}: "
            "the compose cluster has memory_mb and vcores",
            "play it on local",
        )
    wanted = scenario.nodes
    there = [_node(node, wanted[i].name if i < len(wanted) else "") for i, node in enumerate(nodes)]
    names = {node.name for node in there}

    def sized(size: Amounts) -> Amounts:
        return (-(-size[0] // minimum_mb) * minimum_mb, max(1, size[1]))

    fitted = msgspec.structs.replace(
        scenario,
        nodes=there,
        applications=[_application(app, names, sized) for app in scenario.applications],
        minimum=(minimum_mb, 1),
    )
    refuse_what_yarn_cannot_hold(fitted, stock=False)
    pairs = zip(there, nodes, strict=True)
    real = {node.name: str(document["nodeHostName"]) for node, document in pairs}
    return Fit(fitted, real, _differences(scenario, fitted))


def _node(document: Document, name: str) -> ScenarioNode:
    amounts = (
        int(document["usedMemoryMB"]) + int(document["availMemoryMB"]),
        int(document["usedVirtualCores"]) + int(document["availableVirtualCores"]),
    )
    return ScenarioNode(name or str(document["nodeHostName"]), str(document["rack"]), amounts)


def _application(
    app: ScenarioApplication, names: set[str], sized: Callable[[Amounts], Amounts]
) -> ScenarioApplication:
    executors = app.executors
    if executors is not None:
        executors = msgspec.structs.replace(executors, size=sized(executors.size))
    return msgspec.structs.replace(
        app,
        stages=[_stage(stage, names, sized) for stage in app.stages],
        executors=executors,
        am=None if app.am is None else sized(app.am),
    )


def _stage(stage: Stage, names: set[str], sized: Callable[[Amounts], Amounts]) -> Stage:
    wishes = [[name for name in task if name in names] for task in stage.nodes]
    return msgspec.structs.replace(
        stage, size=sized(stage.size), nodes=wishes if any(wishes) else []
    )


def _differences(scenario: Scenario, fitted: Scenario) -> list[str]:
    found = []
    wanted, there = scenario.nodes, fitted.nodes
    if len(wanted) != len(there):
        found.append(f"{len(there)} nodes in place of {len(wanted)}")
    pairs = list(zip(wanted, there, strict=False))
    unlike = next((pair for pair in pairs if pair[0].capacity != pair[1].capacity), None)
    if unlike is not None:
        said = [f"{mb} MB and {vcores} vcores" for mb, vcores in (n.capacity for n in unlike)]
        found.append(f"{unlike[0].name} has {said[1]} in place of {said[0]}")
    if _racks([pair[0] for pair in pairs]) != _racks([pair[1] for pair in pairs]):
        found.append("other racks")
    applications = zip(scenario.applications, fitted.applications, strict=True)
    if any(sizes(one) != sizes(other) for one, other in applications):
        found.append("sizes rounded up")
    return found


def _racks(nodes: Sequence[ScenarioNode]) -> list[int]:
    """Return which nodes share a rack, whatever its name: for each the first node of its rack."""
    racks = [node.rack for node in nodes]
    return [racks.index(rack) for rack in racks]
