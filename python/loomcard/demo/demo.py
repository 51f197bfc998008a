"""The demo from the first job to the verdict."""

import errno
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from loomcard.cluster.embedded import clear
from loomcard.cluster.rm_client import Document
from loomcard.demo import picture, real_jobs, schedulers
from loomcard.demo.gains import Gain, figures_of, gains
from loomcard.demo.real_jobs import RealJobs
from loomcard.demo.schedulers import Played
from loomcard.report.runs import Study, read_study

PICTURE = "demo.png"
_ROOM_MB = 128
"""The disk that a cluster's first start needs: it writes 73 MB. On a full disk jobs would wait for
nodes that accept nothing.
"""


@dataclass(frozen=True)
class DemoResult:
    """What the demo measured. ``study``: the runs, as a report reads them from the demo's folder;
    ``seconds``: the wall clock of all.
    """

    real: RealJobs
    played: tuple[Played, ...]
    study: Study
    gains: tuple[Gain, ...]
    picture: Path
    seconds: float

    @property
    def allocated_by_fallback(self) -> int:
        """Containers that no policy allocated, under Loomcard."""
        return sum(each.get("fallback", 0) for each in self._allocations)

    @property
    def allocated_by_policy(self) -> int:
        """Containers that a policy allocated."""
        return sum(each.get("policy", 0) for each in self._allocations)

    @property
    def replays_identical(self) -> bool:
        """Whether every journal's replay made the same plans."""
        return self.real.differences == 0 and not any(each.differences for each in self.played)

    @property
    def failed(self) -> list[str]:
        """Jobs and applications that did not succeed, by name."""
        jobs = [job.name for job in self.real.jobs if job.state != "SUCCEEDED"]
        return jobs + [
            f"{app.id} under {each.scheduler}"
            for each in self.played
            for app in each.record.applications
            if app.state != "SUCCEEDED"
        ]

    @property
    def good(self) -> bool:
        """Whether everything succeeded, by the policies alone, and replays to the same plans."""
        return self.replays_identical and not self.failed and self.allocated_by_fallback == 0

    @property
    def verdict(self) -> str:
        """Return in one line which part allocated, and whether the journals replay."""
        plans = "identical plans" if self.replays_identical else "OTHER PLANS"
        journals = 1 + sum(each.differences is not None for each in self.played)
        return (
            f"allocated by the policies {self.allocated_by_policy}, by the fallback"
            f" {self.allocated_by_fallback}; {journals} journals replayed: {plans}"
        )

    @property
    def _allocations(self) -> list[dict[str, int]]:
        return [self.real.allocations, *(each.record.allocations for each in self.played)]

    def document(self) -> Document:
        """The one JSON object of `loomcard demo --json`."""
        return {
            "real_jobs": self.real.document(),
            "schedulers": {each.policy: figures_of(each).document() for each in self.study.runs},
            "gains": {
                gain.policy: {"gained": gain.gained, "sentence": gain.sentence, "rest": gain.rest}
                for gain in self.gains
            },
            "allocated_by_policy": self.allocated_by_policy,
            "allocated_by_fallback": self.allocated_by_fallback,
            "replays_identical": self.replays_identical,
            "failed": self.failed,
            "picture": str(self.picture),
            "seconds": round(self.seconds, 1),
        }


def steps() -> int:
    """How often `run_demo` reports progress."""
    return real_jobs.STEPS + schedulers.steps()


def run_demo(folder: Path, progress: Callable[[str], None]) -> DemoResult:
    """Run the demo in `folder`, whose earlier content is removed, and leave there what `loomcard
    report` reads, and the picture. `progress` is called with what was just finished, in words.
    Raises what clusters, jobs and the player raise, and OSError if the disk is full. A job that
    fails is part of the result, by its state. Ctrl-C ends it with KeyboardInterrupt and leaves
    neither a process nor the folder.
    """
    began = time.monotonic()
    clear(folder)
    folder.mkdir(parents=True)  # otherwise an error names a path inside it
    if shutil.disk_usage(folder).free < _ROOM_MB << 20:
        raise OSError(errno.ENOSPC, f"less than {_ROOM_MB} MB free", str(folder))
    try:
        return _run(folder, progress, began)
    except KeyboardInterrupt:
        try:
            clear(folder)
        except KeyboardInterrupt:  # polars has raised it for a Ctrl-C, and now Python itself does
            clear(folder)
        raise


def _run(folder: Path, progress: Callable[[str], None], began: float) -> DemoResult:
    real = real_jobs.run(folder / "real-jobs", progress)
    played = tuple(schedulers.play_all(folder, progress))
    study = read_study([folder], schedulers.STOCK)
    found = tuple(gains(study))
    file = folder / PICTURE
    result = DemoResult(real, played, study, found, file, time.monotonic() - began)
    picture.write(real, study, found, result.verdict, file)
    return replace(result, seconds=time.monotonic() - began)
