"""Play a scenario on a real cluster: its applications, containers and faults, in real time.

record = play(scenario, "drf", folder=Path("run/played")) docs/simulate/player.md says what is real
then and what is not.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from loomcard.cluster import paths
from loomcard.cluster.compose import ComposeCluster
from loomcard.cluster.container_times import read_runs
from loomcard.cluster.embedded import LocalCluster, clear
from loomcard.cluster.rm_client import RestError
from loomcard.config import compile_config
from loomcard.config.source import resolve
from loomcard.player import launch_rate
from loomcard.player.container_ids import ContainerKey
from loomcard.player.faults import Faults
from loomcard.player.journal_allocations import allocated_ms
from loomcard.player.journal_reports import reported_states
from loomcard.player.play_compose import play_on_compose
from loomcard.player.process import Player
from loomcard.player.run_record import (
    allocations,
    application_records,
    container_rows,
    refusals,
    stalls,
    zero_ms,
)
from loomcard.player.settings import is_stock, settings
from loomcard.player.watch import Watch, settled
from loomcard.results.fair_share import queue_shares
from loomcard.results.policy_series import StateRow
from loomcard.results.record import RunRecord
from loomcard.simulator import Progress
from loomcard.simulator.engine import refuse_mismatch
from loomcard.wire.journal import JournalError
from loomcard.workload.scenario import Scenario

_SETTLE_S = 3.0  # in which nodes record the ends of what the last application left


def _to_standard_error(line: str) -> None:
    sys.stderr.write(f"warning: {line}\n")


def remembered_rate(executor: launch_rate.Executor) -> float | None:
    """Return the containers per second that `measured_rate` found below the present folder; None:
    never measured.
    """
    return launch_rate.saved_rate(_rates(), executor)


def measured_rate(executor: launch_rate.Executor) -> float:
    """Return the containers per second that this machine starts, measured on an embedded cluster
    under fifo and stored. Raises as `play` does.
    """
    file = _rates()
    folder = file.parent / "launch-rate"
    record = play(
        launch_rate.probe(executor),
        "fifo",
        folder=folder,
        executor=executor,
        on_warning=lambda _: None,
    )
    rate = launch_rate.started_per_second(record.containers)
    launch_rate.save_rate(file, executor, rate)
    clear(folder)
    return rate


def _rates() -> Path:
    return paths.run_folder("launch-rates.json")


def play(
    scenario: Scenario,
    policy: Path | str,
    *,
    on: Literal["local", "docker"] = "local",
    folder: Path,
    config: Mapping[str, Any] | None = None,
    stock_file: Path | None = None,
    yarn: Mapping[str, str] | None = None,
    executor: Literal["virtual", "process"] = "virtual",
    policy_path: Sequence[Path] = (),
    on_progress: Callable[[Progress], None] | None = None,
    on_warning: Callable[[str], None] = _to_standard_error,
    on_up: Callable[[LocalCluster], None] = lambda _: None,
) -> RunRecord:
    """Play `scenario` on an embedded cluster of its own in `folder`, or on the compose cluster that
    runs, and tell what happened.

    `policy` is a YAML configuration, the name of a policy, or stock:capacity, stock:fair or
    stock:fifo, which get the queues of the compiled `config` where it is given, or their own
    `stock_file`; `yarn` are further properties of the embedded cluster. `executor` virtual:
    containers wait inside their NodeManager; process: each is a process that sleeps, as on docker
    always. `on_warning` gets one line where the scenario asks for more than this machine holds, if
    its rate was measured, and one where queues stalled. `on_up` is given the embedded cluster when
    it serves. Ctrl-C, also one that `on_progress` raises, ends the run: the record then holds what
    happened so far, with `finished` False, and no process is left. Raises PlayError, ClusterError,
    SourceError, FindingsError; on docker what `play_on_compose` does.
    """
    began = time.monotonic()
    title = str(policy)
    if not is_stock(policy):
        source = resolve(policy)
        config = compile_config(
            source.text, source.name, policy_path=policy_path or None, beside=source.folder
        )
        title = source.title
    if config is not None:
        refuse_mismatch(scenario, config)
    folder = _cleared(folder)
    if on == "docker":
        record = play_on_compose(
            scenario, policy, ComposeCluster.here(), folder=folder,
            on_progress=on_progress, on_warning=on_warning,
        )  # fmt: skip
    else:
        if said := launch_rate.warning(scenario, executor, remembered_rate(executor)):
            on_warning(said)
        wanted = settings(
            scenario, policy, folder / "cluster", virtual=executor == "virtual", config=config,
            stock_file=stock_file, yarn=yarn or {}, policy_path=policy_path,
        )  # fmt: skip
        with LocalCluster(wanted) as cluster:
            on_up(cluster)
            options = tuple(cluster.client_options)
            player = Player(scenario, folder, cluster.conf_dir, options)
            record = _watched(scenario, cluster, player, on_progress)
    if record.stalls:
        on_warning(_stalled(title, record.stalls))
    record.policy = title
    record.engine = on
    record.queues = queue_shares(config or {})
    record.seconds = time.monotonic() - began
    return record


def _stalled(policy: str, times: int) -> str:
    return (
        f"{policy} left asks waiting that could have been served: queues stalled {times} times,"
        " and were served first in, first out"
    )


def _watched(
    scenario: Scenario,
    cluster: LocalCluster,
    player: Player,
    on_progress: Callable[[Progress], None] | None,
) -> RunRecord:
    """Play to the end, with faults, and collect all records."""
    watch = Watch(player, scenario, on_progress)
    faults = Faults(scenario, cluster.command, watch.now_ms)
    with player:
        finished = watch.until_over(faults)
    runs = settled(lambda: read_runs(cluster.container_times), _SETTLE_S)
    ended_ms = watch.ended_ms()
    about = _scheduler(cluster)
    return RunRecord(
        policy="",
        workload=scenario.name,
        seed=scenario.seed,
        engine="",
        resource_types=list(scenario.resource_types),
        capacity=faults.steps,
        applications=application_records(scenario, player.events),
        containers=container_rows(scenario, player.events, runs, _allocated(cluster)),
        refusals=refusals(about),
        stalls=stalls(about),
        allocations=allocations(about),
        states=_reported_states(cluster, zero_ms(player.events), ended_ms),
        ended_ms=ended_ms,
        finished=finished,
    )


def _cleared(folder: Path) -> Path:
    whole = folder.resolve()
    clear(whole / "cluster")
    whole.mkdir(parents=True, exist_ok=True)
    return whole


def _scheduler(cluster: LocalCluster) -> Mapping[str, Any]:
    with contextlib.suppress(RestError):
        return cluster.rest.scheduler()
    return {}


def _allocated(cluster: LocalCluster) -> Mapping[ContainerKey, int]:
    if cluster.settings.is_loomcard:
        with contextlib.suppress(JournalError):
            return allocated_ms(cluster.journal_dir)
    return {}


def _reported_states(cluster: LocalCluster, zero: int | None, until_ms: int) -> list[StateRow]:
    if not cluster.settings.is_loomcard:
        return []
    return reported_states(cluster.journal_dir, zero, until_ms)
