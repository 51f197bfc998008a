"""``loomcard suite``: benchmarks with checked results."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from loomcard.cli.output import (
    ClusterKind,
    Json,
    On,
    command_line,
    console,
    print_json,
    waiting,
)
from loomcard.cli.results import INTERRUPTED, Out, Policies, ReplayedRun, print_results, shown
from loomcard.cluster import paths
from loomcard.cluster.compose import ComposeCluster
from loomcard.cluster.submit import SubmissionError
from loomcard.config.shipped import PlaceError
from loomcard.experiments.engines import policies_folders
from loomcard.experiments.grid import Cell
from loomcard.experiments.out_folder import refuse_other_folder
from loomcard.suite import environment, without_cluster
from loomcard.suite.benchmarks import BENCHMARKS, SIZES, Size, SuiteError, benchmark
from loomcard.suite.checks import COMPOSE_HINT, check_room, compose_nodes
from loomcard.suite.data.files import WrongResultError
from loomcard.suite.inputs import Job
from loomcard.suite.mix import shipped
from loomcard.suite.on_docker import DockerSuite
from loomcard.suite.on_local import LocalSuite
from loomcard.suite.play import Progress
from loomcard.suite.prepare import Asked, prepare, uses_spark
from loomcard.suite.study import Notify, Study, run_study

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
    jobs = [_job(name, size, seed) for name in names or BENCHMARKS]
    uses_spark = any(job.benchmark.framework == "spark" for job in jobs)
    found = _environment(folder) if uses_spark else None
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
    again: ReplayedRun = False,
    folder: Environment = None,
    as_json: Json = False,
) -> None:
    """Run benchmarks under policies on a real cluster; go on where an earlier run was stopped."""
    chosen = None if size is None else _size(size)
    asked = Asked(tuple(what), on.value, tuple(policy or ()), repeats, chosen, command_line())
    run_mixes(asked, out, folder, again=again, as_json=as_json)


def run_mixes(
    asked: Asked,
    out: Path | None,
    folder: Path | None = None,
    *,
    again: bool = False,
    as_json: bool = False,
) -> None:
    """Runs what was asked for, and prints it; `folder`: the environment with pyspark."""
    study = prepare(asked)
    target = out or paths.run_folder("suite") / study.experiment.name
    refuse_other_folder(target, study.experiment.name)
    needed = uses_spark(study) and asked.engine == ClusterKind.LOCAL  # the image has one of its own
    found = _environment(folder) if needed else None
    if asked.engine == ClusterKind.DOCKER:
        check_room(study, compose_nodes(), COMPOSE_HINT)
    with _cluster(study, target, found) as cluster, _watching(study) as notify:
        finished = run_study(study, cluster, target, notify, again=again)
    if as_json:
        print_json(shown(finished.runs))
    else:
        print_results(target, finished.runs)
    for problem in finished.problems:
        typer.echo(f"error: {problem}", err=True)
    if finished.problems:
        raise typer.Exit(1)
    if not finished.whole:
        typer.echo(f"error: interrupted; the same command goes on from {target}", err=True)
        raise typer.Exit(INTERRUPTED)


def _environment(folder: Path | None) -> environment.SparkEnvironment:
    """The one named, or else the default one. Raises PlaceError, and SuiteError for a wrong
    option.
    """
    if folder is None:
        return environment.find(environment.default_folder())
    try:
        return environment.find(folder)
    except PlaceError as error:
        raise SuiteError(f"--environment {folder}: {error}", error.hint) from error


def _cluster(
    study: Study, target: Path, found: environment.SparkEnvironment | None
) -> LocalSuite | DockerSuite:
    if study.engine == ClusterKind.DOCKER:
        return DockerSuite(ComposeCluster.here(), target.parent)
    size = next(iter(study.mixes.values())).cluster
    folders = [folder for cell in study.cells for folder in policies_folders(cell.setup, cell.home)]
    return LocalSuite(
        target / "cluster", size, found, tuple(folder.absolute() for folder in folders)
    )


@contextmanager
def _watching(study: Study) -> Iterator[Notify]:
    """A bar of the runs that are done, with the jobs of the one that runs; none in a pipe."""
    with waiting("starting", total=len(study.cells)) as bar:
        task, order = bar.task_ids[0], study.order
        begun = [(order[0], time.monotonic())]

        def notify(cell: Cell, progress: Progress) -> None:
            if cell is not begun[-1][0]:
                begun.append((cell, time.monotonic()))
            done = order.index(cell)
            left = ""
            if len(begun) > 1:  # as long as those took that have run, not those that were skipped
                each_s = (begun[-1][1] - begun[0][1]) / (len(begun) - 1)
                left = f"; some {each_s * (len(order) - done) / 60:.0f} min left"
            jobs = f"{progress.waiting} jobs wait, {progress.running} run"
            said = f"{cell.policy} {cell.seed}: {jobs}, {progress.done} of {progress.total} done"
            bar.update(task, completed=done, description=said + left)

        yield notify


def _tried(job: Job, found: environment.SparkEnvironment | None) -> str:
    """What is wrong with it; "" where nothing is."""
    try:
        without_cluster.run(job, paths.run_folder("suite-try"), found)
    except (SubmissionError, WrongResultError) as error:
        return f"{error}" + (f" ({error.hint})" if error.hint else "")
    return ""


def _job(name: str, size: str, seed: int) -> Job:
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
