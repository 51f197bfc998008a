"""The embedded cluster that a scenario asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loomcard.cluster import paths
from loomcard.cluster.embedded_config import LocalSettings, Machine
from loomcard.cluster.stock_queues import config_of_queues
from loomcard.player.process import PlayError
from loomcard.workload.scenario import Amounts, Scenario, ScenarioApplication

_NOTHING: Mapping[str, str] = {}
AT_ONCE_MS = 50
"""A real cluster's interval for a heartbeat of 0, which means "every change is seen at once"."""


def is_stock(policy: Path | str) -> bool:
    """Return whether it names one of YARN's own schedulers, such as stock:capacity."""
    return str(policy).startswith("stock:")


def settings(
    scenario: Scenario,
    policy: Path | str,
    run_dir: Path,
    *,
    virtual: bool,
    config: Mapping[str, Any] | None = None,
    stock_file: Path | None = None,
    yarn: Mapping[str, str] = _NOTHING,
    policy_path: Sequence[Path] = (),
) -> LocalSettings:
    """The scenario's nodes, racks, amounts, rounding and heartbeats as an embedded cluster.

    `policy` is a YAML configuration, the name of a Loomcard policy, or a stock scheduler such as
    stock:capacity, which gets its own `stock_file`, else the queues of the compiled `config`, else
    just those that applications name; `yarn` are further properties. Raises PlayError where a real
    cluster cannot be what the scenario says.
    """
    stock = is_stock(policy)
    refuse_what_yarn_cannot_hold(scenario, stock=stock)
    types = scenario.resource_types
    minimum = dict(zip(types, scenario.minimum, strict=False))
    free = any(size[1] == 0 for app in scenario.applications for size in sizes(app))
    return LocalSettings(
        run_dir=run_dir,
        machines=tuple(
            Machine(node.name, node.rack, dict(zip(types, node.capacity, strict=True)))
            for node in scenario.nodes
        ),
        virtual=virtual,
        heartbeat_ms=scenario.heartbeat_ms or AT_ONCE_MS,
        minimum_memory_mb=max(1, minimum.get("memory_mb", 0)),
        minimum_vcores=0 if free else max(1, minimum.get("vcores", 0)),
        scheduler=str(policy) if stock else "loomcard",
        policy=None if stock else policy,
        stock_config=(config or _queues(scenario)) if stock and stock_file is None else None,
        stock_file=stock_file if stock else None,
        policy_path=tuple(policy_path),
        yarn=_SHORT_LIVED | dict(yarn),
    )


_SHORT_LIVED = {
    # A cluster that lives for one run keeps nothing for the next.
    "yarn.resourcemanager.recovery.enabled": "false",
    # A node with logs to delete later waits ten seconds before it stops.
    "yarn.nodemanager.log.retain-seconds": "0",
}


def _queues(scenario: Scenario) -> dict[str, Any]:
    return config_of_queues([app.queue for app in scenario.applications])


def capacity(scenario: Scenario, absent: Sequence[str] = ()) -> Amounts:
    """Return what all nodes but the `absent` ones have."""
    here = [node.capacity for node in scenario.nodes if node.name not in absent]
    return tuple(map(sum, zip(*here, strict=True))) or (0,) * len(scenario.resource_types)


def refuse_what_yarn_cannot_hold(scenario: Scenario, *, stock: bool) -> None:
    """Raise PlayError if a container has no memory, or is larger than any node, and on a Hadoop
    line without what the player needs.
    """
    if paths.hadoop_line() == "2.7":
        raise PlayError(
            "Hadoop 2.7 has no allocation request ids, by which the player tells its asks apart",
            "play the workload on another Hadoop line, such as 2.10",
        )
    if list(scenario.resource_types[:2]) != ["memory_mb", "vcores"]:
        raise PlayError(
            f"resource types {', '.join(scenario.resource_types)}: YARN's begin with memory_mb and "
            "vcores",
            "name these two first",
        )
    for app in scenario.applications:
        for size in sizes(app):
            said = _describe(scenario.resource_types, size)
            if size[0] < 1:
                raise PlayError(
                    f"application {app.id!r} asks for {said}: YARN gives no container without "
                    "memory",
                    "give each stage a memory_mb of at least 1",
                )
            if stock and size[1] < 1:
                raise PlayError(
                    f"application {app.id!r} asks for {said}: stock schedulers give at least one "
                    "vcore",
                    "give each stage a vcores of at least 1",
                )
            if not any(_fits(size, node.capacity) for node in scenario.nodes):
                raise PlayError(
                    f"application {app.id!r} asks for {said}, more than any node has",
                    "give a node that much, or ask for less",
                )


def sizes(app: ScenarioApplication) -> list[Amounts]:
    """Return the size of its AM's container, if it has one, and of every kind of container that it
    asks for.
    """
    asked = [stage.size for stage in app.stages] if app.executors is None else [app.executors.size]
    return asked if app.am is None else [app.am, *asked]


def _fits(size: Amounts, room: Amounts) -> bool:
    return all(need <= have for need, have in zip(size, room, strict=True))


def _describe(types: Sequence[str], size: Amounts) -> str:
    amounts: Mapping[str, int] = dict(zip(types, size, strict=True))
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items())
