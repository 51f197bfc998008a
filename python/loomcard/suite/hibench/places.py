"""Where HiBench's workloads go: a cluster by its configuration's folder, or the compose cluster."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Final, Protocol

from loomcard.cluster.compose import ComposeCluster, ComposeError
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.experiments.grid import Cell, Grid, cells
from loomcard.experiments.inputs import choices
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.configuration import Cluster
from loomcard.suite.on_docker import SPARK_HOME, USER, DockerSuite
from loomcard.suite.prepare import with_am_share

HOSTS: Final = "hosts"
"""The file of names and addresses in the folder of results."""


class Place(Protocol):
    """A cluster that runs and whose policy can be changed."""

    @property
    def rest(self) -> ResourceManagerClient:
        """Its ResourceManager, asked as a user who may change the policy."""

    def schedule(self, cell: Cell) -> None:
        """Brings in the policy."""

    def cluster(self) -> Cluster:
        """What a client needs to know, as things are now."""


def policies(named: Sequence[str], engine: str) -> list[Cell]:
    """The policies, checked as the suite's are. Raises InputError, and SuiteError for a stock
    scheduler where only policies can be swapped.
    """
    chosen = [with_am_share(each) for each in choices(named, Path())]
    stock = next((each.source for each in chosen if each.text is None), "")
    if stock and engine != "docker":
        raise SuiteError(
            f"{stock} cannot be brought into a cluster that runs",
            f"bring the cluster up with --scheduler {stock}, and leave --policy out,"
            " or use --on docker",
        )
    return cells(Grid(chosen, {"hibench": Path()}, {}, [1], engine))


@dataclass(frozen=True)
class ConfiguredCluster:
    """A cluster by the folder of its configuration; `java_options` for its clients."""

    conf_dir: Path
    rest: ResourceManagerClient
    java_options: str = ""

    def schedule(self, cell: Cell) -> None:
        """Swaps the policy."""
        assert cell.text is not None, "a stock scheduler needs another start"
        self.rest.apply_policy(cell.text, cell.policy)

    def cluster(self) -> Cluster:
        """As the folder says."""
        hosts = tuple(sorted(str(each["nodeHostName"]) for each in self.rest.nodes()))
        return Cluster(
            self.conf_dir.absolute(), "localhost", hosts or ("localhost",), self.java_options
        )


@contextmanager
def on_compose(folder: Path) -> Iterator[Compose]:
    """The compose cluster that runs, and what governed it before in the end. `folder`: for what
    clients of this machine need to know of it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with DockerSuite(ComposeCluster.here(), folder) as suite:
        yield Compose(suite, folder.absolute())


@dataclass(frozen=True)
class Compose:
    """The compose cluster, from this machine. Its names are known inside its network alone: clients
    get a file of names and addresses, which Docker routes from a Linux host.
    """

    suite: DockerSuite
    folder: Path

    @property
    def rest(self) -> ResourceManagerClient:
        """As the cluster's administrator."""
        return self.suite.rest

    def schedule(self, cell: Cell) -> None:
        """Swaps the policy, or restarts the ResourceManager with a stock scheduler."""
        self.suite.schedule(cell)

    def cluster(self) -> Cluster:
        """With the addresses that the containers have now."""
        names = addresses(self.suite.compose)
        file = self.folder / HOSTS
        file.write_text(names.hosts_file(socket.gethostname()))
        nodes = [n for n in self.rest.nodes() if n["state"] == "RUNNING"]
        return Cluster(
            self.suite.compose.conf_dir.absolute(),
            "resourcemanager",
            tuple(sorted(str(each["nodeHostName"]) for each in nodes)),
            f"-Djdk.net.hosts.file={file}",
            {"HADOOP_USER_NAME": USER},
            # Executors call the driver back, which is on this machine.
            {"spark.driver.host": names.gateway, "spark.driver.bindAddress": "0.0.0.0"},  # noqa: S104
            PurePath(SPARK_HOME),
        )


@dataclass
class Addresses:
    """Addresses of a compose project by name, and this machine's in their network."""

    gateway: str = ""
    by_name: dict[str, str] = field(default_factory=dict)

    def hosts_file(self, own_name: str) -> str:
        """For a JVM, which then asks no other source; so this machine's names are in it too."""
        own = {"localhost": "127.0.0.1", own_name: self.gateway}
        known: Mapping[str, str] = own | self.by_name
        return "".join(f"{address} {name}\n" for name, address in known.items())


def addresses(compose: ComposeCluster) -> Addresses:
    """Of the containers of the project that run. Raises ComposeError where there are none."""
    running = [each for each in compose.status() if each.state == "running"]
    found = Addresses()
    for each in _inspected([service.container for service in running]):
        networks = [net for net in each["NetworkSettings"]["Networks"].values() if net["IPAddress"]]
        for net in networks[:1]:
            for name in (each["Config"]["Hostname"], each["Name"].removeprefix("/")):
                found.by_name[name] = net["IPAddress"]
            found.gateway = found.gateway or net["Gateway"]
    if not found.by_name:
        raise ComposeError(
            f"no container of {compose.project} has an address",
            hint="start the cluster with `loomcard cluster up --on docker`",
        )
    return found


def _inspected(containers: Sequence[str]) -> list[dict[str, Any]]:
    if not containers:
        return []
    command = ["docker", "inspect", *containers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise ComposeError(
            f"docker inspect: {done.stderr.strip()}", hint="is the engine running (docker info)?"
        )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
