"""The journal of a real cluster (or of a simulation): what ran there becomes a workload.

* An application is its submission, queue, user and tags, and the size of its AM's container.
* A stage is what was asked for under one key (priority, request id); a task is a container that
  ended by itself or was released, for as long as it ran by the records' estimate, which knows of
  tasks that are shorter than a heartbeat. One that ended with an exit
  status of failure is a failing attempt of the task that came next. What was preempted, lost,
  expired, never ran, or ran when the journal ended is no task: it was asked for again, or is not
  known.
* ``after`` is what the application's hint says of it; without a hint, a stage follows those whose
  containers had all ended when it was first asked for. A type of MAPREDUCE is of that kind; its
  reduces' times count from the end of the last map, as they waited for maps until then.
* An AM asks for the first of these as long after its start as it did.
* A task whose host its ask had named wishes for that host, another one for all that were named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
from pydantic import Field

from loomcard.api.stages.dag_hint import read_dag
from loomcard.model.objects import AskKey
from loomcard.wire import messages as r
from loomcard.wire.decisions import allocated as allocated_containers
from loomcard.wire.decisions import read_decisions
from loomcard.wire.journal import JournalError, Segment, read_segments
from loomcard.workload.readers.source import Faults, Source, Traced
from loomcard.workload.scenario import ScenarioApplication, ScenarioNode, Stage

Key = tuple[int, int]
_KILLED = (137, 143)
"""Exit statuses of containers that were stopped after their work was done; so are negative ones,
which are YARN's own.
"""


class JournalTrace(Source):
    """A folder of journal segments."""

    format: Literal["journal"] = Field(description="What the file is.", examples=["journal"])

    def read(self, file: Path, seed: int) -> Traced:  # noqa: ARG002 - nothing is drawn
        """Return what ran, and the nodes at their largest; times are relative to the journal's
        zero.
        """
        faults, past = Faults(file), _Past()
        try:
            for segment in read_segments(file):
                past.segment(segment)
        except JournalError as error:
            faults.add(1, str(error))
        except (
            msgspec.MsgspecError,
            AssertionError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            faults.add(past.line, f"not a journal's record: {error!r}")
        faults.check()
        made = [one for app in past.applications.values() if (one := _application(app))]
        made.sort(key=lambda one: one.submit_ms)
        return Traced(made, list(past.nodes.values()), past.types)


@dataclass
class _Ask:
    """One key's asks: the time of the first, the size, all named hosts, and the node label."""

    first_ms: int
    size: tuple[int, ...]
    hosts: dict[str, int] = field(default_factory=dict)
    label: str = ""


@dataclass
class _Container:
    key: Key
    size: tuple[int, ...]
    host: str
    is_am: bool
    started_ms: int | None = None
    ran_ms: int | None = None
    ended_ms: int = 0
    failed: bool = False


@dataclass
class _App:
    given: r.ApplicationAddedRecord
    queue: str
    submit_ms: int
    asks: dict[Key, _Ask] = field(default_factory=dict)
    containers: list[_Container] = field(default_factory=list)


class _Past:
    """What the records of all segments say, read in order."""

    def __init__(self) -> None:
        self.types: list[str] = []
        self.nodes: dict[str, ScenarioNode] = {}
        self.applications: dict[str, _App] = {}
        self.line = 1
        self._epoch: int | None = None
        self._shift = 0  # times are relative to the epoch's own zero

    def segment(self, segment: Segment) -> None:
        """Add the records and plans of the next segment."""
        if not segment.header:
            return
        hello = segment.hello
        self.types = hello.resource_types
        if self._epoch != hello.epoch:  # numbers belong to an epoch
            self._shift += 0 if self._epoch is None else hello.epoch - self._epoch
            self._epoch = hello.epoch
            self._hosts: dict[int, str] = {}
            self._queues: list[str] = []
            self._apps: dict[int, _App] = {}
            self._of_attempt: dict[int, _App] = {}
            self._without_am: set[int] = set()
            self._containers: dict[int, _Container] = {}
            self._plan = r.PlanReply(0)
            self._opened(segment.header.get("mirror"))
        for each in segment:
            self.line = each.line
            for record in each.batch.records:
                self._apply(record)
            self._plan = each.plan

    def _opened(self, state: dict[str, Any] | None) -> None:
        """Take in what the oldest segment says of the time before it."""
        if state is None:
            return
        self._apply(r.ConfigRecord(0, state["version"], state["config"]))
        for record in msgspec.convert(state["records"], list[r.AnyRecord]):
            self._apply(record)
        for number, started_ms, *_ in state["containers"]:
            self._containers[number].started_ms = started_ms
        decisions = [decision for decision, _ in read_decisions(state["plan"])]
        self._plan = r.PlanReply(state["plan_round"], decisions)

    def _apply(self, record: r.AnyRecord) -> None:
        match record:
            case r.ConfigRecord():
                self._queues = [queue["path"] for queue in record.config["queues"]]
            case r.NodeAddedRecord():
                host = self._hosts[record.node] = (
                    record.name or record.id.rpartition(":")[0] or record.id
                )
                known = self.nodes.get(host)
                capacity = self._amounts(record.capacity)
                size = tuple(map(max, capacity, known.capacity if known else capacity))
                self.nodes[host] = ScenarioNode(
                    host, record.rack, size, None, record.label, record.shared
                )
            case r.NodeRelabelledRecord():
                host = self._hosts[record.node]
                self.nodes[host] = msgspec.structs.replace(
                    self.nodes[host], label=record.label, shared=record.shared
                )
            case r.ApplicationAddedRecord():
                app = self.applications.get(record.id)
                app = app or _App(
                    record, self._queues[record.queue], record.submitted_ms + self._shift
                )
                self._apps[record.application] = self.applications[record.id] = app
            case r.AttemptAddedRecord():
                self._of_attempt[record.attempt] = self._apps[record.application]
                self._without_am.add(record.attempt)
            case r.AskChangedRecord():
                self._ask(record)
            case r.OutcomesRecord() if record.round == self._plan.round:  # others lost their plan
                for allocated, number, _ in allocated_containers(self._plan.decisions, record):
                    key = (allocated.priority, allocated.allocation_request_id)
                    self._place(number, allocated.attempt, key, allocated.node, None)
            case r.ContainerAddedRecord():
                if record.container not in self._containers:
                    key = (record.priority, record.allocation_request_id)
                    self._place(record.container, record.attempt, key, record.node, record.is_am)
                    self._containers[record.container].size = self._amounts(record.size)
            case r.ContainerStartedRecord():
                self._containers[record.container].started_ms = record.at_ms + self._shift
            case r.ContainerCompletedRecord():
                self._end(self._containers[record.container], record, record.at_ms + self._shift)

    def _ask(self, record: r.AskChangedRecord) -> None:
        key = (record.priority, record.allocation_request_id)
        asks = self._of_attempt[record.attempt].asks
        if not record.count and key not in asks:
            return  # the rest of an ask that was the AM's
        size = self._amounts(record.size)
        ask = asks.setdefault(key, _Ask(record.at_ms + self._shift, size))
        ask.hosts.update(record.hosts)
        ask.label = record.label if record.count else ask.label

    def _amounts(self, amounts: tuple[int, ...]) -> tuple[int, ...]:
        if len(amounts) != len(self.types) or min(amounts, default=0) < 0:
            raise ValueError(f"{list(amounts)} are not amounts of {', '.join(self.types)}")
        return amounts

    def _place(self, number: int, attempt: int, key: Key, node: int, is_am: bool | None) -> None:
        app = self._of_attempt[attempt]
        ask = app.asks.get(key)
        # An AM's ask has priority 0 and comes first; Spark also asks for executors under 0.
        first = key[0] == 0 and attempt in self._without_am
        master = first if is_am is None else is_am
        if master:
            self._without_am.discard(attempt)
            app.asks.pop(key, None)  # the same key may be used again, for something else
        made = _Container(key, ask.size if ask else (), self._hosts[node], master)
        self._containers[number] = made
        app.containers.append(made)

    @staticmethod
    def _end(container: _Container, record: r.ContainerCompletedRecord, at_ms: int) -> None:
        container.ended_ms = at_ms
        if record.kind in ("preempted", "lost", "expired"):
            return
        if record.launched_ms is not None and record.ended_ms is not None:
            container.ran_ms = max(1, record.ended_ms - record.launched_ms)
        elif container.started_ms is not None:  # a journal from before schema 2
            container.ran_ms = at_ms - container.started_ms
        else:
            return
        status = record.exit_status
        container.failed = record.kind == "completed" and status > 0 and status not in _KILLED


def _application(app: _App) -> ScenarioApplication | None:
    """Return the application, or None if nothing of it ran to its end."""
    by_key: dict[Key, list[_Container]] = {}
    for one in app.containers:
        if not one.is_am and one.ran_ms is not None:
            by_key.setdefault(one.key, []).append(one)
    done = {key: some for key, some in by_key.items() if not all(one.failed for one in some)}
    keys = sorted(done, key=lambda key: (app.asks[key].first_ms if key in app.asks else 0, key))
    if not keys:
        return None
    real = app.given.type.upper() == "MAPREDUCE" and {priority for priority, _ in keys} <= {20, 10}
    keys = sorted(keys, reverse=True) if real and len(keys) == 2 else keys
    real = real and [priority for priority, _ in keys] in ([20], [20, 10])
    if real and len(keys) == 2:
        _cut_waiting(done[keys[0]], done[keys[1]])
    dag = read_dag(app.given.hints)
    stages = []
    for place, key in enumerate(keys):
        number = None if dag is None else dag.stage_of(AskKey(0, *key))
        if dag is None or number is None:
            name, after = f"p{key[0]}-{max(0, key[1])}", _parents(app, keys, place, done)
        else:
            name = dag.stages[number].id
            after = [
                i
                for i in range(place)
                if dag.stage_of(AskKey(0, *keys[i])) in dag.stages[number].after
            ]
        if real:
            name, after = ("map", "reduce")[place], [0] if place else []
        stages.append(_stage(name, place, after, app.asks.get(key), done[key]))
    master = next((one for one in app.containers if one.is_am), None)
    return ScenarioApplication(
        id=app.given.id,
        submit_ms=app.submit_ms,
        queue=app.queue,
        user=app.given.user,
        kind="mapreduce" if real else "dag",
        stages=stages,
        tags=app.given.tags,
        am=None if master is None else master.size,
        am_start_ms=None if master is None else _am_start_ms(app, master, keys),
    )


def _am_start_ms(app: _App, master: _Container, keys: list[Key]) -> int | None:
    """Return the time from the AM's start to its first ask; None if one of them is not known."""
    asked = [app.asks[key].first_ms for key in keys if key in app.asks]
    if master.started_ms is None or not asked:
        return None
    return max(0, min(asked) - master.started_ms)


def _cut_waiting(maps: list[_Container], reduces: list[_Container]) -> None:
    copied = max(one.ended_ms for one in maps)
    for one in reduces:
        assert one.ran_ms is not None
        one.ran_ms = min(one.ran_ms, max(1, one.ended_ms - copied))


def _stage(
    name: str, place: int, after: list[int], ask: _Ask | None, ran: list[_Container]
) -> Stage:
    hosts = sorted(ask.hosts) if ask else []
    durations: list[int] = []
    wishes: list[list[str]] = []
    fails: dict[int, list[int]] = {}
    last = sum(not one.failed for one in ran) - 1
    for one in ran:
        if one.failed:
            fails.setdefault(min(len(durations), last), []).append(one.ran_ms or 0)
            continue
        durations.append(one.ran_ms or 0)
        wishes.append([one.host] if one.host in hosts else hosts)
    priority = ran[0].key[0]
    return Stage(
        name, ran[0].size, priority, place + 1, durations, after, wishes if hosts else [], fails,
        ask.label if ask else "",
    )  # fmt: skip


def _parents(
    app: _App, keys: list[Key], place: int, done: dict[Key, list[_Container]]
) -> list[int]:
    first = app.asks[keys[place]].first_ms if keys[place] in app.asks else 0
    return [i for i in range(place) if max(one.ended_ms for one in done[keys[i]]) <= first]
