"""SWIM traces (Chen et al., MASCOTS 2011): jobs of Facebook's MapReduce clusters, by their bytes.

A line is: job id, submission (s), gap to the job before (s), map input, shuffle and output bytes,
parted by tabs. Nothing is recorded of tasks, times and sizes, so a rule stands in for them:

* maps = ceil(input / ``block_mb``), at least 1; reduces = ceil(max(shuffle, output) /
  ``reduce_mb``), none without a shuffle; of either at most ``max_tasks``: a larger job is cut to
  its first so many, and what each of them does stays.
* a map runs ``overhead_ms`` + its part of the input at ``map_mb_s``; a reduce runs ``overhead_ms``
  + its parts of shuffle and output at ``reduce_mb_s``; each times exp(``noise`` * z), z standard
  normal, seeded by job and task.
"""

from __future__ import annotations

from math import ceil, exp
from pathlib import Path
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from loomcard.workload.readers.source import Faults, Source, Traced
from loomcard.workload.scenario import ScenarioApplication, Stage

MB = 1024 * 1024
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class SwimTrace(Source):
    """A SWIM workload file, and the rule that makes tasks from its bytes."""

    format: Literal["swim"] = Field(description="What the file is.", examples=["swim"])
    block_mb: Positive = Field(128, description="Input of one map.", examples=[128])
    reduce_mb: Positive = Field(
        1024, description="Shuffle or output of one reduce.", examples=[1024]
    )
    max_tasks: Annotated[int, Field(ge=1)] = Field(
        1_000_000, description="The most maps, and the most reduces, of one job.", examples=[500]
    )
    overhead_ms: Annotated[int, Field(ge=0)] = Field(
        2000, description="What any task runs beside its bytes.", examples=[2000]
    )
    map_mb_s: Positive = Field(4.0, description="What a map reads in a second.", examples=[4])
    reduce_mb_s: Positive = Field(
        16.0, description="What a reduce copies and writes in a second.", examples=[16]
    )
    noise: Annotated[float, Field(ge=0)] = Field(
        0.3, description="Deviation of the logarithm of a task's time.", examples=[0.3]
    )
    memory_mb: Annotated[int, Field(ge=0)] = Field(1024, description="Of a map.", examples=[1024])
    reduce_memory_mb: Annotated[int, Field(ge=0)] = Field(
        2048, description="Of a reduce.", examples=[2048]
    )

    def read(self, file: Path, seed: int) -> Traced:
        """Return one MapReduce application per line, of class small (at most 10 maps) or large."""
        faults = Faults(file)
        found: list[ScenarioApplication] = []
        seen: dict[str, int] = {}
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            fields = line.split("\t")
            try:
                name, (submit, _, *sizes) = fields[0], [int(text) for text in fields[1:]]
                _, _, _ = sizes
            except ValueError:
                message = f"expected a job id and five whole numbers, found {line[:60]!r}"
                faults.add(number, message, "part the columns with tabs")
                continue
            if min(submit, *sizes) < 0:
                faults.add(number, "a time or a size is negative")
                continue
            again = seen[name] = seen.get(name, 0) + 1  # each of the hours counts from job0
            name = name if again == 1 else f"{name}-{again}"
            found.append(self._application(name, submit * 1000, sizes, seed))
        faults.check()
        return Traced(found)

    def _application(self, name: str, at: int, sizes: list[int], seed: int) -> ScenarioApplication:
        read, shuffled, written = sizes
        maps, reduces = max(1, ceil(read / self.block_mb / MB)), 0
        each = read / maps / MB / self.map_mb_s
        if shuffled:
            reduces = ceil(max(shuffled, written) / self.reduce_mb / MB)
        stages = [self._stage("map", self.memory_mb, 20, maps, each, f"{seed}/{name}")]
        if reduces:
            each = (shuffled + written) / reduces / MB / self.reduce_mb_s
            more = self._stage("reduce", self.reduce_memory_mb, 10, reduces, each, f"{seed}/{name}")
            stages.append(more)
        tags = ["small" if maps <= 10 else "large"]
        return ScenarioApplication(name, at, "root.default", "facebook", "mapreduce", stages, tags)

    def _stage(
        self, name: str, memory_mb: int, priority: int, tasks: int, seconds: float, key: str
    ) -> Stage:
        normal, typical = Random(f"{key}/{name}").gauss, self.overhead_ms + 1000 * seconds  # noqa: S311
        count = min(tasks, self.max_tasks)
        times = [max(1, round(typical * exp(self.noise * normal(0, 1)))) for _ in range(count)]
        first = name == "map"
        return Stage(name, (memory_mb, 1), priority, 1 if first else 2, times, [] if first else [0])
