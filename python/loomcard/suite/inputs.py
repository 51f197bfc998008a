"""Generated inputs, stored from run to run. Each is made once, completely or not at all."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

from loomcard.suite.benchmarks import BENCHMARKS, Benchmark, Size

_DONE = "made.json"


@dataclass(frozen=True)
class Job:
    """A benchmark at a size, with the input of a seed."""

    benchmark: Benchmark
    size: Size
    seed: int = 1

    @property
    def input_name(self) -> str:
        """The name of its input: equal names have equal bytes."""
        return f"{self.benchmark.input}-{self.size}-{self.seed}"


def made(job: Job, root: Path) -> Path:
    """Return the folder with the job's input below `root`; generate the input if it is missing."""
    maker = BENCHMARKS[job.benchmark.input]
    numbers = maker.numbers(job.size)
    folder = root / job.input_name
    if _is_made(folder, dict(numbers)):
        return folder / "data"
    work = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(work, ignore_errors=True)
    try:
        maker.write(work / "data", numbers, Random(f"{maker.name} {job.seed}"))  # noqa: S311 - data
        (work / _DONE).write_text(json.dumps(dict(numbers)))
        shutil.rmtree(folder, ignore_errors=True)
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder / "data"


def _is_made(folder: Path, numbers: dict[str, int]) -> bool:
    try:
        return bool(json.loads((folder / _DONE).read_text()) == numbers)
    except (OSError, ValueError):
        return False
