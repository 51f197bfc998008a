"""The keys of a stage of a workload's application, and of a distribution of stages."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Discriminator, Field, StringConstraints, Tag

from loomcard.workload.distributions import Count, Distribution, Part, Value

Ms = Annotated[int, Field(ge=0, lt=2**53)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$")]


class Size(Part):
    """Amounts of resources; further types of ``cluster.resources`` are keys beside ``vcores``."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Count]

    memory_mb: Count = Field(description="Memory in MB.", examples=[1024])
    vcores: Count = Field(1, description="Virtual cores.", examples=[1])


class Replicas(Part):
    """Preferred nodes drawn for each task, as HDFS places blocks."""

    of: list[str] | None = Field(
        None, description="Nodes to draw from; default: all.", examples=[["n1", "n2", "n3"]]
    )
    replicas: Annotated[int, Field(ge=1)] = Field(description="How many a task.", examples=[2])


class Stragglers(Part):
    """Tasks that take longer or shorter than their siblings."""

    share: Value = Field(description="How likely a task is one, from 0 to 1.", examples=[0.05])
    factor: Value = Field(description="How many times as long it runs.", examples=[3])


def listed(value: object) -> str:
    """Return which form a value has that may be one or a list."""
    return "<list>" if isinstance(value, list) else "<one>"


def _durations(value: object) -> str:
    if isinstance(value, list):
        return "<list>"
    return "<distribution>" if isinstance(value, dict | Distribution) else "<number>"


def _wishes(value: object) -> str:
    if isinstance(value, dict | Replicas):
        return "<replicas>"
    listed = isinstance(value, list) and any(isinstance(item, list) for item in value)
    return "<lists>" if listed else "<names>"


class Stage(Size):
    """Tasks of one size, each in its own container."""

    id: Name = Field(description="Its name within the application.", examples=["map"])
    tasks: Count | None = Field(
        None, description="How many; may be left out beside a list of durations.", examples=[20]
    )
    duration_ms: Annotated[
        Annotated[float, Tag("<number>"), Field(ge=0, allow_inf_nan=False)]
        | Annotated[Distribution, Tag("<distribution>")]
        | Annotated[list[Ms], Tag("<list>")],
        Discriminator(_durations),
    ] = Field(
        description="How long a task runs: a number, a distribution drawn for each task, or a"
        " list, one a task.",
        examples=[30000],
    )
    priority: Annotated[int, Field(ge=0, lt=2**31)] | None = Field(
        None,
        description="Of its asks; smaller goes first. Default 20; 10 for mapreduce's reduce.",
        examples=[20],
    )
    after: list[Name] = Field(
        [], description="Stages that must have ended before.", examples=[["map"]]
    )
    nodes: Annotated[
        Annotated[list[str], Tag("<names>")]
        | Annotated[list[list[str]], Tag("<lists>")]
        | Annotated[Replicas, Tag("<replicas>")],
        Discriminator(_wishes),
    ] = Field(
        [],
        description="Nodes that tasks would rather run on: for all tasks, a list for each task, or"
        " a draw for each.",
        examples=[["n1", "n2"]],
    )
    remote_factor: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        1,
        description="So many times as long a task takes on another node than those it would rather"
        " run on (simulator only).",
        examples=[1.2],
    )
    label: Name | None = Field(
        None,
        description="The node label that its tasks ask for (simulator only). Default: the queue's.",
        examples=["gpu"],
    )
    failures: Value = Field(
        0, description="How likely an attempt of a task fails, from 0 to 1.", examples=[0.01]
    )
    fails_ms: dict[str, list[Ms]] = Field(
        {},
        description="By a task's number from 0: how long its failing attempts run, in place of a"
        " draw.",
        examples=[{"3": [1500]}],
    )
    stragglers: Annotated[
        Annotated[Stragglers | None, Tag("<one>")] | Annotated[list[Stragglers], Tag("<list>")],
        Discriminator(listed),
    ] = Field(
        None,
        description="Tasks that take longer, or shorter with a factor below 1. Of a list each item"
        " is drawn for itself.",
        examples=[{"share": 0.05, "factor": 3}],
    )


class DrawnDag(Size):
    """Stages that are drawn in place of ``stages``: for each application their number and graph,
    for each stage its tasks, their size and their duration.
    """

    stages: Count = Field(description="How many stages.", examples=[8])
    critical_path: Count = Field(
        description="How many of them the longest path has; at most all.", examples=[5]
    )
    barriers: Count = Field(
        0,
        description="How many stages follow two or more; as many as the path leaves room for.",
        examples=[2],
    )
    input_work: Value | None = Field(
        None,
        description="The part, from 0 to 1, of all task time that is of stages that follow none:"
        " task counts are scaled to it. Default: as they were drawn.",
        examples=[0.4],
    )
    tasks: Count = Field(description="Of a stage.", examples=[20])
    duration_ms: Value = Field(description="Of a stage: how long a task runs.", examples=[30000])
    noise: Value = Field(
        0, description="Deviation of the logarithm of a task's time.", examples=[0.2]
    )
