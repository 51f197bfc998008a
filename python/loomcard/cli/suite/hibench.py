"""``loomcard hibench``: a HiBench that is already there, driven on a cluster.

What drives it is imported when it is called: help needs none of it.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from loomcard.cli.output import AskingUser, ClusterKind, Json, On, Rm, TokenFile, print_json
from loomcard.cluster import paths
from loomcard.suite import environment
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.installation import Check, Installation, check_scale, checks
from loomcard.suite.hibench.workloads import FRAMEWORKS, WORKLOADS, Framework, Workload, workload

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
Parallelism = Annotated[
    int,
    typer.Option(
        "--parallelism", min=1, help="Maps, reduces or executors that a workload asks for."
    ),
]
Every = Annotated[
    float | None,
    typer.Option(
        "--every",
        min=0,
        help="A mix: workloads arrive so many seconds apart, whether or not those before have"
        " ended. --at-a-time is then for the inputs only.",
    ),
]
Small = Annotated[
    float,
    typer.Option("--small", min=0, max=1, help="The share of workloads with a parallelism of 1."),
]
Prepared = Annotated[
    bool, typer.Option("--prepared", help="The inputs of an earlier run are there: use them.")
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
    token_file: TokenFile = None,
    policy: Policies = None,
    scale: Annotated[str, typer.Option("--scale", help="tiny, small, large, ...")] = "tiny",
    queue: Annotated[str, typer.Option("--queue", help="For all of its jobs.")] = "",
    at_a_time: AtATime = 1,
    parallelism: Parallelism = 2,
    every: Every = None,
    small: Small = 0.0,
    prepared: Prepared = False,
    defined: Defined = None,
    out: Annotated[Path | None, typer.Option("--out", help="Default: run/hibench.")] = None,
    as_json: Json = False,
) -> None:
    """Prepare and run workloads; HiBench's folder is left as it was."""
    from loomcard.cli.suite.comparison import Where, run_comparison
    from loomcard.suite.hibench.comparison import Comparison, check_folder
    from loomcard.suite.hibench.places import policies

    there = _installation(home, spark_home, hadoop_home)
    chosen = _chosen(names, framework)
    more = _defined(defined or [])
    check_scale(there.home, scale)
    folder = (out or paths.run_folder("hibench")).absolute()
    check_folder(folder)
    cells = policies(policy, on.value) if policy else [None]
    if missing := [each for each in checks(there, chosen) if each.missing]:
        first = missing[0]
        raise SuiteError(f"{first.what} is missing", f"{first.remedy}; see loomcard hibench doctor")
    asked = Comparison(
        chosen, cells, there, folder, scale, queue, at_a_time, more, parallelism, every, small,
        prepared,
    )  # fmt: skip
    run_comparison(asked, Where(on, hadoop_conf, rm, user, token_file), as_json)


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
