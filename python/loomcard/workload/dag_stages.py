"""The stages of jobs of unmodified frameworks, and the hint ``LOOMCARD_DAG`` in the form that each
framework passes on. An ask's priority names its stage in the hint, so each framework's stages get
the priorities under which its AM asks for them (docs/simulate/dag.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from loomcard.api.stages.dag_hint import (
    HINT,
    Amount,
    Count,
    DagStage,
    HintError,
    Milliseconds,
    compact_dag,
    parse_dag,
    write_dag,
)
from loomcard.validation.hinted import HintedError

MAP_PRIORITY: Final = 20
REDUCE_PRIORITY: Final = 10
"""The priorities of MapReduce's AM (RMContainerAllocator). It asks for a failed map again under
5.
"""
LONGEST: Final = 130_000
"""The longest compact hint, in characters: Linux starts no process with a variable of 128 KiB."""
FORMAT: Final = "name,tasks,ms,memory,vcores[,after...]"


class DagError(HintedError):
    """No hint can be made from the input. ``hint`` is the remedy."""


class Form(StrEnum):
    """How a hint is printed: the JSON text, or options that put it into an AM's environment."""

    JSON = "json"
    ENV = "env"
    MAPREDUCE = "mapreduce"
    SPARK = "spark"
    TEZ = "tez"


_FORMS: Final = {
    Form.ENV: f"{HINT}=",
    Form.MAPREDUCE: f"-Dyarn.app.mapreduce.am.env.{HINT}=",
    Form.SPARK: f"--conf spark.yarn.appMasterEnv.{HINT}=",
    Form.TEZ: f"-Dtez.am.launch.env={HINT}=",
}


class StageLine(msgspec.Struct, frozen=True):
    """One stage as a user writes it; ``memory`` in MB, ``after`` names earlier stages."""

    name: Annotated[str, Meta(pattern=r"^[\w.:-]{1,100}\Z")]
    tasks: Count
    ms: Milliseconds
    memory: Amount
    vcores: Amount
    after: tuple[str, ...] = ()


def read_lines(option: str, texts: Sequence[str]) -> list[StageLine]:
    """Return the stages that lines of ``FORMAT`` describe. Raises DagError, which names
    ``option``.
    """
    fields = StageLine.__struct_fields__[:-1]
    lines: list[StageLine] = []
    for text in texts:
        place = f"{option} {text!r}"
        values = [value.strip() for value in text.split(",")]
        if len(values) < len(fields):
            raise DagError(f"{place}: expected {len(fields)} values or more", f"write {FORMAT}")
        given = dict(zip(fields, values, strict=False)) | {"after": values[len(fields) :]}
        try:
            line = msgspec.convert(given, StageLine, strict=False)
        except msgspec.ValidationError as error:
            raise DagError(f"{place}: {error}", f"write {FORMAT}") from error
        names = [each.name for each in lines]
        if line.name in names:
            raise DagError(f"{place}: there are two of that name", "name one of them otherwise")
        unknown = [name for name in line.after if name not in names]
        if unknown:
            remedy = f"there are {', '.join(names)}" if names else "the first is after none"
            raise DagError(f"{place}: {unknown[0]!r} is none of the lines before", remedy)
        lines.append(line)
    if not lines:
        raise DagError(f"no {option} was given", f"give one for each, as {FORMAT}")
    return lines


def stages_of(lines: Sequence[StageLine], priorities: Sequence[int]) -> list[DagStage]:
    """Return the hint's stages; ``priorities``: the priority of each stage's asks."""
    number = {line.name: i for i, line in enumerate(lines)}
    return [
        DagStage(
            line.name, priority, line.tasks, line.ms, (line.memory, line.vcores),
            [number[name] for name in line.after],
        )
        for line, priority in zip(lines, priorities, strict=True)
    ]  # fmt: skip


def mapreduce(maps: StageLine, reduces: StageLine) -> list[DagStage]:
    """Return the priorities of maps and, if there are any, of reduces after them."""
    lines = [each for each in (maps, reduces) if each.tasks]
    priority = {maps.name: MAP_PRIORITY, reduces.name: REDUCE_PRIORITY}
    return stages_of(lines, [priority[line.name] for line in lines])


def tez_priorities(lines: Sequence[StageLine]) -> list[int]:
    """Return the priority under which Tez's AM (0.9 and later) asks for each vertex; ``lines`` are
    in the order of vertex ids.

    DAGScheduler gives a vertex at distance d from the roots (by the longest path), of V vertices,
    the range that ends at low = (d + 1) * 3 * V + 3 * id and begins at low - 2. A first attempt
    uses the middle of it.
    """
    number = {line.name: i for i, line in enumerate(lines)}
    distance: list[int] = []
    for line in lines:
        distance.append(max((distance[number[name]] + 1 for name in line.after), default=0))
    return [(d + 1) * 3 * len(lines) + 3 * i - 1 for i, d in enumerate(distance)]


def rendered(stages: list[DagStage], form: Form) -> str:
    """Return the hint in one of its forms, on one line. Raises DagError if it is too long to be
    passed.
    """
    text = write_dag(stages)
    compact = checked(text, "the DAG")
    return text if form is Form.JSON else _FORMS[form] + compact


def checked(text: str, place: str) -> str:
    """Return a hint's text in its compact form. Raises DagError, which names ``place``, if it is
    not a hint.
    """
    try:
        compact = compact_dag(write_dag(parse_dag(text.strip()).stages))
    except HintError as error:
        raise DagError(f"{place}: {error}", "write it with `loomcard dag`") from error
    if len(compact) > LONGEST:
        raise DagError(
            f"{place}: expected at most {LONGEST} characters as a variable, found {len(compact)}",
            "put stages together that follow each other",
        )
    return compact


def mapreduce_definition(text: str, place: str) -> str:
    """Return the Hadoop property, name=value, that passes a hint to MapReduce's AM. Raises
    DagError.
    """
    return _FORMS[Form.MAPREDUCE].removeprefix("-D") + checked(text, place)
