"""``loomcard schema``: the JSON Schemas of the files that the command reads.

What makes one is imported when it is asked for: help and the other schemas need none of it.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from loomcard.cli.output import print_json


class Kind(StrEnum):
    """What a file is, as its key ``kind`` says it."""

    POLICY = "policy"
    WORKLOAD = "workload"
    EXPERIMENT = "experiment"
    MIX = "mix"


def _made(module: str) -> dict[str, Any]:
    made: dict[str, Any] = import_module(module).schema()
    return made


SCHEMAS: Final[Mapping[Kind, Callable[[], dict[str, Any]]]] = {
    kind: partial(_made, module)
    for kind, module in {
        Kind.POLICY: "loomcard.config.schema",
        Kind.WORKLOAD: "loomcard.workload.schema",
        Kind.EXPERIMENT: "loomcard.experiments.schema",
        Kind.MIX: "loomcard.suite.mix",
    }.items()
}
"""What makes the schema of each kind."""


def schema(
    kind: Annotated[Kind, typer.Argument(help="What the file is.")] = Kind.POLICY,
) -> None:
    """Print the JSON Schema of configurations, workloads, experiments or mixes."""
    print_json(SCHEMAS[kind]())
