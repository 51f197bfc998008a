"""Write a scenario as a workload file in which nothing is left to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from loomcard.validation.findings import Finding, FindingsError
from loomcard.workload.scenario import Scenario, ScenarioApplication, Stage

MOST_TASKS = 100_000


def written(scenario: Scenario) -> str:
    """Return the YAML of a concrete workload, which loads to this scenario with any seed. Raises
    FindingsError if it would be too large to be read again.
    """
    tasks = sum(len(s.durations_ms) for one in scenario.applications for s in one.stages)
    if tasks > MOST_TASKS:
        message = f"{tasks} tasks are too many for a file; {MOST_TASKS} are written at most"
        named = "write a workload that names the trace (docs/simulate/workload.md)"
        raise FindingsError([Finding(1, 1, "", message, f"{named}, or take its first part")])
    return "\n".join(_lines(scenario)) + "\n"


def _lines(scenario: Scenario) -> Iterator[str]:
    types = scenario.resource_types
    yield "version: 1"
    yield "kind: workload"
    if scenario.stop_ms is not None:
        yield f"stop_ms: {scenario.stop_ms}"
    yield "cluster:"
    for key in ("heartbeat_ms", "am_heartbeat_ms", "launch_delay_ms", "am_start_ms"):
        yield f"  {key}: {getattr(scenario, key)}"
    if scenario.thrashing != 1:
        yield f"  thrashing: {scenario.thrashing}"
    if scenario.network is not None:
        links = {name: getattr(scenario.network, name) for name in ("node_mb_s", "rack_mb_s")}
        yield f"  network: {_flow(links)}"
    if any(scenario.minimum):
        yield f"  minimum: {_flow(dict(zip(types[:2], scenario.minimum, strict=False)))}"
    if types[2:]:
        yield f"  resources: {_flow(dict.fromkeys(types[2:], 'count'))}"
    yield "  nodes:"
    for node in scenario.nodes:
        facts = {"name": node.name, "rack": node.rack, **_size(types, node.capacity)}
        if node.physical_mb is not None:
            facts["physical_memory_mb"] = node.physical_mb
        yield f"    - {_flow(facts)}"
    if scenario.faults:
        yield "  faults:"
    for fault in scenario.faults:
        down = {} if fault.down_ms is None else {"down_ms": fault.down_ms}
        yield f"    - {_flow({'at_ms': fault.at_ms, 'node': fault.node, **down})}"
    yield "applications:"
    for one in scenario.applications:
        yield from _application(one, types)


def _application(one: ScenarioApplication, types: Sequence[str]) -> Iterator[str]:
    facts: dict[str, Any] = {
        "submit_ms": one.submit_ms,
        "queue": one.queue,
        "user": one.user,
        "kind": one.kind,
        "max_attempts": one.max_attempts,
    }
    if one.asks != "unmarked":
        facts["asks"] = one.asks
    if one.tags:
        facts["tags"] = one.tags
    if one.am is not None:
        facts["am"] = _size(types, one.am)
    if one.am_start_ms is not None:
        facts["am_start_ms"] = one.am_start_ms
    if one.kind == "mapreduce":
        shuffle = {name: getattr(one, name) for name in ("ms_per_map", "map_output_mb", "copies")}
        facts |= {"slowstart": one.slowstart, "shuffle": shuffle, "reduce_asks": one.reduce_asks}
    if one.executors is not None:
        held = one.executors
        facts["executors"] = {"count": held.count, **_size(types, held.size)}
    yield f"  - id: {_flow(one.id)}"
    for key, value in facts.items():
        yield f"    {key}: {_flow(value)}"
    yield "    stages:"
    for stage in one.stages:
        yield f"      - {_flow(_stage(stage, one, types))}"


def _stage(stage: Stage, one: ScenarioApplication, types: Sequence[str]) -> dict[str, Any]:
    times = stage.durations_ms
    facts: dict[str, Any] = {"id": stage.id, **_size(types, stage.size), "priority": stage.priority}
    facts["tasks"] = len(times)
    if stage.after:
        facts["after"] = [one.stages[parent].id for parent in stage.after]
    if any(stage.nodes):
        alike = all(hosts == stage.nodes[0] for hosts in stage.nodes)
        facts["nodes"] = stage.nodes[0] if alike else stage.nodes
    if stage.remote_factor != 1:
        facts["remote_factor"] = stage.remote_factor
    if stage.fails_ms:
        facts["fails_ms"] = {str(task): runs for task, runs in sorted(stage.fails_ms.items())}
    facts["duration_ms"] = times[0] if len(set(times)) == 1 else times
    return facts


def _size(types: Sequence[str], amounts: Sequence[int]) -> dict[str, int]:
    pairs = zip(types, amounts, strict=True)
    return {name: amount for name, amount in pairs if amount or name in types[:2]}


def _flow(value: Any) -> str:
    """Return a value on one line; text is quoted wherever YAML might read it differently."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str) and not value.replace("_", "").replace("-", "").isalpha():
        return "'" + value.replace("'", "''") + "'"
    return f"'{value}'" if value in ("true", "false", "null", "True", "False") else str(value)
