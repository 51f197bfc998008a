"""``loomcard schema``: the JSON Schemas of the files that the command reads."""

from enum import StrEnum
from typing import Annotated

import typer

from loomcard.cli.output import print_json
from loomcard.config.schema import schema as policy_schema
from loomcard.experiments.schema import schema as experiment_schema
from loomcard.suite.mix import schema as mix_schema
from loomcard.workload.schema import schema as workload_schema


class Kind(StrEnum):
    """What a file is, as its key ``kind`` says it."""

    POLICY = "policy"
    WORKLOAD = "workload"
    EXPERIMENT = "experiment"
    MIX = "mix"


SCHEMAS = {
    Kind.POLICY: policy_schema,
    Kind.WORKLOAD: workload_schema,
    Kind.EXPERIMENT: experiment_schema,
    Kind.MIX: mix_schema,
}


def schema(
    kind: Annotated[Kind, typer.Argument(help="What the file is.")] = Kind.POLICY,
) -> None:
    """Print the JSON Schema of configurations, workloads, experiments or mixes."""
    print_json(SCHEMAS[kind]())
