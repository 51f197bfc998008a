"""Playing a scenario on the compose cluster that runs already: on its nodes, under its scheduler.

The player is a container of the service `client`; its account comes by its standard output.
docs/simulate/player.md says what is measured how.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from loomcard.cluster.compose import ComposeCluster, ComposeError
from loomcard.cluster.container_times import ContainerRun
from loomcard.cluster.hadoop_config import compose_settings, render
from loomcard.cluster.rm_client import Document, ResourceManagerClient, RestError
from loomcard.config.source import Source, resolve
from loomcard.player.container_ids import ContainerKey
from loomcard.player.fit_to_cluster import Fit, fit
from loomcard.player.journal_allocations import allocated_ms
from loomcard.player.journal_reports import reported_states
from loomcard.player.node_logs import runs_in
from loomcard.player.process import WARM_UP, Player, PlayError
from loomcard.player.run_record import (
    application_records,
    container_rows,
    refusals,
    stalls,
    zero_ms,
)
from loomcard.player.settings import capacity, is_stock
from loomcard.player.watch import Watch, settled
from loomcard.results.container_rows import ContainerRow
from loomcard.results.record import RunRecord
from loomcard.simulator import Progress
from loomcard.wire.journal import JournalError
from loomcard.workload.scenario import Scenario

_USER = "hadoop"  # administers YARN there, see compose_settings
_NODES_S = 15.0  # in which nodes write down the ends of what was killed
_LEAVE_S = 30.0  # in which applications that were killed leave their queues
_LOOK_S = 0.5
_ENDED = ("FINISHED", "FAILED", "KILLED")
_MANAGERS = ("resourcemanager", "resourcemanager2")  # only the second one of a pair
_JOURNAL = "/data/loomcard/journal"
_PYTHON = "/opt/loomcard/venv/bin/python"  # in the image
_MOST_MB = 384  # of the player's heap: the service has 512 MB


@dataclass
class ContainerPlayer(Player):
    """Yield a player in a container of `cluster`, which is removed at the end of the block."""

    cluster: ComposeCluster | None = None
    account_by_output: bool = True

    @property
    def name(self) -> str:
        """The container's."""
        return f"{self._compose.project}-player-{os.getpid()}"

    def __exit__(self, *what: object) -> None:
        """End the player, and its container even if it does not end by itself."""
        try:
            super().__exit__(None, None, None)
        finally:
            remove = ["docker", "rm", "--force", self.name]
            subprocess.run(remove, capture_output=True, check=False)  # noqa: S603 - our own words

    @property
    def _compose(self) -> ComposeCluster:
        assert self.cluster is not None
        return self.cluster

    def _environment(self) -> dict[str, str]:
        return self._compose.variables

    def _command(self) -> list[str]:
        heap = min(_MOST_MB, 256 + len(self.scenario.applications) // 4)
        given = self.folder.absolute() / "player-input.json"
        return [
            *(*self._compose.command, "run", "--rm", "--no-TTY", "--name", self.name),
            *("--env", f"HEAP_MB={heap}", "--volume", f"{given}:/play/input.json:ro"),
            *("client", "player", "--input", "/play/input.json", "--log", "/dev/stdout"),
            *("--python", _PYTHON),
        ]


def play_on_compose(
    scenario: Scenario,
    policy: Path | str,
    cluster: ComposeCluster,
    *,
    folder: Path,
    on_progress: Callable[[Progress], None] | None = None,
    on_warning: Callable[[str], None],
) -> RunRecord:
    """Play `scenario` on `cluster` under the configuration `policy`, and put back the one before.

    `on_warning` gets one line where the cluster is not the scenario's, and where others use
    it. Ctrl-C as in `play`. Raises PlayError, ComposeError, RestError and ClusterError.
    """
    if is_stock(policy):
        raise PlayError(
            f"{policy} cannot be applied: the compose cluster runs Loomcard",
            "play it on local, which boots a cluster of its own for it",
        )
    source = resolve(policy)
    hosts, rm = running(cluster)
    nodes = _nodes(rm, hosts)
    settings = compose_settings()
    fitted = fit(scenario, nodes, settings.minimum_memory_mb)
    if fitted.differences:
        on_warning(f"the cluster is not the workload's: {', '.join(fitted.differences)}")
    if others := _live(rm):
        on_warning(f"{len(others)} other applications run on the cluster, and share it")
    # The cluster may have been started plainly, so the player gets its own configuration.
    client = replace(cluster, conf_dir=folder / "cluster" / "conf")
    render(client.conf_dir, settings, policy)
    player = ContainerPlayer(
        fitted.scenario, folder, client.conf_dir, real_names=fitted.real_names, cluster=client
    )
    began, before = time.time() - 1, rm.scheduler()
    with _governed(rm, source, on_warning), _cleared(rm, scenario, others):
        watch = Watch(player, fitted.scenario, on_progress)
        with player:
            finished = watch.until_over()
    record = _record(fitted, player, finished, watch.ended_ms())
    record.policy = source.title
    after = rm.scheduler()
    record.refusals = dict(Counter(refusals(after)) - Counter(refusals(before)))
    record.stalls = stalls(after) - stalls(before)
    record.containers = _containers(fitted, player, cluster, hosts, began)
    journal = player.folder / "cluster" / "journal"  # as it was fetched for the containers
    record.states = reported_states(journal, zero_ms(player.events), record.ended_ms)
    return record


def _record(fitted: Fit, player: Player, finished: bool, ended_ms: int) -> RunRecord:
    """Return the record from what the player knows of the run."""
    scenario = fitted.scenario
    return RunRecord(
        policy="",
        workload=scenario.name,
        seed=scenario.seed,
        engine="docker",
        resource_types=list(scenario.resource_types),
        capacity=[(0, capacity(scenario))],
        applications=application_records(scenario, player.events),
        ended_ms=ended_ms,
        finished=finished,
    )


def _containers(
    fitted: Fit, player: Player, cluster: ComposeCluster, hosts: Mapping[str, str], began: float
) -> list[ContainerRow]:
    """Return it with the times of the NodeManagers' logs and of the ResourceManager's journal."""
    named = {real: name for name, real in fitted.real_names.items()}
    names = {service: named.get(host, host) for service, host in hosts.items()}
    runs = settled(lambda: _runs(cluster, names, player, began), _NODES_S)
    allocated = allocated_since(cluster, player.folder / "cluster" / "journal", began)
    return container_rows(fitted.scenario, player.events, runs, allocated)


def running(cluster: ComposeCluster) -> tuple[dict[str, str], ResourceManagerClient]:
    """Its NodeManagers' host names by what stands before their lines in the log, in their order,
    and its ResourceManager, which must answer.
    """
    rm = resource_manager(cluster)
    cluster.use_line()
    found = [each for each in cluster.status() if each.state == "running"]
    numbered = [
        (each.container.removeprefix(f"{cluster.project}-"), each)
        for each in found
        if each.service == "nodemanager"
    ]
    numbered.sort(key=lambda pair: int(pair[0].rpartition("-")[2]))
    known = {node["nodeHostName"] for node in rm.nodes()}
    # If the engine's DNS gives a container no name, its host name is its short id.
    return {name: each.id if each.id in known else each.container for name, each in numbered}, rm


def resource_manager(cluster: ComposeCluster, user: str = _USER) -> ResourceManagerClient:
    """A client of the ResourceManager, at the ports that it has now. It need not answer yet.

    Raises ComposeError where no ResourceManager or no NodeManager runs.
    """
    services = [each for each in cluster.status() if each.state == "running"]
    managers = [each for each in services if each.service in _MANAGERS]
    urls = {
        f"http://127.0.0.1:{each.ports[8088]}": each.service
        for each in managers
        if 8088 in each.ports
    }
    if not urls or all(each.service != "nodemanager" for each in services):
        raise ComposeError(
            f"no compose cluster {cluster.project} runs",
            hint="start one with `loomcard cluster up --on docker --nodes 3`",
        )
    return ResourceManagerClient(",".join(urls), user, lambda url: cluster.token(urls[url]))


def _nodes(rm: ResourceManagerClient, hosts: Mapping[str, str]) -> list[Document]:
    """Return the NodeManagers' documents in their order."""
    if "config" not in rm.scheduler()["schedulerInfo"]:
        raise PlayError(
            "the compose cluster runs a stock scheduler, and policies are Loomcard's",
            "bring it down, and up again without another --scheduler",
        )
    there = {node["nodeHostName"]: node for node in rm.nodes() if node["state"] == "RUNNING"}
    found = [there[host] for host in hosts.values() if host in there]
    if not found:
        raise ComposeError(
            "no NodeManager of the compose cluster has reported yet",
            hint="wait a moment; `loomcard cluster logs --on docker` says what it does",
        )
    return found


@contextlib.contextmanager
def _governed(
    rm: ResourceManagerClient, source: Source, on_warning: Callable[[str], None]
) -> Iterator[None]:
    """Apply the configuration, and in the end the earlier one again."""
    before = rm.policy()
    rm.apply_policy(source.text, source.name)
    try:
        yield
    finally:
        try:
            rm.apply_policy(str(before["yaml"]), str(before["source"]))
        except RestError as error:
            on_warning(f"{source.name} still governs: {error} ({error.hint})")


@contextlib.contextmanager
def _cleared(rm: ResourceManagerClient, scenario: Scenario, before: set[str]) -> Iterator[None]:
    """Kill the scenario's applications in the end: a queue in use cannot be removed."""
    ours = {app.id for app in scenario.applications} | {WARM_UP}
    try:
        yield
    finally:
        deadline = time.monotonic() + _LEAVE_S
        asked: set[str] = set()
        while (left := _live(rm, ours) - before) and time.monotonic() < deadline:
            for application in sorted(left - asked):
                with contextlib.suppress(RestError):  # it may just have ended
                    rm.kill(application)
            asked |= left
            time.sleep(_LOOK_S)


def _live(rm: ResourceManagerClient, names: set[str] | None = None) -> set[str]:
    return {
        app["id"]
        for app in rm.applications()
        if app["state"] not in _ENDED and (names is None or app["name"] in names)
    }


def _runs(
    cluster: ComposeCluster, names: dict[str, str], player: Player, began: float
) -> list[ContainerRun]:
    """Return what the NodeManagers logged of the applications that were played."""
    since = datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    log = cluster.compose(["logs", "--no-color", "--since", since, "nodemanager"], capture=True)
    played = {event["yarn"] for event in player.events if event["event"] == "submitted"}
    tasks = {event["container"] for event in player.events if event["event"] == "allocated"}
    return [run for run in runs_in(log.splitlines(), names, tasks) if run.application in played]


def allocated_since(
    cluster: ComposeCluster, folder: Path, began: float
) -> Mapping[ContainerKey, int]:
    """Return the times from the journal's segments that were written since; {} if there are
    none.
    """
    find = ["find", _JOURNAL, "-name", "*.jsonl", "-newermt", f"@{int(began)}"]
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(JournalError, ComposeError):
        services = {each.service for each in cluster.status() if each.state == "running"}
        for service in sorted(services.intersection(_MANAGERS)):
            inside = ["exec", "--no-TTY", service]
            for path in cluster.compose([*inside, *find], capture=True).split():
                text = cluster.compose([*inside, "cat", path], capture=True)
                (folder / Path(path).name).write_text(text + "\n", "utf-8")
        return allocated_ms(folder)
    return {}


__all__ = ["ContainerPlayer", "allocated_since", "play_on_compose", "resource_manager", "running"]
