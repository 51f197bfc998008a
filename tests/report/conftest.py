"""Two run folders whose every figure can be worked out by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from loomcard.report.page import page
from loomcard.report.runs import read_study
from loomcard.report.terminal import Numbers, numbers
from loomcard.results.container_rows import ContainerRow
from loomcard.results.manifest import manifest
from loomcard.results.record import ApplicationRecord, RunRecord
from loomcard.results.run_folder import write_run

# policy -> seed -> seconds from submission to start, and to end, of applications a and b
TIMES = {
    "old": {1: ((2, 10), (4, 20)), 2: ((2, 12), (6, 24)), 3: ((1, 8), (5, 40))},
    "new": {1: ((1, 5), (4, 20)), 2: ((1, 6), (3, 12)), 3: ((2, 16), (5, 10))},
}


def made(policy: str, seed: int, **parameters: float) -> RunRecord:
    """Return one run: a uses half of the cluster while it runs, b a quarter."""
    record = RunRecord(policy, "w", seed, "simulator", ["memory_mb", "vcores"], [(0, (4096, 4))])
    for name, tag, size, (start, end) in zip(
        "ab", ("small", "large"), ((2048, 1), (1024, 1)), TIMES[policy][seed], strict=True
    ):
        end_ms = end * 1000
        each = ApplicationRecord(name, f"root.{name}", 0, [tag], [(0, end_ms)], "SUCCEEDED")
        record.applications.append(each)
        record.containers.append(
            ContainerRow(name, "s", 0, 1, "n1", False, size, 0, start * 1000, end_ms, "completed")
        )
    record.parameters = dict(parameters)
    record.ended_ms = max(end for _, end in TIMES[policy][seed]) * 1000
    return record


def written(out: Path) -> Path:
    """Write the run folder: two policies on three seeds; the experiment's baseline is old."""
    records = [made(policy, seed) for policy in TIMES for seed in (1, 2, 3)]
    said = {"experiment": {"name": "tiny", "description": "By hand.", "baseline": "old"}}
    write_run(out, records, manifest({"w.yml": b"x"}, seeds=[1, 2, 3], command=["run", "w"]) | said)
    return out


@pytest.fixture
def run_of() -> Callable[..., RunRecord]:
    """Return a function that makes a run of a policy with a seed."""
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a report folder that a test may change."""
    return written(tmp_path / "run")


@pytest.fixture(scope="package")
def plots_of(tmp_path_factory: pytest.TempPathFactory) -> Numbers:
    """Return all plots of a report that does not change."""
    return numbers(read_study([written(tmp_path_factory.mktemp("report") / "run")]))


@pytest.fixture(scope="package")
def text(plots_of: Numbers) -> str:
    """Return its page."""
    return page(plots_of)
