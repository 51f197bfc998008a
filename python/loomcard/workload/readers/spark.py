"""Stages and executors of an earlier run, from its Spark event log: JSON, one event per line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec import field as named

from loomcard.api.stages.dag_hint import DagStage
from loomcard.workload.dag_stages import DagError
from loomcard.workload.readers.event_log import CompressionError, log_files, plain

_UNITS: Final = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}


class _Event(Struct):
    event: str = named(name="Event")


class _Rdd(Struct):
    number: int = named(name="RDD ID")


class _StageInfo(Struct):
    number: int = named(name="Stage ID")
    tasks: int = named(name="Number of Tasks")
    parents: list[int] = named(name="Parent IDs", default_factory=list)
    profile: int = named(name="Resource Profile Id", default=0)
    rdds: list[_Rdd] = named(name="RDD Info", default_factory=list)


class _JobStart(Struct):
    stages: list[_StageInfo] = named(name="Stage Infos")


class _StageCompleted(Struct):
    stage: _StageInfo = named(name="Stage Info")


class _Reason(Struct):
    reason: str = named(name="Reason")


class _TaskInfo(Struct):
    launched: int = named(name="Launch Time")
    finished: int = named(name="Finish Time")


class _TaskEnd(Struct):
    stage: int = named(name="Stage ID")
    reason: _Reason = named(name="Task End Reason")
    info: _TaskInfo = named(name="Task Info")


class _Environment(Struct):
    properties: dict[str, str] = named(name="Spark Properties")


class _ExecutorInfo(Struct):
    cores: int = named(name="Total Cores")
    profile: int = named(name="Resource Profile Id", default=0)


class _ExecutorAdded(Struct):
    name: str = named(name="Executor ID")
    info: _ExecutorInfo = named(name="Executor Info")


class _ExecutorRemoved(Struct):
    name: str = named(name="Executor ID")


class _Amount(Struct):
    amount: float = named(name="Amount")


class _Profile(Struct):
    number: int = named(name="Resource Profile Id")
    executor: dict[str, _Amount] = named(name="Executor Resource Requests")
    task: dict[str, _Amount] = named(name="Task Resource Requests")


@dataclass
class SparkRun:
    """What an event log says about one application."""

    stages: dict[int, _StageInfo] = field(default_factory=dict)
    finished: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By stage: how many of its tasks succeeded, and the ms that they ran in total."""
    properties: dict[str, str] = field(default_factory=dict)
    profiles: dict[int, _Profile] = field(default_factory=dict)
    cores: dict[int, int] = field(default_factory=dict)
    """The size of an executor, by resource profile."""
    peak: Counter[int] = field(default_factory=Counter)
    """How many executors ran at the same time, by resource profile."""
    _alive: dict[str, int] = field(default_factory=dict)

    def see(self, event: Any) -> None:
        """Take in one event."""
        match event:
            case _JobStart():
                self.stages |= {stage.number: stage for stage in event.stages}
            case _StageCompleted():
                self.stages[event.stage.number] = event.stage
            case _TaskEnd() if event.reason.reason == "Success":
                count, ms = self.finished.get(event.stage, (0, 0))
                ran = max(0, event.info.finished - event.info.launched)
                self.finished[event.stage] = (count + 1, ms + ran)
            case _Environment():
                self.properties = event.properties
            case _Profile():
                self.profiles[event.number] = event
            case _ExecutorAdded() if event.name != "driver":
                number = event.info.profile
                self._alive[event.name] = number
                self.cores[number] = max(event.info.cores, self.cores.get(number, 1))
                alive = sum(each == number for each in self._alive.values())
                self.peak[number] = max(self.peak[number], alive)
            case _ExecutorRemoved():
                self._alive.pop(event.name, None)

    def executor_mb(self, profile: int) -> int:
        """Return the memory of an executor's container, before YARN rounds it up."""
        requests = self.profiles[profile].executor if profile in self.profiles else {}

        def mb(name: str, key: str, default: float) -> float:
            if name in requests:
                return requests[name].amount
            return _mb(key, self.properties[key]) if key in self.properties else default

        heap = mb("memory", "spark.executor.memory", 1024)
        factor = _number(self.properties, "spark.executor.memoryOverheadFactor", 0.1)
        overhead = mb("memoryOverhead", "spark.executor.memoryOverhead", max(384, factor * heap))
        python = mb("pyspark.memory", "spark.executor.pyspark.memory", 0)
        return round(heap + overhead + python + mb("offHeap", "spark.memory.offHeap.size", 0))

    def slots(self, profile: int) -> int:
        """Return how many tasks an executor runs at the same time."""
        cpus = _number(self.properties, "spark.task.cpus", 1)
        if profile in self.profiles and "cpus" in self.profiles[profile].task:
            cpus = self.profiles[profile].task["cpus"].amount
        return max(1, int(self.cores.get(profile, 1) // max(cpus, 0.001)))


_EVENTS: Final[dict[str, type[Struct]]] = {
    "SparkListenerJobStart": _JobStart,
    "SparkListenerStageCompleted": _StageCompleted,
    "SparkListenerTaskEnd": _TaskEnd,
    "SparkListenerEnvironmentUpdate": _Environment,
    "SparkListenerExecutorAdded": _ExecutorAdded,
    "SparkListenerExecutorRemoved": _ExecutorRemoved,
    "SparkListenerResourceProfileAdded": _Profile,
}
_DECODERS: Final = {name: msgspec.json.Decoder(kind) for name, kind in _EVENTS.items()}
_KIND: Final = msgspec.json.Decoder(_Event)


def read_event_log(path: Path) -> SparkRun:
    """Read the log. Raises OSError for a file that cannot be read, and DagError, with its line, if
    it is not an event log.
    """
    run = SparkRun()
    for file in log_files(path):
        try:
            text = plain(file.read_bytes())
        except CompressionError as error:
            raise DagError(f"{file}: {error}", "give the log of a run that has ended") from error
        for event in _events(file, text):
            run.see(event)
    if not run.finished:
        raise DagError(
            f"{path}: expected tasks that succeeded, found none", "give a Spark event log"
        )
    if not run.peak:
        raise DagError(f"{path}: expected executors, found none", "give the log of a run on YARN")
    return run


def _events(file: Path, text: bytes) -> Iterator[Struct]:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            decoder = _DECODERS.get(_KIND.decode(line).event) if line.strip() else None
            if decoder is not None:
                yield decoder.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            remedy = "give a Spark event log, of a run that has ended"
            raise DagError(f"{file}, line {number}: {error}", remedy) from error


def executor_stages(run: SparkRun) -> list[DagStage]:
    """Return the stages that Spark asks YARN for: for each resource profile its executors, for as
    long as all its tasks need on all their slots. Their priority is the profile's number.
    """
    stages = []
    for profile, count in sorted(run.peak.items()):
        ms = sum(ran for stage, (_, ran) in run.finished.items() if _profile(run, stage) == profile)
        name = "executors" if len(run.peak) == 1 else f"executors-{profile}"
        size = (run.executor_mb(profile), run.cores[profile])
        held = round(ms / run.slots(profile) / count, 3)
        stages.append(DagStage(name, profile, count, held, size))
    return stages


def task_stages(run: SparkRun) -> list[DagStage]:
    """Return Spark's own stages, each task with its part of an executor.

    A stage that was skipped, because its output existed, is left out. It is replaced by the last
    stage that computed the same RDDs: adaptive execution runs each stage as a job and gives it a
    new name in the next one. If there is none, the parents of the skipped stage replace it.
    """
    known = {number: run.stages[number] for number in sorted(run.stages)}
    computed: dict[frozenset[int], int] = {}  # by RDDs: the last stage that ran
    stands_for: dict[int, set[int]] = {}
    ancestors: dict[int, set[int]] = {}
    for number, info in known.items():
        ancestors[number] = set()
        for parent in info.parents:
            if parent >= number:
                message = f"stage {number}: expected parents of lower numbers, found {parent}"
                raise DagError(message, "give an event log as Spark wrote it")
            ancestors[number] |= stands_for.get(parent, set())
        rdds = frozenset(rdd.number for rdd in info.rdds)
        if number in run.finished:
            stands_for[number] = {number}
            computed[rdds] = number
        elif rdds and rdds in computed:
            stands_for[number] = {computed[rdds]}
        else:
            stands_for[number] = ancestors[number]
    ids = [number for number in known if number in run.finished]
    place = {number: i for i, number in enumerate(ids)}
    return [_task_stage(run, n, sorted(place[p] for p in ancestors[n])) for n in ids]


def _task_stage(run: SparkRun, number: int, after: list[int]) -> DagStage:
    info, (count, ms) = run.stages[number], run.finished[number]
    slots, cores = run.slots(info.profile), run.cores.get(info.profile, 1)
    size = (-(-run.executor_mb(info.profile) // slots), -(-cores // slots))
    return DagStage(
        f"stage-{number}", info.profile, max(info.tasks, 1), round(ms / count, 3), size, after
    )


def _profile(run: SparkRun, stage: int) -> int:
    return run.stages[stage].profile if stage in run.stages else 0


def _mb(key: str, text: str) -> float:
    """Return Spark's amounts of memory in MB: 4g, 512m; without a unit MiB, for off-heap memory
    bytes.
    """
    found = re.fullmatch(r"(\d+)\s*([kmgtb]?)b?", text.strip().lower())
    if found is None:
        raise DagError(f"{key}={text}: expected an amount such as 4g", "give Spark's own log")
    number, unit = int(found[1]), found[2]
    if unit == "b" or (not unit and key.endswith("offHeap.size")):
        return number / 1024**2
    return number * _UNITS[unit or "m"]


def _number(properties: dict[str, str], key: str, default: float) -> float:
    try:
        return float(properties.get(key, default))
    except ValueError:
        message = f"{key}={properties[key]}: expected a number"
        raise DagError(message, "give Spark's own log") from None
