"""The clusters on which HiBench's workloads run: one named by its configuration folder, or the
compose cluster.
"""

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
    """A running cluster whose policy can be changed."""

    @property
    def rest(self) -> ResourceManagerClient:
        """Its ResourceManager, with the rights of a user who may change the policy."""

    def schedule(self, cell: Cell) -> None:
        """Put the policy into force."""

    def cluster(self) -> Cluster:
        """Return what a client needs to know now."""


def policies(named: Sequence[str], engine: str) -> list[Cell]:
    """Return the policies, checked as the suite's are. Raises InputError, and SuiteError for a
    stock scheduler if only policies can be swapped.
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
    """A cluster that its configuration folder describes; `java_options` are for its clients."""

    conf_dir: Path
    rest: ResourceManagerClient
    java_options: str = ""

    def schedule(self, cell: Cell) -> None:
        """Swap the policy."""
        assert cell.text is not None, "a stock scheduler needs another start"
        self.rest.apply_policy(cell.text, cell.policy)

    def cluster(self) -> Cluster:
        """Return what the folder states."""
        hosts = tuple(sorted(str(each["nodeHostName"]) for each in self.rest.nodes()))
        return Cluster(
            self.conf_dir.absolute(), "localhost", hosts or ("localhost",), self.java_options
        )


@contextmanager
def on_compose(folder: Path) -> Iterator[Compose]:
    """Yield the compose cluster, and restore its earlier policy at the end. `folder`: for the files
    that clients of this machine need.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with DockerSuite(ComposeCluster.here(), folder) as suite:
        yield Compose(suite, folder.absolute())


@dataclass(frozen=True)
class Compose:
    """The compose cluster, used from this machine. Its host names are known only inside its
    network: clients get a file of names and addresses, which Docker routes from a Linux host.
    """

    suite: DockerSuite
    folder: Path

    @property
    def rest(self) -> ResourceManagerClient:
        """Its ResourceManager, with the rights of the cluster's administrator."""
        return self.suite.rest

    def schedule(self, cell: Cell) -> None:
        """Swap the policy, or restart the ResourceManager with a stock scheduler."""
        self.suite.schedule(cell)

    def cluster(self) -> Cluster:
        """Return it with the containers' present addresses."""
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
            # Executors connect to the driver, which is on this machine.
            {"spark.driver.host": names.gateway, "spark.driver.bindAddress": "0.0.0.0"},  # noqa: S104
            PurePath(SPARK_HOME),
        )


@dataclass
class Addresses:
    """Return the addresses of a compose project by name, and this machine's address in their
    network.
    """

    gateway: str = ""
    by_name: dict[str, str] = field(default_factory=dict)

    def hosts_file(self, own_name: str) -> str:
        """Write names and addresses for a JVM. The JVM then uses no other source, so this machine's
        names are included.
        """
        own = {"localhost": "127.0.0.1", own_name: self.gateway}
        known: Mapping[str, str] = own | self.by_name
        return "".join(f"{address} {name}\n" for name, address in known.items())


def addresses(compose: ComposeCluster) -> Addresses:
    """Return the address of each running container of the project. Raises ComposeError if there is
    none.
    """
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
