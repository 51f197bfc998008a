"""``loomcard run`` and ``simulate``: a workload or an experiment, simulated or on a real cluster.

What runs them is imported when it is called: help needs none of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loomcard.cli.output import Json, command_line, waiting
from loomcard.cli.results import INTERRUPTED, Again, Out, Policies, print_end, print_papers
from loomcard.cluster import paths

if TYPE_CHECKING:
    from loomcard.experiments.cell import Outcome, Watch
    from loomcard.experiments.run import Request
    from loomcard.suite.prepare import Asked


ALL_PAPERS = "papers"
"""What stands for all experiments of papers."""


class Engine(StrEnum):
    """What runs the cells."""

    SIMULATOR = "simulator"
    LOCAL = "local"
    DOCKER = "docker"


What = Annotated[
    str,
    typer.Argument(
        help="A workload, an experiment or a mix of real programs: a file, or a name that ships."
    ),
]
On = Annotated[
    Engine, typer.Option("--on", help="The simulator, the embedded or the compose cluster.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="The (first) seed. Default: 1.")]
Seeds = Annotated[int | None, typer.Option("--seeds", min=1, help="How many, one after another.")]
Processes = Annotated[
    int | None, typer.Option("--processes", min=1, help="Cells at a time. Default: all cores.")
]
Over = Annotated[
    str | None,
    typer.Option(
        "--over",
        metavar="ADDRESS",
        help="A Dask scheduler, as tcp://HOST:8786, whose workers simulate the cells.",
    ),
]
Report = Annotated[
    bool,
    typer.Option(
        "--report",
        help="Also set the papers' figures beside ours, by each paper's letter and by default, in"
        " papers.md of the run folder.",
    ),
]
Journal = Annotated[
    bool | None,
    typer.Option(
        "--journal/--no-journal", help="Keep each run's journal. Default: of a workload's runs."
    ),
]


def run(
    context: typer.Context,
    what: What,
    on: On = Engine.SIMULATOR,
    policy: Policies = None,
    seed: Seed = None,
    seeds: Seeds = None,
    out: Out = None,
    processes: Processes = None,
    over: Over = None,
    journal: Journal = None,
    again: Again = False,
    report: Report = False,
    as_json: Json = False,
) -> None:
    """Simulate a workload or an experiment, or run it on a cluster (`simulate` and `run` are one).

    If a workload and an experiment have the same name, `run` takes the experiment and `simulate`
    the workload. `papers` stands for all experiments that are set beside a paper. The same command
    continues where an earlier run of it was stopped.
    """
    from loomcard.experiments import run as experiments
    from loomcard.experiments.out_folder import refuse_other_folder
    from loomcard.suite.prepare import has_mixes

    if has_mixes(what):
        from loomcard.cli.suite.mixes import run_mixes

        asked = _of_mixes(
            what,
            on,
            policy,
            seeds,
            {"--seed": seed, "--processes": processes, "--over": over, "--journal": journal},
        )
        run_mixes(asked, out, again=again, as_json=as_json)
        return
    request = experiments.Request(
        what,
        on.value,
        tuple(policy or ()),
        _seeds(seed, seeds),
        journal,
        again,
        command_line(),
        workload_first=context.info_name == "simulate",
    )
    if what == ALL_PAPERS:
        run_papers(request, out or paths.run_folder(what), processes, over, report=report)
        return
    prepared = experiments.prepare(request)
    folder = out or paths.run_folder(prepared.experiment.name)
    refuse_other_folder(folder, prepared.experiment.name)
    with _watching(len(prepared.cells)) as watch:
        finished = experiments.run(prepared, folder, watch, processes=processes, over=over)
    if report and finished.runs:
        print_papers([folder], folder, as_json=as_json)
    trace = next((outcome.trace for outcome in finished.outcomes if outcome.trace), "")
    print_end(
        folder, finished.runs, finished.failures, trace, whole=finished.whole, as_json=as_json
    )


def run_papers(
    request: Request, out: Path, processes: int | None, over: str | None, *, report: bool
) -> None:
    """Run every experiment that is set beside a paper, each in a folder of its own below ``out``.
    One that cannot run here is named, and the next begins. Raises typer.Exit if one did not end.
    """
    from loomcard.experiments import run as experiments
    from loomcard.experiments.inputs import InputError

    folders, missing = [], []
    for name in experiments.of_papers():
        folder = out / name
        try:
            prepared = experiments.prepare(replace(request, what=name))
        except InputError as error:
            missing.append(f"{name}: {error}")
            continue
        with _watching(len(prepared.cells), name) as watch:
            finished = experiments.run(prepared, folder, watch, processes=processes, over=over)
        missing += [f"{name}: {failure}" for failure in finished.failures]
        folders += [folder] if any(run["finished"] for run in finished.runs) else []
        if not finished.whole and not finished.failures:
            print(f"error: interrupted; the same command continues from {out}", file=sys.stderr)
            raise typer.Exit(INTERRUPTED)
    if report and folders:
        print_papers(folders, out, as_json=False)
    for each in missing:
        print(f"error: {each}", file=sys.stderr)
    if missing:
        raise typer.Exit(1)


def _of_mixes(
    what: str,
    on: Engine,
    policies: list[str] | None,
    seeds: int | None,
    others: dict[str, object],
) -> Asked:
    """Return the request to `loomcard suite run`. Raises InputError for options that mixes lack."""
    from loomcard.experiments.inputs import InputError
    from loomcard.suite.prepare import Asked

    wrong = [
        f"{name} is not for mixes (leave it out)"
        for name, said in others.items()
        if said is not None
    ]
    if on is Engine.SIMULATOR:
        wrong.append(
            f"{what} runs real programs, which the simulator cannot (add --on local or --on docker)"
        )
    if wrong:
        raise InputError(wrong)
    return Asked((what,), on.value, tuple(policies or ()), seeds, command=command_line())


def _seeds(first: int | None, count: int | None) -> tuple[int, ...]:
    """Return the seeds; empty if none is stated: the experiment's own."""
    if first is None and count is None:
        return ()
    begin = 1 if first is None else first
    return tuple(range(begin, begin + (count or 1)))


@contextmanager
def _watching(cells: int, name: str = "") -> Iterator[Watch]:
    """Show a bar of the cells that are done, and the simulated time so far; nothing in a pipe."""
    from loomcard.experiments.cell import Outcome

    done: dict[int, int] = {}
    running: dict[int, int] = {}
    with waiting(f"{name} cells".strip(), cells) as bar:
        task = bar.task_ids[0]

        def watch(news: Outcome | tuple[int, int]) -> None:
            if isinstance(news, Outcome):
                done[news.index] = news.reached_ms
                running.pop(news.index, None)
                bar.advance(task)
            elif news[0] not in done:
                running[news[0]] = news[1]
            hours = (sum(done.values()) + sum(running.values())) / 3_600_000
            bar.update(task, description=f"{name} cells ({hours:.1f} simulated hours)".strip())

        yield watch
