"""A mix on the compose cluster that runs: policies swapped over REST, stock schedulers by a restart
of its ResourceManager, jobs submitted from a container of the service `submitter`.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self

from loomcard.cluster.compose import ComposeCluster, ComposeError
from loomcard.cluster.container_times import ContainerRun
from loomcard.cluster.hadoop_config import (
    CAPACITY_SCHEDULER,
    LOOMCARD_SCHEDULER,
    SCHEDULERS,
    Settings,
    compose_settings,
    render,
)
from loomcard.cluster.rm_client import Document, ResourceManagerClient, RestError
from loomcard.cluster.stock_queues import stock_options, stock_queues
from loomcard.experiments.grid import Cell
from loomcard.player.container_ids import container_key
from loomcard.player.node_logs import runs_in
from loomcard.player.play_compose import allocated_since, resource_manager, running
from loomcard.suite.cluster import Client, Journal
from loomcard.suite.commands import SMALL_JVM, Submitted, Where, mapreduce, on_yarn, spark
from loomcard.suite.environment import PROGRAMS
from loomcard.suite.inputs import Job, made
from loomcard.suite.mix import Arrival

_ENVIRONMENT = PurePosixPath("/opt/pyspark")
SPARK_HOME = _ENVIRONMENT / "lib/python3.11/site-packages/pyspark"
_PYTHON = _ENVIRONMENT / "bin/python"
_PLACE = PurePosixPath("/tmp/suite")  # noqa: S108 - in the submitter's container
_DATA, _OUTPUT = "hdfs://namenode:8020/suite/data", "hdfs://namenode:8020/suite/output"
_CLASSES = "/etc/hadoop:/opt/loomcard/lib/*:/opt/hadoop/lib/*"
USER = "hadoop"
_BACK_S, _LOOK_S = 300.0, 1.0
_CONTAINER = re.compile(r"container_(?:e\d+_)?\d+_\d+_\d+_\d+")
# The job's client ends with its standard input; killing `docker exec` would leave it running.
_UNTIL_CLOSED = (
    'exec 3<&0; "$@" </dev/null & child=$!;'
    " (cat <&3 >/dev/null; kill $child) 2>/dev/null & wait $child"
)


@dataclass(frozen=True)
class ExecClient:
    """A client in the submitter's container."""

    process: subprocess.Popen[bytes]
    log: Path

    def ended(self) -> bool:
        """Return whether it has ended."""
        return self.process.poll() is not None

    def stop(self) -> None:
        """End it, also inside its container."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()


@dataclass
class DockerSuite:
    """Yield the compose cluster that runs. Afterwards its earlier policy is in force again, and the
    submitter's container is removed. `folder`: for inputs and copies of the journal.
    """

    compose: ComposeCluster
    folder: Path
    _rest: ResourceManagerClient = field(init=False)
    _nodes: list[Document] = field(init=False)
    _hosts: dict[str, str] = field(init=False)
    _before: Document = field(init=False)
    _scheduler: str = field(default="loomcard", init=False)
    _provided: set[str] = field(default_factory=set, init=False)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._hosts, self._rest = running(self.compose)
        if "config" not in self._rest.scheduler()["schedulerInfo"]:
            raise ComposeError(
                "the compose cluster runs a stock scheduler",
                hint="bring it down, and up again without another --scheduler",
            )
        self._nodes = [each for each in self._rest.nodes() if each["state"] == "RUNNING"]
        self._before = self._rest.policy()
        try:
            self._start_submitter()
        except BaseException:  # the block does not begin, so its end does not run either
            self._remove_submitter()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._scheduler != "loomcard":
                self._restart("loomcard", None)
            self._rest.apply_policy(str(self._before["yaml"]), str(self._before["source"]))
        finally:
            self._remove_submitter()

    def _remove_submitter(self) -> None:
        self._compose("rm", "--force", "--stop", "submitter")

    @property
    def rest(self) -> ResourceManagerClient:
        """The ResourceManager's REST interface, with the rights of the cluster's administrator."""
        return self._rest

    def schedule(self, cell: Cell) -> None:
        """Swap the policy, or restart the ResourceManager with another scheduler."""
        wanted = cell.source if cell.text is None else "loomcard"
        if wanted != self._scheduler:
            self._restart(wanted, cell)
        if cell.text is not None:
            self._rest.apply_policy(cell.text, cell.policy)

    def _restart(self, scheduler: str, cell: Cell | None) -> None:
        render(self.compose.conf_dir, self._settings(scheduler, cell))
        self._compose("restart", "resourcemanager")
        # If the engine chose its port, the port has changed now.
        self._rest = resource_manager(self.compose)
        self._scheduler = scheduler
        count = len(self._nodes)

        def back() -> bool:
            try:
                info = self._rest.scheduler()["schedulerInfo"]
                live = [each for each in self._rest.nodes() if each["state"] == "RUNNING"]
            except RestError:
                return False
            bridge = info.get("bridge", {}).get("state", "up")
            return len(live) >= count and bridge == "up"

        _wait_until(back, "the ResourceManager is back with all nodes")

    def _settings(self, scheduler: str, cell: Cell | None) -> Settings:
        memory = max(int(n["usedMemoryMB"]) + int(n["availMemoryMB"]) for n in self._nodes)
        vcores = max(
            int(n["usedVirtualCores"]) + int(n["availableVirtualCores"]) for n in self._nodes
        )
        chosen = SCHEDULERS[scheduler]
        more: dict[str, Any] = {}
        if chosen != LOOMCARD_SCHEDULER and cell is not None and cell.queues is not None:
            whole = [memory * len(self._nodes), vcores * len(self._nodes)]
            more["stock_queues"] = stock_queues(
                cell.queues, ["memory_mb", "vcores"], whole, whole=chosen == CAPACITY_SCHEDULER
            )
            more["stock_options"] = stock_options(cell.queues)
        return compose_settings(chosen, node_memory_mb=memory, node_vcores=vcores, **more)

    def _start_submitter(self) -> None:
        self._compose("--profile", "spark", "run", "--rm", "--no-TTY", "spark", "true")
        self._compose("--profile", "suite", "up", "--detach", "--no-deps", "submitter")
        try:
            self._inside(str(_PYTHON), "-c", "import numpy, pyspark")
        except ComposeError:
            raise ComposeError(
                "the cluster's volume `spark` has no environment that the suite can use",
                hint="an older image has filled it: `docker compose --profile spark build spark`,"
                " bring the cluster down, and remove the volume",
            ) from None
        self._inside("mkdir", "-p", str(_PLACE))
        self._copy(str(PROGRAMS), f"{self._container}:{_PLACE}")

    def provide(self, jobs: Sequence[Job]) -> None:
        """Generate the inputs that are missing and put them into HDFS."""
        missing = {job.input_name: job for job in jobs if job.input_name not in self._provided}
        for name, job in missing.items():
            data = self.input_of(job)
            self._copy(str(data), f"{self._container}:{_PLACE}/{name}")
        if missing:
            # Completely or not at all: what was put in part is removed first.
            names = " ".join(f"{_PLACE}/{name}" for name in missing)
            old = " ".join(f"{_DATA}/{name}" for name in missing)
            self._fs(f"-rm -r -f -skipTrash {old}", f"-mkdir -p {_DATA}", f"-put {names} {_DATA}")
            self._inside("sh", "-c", f"rm -rf {names}", user="root")
        self._provided |= missing.keys()

    def input_of(self, job: Job) -> Path:
        """Return the job's input on this machine."""
        return made(job, self.folder / "data")

    def submit(self, arrival: Arrival, folder: Path) -> Client:
        """Start the job's client in the submitter's container, as the job's user."""
        where = Where(f"{_DATA}/{arrival.job.input_name}", f"{_OUTPUT}/{arrival.id}")
        submitted = Submitted(arrival.id, arrival.queue, arrival.definitions)
        if arrival.job.benchmark.framework == "spark":
            properties = on_yarn(SPARK_HOME, _PYTHON, arrival.queue, arrival.executors)
            words = spark(arrival.job, where, submitted, _PLACE / PROGRAMS.name, properties)
            command = [str(SPARK_HOME / "bin" / "spark-submit"), *words]
        else:
            java = ["java", "-Xmx192m", *SMALL_JVM.split()]
            command = [*java, "-cp", _CLASSES, *mapreduce(arrival.job, where, submitted)]
        user = arrival.user or USER
        variables = {
            "HADOOP_USER_NAME": user,
            "PYSPARK_PYTHON": str(_PYTHON),
            "SPARK_LAUNCHER_OPTS": SMALL_JVM,
            "SPARK_SUBMIT_OPTS": SMALL_JVM,
        }
        given = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        log = folder / f"{arrival.id}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - our own command line
                [
                    *("docker", "exec", "--interactive", *given, self._container),
                    *("bash", "-c", _UNTIL_CLOSED, "submit", *command),
                ],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        return ExecClient(process, log)

    def outputs(self, jobs: Sequence[str], folder: Path) -> dict[str, Path]:
        """Copy the outputs out of HDFS and remove them there."""
        if not jobs:
            return {}
        self._inside("rm", "-rf", f"{_PLACE}/output")
        self._fs(f"-get {_OUTPUT} {_PLACE}/output", f"-rm -r -f -skipTrash {_OUTPUT}")
        self._copy(f"{self._container}:{_PLACE}/output/.", str(folder))
        return {job: folder / job for job in jobs if (folder / job).is_dir()}

    def container_runs(self, since_ms: int) -> list[ContainerRun]:
        """Read the NodeManagers' logs."""
        since = datetime.fromtimestamp(since_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        log = self.compose.compose(
            ["logs", "--no-color", "--since", since, "nodemanager"], capture=True
        )
        runs = runs_in(log.splitlines(), self._hosts, task_containers(_CONTAINER.findall(log)))
        return [each for each in runs if each.started_ms >= since_ms]

    def journal(self, folder: Path, since_ms: int) -> Journal | None:
        """Copy it from the ResourceManager's container."""
        if self._scheduler != "loomcard":
            return None
        return Journal(folder, allocated_since(self.compose, folder, since_ms / 1000 - 1))

    @property
    def _container(self) -> str:
        return f"{self.compose.project}-submitter-1"

    def _compose(self, *words: str) -> None:
        self.compose.compose(words, timeout_s=900)

    def _fs(self, *commands: str) -> None:
        """Run Hadoop's file system commands in one go. Raises ComposeError if one fails."""
        shell = " && ".join(f"hadoop-role fs {command}" for command in commands)
        self._inside("bash", "-c", shell)

    def _inside(self, *command: str, user: str = USER) -> None:
        _run(["docker", "exec", "--user", user, self._container, *command])

    def _copy(self, source: str, target: str) -> None:
        _run(["docker", "cp", source, target])


def task_containers(names: Iterable[str]) -> set[str]:
    """Return the containers of an application without its AMs: all but the first of each attempt.
    The first need not have number 1, because CapacityScheduler also numbers containers that it does
    not allocate in the end.
    """
    attempts: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for name in set(names):
        application, attempt, number = container_key(name)
        attempts.setdefault((application, attempt), []).append((number, name))
    return {name for numbered in attempts.values() for _, name in sorted(numbered)[1:]}


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise ComposeError(
            f"{shlex.join(command)[:120]}: {(said or ['no word'])[-1]}",
            hint="is the cluster well? `loomcard cluster status --on docker` says",
        )


def _wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _BACK_S
    while not condition():
        if time.monotonic() > deadline:
            raise ComposeError(
                f"{_BACK_S:.0f} s passed before {what}",
                hint="loomcard cluster logs --on docker says what it waits for",
            )
        time.sleep(_LOOK_S)
