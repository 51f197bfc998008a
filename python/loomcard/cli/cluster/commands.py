"""``loomcard cluster``: up, down, status, fetch, render, logs, launch-rate."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from loomcard.cli.output import ClusterKind, Json, On, console, if_interrupted, print_json, waiting
from loomcard.cluster import paths
from loomcard.cluster.compose import ComposeCluster
from loomcard.cluster.embedded import LocalCluster
from loomcard.cluster.embedded_config import LocalSettings, render_conf
from loomcard.cluster.hadoop_config import (
    LOOMCARD_SCHEDULER,
    SCHEDULERS,
    RenderError,
    Settings,
    compose_settings,
    render,
)
from loomcard.config.shipped import checkout

cluster = typer.Typer(
    name="cluster", help="Start, stop and look at a cluster.", no_args_is_help=True
)

_COMPOSE = Settings.model_fields
_NODES = 3

Policy = Annotated[
    str | None,
    typer.Option(
        "--policy", help="What to start with: a policy's name, or a YAML file. Default: fifo."
    ),
]
PolicyPath = Annotated[
    list[Path] | None,
    typer.Option("--policy-path", help="A folder that policy files may be loaded from (local)."),
]
Nodes = Annotated[
    int | None, typer.Option("--nodes", min=1, max=64, help="How many NodeManagers. Default: 3.")
]
NodeMemory = Annotated[
    int | None,
    typer.Option(
        "--node-memory-mb",
        envvar="LOOMCARD_NODE_MEMORY_MB",
        min=LocalSettings.minimum_memory_mb,  # YARN refuses smaller nodes
        help=f"What each offers. Default: {LocalSettings.node_memory_mb}, on docker"
        f" {_COMPOSE['node_memory_mb'].default}.",
    ),
]
NodeVcores = Annotated[
    int | None,
    typer.Option(
        "--node-vcores",
        envvar="LOOMCARD_NODE_VCORES",
        min=1,
        help=f"What each offers. Default: {LocalSettings.node_vcores}, on docker"
        f" {_COMPOSE['node_vcores'].default}.",
    ),
]
Pair = Annotated[bool, typer.Option("--ha", help="Two ResourceManagers and ZooKeeper (docker).")]
Scheduler = Annotated[
    str, typer.Option("--scheduler", help=f"{', '.join(SCHEDULERS)}, or a class name.")
]


Hadoop = Annotated[
    str,
    typer.Option(
        "--hadoop",
        envvar="LOOMCARD_HADOOP",
        help="The Hadoop line, such as 3.3; the first use of another one fetches its jars.",
    ),
]


class Executor(StrEnum):
    """How to keep a workload's containers on the embedded cluster."""

    VIRTUAL = "virtual"
    PROCESS = "process"


@cluster.command()
def up(
    on: On = ClusterKind.LOCAL,
    policy: Policy = None,
    nodes: Nodes = None,
    node_memory_mb: NodeMemory = None,
    node_vcores: NodeVcores = None,
    scheduler: Scheduler = "loomcard",
    policy_path: PolicyPath = None,
    ha: Pair = False,
    hadoop: Hadoop = paths.BUILT_WITH,
    as_json: Json = False,
) -> None:
    """Start a cluster and leave it running."""
    _check_scheduler(scheduler, policy, policy_path)
    if on is ClusterKind.DOCKER:
        _refuse_folders(policy_path)
        paths.use_hadoop(hadoop)
        settings = compose_settings(
            SCHEDULERS.get(scheduler, scheduler),
            ha=ha,
            node_memory_mb=node_memory_mb or _COMPOSE["node_memory_mb"].default,
            node_vcores=node_vcores or _COMPOSE["node_vcores"].default,
        )
        remedy = "`loomcard cluster down --on docker` stops what has started"
        with if_interrupted(lambda: remedy):
            compose().up(settings, policy, nodes=nodes or _NODES)
        status(on, as_json)
        return
    if ha:
        raise RenderError("--ha: the embedded cluster has one ResourceManager", "add --on docker")
    settings_ = LocalSettings(
        run_dir=paths.run_folder("local"),
        nodes=nodes or _NODES,
        node_memory_mb=node_memory_mb or LocalSettings.node_memory_mb,
        node_vcores=node_vcores or LocalSettings.node_vcores,
        scheduler=scheduler,
        policy=policy,
        policy_path=_folders(policy_path),
    )
    paths.use_hadoop(hadoop)
    paths.jars()  # a download has its own progress bar
    gone = if_interrupted(lambda: "what had started of the cluster was stopped again")
    with gone, waiting("starting the embedded cluster"):
        LocalCluster(settings_).up(detached=True)
    status(on, as_json)


def _check_scheduler(scheduler: str, policy: str | None, policy_path: list[Path] | None) -> None:
    """Raise RenderError for an unknown scheduler, and for one that would ignore a policy or the
    folders of policies.
    """
    if scheduler not in SCHEDULERS and "." not in scheduler:
        known = ", ".join(SCHEDULERS)
        raise RenderError(
            f"--scheduler {scheduler}: no such scheduler", f"one of {known}, or a full class name"
        )
    if SCHEDULERS.get(scheduler, scheduler) == LOOMCARD_SCHEDULER:
        return
    for option, said in (("--policy", policy), ("--policy-path", policy_path)):
        if said:
            raise RenderError(
                f"{option}: --scheduler {scheduler} runs no policy of Loomcard's",
                "leave one of the two out",
            )


def _folders(named: list[Path] | None) -> tuple[Path, ...]:
    for folder in named or []:
        if not folder.is_dir():
            raise RenderError(f"--policy-path {folder}: no such folder", "name one that is there")
    return tuple(folder.absolute() for folder in named or [])


def _refuse_folders(named: list[Path] | None) -> None:
    """Raise RenderError for a folder of this machine: the containers see none."""
    if named:
        raise RenderError(
            f"--policy-path {named[0]}: the compose cluster's containers see no folder of this"
            " machine",
            "add --on local, or install the policy's package into the image",
        )


@cluster.command()
def down(on: On = ClusterKind.LOCAL) -> None:
    """Stop the cluster that `up` left running."""
    if on is ClusterKind.DOCKER:
        compose().down()
        return
    running = LocalCluster.attach(paths.run_folder("local"))
    with waiting("stopping the embedded cluster"):
        running.down()


@cluster.command()
def status(on: On = ClusterKind.LOCAL, as_json: Json = False) -> None:
    """Say which parts run and where they answer."""
    if on is ClusterKind.DOCKER:
        services = compose().status()
        if as_json:
            print_json([{**vars(each), "ports": dict(each.ports)} for each in services])
            return
        table = Table("service", "container", "state", "health", "ports on 127.0.0.1")
        for each in services:
            ports = ", ".join(map(str, each.ports.values()))
            table.add_row(each.service, each.container, each.state, each.health, ports)
        console().print(table)
        return
    running = LocalCluster.attach(paths.run_folder("local"))
    document = {
        "running": running.alive(),
        "web": f"http://{running.web}",
        "hadoop": paths.hadoop_line(),
        "nodes": running.settings.nodes,
        "conf": str(running.conf_dir),
        "log": str(running.log),
    }
    if as_json:
        print_json(document)
        return
    table = Table("embedded cluster", show_header=False)
    for key, value in document.items():
        table.add_row(key, str(value))
    console().print(table)


@cluster.command()
def fetch(
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            envvar="LOOMCARD_JARS_FROM",
            help="A mirror's address, or a folder with the jars. Default: Maven Central.",
        ),
    ] = None,
    hadoop: Hadoop = paths.BUILT_WITH,
) -> None:
    """Get a Hadoop line's jars, checked, into a cache folder; a checkout's build has 3.4's."""
    from loomcard.cluster import hadoop_jars  # an HTTP client and progress bars, only for this

    if checkout() is not None and hadoop == paths.BUILT_WITH:
        typer.echo(paths.jars())
        return
    typer.echo(hadoop_jars.fetch(hadoop, source))


@cluster.command("render")
def render_(
    target: Annotated[Path, typer.Argument(help="The folder to write into.")],
    on: On = ClusterKind.LOCAL,
    policy: Policy = None,
    nodes: Nodes = None,
    scheduler: Scheduler = "loomcard",
    policy_path: PolicyPath = None,
    as_json: Json = False,
) -> None:
    """Write the configuration of a cluster without starting it."""
    _check_scheduler(scheduler, policy, policy_path)
    if on is ClusterKind.DOCKER:
        _refuse_folders(policy_path)
        if nodes is not None:
            raise RenderError(
                "--nodes: the compose cluster's configuration is the same for any number",
                "leave --nodes out, and give it to `loomcard cluster up`",
            )
        chosen = compose_settings(SCHEDULERS.get(scheduler, scheduler))
        written = render(target, chosen, policy)
    else:
        # An embedded cluster keeps its configuration in `conf` of its folder.
        written = render_conf(
            LocalSettings(
                run_dir=target.absolute(),
                nodes=nodes or _NODES,
                scheduler=scheduler,
                policy=policy,
                policy_path=_folders(policy_path),
            )
        )
    if as_json:
        print_json([str(path) for path in written])
        return
    for path in written:
        typer.echo(path)


@cluster.command()
def logs(
    services: Annotated[list[str] | None, typer.Argument(help="Docker only: which.")] = None,
    on: On = ClusterKind.LOCAL,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=1, help="How many; docker: of each container.")
    ] = 100,
) -> None:
    """Print the last lines of the cluster's log."""
    if on is ClusterKind.DOCKER:
        compose().logs(services or (), lines=lines)
        return
    if services:
        raise RenderError(
            f"{services[0]}: the embedded cluster has one log, of no services",
            "leave the names out, or add --on docker",
        )
    for line in LocalCluster.attach(paths.run_folder("local")).tail(lines):
        typer.echo(line)


@cluster.command("launch-rate")
def rate(
    executor: Annotated[
        Executor, typer.Option("--executor", help="Containers that wait, or real processes.")
    ] = Executor.VIRTUAL,
    as_json: Json = False,
) -> None:
    """Measure how many containers a second this machine starts; `loomcard run` warns by it."""
    from loomcard.player.play import measured_rate  # players and tables, only for this command

    with waiting("starting containers on an embedded cluster"):
        found = measured_rate(executor.value)
    if as_json:
        print_json({"executor": executor.value, "containers_per_second": round(found, 1)})
    else:
        typer.echo(f"{found:.0f} containers a second ({executor.value})")


def compose() -> ComposeCluster:
    """Return the compose cluster of this source tree. Raises PlaceError if there is none."""
    return ComposeCluster.here()
