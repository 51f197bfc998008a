"""Run a mix: start clients at their times, follow jobs to their end, check results."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loomcard.cluster.rm_client import Document, RestError
from loomcard.cluster.submit import SubmissionError
from loomcard.suite.benchmarks import benchmark
from loomcard.suite.cluster import Client, SuiteCluster
from loomcard.suite.data.files import WrongResultError
from loomcard.suite.inputs import Job
from loomcard.suite.mix import Arrival

_SUBMITTED = re.compile(r"Submitted application (application_\d+_\d+)")
_LOOK_S = 0.5
SILENT_S = 180.0
"""For how long the ResourceManager may give no answer: on a busy machine it is late, not
stopped.
"""
_ENDED = ("FINISHED", "FAILED", "KILLED")
_UNSENT = "was not submitted: its client ended before"


@dataclass(frozen=True)
class Progress:
    """The progress of a run: jobs by state, and the time since its first arrival."""

    now_ms: int
    waiting: int
    running: int
    done: int
    total: int


@dataclass
class Played:
    """One job of a run. `wrong`: why it counts as failed, "" if its result is right. `behind`: the
    job whose client also submits this one, as its next; `output`: the name of its output, "" if
    another job reads that.
    """

    arrival: Arrival
    output: str
    behind: Played | None = None
    yarn: str = ""
    document: Document = field(default_factory=dict)
    wrong: str = ""

    @property
    def ended(self) -> bool:
        """Return whether the job has ended."""
        return bool(self.wrong) or self.document.get("state") in _ENDED


def _head(job: Played) -> Played:
    return job if job.behind is None else _head(job.behind)


def _jobs_of(arrival: Arrival) -> list[Played]:
    """Return the jobs that the arrival's client submits: one, or several with names of what they
    do.
    """
    found: list[Played] = []
    for name in ("", *arrival.job.benchmark.then):
        tag = f"{arrival.job.benchmark.name}-{name}"
        named = replace(arrival, id=f"{arrival.id}-{name}", tags=(*arrival.tags, tag))
        found.append(Played(named if name else arrival, "", found[-1] if found else None))
    found[-1].output = arrival.id
    return found


class Run:
    """One run of a mix on a cluster, under the policy that is in force there."""

    def __init__(
        self,
        cluster: SuiteCluster,
        arrivals: Sequence[Arrival],
        folder: Path,
        *,
        submitters: int,
        limit_s: float,
        notify: Callable[[Progress], None],
    ) -> None:
        self.cluster = cluster
        self.folder = folder
        self.jobs = [job for arrival in arrivals for job in _jobs_of(arrival)]
        self.finished = False
        self.interrupted = False
        self.checked = False
        self.zero_ms = 0
        self._silent_ms = 0
        self._submitters = submitters
        self._limit_s = limit_s
        self._notify = notify
        self._clients: dict[str, Client] = {}

    def play(self) -> None:
        """Run the jobs to their end, or until Ctrl-C (`interrupted`) or the limit. Then what still
        runs is killed, and `finished` stays False. A job that the limit ends counts as failed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.zero_ms = int(time.time() * 1000)
        late: list[tuple[Played, str]] = []
        try:
            while self._clients or not all(job.ended for job in self.jobs):
                self._start_clients()
                self._hear_clients()
                self._look()
                self._tell()
                if self.now_ms() > self._limit_s * 1000:
                    late = [(job, self._too_late(job)) for job in self.jobs if not job.ended]
                    break
                time.sleep(_LOOK_S)
            self.finished = not late
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self._end()
        for job, why in late:  # before it is killed, because a job that is wrong counts as ended
            job.wrong = why

    def _too_late(self, job: Played) -> str:
        running = job.document.get("state") == "RUNNING"
        did = "still ran" if running else "still waited" if job.yarn else "was not submitted"
        hint = "raise limit_s, or give the cluster more room"
        return f"{did} after limit_s ({self._limit_s:g} s); {hint}"

    def now_ms(self) -> int:
        """The run's clock, in ms."""
        return int(time.time() * 1000) - self.zero_ms

    def _start_clients(self) -> None:
        """Start the clients whose time has come, as far as submitters are free. A client that waits
        for its first job before it submits its next one does not occupy a submitter.
        """
        for job in self._heads():
            submitting = [
                each for each in self._heads() if self._has_client(each) and not each.yarn
            ]
            if len(submitting) >= self._submitters:
                return
            new = not job.yarn and not job.wrong and not self._has_client(job)
            if new and job.arrival.at_ms <= self.now_ms():
                self._clients[job.arrival.id] = self.cluster.submit(job.arrival, self.folder)

    def _hear_clients(self) -> None:
        """Return whether a client is done: if it has one job, when that was accepted, because YARN
        reports the rest. A client with several jobs cleans up after them, and is done when it ends.
        """
        for head in filter(self._has_client, self._heads()):
            client = self._clients[head.arrival.id]
            jobs = [head, *(job for job in self.jobs if job.behind and _head(job) is head)]
            ended = client.ended()
            found = _SUBMITTED.findall(client.log.read_text(errors="replace"))
            for job, yarn in zip(jobs, found, strict=False):
                job.yarn = yarn
            if ended:
                for job in jobs[len(found) :]:
                    job.wrong = f"{_UNSENT} ({last_words(client.log)})"
            if ended or len(jobs) == len(found) == 1:
                client.stop()
                del self._clients[head.arrival.id]

    def _heads(self) -> list[Played]:
        return [job for job in self.jobs if job.behind is None]

    def _has_client(self, job: Played) -> bool:
        return job.arrival.id in self._clients

    def _look(self) -> None:
        if not any(job.yarn and not job.ended for job in self.jobs):
            return
        try:
            listed = {each["id"]: each for each in self.cluster.rest.applications()}
        except RestError:
            self._silent_ms = self._silent_ms or self.now_ms()
            if self.now_ms() - self._silent_ms > SILENT_S * 1000:
                raise
            return
        self._silent_ms = 0
        for job in self.jobs:
            if not job.ended:
                job.document = listed.get(job.yarn, job.document)

    def _tell(self) -> None:
        done = sum(job.ended for job in self.jobs)
        running = sum(job.document.get("state") == "RUNNING" for job in self.jobs)
        here = sum(job.arrival.at_ms <= self.now_ms() for job in self.jobs)
        waiting = max(0, here - running - done)
        self._notify(Progress(self.now_ms(), waiting, running, done, len(self.jobs)))

    def _end(self) -> None:
        for client in self._clients.values():
            client.stop()
        for job in self.jobs:
            if job.yarn and not job.ended:
                try:
                    self.cluster.rest.kill(job.yarn)
                    job.document = self.cluster.rest.application(job.yarn)
                except RestError as error:
                    job.wrong = str(error)

    def check(self) -> None:
        """Compare every result with the right one; store a difference in the job's `wrong`."""
        ended_well = [job for job in self.jobs if job.document.get("finalStatus") == "SUCCEEDED"]
        with tempfile.TemporaryDirectory(prefix="loomcard-suite-") as work:
            left = [job.output for job in ended_well if job.output]
            found = self.cluster.outputs(left, Path(work))
            for job in self.jobs:
                job.wrong = job.wrong or self._wrong(job, found.get(job.output))
        self.checked = True

    def _wrong(self, job: Played, output: Path | None) -> str:
        state = str(job.document.get("finalStatus", "unfinished"))
        if state != "SUCCEEDED":
            said = " ".join(str(job.document.get("diagnostics", "")).split())
            return f"{state}: {said[:300]}"
        if not job.output:
            return ""
        if output is None:
            return "it left no output"
        work = job.arrival.job
        try:
            work.benchmark.check(
                self.cluster.input_of(work), output, work.benchmark.numbers(work.size)
            )
        except WrongResultError as error:
            return f"its result is wrong: {error}"
        except (ValueError, KeyError) as error:  # half a file, or one that cannot be read
            return f"its result cannot be read: {error!r}"
        return ""

    def _late_ms(self, job: Played) -> int:
        """Return how long after its time it was submitted; a job behind another has no time of its
        own.
        """
        late_ms = int(job.document.get("startedTime", 0)) - self.zero_ms - job.arrival.at_ms
        return 0 if job.behind else max(0, late_ms)

    def account(self) -> list[dict[str, Any]]:
        """Return what the manifest stores of each job."""
        return [
            {
                "id": job.arrival.id,
                "benchmark": job.arrival.job.benchmark.name,
                "size": job.arrival.job.size,
                "application": job.yarn,
                "arrival_ms": job.arrival.at_ms,
                "late_ms": self._late_ms(job),
                "result": job.wrong or ("right" if self.checked else "not checked"),
            }
            for job in self.jobs
        ]


def last_words(log: Path) -> str:
    """Return the line of a client's log that most likely says why it failed."""
    said = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    telling = [line for line in said if re.search(r"(Exception|Error)\b", line)]
    return (telling or said or ["it said nothing"])[-1][:300]


def warm_up(cluster: SuiteCluster, names: Sequence[str], folder: Path, limit_s: float) -> None:
    """Run benchmarks at size tiny, one after the other, and forget them. Raises SubmissionError if
    one fails: the study would fail too.
    """
    for number, name in enumerate(names):
        job = Job(benchmark(name), "tiny")
        arrival = Arrival(f"warm-up-{number}-{name}", 0, job)
        cluster.provide([job])
        run = Run(cluster, [arrival], folder, submitters=1, limit_s=limit_s, notify=lambda _: None)
        run.play()
        if run.interrupted:
            raise KeyboardInterrupt
        run.check()
        wrong = [job.wrong for job in run.jobs if job.wrong]
        if wrong:
            raise SubmissionError(f"the warm-up {name}: {wrong[0]}", f"see {folder}")
    shutil.rmtree(folder, ignore_errors=True)
