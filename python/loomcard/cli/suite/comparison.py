"""What ``loomcard hibench run`` runs and prints."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path

import typer
from rich.table import Table

from loomcard.cli.output import ClusterKind, console, print_json, printable, waiting
from loomcard.cli.results import INTERRUPTED
from loomcard.cluster import paths
from loomcard.cluster.embedded import LocalCluster, resource_manager
from loomcard.suite.benchmarks import SuiteError
from loomcard.suite.hibench.comparison import RESULTS, Comparison, Notify, Results, Row, compare
from loomcard.suite.hibench.configuration import file_system
from loomcard.suite.hibench.places import ConfiguredCluster, Place, on_compose


@dataclass(frozen=True)
class Where:
    """The cluster that was asked for; what is None has the default of its option."""

    on: ClusterKind
    conf: Path | None
    rm: str | None
    user: str | None
    token_file: Path | None = None


def run_comparison(asked: Comparison, where: Where, as_json: bool) -> None:
    """Runs what was asked for, and prints it. Raises typer.Exit where something failed."""
    folder = asked.folder
    results = Results(folder / RESULTS)
    interrupted = False
    with _place(where, folder) as place, _watching(asked) as notify:
        try:
            compare(asked, place, results, notify)
        except KeyboardInterrupt:
            interrupted = True
    _print(results, as_json)
    if interrupted:
        typer.echo(f"error: interrupted; what has run is in {results.file}", err=True)
        raise typer.Exit(INTERRUPTED)
    if results.failed:
        raise typer.Exit(1)


@contextmanager
def _watching(asked: Comparison) -> Iterator[Notify]:
    """A bar of the scripts that have ended; none in a pipe."""
    with waiting("starting", total=asked.scripts) as bar:
        yield lambda said, done: bar.update(bar.task_ids[0], description=said, completed=done)


@contextmanager
def _place(where: Where, folder: Path) -> Iterator[Place]:
    conf = where.conf
    if where.on is ClusterKind.DOCKER:
        if conf or where.rm or where.token_file:
            raise SuiteError(
                "--on docker names the compose cluster of this source tree",
                "leave --hadoop-conf, --rm and --token-file out, or leave --on out",
            )
        with on_compose(folder) as place:
            yield place
        return
    options = ""
    if conf is not None:
        file_system(conf)  # said before anything is asked of a cluster
    else:
        running = LocalCluster.attach(paths.run_folder("local"))
        conf, options = running.conf_dir, " ".join(running.client_options)
    yield ConfiguredCluster(
        conf, resource_manager(where.rm, where.user or getuser(), where.token_file), options
    )


def _print(results: Results, as_json: bool) -> None:
    if as_json:
        print_json(results.document())
    else:
        console().print(_table(results))
    for name in results.by_fallback():
        typer.echo(
            f"error: under {name or 'the policy'} the fallback allocated containers", err=True
        )


def _table(results: Results) -> Table:
    table = Table(
        "policy", "workload", "framework", "asks for", "step", "HiBench s", "YARN s",
        "of it waiting", "wrong",
    )  # fmt: skip
    for step, rows in (("prepare", results.prepared), ("run", results.runs)):
        for row in rows:
            took, waited = _seconds(row["applications"])
            words = (
                row["policy"],
                row["workload"],
                row["framework"],
                str(row["parallelism"]),
                step,
            )
            numbers = (row["hibench"].get("duration_s", "-"), took, waited)
            table.add_row(*map(printable, (*words, *numbers, row["wrong"])))
    return table


def _seconds(applications: list[Row]) -> tuple[str, str]:
    """How long they took by YARN's clock, and how long of it their AMs were waited for, all of them
    added up; - where there was none.
    """
    ended = [app for app in applications if app["finished_ms"]]
    if not ended:
        return "-", "-"
    took = sum(app["finished_ms"] - app["submitted_ms"] for app in ended)
    started = [app for app in ended if app["launched_ms"]]
    waited = sum(app["launched_ms"] - app["submitted_ms"] for app in started)
    return f"{took / 1000:.1f}", f"{waited / 1000:.1f}"
