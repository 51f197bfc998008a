"""``loomcard suite``: benchmarks with checked results.

What runs them is imported when it is called: help needs none of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from loomcard.cli.output import ClusterKind, Json, On, command_line, console, print_json, waiting
from loomcard.cli.results import Again, Out, Policies
from loomcard.suite import environment
from loomcard.suite.benchmarks import BENCHMARKS, SIZES, Size, SuiteError
from loomcard.suite.shipped_mixes import shipped

if TYPE_CHECKING:
    from loomcard.suite.inputs import Job

suite = typer.Typer(help="Run benchmarks with checked results.", no_args_is_help=True)

Environment = Annotated[
    Path | None,
    typer.Option(
        "--environment",
        metavar="FOLDER",
        help="The Python environment with pyspark. Default: LOOMCARD_SUITE, or loomcard/suite in"
        " the user's cache folder.",
    ),
]
Names = Annotated[
    list[str] | None, typer.Argument(help="Benchmarks by name. Default: all of them.")
]
SizeOption = Annotated[str, typer.Option("--size", help=f"{', '.join(SIZES)}.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of the generated input.")]


@suite.command("list")
def list_(as_json: Json = False) -> None:
    """List the benchmarks with what each size means."""
    if as_json:
        print_json([_described(name) for name in BENCHMARKS])
        return
    table = Table("benchmark", "framework", "what it does", *SIZES)
    for name, each in BENCHMARKS.items():
        sizes = [_numbers(each.sizes[size]) for size in SIZES]
        table.add_row(name, each.framework, each.what, *sizes)
    console().print(table)


@suite.command()
def setup(folder: Environment = None) -> None:
    """Make the environment with pyspark that the Spark benchmarks need: 700 MB, from PyPI."""
    target = folder or environment.default_folder()
    with waiting(f"pyspark and numpy into {target}"):
        environment.set_up(target)
    typer.echo(f"the suite's environment is in {target}")


@suite.command("try")
def try_(
    names: Names = None,
    size: SizeOption = "tiny",
    seed: SeedOption = 1,
    folder: Environment = None,
    as_json: Json = False,
) -> None:
    """Run benchmarks without a cluster, in processes of this machine, and check their results."""
    from loomcard.cli.suite.mixes import chosen_environment

    jobs = [_job(name, size, seed) for name in names or BENCHMARKS]
    uses_spark = any(job.benchmark.framework == "spark" for job in jobs)
    found = chosen_environment(folder) if uses_spark else None
    results: dict[str, str] = {}
    with waiting("starting", total=len(jobs)) as bar:
        for job in jobs:
            bar.update(bar.task_ids[0], description=job.benchmark.name)
            results[job.benchmark.name] = _tried(job, found)
            bar.advance(bar.task_ids[0])
    if as_json:
        print_json([{"benchmark": name, "wrong": wrong} for name, wrong in results.items()])
    else:
        for name, wrong in results.items():
            typer.echo(f"{name}: {wrong or 'its result is right'}")
    if any(results.values()):
        raise typer.Exit(1)


@suite.command()
def run(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT...",
            help="Benchmarks by name, or a mix or an experiment: a file, or the name of a mix that"
            f" ships ({', '.join(shipped())}).",
        ),
    ],
    on: On = ClusterKind.LOCAL,
    policy: Policies = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", min=1, max=1000, help="How often under each policy.")
    ] = None,
    size: Annotated[
        str | None,
        typer.Option("--size", help=f"Of benchmarks by name: {', '.join(SIZES)}. Default: tiny."),
    ] = None,
    out: Out = None,
    again: Again = False,
    folder: Environment = None,
    as_json: Json = False,
) -> None:
    """Run benchmarks under policies on a real cluster; go on where an earlier run was stopped."""
    from loomcard.cli.suite.mixes import run_mixes
    from loomcard.suite.prepare import Asked

    chosen = None if size is None else _size(size)
    asked = Asked(tuple(what), on.value, tuple(policy or ()), repeats, chosen, command_line())
    run_mixes(asked, out, folder, again=again, as_json=as_json)


def _tried(job: Job, found: environment.SparkEnvironment | None) -> str:
    """What is wrong with it; "" where nothing is."""
    from loomcard.cluster import paths
    from loomcard.cluster.submit import SubmissionError
    from loomcard.suite import without_cluster
    from loomcard.suite.data.files import WrongResultError

    try:
        without_cluster.run(job, paths.run_folder("suite-try"), found)
    except SubmissionError as error:
        return f"{error} ({error.hint})"
    except WrongResultError as error:
        return str(error)
    return ""


def _job(name: str, size: str, seed: int) -> Job:
    from loomcard.suite.benchmarks import benchmark
    from loomcard.suite.inputs import Job

    return Job(benchmark(name), _size(size), seed)


def _size(named: str) -> Size:
    chosen = next((each for each in SIZES if each == named), None)
    if chosen is None:
        raise SuiteError(f"no size {named!r}", f"there are {', '.join(SIZES)}")
    return chosen


def _described(name: str) -> dict[str, object]:
    each = BENCHMARKS[name]
    sizes = {size: dict(each.numbers(size)) for size in SIZES}
    return {"name": name, "framework": each.framework, "what": each.what, "sizes": sizes}


def _numbers(numbers: object) -> str:
    assert isinstance(numbers, dict)
    return ", ".join(f"{count:,} {name}" for name, count in numbers.items())
