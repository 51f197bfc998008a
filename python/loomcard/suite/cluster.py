"""What a run of a mix needs of a cluster, whichever kind it is."""

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
    """A client at work, which submits one job."""

    @property
    def log(self) -> Path:
        """What it says."""

    def ended(self) -> bool:
        """Whether it has ended."""

    def stop(self) -> None:
        """Ends it; what it has submitted goes on."""


@dataclass(frozen=True)
class Journal:
    """What Loomcard's journal holds of a run: its folder, and when each container was allocated."""

    folder: Path
    allocated_ms: Mapping[ContainerKey, int]


class SuiteCluster(Protocol):
    """A cluster that runs a mix under one policy after the other."""

    def schedule(self, cell: Cell) -> None:
        """Brings the cell's policy into force: swapped on the live cluster, or, from and to a
        stock scheduler, with another ResourceManager.
        """

    @property
    def rest(self) -> ResourceManagerClient:
        """The ResourceManager's REST interface, asked as its administrator."""

    def provide(self, jobs: Sequence[Job]) -> None:
        """Generates the jobs' inputs and brings them where the cluster reads them."""

    def submit(self, arrival: Arrival, folder: Path) -> Client:
        """Starts the job's client, whose log goes into `folder`."""

    def outputs(self, jobs: Sequence[str], folder: Path) -> dict[str, Path]:
        """By job, its output as files in `folder`; taken from the cluster."""

    def input_of(self, job: Job) -> Path:
        """The job's input as files of this machine."""

    def container_runs(self, since_ms: int) -> list[ContainerRun]:
        """Every container that ran since, an AM's marked as such."""

    def journal(self, folder: Path, since_ms: int) -> Journal | None:
        """What the journal holds since then, copied into `folder` where it is not at hand; None
        under a stock scheduler.
        """
