"""YARN SYNTH traces: the SLS's own generator (hadoop-sls, SynthTraceJobProducer), as JSON.

The rules are the producer's: a workload by weight, a job class by weight, a submission uniform
within a slot of ``time_distribution`` drawn by weight (s), and per task type a count, a size (at
least 1024 MB and 1 vcore) and times (s) drawn from ``{val, std, dist: LOGNORM | NORM}`` or
``{discrete, weights}``; the older fields (``mtasks_avg`` and so on) mean the same. Random values
are ours, so they differ from the SLS's. Deadlines, reservations and execution types are left
out.
"""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path
from random import Random
from typing import Any, Literal

import msgspec
from pydantic import Field

from loomcard.workload.readers.source import Faults, Source, Traced
from loomcard.workload.scenario import ScenarioApplication, ScenarioNode, Stage

NODE = (10240, 10)
Json = dict[str, Any]


class SynthTrace(Source):
    """A SYNTH file."""

    format: Literal["synth"] = Field(description="What the file is.", examples=["synth"])

    def read(self, file: Path, seed: int) -> Traced:
        """Return ``num_jobs`` jobs on ``num_nodes`` nodes of the SLS's default size."""
        faults, text = Faults(file), file.read_bytes()
        try:
            data: Json = msgspec.json.decode(text)
            found = [_job(data, number, seed) for number in range(int(data["num_jobs"]))]
            racks = max(1, int(data.get("nodes_per_rack", 1)))
            nodes = [
                ScenarioNode(f"node{n + 1}", f"/rack{n // racks + 1}", NODE)
                for n in range(int(data["num_nodes"]))
            ]
        except msgspec.DecodeError as error:
            faults.add(1, f"not JSON: {error}")
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            faults.add(1, f"not a SYNTH trace: {error!r}", "see the SLS's guide")
        faults.check()
        return Traced(sorted(found, key=lambda job: job.submit_ms), nodes)


def _job(data: Json, number: int, seed: int) -> ScenarioApplication:
    rng = Random(f"{seed}/{number}")  # noqa: S311
    workload = _weighted(data["workloads"], "workload_weight", rng)
    slots = workload["time_distribution"]
    slot = _weighted(slots, "weight", rng)
    after = slots[min(slots.index(slot) + 1, len(slots) - 1)]
    seconds = slot["time"] + int(rng.random() * max(0, after["time"] - slot["time"]))
    chosen = _weighted(workload["job_classes"], "class_weight", rng)
    kind = str(chosen.get("type", "mapreduce"))
    stages: list[Stage] = []
    for task in chosen.get("tasks") or _older(chosen):
        count = max(0 if stages else 1, round(_sample(task["count"], rng)))
        size = (
            max(1024, round(_sample(task["max_memory"], rng))),
            max(1, round(_sample(task["max_vcores"], rng))),
        )
        times = [max(1, round(1000 * _sample(task["time"], rng))) for _ in range(count)]
        second = kind == "mapreduce" and bool(stages)
        priority = int(task.get("priority", 20))
        if times:
            after_it = [0] if second else []
            stages.append(Stage(task["type"], size, priority, len(stages) + 1, times, after_it))
    real = kind == "mapreduce" and [s.id for s in stages] in (["map"], ["map", "reduce"])
    queue = str(workload.get("queue_name", "default"))
    return ScenarioApplication(
        id=f"{chosen['class_name']}_{number:06d}",
        submit_ms=1000 * seconds,
        queue=queue if queue.startswith("root.") else f"root.{queue}",
        user=str(chosen.get("user_name", "default")),
        kind="mapreduce" if real else "dag",
        stages=stages,
        tags=[str(chosen["class_name"])],
        am=(1024, 1),
        slowstart=1.0,
    )


def _older(job: Json) -> list[Json]:
    """The task types of the format before ``tasks``."""
    return [
        {
            "type": name,
            "priority": priority,
            "count": {"val": job[f"{short}tasks_avg"], "std": job.get(f"{short}tasks_stddev")},
            "time": {"val": job[f"{short}time_avg"], "std": job.get(f"{short}time_stddev")},
            "max_memory": {"val": job[f"{name}_max_memory_avg"]},
            "max_vcores": {"val": job[f"{name}_max_vcores_avg"]},
        }
        for name, short, priority in (("map", "m", 20), ("reduce", "r", 10))
    ]


def _sample(sample: Json, rng: Random) -> float:
    if sample.get("val") is None:
        values = sample["discrete"]
        return float(rng.choices(values, sample.get("weights") or [1] * len(values))[0])
    mean, deviation = float(sample["val"]), float(sample.get("std") or 0)
    if deviation <= 0 or mean <= 0:
        return max(0.0, mean)
    if sample.get("dist") == "NORM":
        return max(0.0, rng.gauss(mean, deviation))
    spread = log(1 + (deviation / mean) ** 2)
    return rng.lognormvariate(log(mean) - spread / 2, sqrt(spread))


def _weighted(items: list[Json], key: str, rng: Random) -> Json:
    return rng.choices(items, [float(item.get(key, 1)) for item in items])[0]
