"""A cluster without YARN: Sort and Grep end at once, by default with right results."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loomcard.cluster.container_times import ContainerRun
from loomcard.experiments.grid import Cell
from loomcard.suite.cluster import Client, Journal
from loomcard.suite.data.files import lines
from loomcard.suite.data.text import GREP_PATTERN
from loomcard.suite.inputs import Job, made
from loomcard.suite.mix import Arrival


@dataclass(frozen=True)
class FakeClient:
    log: Path
    owner: "FakeCluster"
    texts: Iterator[str]
    """The texts that it writes, one at each call of `ended`."""

    def ended(self) -> bool:
        more = next(self.texts, None)
        if more is not None:
            with self.log.open("a") as log:
                log.write(more)
        return more is None

    def stop(self) -> None:
        self.owner.clients -= 1


@dataclass
class FakeRest:
    """Reports what `of` says about applications; `of` maps a job to keys of its document."""

    of: dict[str, dict[str, Any]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    fallback: int = 0
    killed: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    def applications(self) -> list[dict[str, Any]]:
        return [{"id": yarn, **self.application(yarn)} for yarn in self.names]

    def application(self, yarn: str) -> dict[str, Any]:
        ended = {"state": "FINISHED", "finalStatus": "SUCCEEDED", "queue": "root.default"}
        document = ended | self.of.get(self.names[yarn], {})
        return document | (
            {"state": "KILLED", "finalStatus": "KILLED"} if yarn in self.gone else {}
        )

    def kill(self, yarn: str) -> None:
        self.killed.append(self.names[yarn])
        self.gone.add(yarn)

    def scheduler(self) -> dict[str, Any]:
        allocated = {"policy": 2 * len(self.names), "fallback": self.fallback}
        return {"schedulerInfo": {"allocations": allocated, "refusals": {}}}

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {
                "state": "RUNNING",
                "usedMemoryMB": 1000,
                "availMemoryMB": 24,
                "usedVirtualCores": 1,
                "availableVirtualCores": 3,
            }
        ]


@dataclass
class FakeCluster:
    """`broken`: jobs whose results are wrong. `silent`: jobs that their client does not submit.
    `slow`: jobs whose client waits for a while before it submits its next one.
    """

    folder: Path
    rest: Any = field(default_factory=FakeRest)
    broken: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    scheduled: list[str] = field(default_factory=list)
    submitted: list[str] = field(default_factory=list)
    clients: int = 0
    most_clients: int = 0

    def schedule(self, cell: Cell) -> None:
        self.scheduled.append(cell.policy)

    def provide(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self.input_of(job)

    def input_of(self, job: Job) -> Path:
        return made(job, self.folder / "data")

    def submit(self, arrival: Arrival, folder: Path) -> Client:
        self.submitted.append(arrival.id)
        self.clients += 1
        self.most_clients = max(self.most_clients, self.clients)
        then = arrival.job.benchmark.then
        texts = [self._text_of(each) for each in (arrival.id, *(f"{arrival.id}-{n}" for n in then))]
        if arrival.id in self.slow:
            texts[1:1] = [""] * 3
        log = folder / f"{arrival.id}.log"
        log.write_text(texts[0])
        return FakeClient(log, self, iter(texts[1:]))

    def _text_of(self, job: str) -> str:
        if job in self.silent:
            return "java.io.IOException: no such queue\n"
        yarn = f"application_1_{len(self.rest.names) + 1:04}"
        self.rest.names[yarn] = job
        return f"INFO Submitted application {yarn}\n"

    def outputs(self, jobs: Sequence[str], folder: Path) -> dict[str, Path]:
        for job in jobs:
            rows = self._right(job)
            (folder / job).mkdir()
            kept = rows[1:] if job in self.broken else rows
            (folder / job / "part-r-00000").write_text("".join(f"{row}\n" for row in kept))
        return {job: folder / job for job in jobs}

    def _right(self, job: str) -> list[str]:
        if job.endswith("-grep"):
            words = lines(self.folder / "data" / "wordcount-tiny-1" / "data")
            found = Counter(match for row in words for match in re.findall(GREP_PATTERN, row))
            return [f"{count}\t{match}" for match, count in found.most_common()]
        return sorted(lines(self.folder / "data" / "sort-tiny-1" / "data"))

    def container_runs(self, since_ms: int) -> list[ContainerRun]:
        runs = []
        for yarn in self.rest.names:
            stem = yarn.replace("application", "container")
            for number in (1, 2):
                began = since_ms + 100 * number
                runs.append(
                    ContainerRun(
                        f"{stem}_01_{number:06}", yarn, "n1", number == 1, 0, 0, began, began + 50
                    )
                )
        return runs

    def journal(self, _folder: Path, _since_ms: int) -> Journal | None:
        return None
