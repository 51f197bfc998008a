"""``loomcard dag``: the hint ``LOOMCARD_DAG`` for a job of an unmodified framework."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from loomcard.api.stages.dag_hint import DagStage
from loomcard.workload.dag_stages import (
    FORMAT,
    DagError,
    Form,
    StageLine,
    mapreduce,
    read_lines,
    rendered,
    stages_of,
    tez_priorities,
)

dag = typer.Typer(
    name="dag",
    help="Write the hint that lists the stages of a job for policies.",
    no_args_is_help=True,
)

As = Annotated[
    Form,
    typer.Option(
        "--as",
        help="The hint's text (json), a variable of the AM's environment (env), or the option of"
        " the framework's client that sets it.",
    ),
]


class By(StrEnum):
    """What the stages of a Spark hint are."""

    EXECUTORS = "executors"
    STAGES = "stages"


def _ms(help_line: str) -> Any:
    return typer.Option(min=0, max=1e12, help=help_line)


def _amount(help_line: str) -> Any:
    return typer.Option(min=0, max=10**12, help=help_line)


@dag.command(name="mapreduce")
def mapreduce_(
    maps: Annotated[int, typer.Option(min=0, max=10**9, help="How many maps.")],
    reduces: Annotated[int, typer.Option(min=0, max=10**9, help="How many reduces.")] = 0,
    map_ms: Annotated[float, _ms("How long a map runs.")] = 30_000,
    reduce_ms: Annotated[float, _ms("How long a reduce runs.")] = 30_000,
    map_memory: Annotated[int, _amount("mapreduce.map.memory.mb.")] = 1024,
    reduce_memory: Annotated[int, _amount("mapreduce.reduce.memory.mb.")] = 1024,
    map_vcores: Annotated[int, _amount("mapreduce.map.cpu.vcores.")] = 1,
    reduce_vcores: Annotated[int, _amount("mapreduce.reduce.cpu.vcores.")] = 1,
    form: As = Form.JSON,
) -> None:
    """Maps, and reduces after them, from their counts."""
    if not maps + reduces:
        raise DagError("--maps 0: expected a task at least", "give --maps or --reduces")
    first = StageLine("maps", maps, map_ms, map_memory, map_vcores)
    after = ("maps",) if maps else ()
    second = StageLine("reduces", reduces, reduce_ms, reduce_memory, reduce_vcores, after)
    _print(mapreduce(first, second), form)


@dag.command()
def spark(
    event_log: Annotated[
        Path | None,
        typer.Option(help="The event log of an earlier run, or a rolling log's folder."),
    ] = None,
    by: Annotated[
        By,
        typer.Option(
            help="What Spark asks YARN for (executors), or Spark's own stages, for applications"
            " that give each a resource profile (stages)."
        ),
    ] = By.EXECUTORS,
    stage: Annotated[
        list[str] | None, typer.Option(help=f"In place of a log, once for each: {FORMAT}.")
    ] = None,
    priority: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**31 - 1,
            help="Under which executors of --stage are asked for. Before Spark 3.1: 1.",
        ),
    ] = 0,
    form: As = Form.JSON,
) -> None:
    """Executors or stages, from the event log of an earlier run or one by one."""
    if (event_log is None) == (not stage):
        raise DagError("expected either --event-log or --stage", "give one of the two")
    if event_log is not None:
        # With it come the readers of every trace.
        from loomcard.workload.readers.spark import executor_stages, read_event_log, task_stages

        run = read_event_log(event_log)
        _print(executor_stages(run) if by is By.EXECUTORS else task_stages(run), form)
        return
    lines = read_lines("--stage", stage or [])
    _print(stages_of(lines, [priority] * len(lines)), form)


@dag.command()
def tez(
    vertex: Annotated[
        list[str] | None,
        typer.Option(help=f"Once for each vertex, in the order of their ids: {FORMAT}."),
    ] = None,
    form: As = Form.JSON,
) -> None:
    """Vertices, under the priorities that Tez's AM gives them."""
    lines = read_lines("--vertex", vertex or [])
    _print(stages_of(lines, tez_priorities(lines)), form)


def _print(stages: list[DagStage], form: Form) -> None:
    typer.echo(rendered(stages, form))
