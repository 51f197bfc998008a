"""The interface of a cluster that runs a mix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from loomcard.cluster.container_times import ContainerRun
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.experiments.grid import Cell
from loomcard.player.container_ids import ContainerKey
from loomcard.suite.inputs import Job
from loomcard.suite.mix import Arrival


class Client(Protocol):
    """A running client, which submits one job."""

    @property
    def log(self) -> Path:
        """The file of its output."""

    def ended(self) -> bool:
        """Return whether it has ended."""

    def stop(self) -> None:
        """End the client; the applications that it has submitted continue."""


@dataclass(frozen=True)
class Journal:
    """What Loomcard's journal contains of a run: its folder, and when each container was
    allocated.
    """

    folder: Path
    allocated_ms: Mapping[ContainerKey, int]


class SuiteCluster(Protocol):
    """A cluster that runs a mix under one policy after the other."""

    def schedule(self, cell: Cell) -> None:
        """Put the cell's policy into force. A policy is swapped on the live cluster; a change from
        or to a stock scheduler needs another ResourceManager.
        """

    @property
    def rest(self) -> ResourceManagerClient:
        """The ResourceManager's REST interface, with the rights of its administrator."""

    def provide(self, jobs: Sequence[Job]) -> None:
        """Generate the jobs' inputs and put them where the cluster reads them."""

    def submit(self, arrival: Arrival, folder: Path) -> Client:
        """Start the job's client. Its log is written into `folder`."""

    def outputs(self, jobs: Sequence[str], folder: Path) -> dict[str, Path]:
        """Move the output of each job from the cluster to files in `folder`; return their folders
        by job.
        """

    def input_of(self, job: Job) -> Path:
        """Return the job's input as files of this machine."""

    def container_runs(self, since_ms: int) -> list[ContainerRun]:
        """Return every container that ran since then. AM containers are marked."""

    def journal(self, folder: Path, since_ms: int) -> Journal | None:
        """Return what the journal contains since then; it is copied into `folder` if it is on
        another machine. None under a stock scheduler.
        """
