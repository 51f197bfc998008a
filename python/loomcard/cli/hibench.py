"""``loomcard hibench``: a HiBench that is already there, driven on a cluster."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from getpass import getuser
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from loomcard.cli.output import (
    AskingUser,
    ClusterKind,
    Json,
    On,
    Rm,
    console,
    print_json,
    printable,
    waiting,
)
from loomcard.cluster import paths
from loomcard.cluster.embedded import LocalCluster, default_url
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.experiments.grid import Cell
from loomcard.results.run_folder import write_json
from loomcard.suite import environment
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.configuration import RunSettings
from loomcard.suite.hibench.drive import Wanted, drive
from loomcard.suite.hibench.installation import Check, Installation, checks
from loomcard.suite.hibench.places import Place, Told, on_compose, policies
from loomcard.suite.hibench.workloads import FRAMEWORKS, WORKLOADS, Framework, Workload, workload
from loomcard.suite.record import grants, grants_of

hibench = typer.Typer(
    help="Drive a HiBench that is already there. It is archived since December 2025: `loomcard"
    " suite` needs nothing of it.",
    no_args_is_help=True,
)

Names = Annotated[
    list[str] | None,
    typer.Argument(
        help="Workloads, such as micro.sort or just sort, or on one framework, such as sort:hadoop."
        " Default: all ten."
    ),
]
OnFramework = Annotated[
    str | None, typer.Option("--framework", help="hadoop or spark. Default: both.")
]
Home = Annotated[
    Path | None, typer.Option("--home", envvar="HIBENCH_HOME", help="The folder of HiBench.")
]
SparkHome = Annotated[
    Path | None,
    typer.Option("--spark-home", help="Default: SPARK_HOME, or what `suite setup` has made."),
]
HadoopHome = Annotated[
    Path | None,
    typer.Option("--hadoop-home", help="A Hadoop with bin/hadoop. Default: Loomcard's jars."),
]


HadoopConf = Annotated[
    Path | None,
    typer.Option(
        "--hadoop-conf",
        metavar="FOLDER",
        help="The cluster's configuration. Default: of the embedded cluster left running.",
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option("--policy", help="Applied before the workloads run under it; repeatable."),
]
AtATime = Annotated[
    int, typer.Option("--at-a-time", min=1, help="Workloads that run beside each other.")
]
Defined = Annotated[
    list[str] | None, typer.Option("--set", "-D", help="A key of HiBench's, key=value.")
]


@hibench.command()
def doctor(
    names: Names = None,
    framework: OnFramework = None,
    home: Home = None,
    spark_home: SparkHome = None,
    hadoop_home: HadoopHome = None,
    as_json: Json = False,
) -> None:
    """Say in a line each what the workloads need, and what of it is missing."""
    there = _installation(home, spark_home, hadoop_home)
    found = checks(there, _chosen(names, framework))
    if as_json:
        print_json([{**vars(each), "missing": each.missing} for each in found])
    else:
        for each in found:
            typer.echo(_line(each))
    if any(each.missing for each in found):
        raise typer.Exit(1)


@hibench.command()
def run(
    names: Names = None,
    framework: OnFramework = None,
    home: Home = None,
    spark_home: SparkHome = None,
    hadoop_home: HadoopHome = None,
    hadoop_conf: HadoopConf = None,
    on: On = ClusterKind.LOCAL,
    rm: Rm = None,
    user: AskingUser = None,
    policy: Policies = None,
    scale: Annotated[str, typer.Option("--scale", help="tiny, small, large, ...")] = "tiny",
    queue: Annotated[str, typer.Option("--queue", help="For all of its jobs.")] = "",
    at_a_time: AtATime = 1,
    defined: Defined = None,
    out: Annotated[Path | None, typer.Option("--out", help="Default: run/hibench.")] = None,
    as_json: Json = False,
) -> None:
    """Prepare and run workloads; HiBench's folder is left as it was."""
    there = _installation(home, spark_home, hadoop_home)
    chosen = _chosen(names, framework)
    if missing := [each for each in checks(there, chosen) if each.missing]:
        first = missing[0]
        raise SuiteError(f"{first.what} is missing", f"{first.remedy}; see loomcard hibench doctor")
    more = _defined(defined or [])
    cells = policies(policy, on.value) if policy else [None]
    folder = (out or paths.run_folder("hibench")).absolute()
    rows: list[dict[str, object]] = []
    prepared: set[str] = set()  # HiBench's generators know no seed: all policies get one input
    with _place(on, hadoop_conf, rm, user, folder) as place:
        for cell in cells:
            rows += _under(
                cell, chosen, there, place, folder, at_a_time, scale, queue, more, prepared
            )
            write_json(folder / "hibench.json", rows)
    _print(rows, as_json)


def _under(
    cell: Cell | None, chosen: list[tuple[Workload, Framework]], there: Installation, place: Place,
    folder: Path, at_a_time: int, scale: str, queue: str, more: dict[str, str],
    prepared: set[str],
) -> list[dict[str, object]]:  # fmt: skip
    name = "" if cell is None else cell.policy
    if cell is not None:
        place.schedule(cell)
    wanted = [_wanted(each, on, name, prepared) for each, on in chosen]
    before = grants(place.rest.scheduler())
    with waiting(name or "running", total=len(wanted)) as bar:
        ran = drive(
            wanted, there, place.cluster(), place.rest,
            lambda each: RunSettings(
                folder / each.tag, each.tag, scale, queue, more=more, data=_data(each)
            ),
            at_a_time=at_a_time, done=lambda _: bar.advance(bar.task_ids[0]),
        )  # fmt: skip
    by = grants_of(before, grants(place.rest.scheduler()))
    prepared.update(_data(each.wanted) for each in ran if not each.wrong)
    return [{"policy": name, **each.document(), "granted": by} for each in ran]


@contextmanager
def _place(
    on: ClusterKind, conf: Path | None, rm: str | None, user: str | None, folder: Path
) -> Iterator[Place]:
    if on is ClusterKind.DOCKER:
        if conf or rm:
            raise SuiteError(
                "--on docker names the compose cluster of this source tree",
                "leave --hadoop-conf and --rm out, or leave --on out",
            )
        with on_compose(folder) as place:
            yield place
        return
    options = ""
    if conf is None:
        running = LocalCluster.attach(paths.run_folder("local"))
        conf, options = running.conf_dir, " ".join(running.client_options)
    yield Told(conf, ResourceManagerClient(rm or default_url(), user or getuser()), options)


def _installation(home: Path | None, spark: Path | None, hadoop: Path | None) -> Installation:
    if home is None:
        raise SuiteError("no HiBench is named", "give --home FOLDER, or set HIBENCH_HOME")
    named = os.environ.get("SPARK_HOME")
    if spark is None and named:
        spark = Path(named)
    if spark is None and (environment.default_folder() / "bin" / "python").exists():
        spark = environment.find(environment.default_folder()).spark_home
    return Installation(
        home.absolute(),
        paths.jars() if hadoop is None else Path(),
        None if spark is None else spark.absolute(),
        None if hadoop is None else hadoop.absolute(),
    )


def _chosen(names: list[str] | None, framework: str | None) -> list[tuple[Workload, Framework]]:
    """Each workload on the frameworks that it has, or on its own (`sort:hadoop`), or on all's."""
    pairs: list[tuple[Workload, Framework]] = []
    for name in names or WORKLOADS:
        called, _, own = name.partition(":")
        each, wanted = workload(called), own or framework
        if wanted not in (None, *FRAMEWORKS):
            raise SuiteError(f"no framework {wanted!r}", f"there are {', '.join(FRAMEWORKS)}")
        found: list[tuple[Workload, Framework]] = [
            (each, on) for on in each.frameworks if wanted in (None, on)
        ]
        if names and not found:
            raise SuiteError(f"{each.name} does not run on {wanted}", "leave the framework out")
        pairs += found
    return list(dict.fromkeys(pairs))


def _wanted(each: Workload, on: Framework, policy: str, prepared: set[str]) -> Wanted:
    words = ["loomcard", *([Path(policy).stem] if policy else []), each.name, on]
    wanted = Wanted(each, on, re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()))
    return replace(wanted, prepared=_data(wanted) in prepared)


def _data(wanted: Wanted) -> str:
    return f"{wanted.workload.name.replace('.', '-')}-{wanted.framework}"


def _defined(words: list[str]) -> dict[str, str]:
    for each in words:
        if not each.partition("=")[0] or "=" not in each:
            raise SuiteError(f"--set {each}: no key of HiBench's", "give it as --set key=value")
    return dict(each.split("=", 1) for each in words)


def _line(each: Check) -> str:
    return (
        f"missing  {each.what}: {each.remedy}"
        if each.missing
        else (f"there    {each.what}: {each.found}")
    )


def _print(rows: list[dict[str, object]], as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        console().print(_table(rows))
    fallen = {str(each["policy"]) for each in rows if _by_fallback(each)}
    for name in sorted(fallen):
        typer.echo(f"error: under {name or 'the policy'} the fallback granted containers", err=True)
    if fallen or any(each["wrong"] for each in rows):
        raise typer.Exit(1)


def _by_fallback(row: dict[str, object]) -> bool:
    granted = row["granted"]
    assert isinstance(granted, dict)
    return bool(granted.get("fallback"))


def _table(rows: list[dict[str, object]]) -> Table:
    table = Table(
        "policy", "workload", "framework", "prepare: YARN s", "run: HiBench s", "run: YARN s",
        "of it waiting", "wrong",
    )  # fmt: skip
    for row in rows:
        reported = row["hibench"]
        assert isinstance(reported, dict)
        words = [str(row[name]) for name in ("policy", "workload", "framework")]
        prepared, _ = _seconds(row, "prepare")
        took, waited = _seconds(row, "run")
        told = [prepared, reported.get("duration_s", "-"), took, waited]
        table.add_row(*map(printable, (*words, *told, str(row["wrong"]))))
    return table


def _seconds(row: dict[str, object], step: str) -> tuple[str, str]:
    """How long the step's applications took by YARN's clock, and how long of it their AMs were
    waited for, all of them added up; - where there was none.
    """
    found = row["applications"]
    assert isinstance(found, list)
    ended = [app for app in found if app["step"] == step and app["finished_ms"]]
    if not ended:
        return "-", "-"
    took = sum(app["finished_ms"] - app["submitted_ms"] for app in ended)
    started = [app for app in ended if app["launched_ms"]]
    waited = sum(app["launched_ms"] - app["submitted_ms"] for app in started)
    return f"{took / 1000:.1f}", f"{waited / 1000:.1f}"
