"""A mix on embedded clusters: one for all of Loomcard's policies, one for each stock scheduler."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from loomcard.cluster import paths
from loomcard.cluster.container_times import ContainerRun, read_runs
from loomcard.cluster.embedded import LocalCluster, LocalSettings
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.experiments.grid import Cell
from loomcard.player.journal_allocations import allocated_ms
from loomcard.suite.cluster import Client, Journal
from loomcard.suite.commands import SMALL_JVM, Submitted, Where, mapreduce, on_yarn, spark
from loomcard.suite.environment import PROGRAMS, SparkEnvironment
from loomcard.suite.inputs import Job, made
from loomcard.suite.mix import Arrival, ClusterSize


@dataclass(frozen=True)
class ClientProcess:
    """A client that is a process of this machine."""

    process: subprocess.Popen[bytes]
    log: Path

    def ended(self) -> bool:
        """Return whether it has ended."""
        return self.process.poll() is not None

    def stop(self) -> None:
        """End it, if it still runs."""
        if not self.ended():
            self.process.kill()
        self.process.wait()


@dataclass
class LocalSuite:
    """Yield embedded clusters in `folder`, one at a time; none runs after the block. `policy_path`:
    folders of policy files. `environment`: None if the mix has no Spark job.
    """

    folder: Path
    size: ClusterSize
    environment: SparkEnvironment | None
    policy_path: tuple[Path, ...] = ()
    _cluster: LocalCluster | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        self.folder = self.folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._down()

    @property
    def cluster(self) -> LocalCluster:
        """The cluster that runs."""
        assert self._cluster is not None, "no policy was scheduled yet"
        return self._cluster

    @property
    def rest(self) -> ResourceManagerClient:
        """The ResourceManager's REST interface."""
        return self.cluster.rest

    def schedule(self, cell: Cell) -> None:
        """Swap the policy; start another cluster if the scheduler is another one."""
        wanted = cell.source if cell.text is None else "loomcard"
        if self._cluster is None or self._cluster.settings.scheduler != wanted:
            self._down()
            self._up(cell, wanted)
        if cell.text is not None:
            self.rest.apply_policy(cell.text, cell.policy)

    def _up(self, cell: Cell, scheduler: str) -> None:
        run_dir = self.folder / scheduler.replace(":", "-")
        shutil.rmtree(run_dir, ignore_errors=True)
        settings = LocalSettings(
            run_dir=run_dir,
            nodes=self.size.nodes,
            node_memory_mb=self.size.node_memory_mb,
            node_vcores=self.size.node_vcores,
            scheduler=scheduler,
            stock_config=cell.queues if cell.text is None else None,
            policy_path=self.policy_path,
        )
        cluster = LocalCluster(settings)
        cluster.up()  # a cluster that did not start cannot serve the next policy either
        self._cluster = cluster

    def _down(self) -> None:
        if self._cluster is not None:
            self._cluster.down()
        self._cluster = None

    def provide(self, jobs: Sequence[Job]) -> None:
        """Generate the inputs that are missing; tasks read these files directly."""
        for job in jobs:
            self.input_of(job)

    def input_of(self, job: Job) -> Path:
        """Return the job's input; generate it if it is missing."""
        return made(job, self.folder.parents[1] / "data")

    def submit(self, arrival: Arrival, folder: Path) -> Client:
        """Start the job's client as a process of this machine."""
        assert not arrival.user, "the embedded cluster has one user"
        target = self._outputs / arrival.id
        where = Where(f"file://{self.input_of(arrival.job).absolute()}", f"file://{target}")
        submitted = Submitted(arrival.id, arrival.queue, arrival.definitions)
        log = folder / f"{arrival.id}.log"
        is_spark = arrival.job.benchmark.framework == "spark"
        command = (self._spark if is_spark else self._mapreduce)(arrival, where, submitted)
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - our own command line
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=os.environ | self._variables(),
                cwd=self.cluster.run_dir,  # the folder that Grep's two jobs share
            )
        return ClientProcess(process, log)

    def _mapreduce(self, arrival: Arrival, where: Where, submitted: Submitted) -> list[str]:
        java = str(paths.java_home() / "bin" / "java")
        options = ["-Xmx192m", *SMALL_JVM.split()]
        classes = f"{self.cluster.conf_dir}:{paths.jars().absolute()}/*"
        if arrival.job.benchmark.name == "terasort":
            # Its tasks read their partition file relative to this folder, not to their own:
            # the local file system has one working directory in a process.
            own = {"mapreduce.job.working.dir": where.target}
            submitted = replace(submitted, definitions={**submitted.definitions, **own})
        words = mapreduce(arrival.job, where, submitted)
        return [java, *options, *self.cluster.client_options, "-cp", classes, *words]

    def _spark(self, arrival: Arrival, where: Where, submitted: Submitted) -> list[str]:
        assert self.environment is not None, "Spark jobs need their environment"
        home, python = self.environment.spark_home, self.environment.python
        properties = on_yarn(home, python, arrival.queue, arrival.executors) | {
            "spark.yarn.stagingDir": f"file://{self.cluster.run_dir}/staging"
        }
        words = spark(arrival.job, where, submitted, PROGRAMS, properties)
        return [str(self.environment.submit), *words]

    def _variables(self) -> dict[str, str]:
        spark = {} if self.environment is None else self.environment.variables
        return spark | {
            "JAVA_HOME": str(paths.java_home()),
            "HADOOP_CONF_DIR": str(self.cluster.conf_dir),
            "SPARK_LAUNCHER_OPTS": SMALL_JVM,
            "SPARK_SUBMIT_OPTS": " ".join([SMALL_JVM, *self.cluster.client_options]),
        }

    @property
    def _outputs(self) -> Path:
        return self.cluster.run_dir / "output"

    def outputs(self, jobs: Sequence[str], folder: Path) -> dict[str, Path]:
        """Move the outputs into `folder`."""
        found = {}
        for job in jobs:
            if (self._outputs / job).is_dir():
                found[job] = Path(shutil.move(self._outputs / job, folder / job))
        shutil.rmtree(self._outputs, ignore_errors=True)
        return found

    def container_runs(self, since_ms: int) -> list[ContainerRun]:
        """Read what the NodeManagers recorded."""
        return [r for r in read_runs(self.cluster.container_times) if r.started_ms >= since_ms]

    def journal(self, folder: Path, since_ms: int) -> Journal | None:  # noqa: ARG002 - at hand
        """Read the cluster's own journal."""
        if not self.cluster.settings.is_loomcard:
            return None
        return Journal(self.cluster.journal_dir, allocated_ms(self.cluster.journal_dir))
