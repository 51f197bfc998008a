"""YARN SLS traces: the job format of Hadoop's Scheduler Load Simulator, JSON objects in a row.

As in the SLS, a task without a size takes 1024 MB and 1 vcore, every job has an AM container,
reduces are asked for when all maps have ended, and ``job.count`` repeats a job. A task runs
``container.duration.ms`` (or ``duration.ms``), else the time from its start to its end, and wishes
for the host it is recorded on. Tasks of one type and priority are one stage; outside mapreduce no
stage waits for another, and ``container.request.delay`` is left out.
"""

from __future__ import annotations

from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace
from pydantic import Field

from loomcard.workload.readers.source import Faults, Source, Traced
from loomcard.workload.scenario import ScenarioApplication, ScenarioNode, Stage

NODE = (10240, 10)


class SlsTrace(Source):
    """An SLS job file."""

    format: Literal["sls"] = Field(description="What the file is.", examples=["sls"])

    def read(self, file: Path, seed: int) -> Traced:  # noqa: ARG002 - nothing is drawn
        """Return its jobs, on the hosts that tasks were recorded on, each of the SLS's default
        size.
        """
        faults = Faults(file)
        found: list[ScenarioApplication] = []
        hosts: dict[str, str] = {}
        for number, line, job in _objects(file, faults):
            try:
                made = [_application(job, f"job-{number}", hosts)]
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                faults.add(line, f"not a job of an SLS trace: {error!r}")
                continue
            copies = int(job.get("job.count", 1))
            found += made if copies <= 1 else [_copy(made[0], n) for n in range(1, copies + 1)]
        faults.check()
        found.sort(key=lambda application: application.submit_ms)
        return Traced(found, [ScenarioNode(h, hosts[h], NODE) for h in sorted(hosts)])


def _objects(file: Path, faults: Faults) -> list[tuple[int, int, dict[str, Any]]]:
    """Yield number, line and content of each object of a file of objects in a row, or in a list."""
    text, at = file.read_text(encoding="utf-8"), 0
    found: list[tuple[int, int, dict[str, Any]]] = []
    decode = JSONDecoder().raw_decode
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        line = text.count("\n", 0, at) + 1
        try:
            value, at = decode(text, at)
        except JSONDecodeError as error:
            faults.add(error.lineno, f"not JSON: {error.msg}")
            break
        for one in value if isinstance(value, list) else [value]:
            found.append((len(found) + 1, line, one))
    return found


def _application(job: dict[str, Any], name: str, hosts: dict[str, str]) -> ScenarioApplication:
    kind = str(job.get("am.type", job.get("yarn.sls.am.type", "mapreduce")))
    groups: dict[tuple[str, int], list[tuple[tuple[int, int], int, list[str]]]] = {}
    for task in job["job.tasks"]:
        priority = 20 if kind == "mapreduce" else int(task.get("container.priority", 20))
        named = str(task.get("container.type", "map"))
        size = (int(task.get("container.memory-mb", 1024)), int(task.get("container.vcores", 1)))
        rack, _, host = str(task.get("container.host", "")).rpartition("/")
        if host:
            hosts[host] = rack or "/default-rack"
        one = (size, _duration(task), [host] if host else [])
        groups.setdefault((named, priority), []).extend([one] * int(task.get("count", 1)))
    stages: list[Stage] = []
    for (named, priority), tasks in sorted(groups.items(), key=lambda g: (g[0][0] != "map", g[0])):
        size = (max(t[0][0] for t in tasks), max(t[0][1] for t in tasks))
        second = kind == "mapreduce" and named == "reduce"
        stage = Stage(
            named if kind == "mapreduce" else f"{named}-{priority}",
            size,
            10 if second else priority,
            len(stages) + 1,
            [ms for _, ms, _ in tasks],
            [0] if second and stages else [],
            [wish for _, _, wish in tasks] if any(wish for _, _, wish in tasks) else [],
        )
        stages.append(stage)
    names = [stage.id for stage in stages]
    real = kind == "mapreduce" and names in (["map"], ["map", "reduce"])
    queue = str(job.get("job.queue.name", "default"))
    return ScenarioApplication(
        id=str(job.get("job.id", name)),
        submit_ms=int(job["job.start.ms"]),
        queue=queue if queue.startswith("root.") else f"root.{queue}",
        user=str(job.get("job.user", "default")),
        kind="mapreduce" if real else "dag",
        stages=stages,
        tags=[kind],
        am=(int(job.get("am.memory-mb", 1024)), int(job.get("am.vcores", 1))),
        slowstart=1.0,
    )


def _duration(task: dict[str, Any]) -> int:
    stated = task.get("container.duration.ms", task.get("duration.ms"))
    ms = (
        int(task["container.end.ms"]) - int(task["container.start.ms"])
        if stated is None
        else int(stated)
    )
    if ms <= 0:
        raise ValueError(f"a task of {ms} ms")
    return ms


def _copy(one: ScenarioApplication, number: int) -> ScenarioApplication:
    return replace(one, id=f"{one.id}-{number}")
