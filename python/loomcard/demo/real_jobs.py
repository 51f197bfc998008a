"""Two of Hadoop's own MapReduce jobs on an embedded cluster, and a swap while they run."""

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from loomcard.cluster.container_times import ContainerRun, JobTimes, job_times, read_runs
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.cluster.example_jobs import Program, example
from loomcard.cluster.rm_client import Document
from loomcard.cluster.submit import Client, Submission, SubmissionError
from loomcard.config.source import resolve
from loomcard.engine.session import replay

BEFORE, AFTER = "fifo", "drf"
MAPS = 4
STEPS = 5
_FIRST_TASK_S = 240.0
_LOOK_S = 0.1


@dataclass(frozen=True)
class RealJobs:
    """The jobs, every container that ran for them, and when (ms since 1970) the policy was swapped.

    ``allocations``: containers by who allocated them; ``differences``: plans that the journal's
    replay made otherwise.
    """

    jobs: tuple[JobTimes, ...]
    runs: tuple[ContainerRun, ...]
    swapped_ms: int
    allocations: dict[str, int]
    differences: int

    @property
    def started(self) -> tuple[int, int]:
        """How many containers started before the swap, and after it."""
        before = sum(run.started_ms < self.swapped_ms for run in self.runs)
        return before, len(self.runs) - before

    def document(self) -> Document:
        """Ready for JSON."""
        before, after = self.started
        return {
            "jobs": [asdict(job) for job in self.jobs],
            "swap": {"from": BEFORE, "to": AFTER, "at_ms": self.swapped_ms},
            "containers_before_swap": before,
            "containers_after_swap": after,
        }


def run(folder: Path, progress: Callable[[str], None]) -> RealJobs:
    """Run the jobs in `folder`. Raises ClusterError, SubmissionError and RestError."""
    words = _write_words(folder / "words")
    # Beside the two masters four of the ten tasks have room: some start after the swap.
    settings = LocalSettings(
        run_dir=folder / "cluster", nodes=2, node_memory_mb=1024, policy=BEFORE
    )
    with LocalCluster(settings) as cluster:
        progress(f"a real YARN is up, policy {BEFORE}")
        work = folder / "work"
        client = Client(cluster.conf_dir, work, tuple(cluster.client_options))
        programs = [
            example("pi", (str(MAPS), "100")),
            example("wordcount", (str(words), "counted"), work),
        ]
        with _submitted(client, programs) as submissions:
            _await_first_task(cluster, submissions)
            cluster.rest.apply_policy(resolve(AFTER).text, AFTER)
            swapped_ms = int(time.time() * 1000)
            progress(f"policy swapped to {AFTER} while the jobs run")
            for submission in submissions:
                submission.wait()
                progress(f"{submission.program.name} is done")
            runs = read_runs(cluster.container_times)
            jobs = tuple(_times(cluster, submission, runs) for submission in submissions)
        allocations = dict(cluster.rest.scheduler()["schedulerInfo"]["allocations"])
        journal = cluster.journal_dir
    differences = len(replay(journal))
    progress("the journal of the real jobs is replayed")
    return RealJobs(jobs, tuple(runs), swapped_ms, allocations, differences)


def _times(cluster: LocalCluster, submission: Submission, runs: list[ContainerRun]) -> JobTimes:
    about = cluster.rest.application(submission.application())
    return job_times(about, submission.program.name, f"{BEFORE}, then {AFTER}", runs)


def _await_first_task(cluster: LocalCluster, submissions: list[Submission]) -> None:
    """Wait until a container runs that is not an AM's: the jobs have begun. Raises
    SubmissionError.
    """
    for submission in submissions:
        submission.application()
    deadline = time.monotonic() + _FIRST_TASK_S
    while all(run.is_am for run in read_runs(cluster.container_times)):
        for submission in submissions:
            if submission.process.poll() is not None:
                raise SubmissionError(
                    f"{submission.program.name} ended before a task of it ran:"
                    f" {submission.reason()}",
                    f"see {submission.log}",
                )
        if time.monotonic() > deadline:
            raise SubmissionError(
                f"no task ran within {_FIRST_TASK_S:.0f} s", f"the cluster's log is {cluster.log}"
            )
        time.sleep(_LOOK_S)


@contextlib.contextmanager
def _submitted(client: Client, programs: list[Program]) -> Iterator[list[Submission]]:
    submissions: list[Submission] = []
    try:
        submissions.extend(client.submit(each) for each in programs)
        yield submissions
    finally:
        for submission in submissions:
            submission.stop()


def _write_words(folder: Path) -> Path:
    """Make a file for each map."""
    rng = random.Random(0)  # noqa: S311 - data to count, not a secret
    vocabulary = ["loom", "card", "warp", "weft", "shuttle", "thread", "heddle", "reed"]
    folder.mkdir(parents=True)
    for part in range(MAPS):
        (folder / f"{part}.txt").write_text("\n".join(rng.choice(vocabulary) for _ in range(5_000)))
    return folder
