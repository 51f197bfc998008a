"""``loomcard hibench``: a HiBench that is already there, driven on a cluster."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from loomcard.cli.output import Json, Rm, console, print_json, printable, waiting
from loomcard.cluster import paths
from loomcard.cluster.embedded import LocalCluster, default_url
from loomcard.cluster.rm_client import ResourceManagerClient
from loomcard.config.source import resolve
from loomcard.results.run_folder import write_json
from loomcard.suite import environment
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.configuration import Cluster, RunSettings
from loomcard.suite.hibench.drive import Wanted, drive
from loomcard.suite.hibench.installation import Check, Installation, checks
from loomcard.suite.hibench.workloads import FRAMEWORKS, WORKLOADS, Framework, Workload, workload

hibench = typer.Typer(
    help="Drive a HiBench that is already there. It is archived since December 2025: `loomcard"
    " suite` needs nothing of it.",
    no_args_is_help=True,
)

Names = Annotated[
    list[str] | None,
    typer.Argument(help="Workloads, such as micro.sort or just sort. Default: all ten."),
]
On = Annotated[str | None, typer.Option("--framework", help="hadoop or spark. Default: both.")]
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
    framework: On = None,
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
    framework: On = None,
    home: Home = None,
    spark_home: SparkHome = None,
    hadoop_home: HadoopHome = None,
    hadoop_conf: HadoopConf = None,
    rm: Rm = None,
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
    rest = ResourceManagerClient(rm or default_url())
    cluster = _cluster(hadoop_conf, rest)
    folder = (out or paths.run_folder("hibench")).absolute()
    rows: list[dict[str, object]] = []
    for name in policy or [""]:
        if name:
            source = resolve(name)
            rest.apply_policy(source.text, source.name)
        wanted = [_wanted(each, on, name) for each, on in chosen]
        with waiting(name or "running", total=len(wanted)) as bar:
            ran = drive(
                wanted, there, cluster, rest,
                lambda each: RunSettings(folder / each.tag, each.tag, scale, queue, more=more),
                at_a_time=at_a_time, done=lambda _: bar.advance(bar.task_ids[0]),
            )  # fmt: skip
        rows += [{"policy": name, **each.document()} for each in ran]
        write_json(folder / "hibench.json", rows)
    _print(rows, as_json)


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
    if framework not in (None, *FRAMEWORKS):
        raise SuiteError(f"no framework {framework!r}", f"there are {', '.join(FRAMEWORKS)}")
    found = [workload(name) for name in names or WORKLOADS]
    pairs = [(each, on) for each in found for on in each.frameworks if framework in (None, on)]
    if not pairs:
        raise SuiteError(f"{found[0].name} does not run on {framework}", "leave --framework out")
    return pairs


def _wanted(each: Workload, on: Framework, policy: str) -> Wanted:
    words = ["loomcard", *([Path(policy).stem] if policy else []), each.name, on]
    return Wanted(each, on, "-".join(words).replace(".", "-").replace("_", "-").lower())


def _cluster(conf: Path | None, rest: ResourceManagerClient) -> Cluster:
    options = ""
    if conf is None:
        running = LocalCluster.attach(paths.run_folder("local"))
        conf, options = running.conf_dir, " ".join(running.client_options)
    hosts = tuple(sorted(str(each["nodeHostName"]) for each in rest.nodes()))
    return Cluster(conf.absolute(), "localhost", hosts or ("localhost",), options)


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
    if any(each["wrong"] for each in rows):
        raise typer.Exit(1)


def _table(rows: list[dict[str, object]]) -> Table:
    table = Table("policy", "workload", "framework", "applications", "HiBench s", "YARN s", "wrong")
    for row in rows:
        applications, reported = row["applications"], row["hibench"]
        assert isinstance(applications, list)
        assert isinstance(reported, dict)
        took = sum(max(0, app["finished_ms"] - app["submitted_ms"]) for app in applications)
        words = [str(row[name]) for name in ("policy", "workload", "framework")]
        told = [str(len(applications)), reported.get("duration_s", "-"), f"{took / 1000:.1f}"]
        table.add_row(*map(printable, (*words, *told, str(row["wrong"]))))
    return table
