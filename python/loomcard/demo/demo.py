"""The demo: the same jobs under two policies, swapped while the cluster is up, and a stock one."""

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loomcard.cluster.container_times import ContainerRun, JobTimes, job_times, read_runs
from loomcard.cluster.embedded import LocalCluster, LocalSettings, clear
from loomcard.cluster.example_jobs import Program, example
from loomcard.cluster.rm_client import Document
from loomcard.cluster.submit import Client, Submission

STOCK = "stock:capacity"
POLICIES = ("fifo", "drf", STOCK)

Progress = Callable[[str], None]
"""Called with what was just finished, in words; STEPS times in all."""


@dataclass(frozen=True)
class Phase:
    """The jobs of one policy, and every container that ran for them."""

    policy: str
    jobs: tuple[JobTimes, ...]
    runs: tuple[ContainerRun, ...]


@dataclass
class DemoResult:
    """What the demo saw. Grants and refusals are Loomcard's, without the stock run."""

    phases: list[Phase] = field(default_factory=list)
    granted_by_policy: int = 0
    granted_by_fallback: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    replay_identical: bool = False

    def document(self) -> Document:
        """The one JSON object of `loomcard demo --json`."""
        return {
            "jobs": [
                {
                    "id": job.id,
                    "name": job.name,
                    "policy": job.policy,
                    "state": job.state,
                    "waiting_ms": job.waiting_ms,
                    "completion_ms": job.completion_ms,
                }
                for phase in self.phases
                for job in phase.jobs
            ],
            "granted_by_policy": self.granted_by_policy,
            "granted_by_fallback": self.granted_by_fallback,
            "refused": dict(self.refused),
            "replay_identical": self.replay_identical,
        }


@dataclass(frozen=True)
class Sizes:
    """How much the demo runs. Task JVMs start at less than one a second on two cores."""

    sleepers: int = 3
    sleep_maps: int = 2
    sleep_ms: int = 3_000
    pi_maps: int = 2
    records: int = 2_000

    @property
    def jobs(self) -> int:
        """Jobs under each policy: pi, wordcount, terasort and the sleepers."""
        return 3 + self.sleepers

    @property
    def steps(self) -> int:
        """How often `run_demo` reports progress: each job, each boot, the swap, the replay."""
        return len(POLICIES) * self.jobs + 4


def run_demo(run_dir: Path, sizes: Sizes, progress: Progress) -> DemoResult:
    """Runs the demo in `run_dir`, whose former content goes. Raises what clusters and jobs raise.

    A job that fails is part of the result, by its state.
    """
    # When it runs: the help of `loomcard demo` needs none of the engine.
    from loomcard.config.source import resolve
    from loomcard.engine.session import replay

    clear(run_dir)
    run_dir.mkdir(parents=True)
    inputs = _write_inputs(run_dir / "input", sizes)
    result = DemoResult()
    with LocalCluster(_settings(run_dir / "loomcard", "loomcard", "fifo")) as cluster:
        progress("an embedded cluster is up, policy fifo")
        result.phases.append(_phase(cluster, "fifo", inputs, sizes, progress))
        cluster.rest.apply_policy(resolve("drf").text, "drf")
        progress("policy swapped: drf")
        result.phases.append(_phase(cluster, "drf", inputs, sizes, progress))
        facts = cluster.rest.scheduler()["schedulerInfo"]
        result.granted_by_policy = facts["grants"]["policy"]
        result.granted_by_fallback = facts["grants"]["fallback"]
        result.refused.update(facts["refusals"])
        journal = cluster.journal_dir
    result.replay_identical = not replay(journal)
    progress("the journal was replayed")
    with LocalCluster(_settings(run_dir / "stock", STOCK, None)) as cluster:
        progress("the embedded cluster is up again, stock CapacityScheduler")
        result.phases.append(_phase(cluster, STOCK, inputs, sizes, progress))
    return result


def _settings(run_dir: Path, scheduler: str, policy: str | None) -> LocalSettings:
    # Six masters leave room for six of the fifteen tasks: small enough for jobs to wait.
    return LocalSettings(
        run_dir=run_dir, nodes=3, node_memory_mb=1280, scheduler=scheduler, policy=policy
    )


def _phase(
    cluster: LocalCluster, policy: str, inputs: Path, sizes: Sizes, progress: Progress
) -> Phase:
    # Hadoop takes a colon in a path for the end of a scheme.
    work = cluster.run_dir / f"work-{policy.replace(':', '-')}"
    client = Client(cluster.conf_dir, work, tuple(cluster.client_options))
    with _submitted(client, _programs(inputs, work, sizes)) as submissions:
        pending = list(submissions)
        for submission in pending:
            submission.application()
        for submission in pending:
            submission.wait()
            progress(f"{policy}: {submission.program.name} is done")
        runs = read_runs(cluster.container_times)
        jobs = tuple(
            job_times(
                cluster.rest.application(submission.application()),
                submission.program.name,
                policy,
                runs,
            )
            for submission in submissions
        )
    ours = {job.id for job in jobs}
    return Phase(policy, jobs, tuple(run for run in runs if run.application in ours))


@contextlib.contextmanager
def _submitted(client: Client, programs: list[Program]) -> Iterator[list[Submission]]:
    submissions = [client.submit(each) for each in programs]
    try:
        yield submissions
    finally:
        for submission in submissions:
            submission.stop()


def _programs(inputs: Path, outputs: Path, sizes: Sizes) -> list[Program]:
    sleep = ("-m", str(sizes.sleep_maps), "-r", "0", "-mt", str(sizes.sleep_ms))
    return [
        example("pi", (str(sizes.pi_maps), "100")),
        example("wordcount", (str(inputs / "words"), "words-counted"), outputs),
        example("terasort", (str(inputs / "records"), "records-sorted"), outputs),
        *(example("sleep", sleep) for _ in range(sizes.sleepers)),
    ]


def _write_inputs(folder: Path, sizes: Sizes) -> Path:
    """Two files of words and two of TeraSort's records, 10 bytes of key and 90 of value."""
    rng = random.Random(0)  # noqa: S311 - data to sort, not a secret
    vocabulary = ["loom", "card", "warp", "weft", "shuttle", "thread", "heddle", "reed"]
    for part in ("a", "b"):
        words = folder / "words" / part
        words.parent.mkdir(parents=True, exist_ok=True)
        words.write_text("\n".join(rng.choice(vocabulary) for _ in range(5_000)))
        records = folder / "records" / part
        records.parent.mkdir(parents=True, exist_ok=True)
        records.write_bytes(
            b"".join(rng.randbytes(10) + b"%090d" % i for i in range(sizes.records // 2))
        )
    return folder
