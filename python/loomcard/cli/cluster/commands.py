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
from loomcard.cluster.hadoop_config import SCHEDULERS, RenderError, compose_settings, render
from loomcard.config.shipped import checkout

cluster = typer.Typer(
    name="cluster", help="Start, stop and look at a cluster.", no_args_is_help=True
)

Policy = Annotated[
    str, typer.Option("--policy", help="What to start with: a policy's name, or a YAML file.")
]
PolicyPath = Annotated[
    list[Path] | None,
    typer.Option("--policy-path", help="A folder that policy files may be loaded from (local)."),
]
Nodes = Annotated[int, typer.Option("--nodes", min=1, max=64, help="How many NodeManagers.")]
NodeMemory = Annotated[
    int,
    typer.Option(
        "--node-memory-mb",
        envvar="LOOMCARD_NODE_MEMORY_MB",
        min=1,
        help=f"What each offers (docker; local nodes have {LocalSettings.node_memory_mb}).",
    ),
]
NodeVcores = Annotated[
    int,
    typer.Option(
        "--node-vcores",
        envvar="LOOMCARD_NODE_VCORES",
        min=1,
        help=f"What each offers (docker; local nodes have {LocalSettings.node_vcores}).",
    ),
]
Pair = Annotated[bool, typer.Option("--ha", help="Two ResourceManagers and ZooKeeper (docker).")]
Scheduler = Annotated[
    str, typer.Option("--scheduler", help=f"{', '.join(SCHEDULERS)}, or a class name.")
]


class Executor(StrEnum):
    """What keeps a workload's containers on the embedded cluster."""

    VIRTUAL = "virtual"
    PROCESS = "process"


def _folders(named: list[Path] | None) -> tuple[Path, ...]:
    for folder in named or []:
        if not folder.is_dir():
            raise RenderError(f"--policy-path {folder}: no such folder", "name one that is there")
    return tuple(folder.absolute() for folder in named or [])


@cluster.command()
def up(
    on: On = ClusterKind.LOCAL,
    policy: Policy = "fifo",
    nodes: Nodes = 3,
    node_memory_mb: NodeMemory = 1536,
    node_vcores: NodeVcores = 4,
    scheduler: Scheduler = "loomcard",
    policy_path: PolicyPath = None,
    ha: Pair = False,
    as_json: Json = False,
) -> None:
    """Start a cluster and leave it running."""
    if scheduler not in SCHEDULERS and "." not in scheduler:
        known = ", ".join(SCHEDULERS)
        raise RenderError(
            f"--scheduler {scheduler}: no such scheduler", f"one of {known}, or a full class name"
        )
    if ha and on is not ClusterKind.DOCKER:
        raise RenderError("--ha: the embedded cluster has one ResourceManager", "add --on docker")
    if on is ClusterKind.DOCKER:
        settings = compose_settings(
            SCHEDULERS.get(scheduler, scheduler),
            ha=ha,
            node_memory_mb=node_memory_mb,
            node_vcores=node_vcores,
        )
        remedy = "`loomcard cluster down --on docker` stops what has started"
        with if_interrupted(lambda: remedy):
            compose().up(settings, policy, nodes=nodes)
        status(on, as_json)
        return
    settings_ = LocalSettings(
        run_dir=paths.run_folder("local"),
        nodes=nodes,
        scheduler=scheduler,
        policy=policy,
        policy_path=_folders(policy_path),
    )
    paths.jars()  # what is to be fetched has a bar of its own
    gone = if_interrupted(lambda: "what had started of the cluster was stopped again")
    with gone, waiting("starting the embedded cluster"):
        LocalCluster(settings_).up(detached=True)
    status(on, as_json)


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
) -> None:
    """Get Hadoop's jars, checked, into a cache folder; a checkout has them of its Maven build."""
    from loomcard.cluster import hadoop_jars  # an HTTP client and bars, for this command alone

    if checkout() is not None:
        typer.echo(paths.jars())
        return
    typer.echo(hadoop_jars.fetch(source))


@cluster.command("render")
def render_(
    target: Annotated[Path, typer.Argument(help="The folder to write into.")],
    on: On = ClusterKind.LOCAL,
    policy: Policy = "fifo",
    nodes: Nodes = 3,
    scheduler: Scheduler = "loomcard",
    policy_path: PolicyPath = None,
    as_json: Json = False,
) -> None:
    """Write the configuration of a cluster without starting it."""
    if on is ClusterKind.DOCKER:
        chosen = compose_settings(SCHEDULERS.get(scheduler, scheduler))
        written = render(target, chosen, policy)
    else:
        # An embedded cluster keeps its configuration in `conf` of its folder.
        written = render_conf(
            LocalSettings(
                run_dir=target.absolute(),
                nodes=nodes,
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
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many.")] = 100,
) -> None:
    """Print the last lines of the cluster's log."""
    if on is ClusterKind.DOCKER:
        compose().logs(services or ())
        return
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
    from loomcard.player.play import measured_rate  # players and tables, for this command alone

    with waiting("starting containers on an embedded cluster"):
        found = measured_rate(executor.value)
    if as_json:
        print_json({"executor": executor.value, "containers_per_second": round(found, 1)})
    else:
        typer.echo(f"{found:.0f} containers a second ({executor.value})")


def compose() -> ComposeCluster:
    """The compose cluster of this source tree. Raises PlaceError when there is none."""
    return ComposeCluster.here()
