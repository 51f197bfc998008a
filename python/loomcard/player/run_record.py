"""Make the record of a run from what a player and the NodeManagers recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loomcard.cluster.container_times import ContainerRun
from loomcard.player.container_ids import ContainerKey, container_key
from loomcard.player.process import Event
from loomcard.results.container_rows import ContainerRow
from loomcard.results.record import ApplicationRecord
from loomcard.workload.scenario import Scenario, ScenarioApplication


def zero_ms(events: Iterable[Event]) -> int | None:
    """Return the run's zero in ms since 1970; None if the player did not begin."""
    return next((event["zero_ms"] for event in events if event["event"] == "zero"), None)


def application_records(scenario: Scenario, events: Sequence[Event]) -> list[ApplicationRecord]:
    """Every application of the scenario. Submission is when the ResourceManager took it, or, where
    it never did, when it was to come.
    """
    zero = zero_ms(events) or 0
    found = {
        app.id: ApplicationRecord(app.id, app.queue, app.submit_ms, list(app.tags))
        for app in scenario.applications
    }
    since: dict[str, int] = {}
    last = max((event["at_ms"] for event in events), default=zero) - zero
    for event in events:
        app, at_ms = event.get("application", ""), int(event["at_ms"]) - zero
        match event["event"]:
            case "submitted":
                found[app].submitted_ms = at_ms
            case "demand" if event["on"]:
                since[app] = at_ms
            case "demand":
                found[app].demanding.append((since.pop(app), at_ms))
            case "closed":
                found[app].state = event["state"]
                if "submitted_ms" in event:
                    found[app].submitted_ms = int(event["submitted_ms"]) - zero
            case _:
                pass
    for app, began in since.items():
        found[app].demanding.append((began, last))
    return list(found.values())


def container_rows(
    scenario: Scenario,
    events: Sequence[Event],
    runs: Sequence[ContainerRun],
    allocated: Mapping[ContainerKey, int],
) -> list[ContainerRow]:
    """Every container that was allocated, by time. `runs` are the NodeManagers' times, `allocated`
    the ResourceManager's where it reports them (ms since 1970); otherwise a container counts as
    allocated when its AM heard of it, and an AM's own when it began to run.
    """
    zero = zero_ms(events) or 0
    applications = {app.id: app for app in scenario.applications}
    names = {e["yarn"]: e["application"] for e in events if e["event"] == "submitted"}
    seen = {run.container: run for run in runs}
    ends = {event["container"]: event["kind"] for event in events if event["event"] == "ended"}
    rows = []
    for event in events:
        if event["event"] != "allocated":
            continue
        name = event["container"]
        started, ended = _times(seen.get(name), zero)
        app = applications[event["application"]]
        rows.append(
            ContainerRow(
                app.id, event["stage"], event["task"], event["attempt"], event["node"], False,
                _size(app, event["stage"]),
                allocated.get(container_key(name), event["at_ms"]) - zero, started, ended,
                ends.get(name, "" if ended is None else "killed"),
            )
        )  # fmt: skip
    masters = [run for run in runs if run.is_am and run.application in names]
    last = {run.application: run for run in masters}
    for run in masters:
        row = _master(applications[names[run.application]], run, allocated, zero)
        # Only an attempt that was lost has another one after it.
        rows.append(row if run is last[run.application] else row._replace(kind="lost"))
    return sorted(rows, key=lambda row: (row.allocated_ms or 0, row.application, row[1:4]))


def _times(run: ContainerRun | None, zero: int) -> tuple[int | None, int | None]:
    if run is None:
        return None, None
    return run.started_ms - zero, None if run.ended_ms is None else run.ended_ms - zero


def _master(
    app: ScenarioApplication, run: ContainerRun, allocated: Mapping[ContainerKey, int], zero: int
) -> ContainerRow:
    key = container_key(run.container)
    started, ended = _times(run, zero)
    at_ms = allocated.get(key, run.started_ms) - zero
    kind = "" if ended is None else "completed"
    size = app.am or ()
    return ContainerRow(app.id, "", -1, key[1], run.node, True, size, at_ms, started, ended, kind)


def _size(app: ScenarioApplication, stage: str) -> tuple[int, ...]:
    if app.executors is not None:
        return app.executors.size
    return next(each.size for each in app.stages if each.id == stage)


def counts(events: Iterable[Event]) -> dict[str, int]:
    """Return how many events of each kind there were."""
    found: dict[str, int] = defaultdict(int)
    for event in events:
        found[event["event"]] += 1
    return found


def refusals(scheduler: Mapping[str, Any]) -> dict[str, int]:
    """Return how often each reason refused a decision, from the scheduler's document; {} for stock
    schedulers.
    """
    found = scheduler.get("schedulerInfo", {}).get("refusals", {})
    return dict(sorted(found.items()))


def stalls(scheduler: Mapping[str, Any]) -> int:
    """Return how often a queue stalled, from the scheduler's document; 0 for stock schedulers."""
    return int(scheduler.get("schedulerInfo", {}).get("bridge", {}).get("stalls", 0))


def allocations(scheduler: Mapping[str, Any]) -> dict[str, int]:
    """Return how many containers the policy and the fallback allocated, from the same; {} for stock
    schedulers.
    """
    return dict(scheduler.get("schedulerInfo", {}).get("allocations", {}))
