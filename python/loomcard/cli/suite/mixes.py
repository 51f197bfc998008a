"""What ``loomcard suite run`` runs and prints, and ``loomcard run`` of a mix."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loomcard.cli.output import ClusterKind, waiting
from loomcard.cli.results import print_end
from loomcard.cluster import paths
from loomcard.cluster.compose import ComposeCluster
from loomcard.config.shipped import PlaceError
from loomcard.experiments.engines import policies_folders
from loomcard.experiments.grid import Cell
from loomcard.experiments.out_folder import refuse_other_folder
from loomcard.suite import environment
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.checks import COMPOSE_HINT, check_room, compose_nodes
from loomcard.suite.on_docker import DockerSuite
from loomcard.suite.on_local import LocalSuite
from loomcard.suite.play import Progress
from loomcard.suite.prepare import Asked, prepare, uses_spark
from loomcard.suite.study import Notify, Study, run_study


def run_mixes(
    asked: Asked,
    out: Path | None,
    folder: Path | None = None,
    *,
    again: bool = False,
    as_json: bool = False,
) -> None:
    """Run the request and print its results; `folder`: the environment with pyspark."""
    study = prepare(asked)
    target = out or paths.run_folder("suite") / study.experiment.name
    refuse_other_folder(target, study.experiment.name)
    needed = uses_spark(study) and asked.engine == ClusterKind.LOCAL  # the image has one of its own
    found = chosen_environment(folder) if needed else None
    if asked.engine == ClusterKind.DOCKER:
        check_room(study, compose_nodes(), COMPOSE_HINT)
    with _cluster(study, target, found) as cluster, _watching(study) as notify:
        finished = run_study(study, cluster, target, notify, again=again)
    print_end(target, finished.runs, finished.problems, whole=finished.whole, as_json=as_json)


def chosen_environment(folder: Path | None) -> environment.SparkEnvironment:
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
    folders = [
        folder for cell in study.cells for folder in policies_folders(cell.config, cell.home)
    ]
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
