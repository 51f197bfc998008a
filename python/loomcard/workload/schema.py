"""The keys of a workload file, their types, defaults and bounds; the published JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Discriminator, Field, StringConstraints, Tag

from loomcard.validation.json_schema import published
from loomcard.workload.distributions import Count, Part, Value
from loomcard.workload.readers import Trace
from loomcard.workload.stage_schema import (
    DrawnDag,
    Ms,
    Name,
    Size,
    Stage,
    listed,
)

PARAMETER = r"^\$[A-Za-z_][A-Za-z0-9_.-]*$"
Amount = Annotated[int, Field(ge=0, lt=2**53)]
UserName = Annotated[str, StringConstraints(min_length=1)]
QueuePath = Annotated[str, StringConstraints(pattern=r"^root(\.[A-Za-z0-9_][A-Za-z0-9_-]*)+$")]


class Capacity(Part):
    """A node entry: ``count`` equal machines."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Amount]

    name: Name = Field("n", description="The host's name, or what its number stands behind.")
    count: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None,
        description="So many, numbered on from 1 behind the name. Default: one, not numbered.",
        examples=[5],
    )
    rack: str = Field("default-rack", description="Its rack.", examples=["r1"])
    memory_mb: Amount = Field(description="Memory in MB.", examples=[20480])
    vcores: Amount = Field(description="Virtual cores.", examples=[20])
    label: Name | None = Field(
        None, description="Its node label (simulator only). Default: none.", examples=["gpu"]
    )
    physical_memory_mb: Amount | None = Field(
        None,
        description="What it really has, where `memory_mb` promises more; `cluster.thrashing` says"
        " what comes of it. Default: what it promises.",
        examples=[6144],
    )


class Minimum(Part):
    """Requests are rounded up to multiples of these amounts; 0: they are not changed."""

    memory_mb: Amount = Field(0, description="Memory in MB.", examples=[512])
    vcores: Amount = Field(0, description="Virtual cores.", examples=[1])


class NodeFault(Part):
    """A node is lost and, with ``down_ms``, returns."""

    at_ms: Ms = Field(description="When the node is lost.", examples=[60000])
    node: str = Field(description="Its name.", examples=["n3"])
    down_ms: Ms | None = Field(
        None, description="For how long; default: for good.", examples=[30000]
    )


class NetworkKeys(Part):
    """Links whose bandwidth all copies over them share."""

    node_mb_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(
        description="MB/s of each node's link, either way.", examples=[110]
    )
    rack_mb_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        0,
        description="MB/s of each rack's link to the others, either way; 0: not bounded.",
        examples=[440],
    )


class Cluster(Part):
    """The cluster on which the applications run."""

    heartbeat_ms: Ms = Field(
        1000, description="Between two heartbeats of a node; 0: every change is seen at once."
    )
    am_heartbeat_ms: Ms = Field(1000, description="Likewise of an application master.")
    launch_delay_ms: Ms = Field(0, description="From a container's start by its AM to RUNNING.")
    am_start_ms: Ms = Field(0, description="From the AM container's start to its first ask.")
    minimum: Minimum = Field(Minimum(), description="What requests are rounded up to.")  # type: ignore[call-arg]
    resources: dict[Name, Literal["count"]] = Field(
        {}, description="Further resource types, all counted.", examples=[{"gpu": "count"}]
    )
    nodes: list[Capacity] = Field(
        [],
        description="The machines. A trace may bring its own.",
        examples=[[{"count": 5, "memory_mb": 20480, "vcores": 20}]],
    )
    shared_labels: list[Name] = Field(
        [],
        description="Labels that are not exclusive: their nodes lend idle room to tasks without a"
        " label (simulator only).",
        examples=[["gpu"]],
    )
    thrashing: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        1,
        description="So many times as long everything takes on a node while what runs there is"
        " larger than its `physical_memory_mb` (simulator only).",
        examples=[3],
    )
    faults: list[NodeFault] = Field(
        [], description="Nodes that are lost.", examples=[[{"at_ms": 60000, "node": "n3"}]]
    )
    network: NetworkKeys | None = Field(
        None,
        description="What reduces copy map output over (simulator only). Default: copying takes"
        " `shuffle.ms_per_map`.",
        examples=[{"node_mb_s": 110}],
    )


class Shuffle(Part):
    """The phases of a reduce before it reduces."""

    ms_per_map: Count = Field(0, description="To copy one finished map's output.", examples=[10])
    map_output_mb: Value = Field(
        0,
        description="What one map leaves, shared equally among the reduces; where the cluster has a"
        " `network`, it is copied over that, in place of `ms_per_map`.",
        examples=[64],
    )
    copies: Annotated[int, Field(ge=1, le=1000)] = Field(
        5, description="From so many nodes a reduce copies at a time.", examples=[5]
    )


class Executors(Size):
    """The containers that an application of kind spark keeps over all its stages."""

    count: Count = Field(description="How many.", examples=[4])


_Item = TypeVar("_Item")
_One = Annotated[
    Annotated[_Item, Tag("<one>")]
    | Annotated[Annotated[list[_Item], Field(min_length=1)], Tag("<list>")],
    Discriminator(listed),
]


class Template(Part):
    """An application without its name and its time. Any number in it may be a distribution: it is
    drawn once for each application, durations once for each task.
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["stages"]}, {"required": ["dag"]}]}
    )

    queue: _One[QueuePath] = Field(
        "root.default",
        description="Its leaf queue; of a list one is drawn for each application.",
        examples=["root.a"],
    )
    user: _One[UserName] = Field(
        "loomcard",
        description="Who submits; of a list one is drawn for each application.",
        examples=["alice"],
    )
    numbers: dict[Name, Value] = Field(
        {},
        description="Numbers drawn once for each application; `{drawn: {name: width}}` in place of"
        " a number of it stands for one.",
        examples=[{"width": {"uniform": {"low": 20, "high": 60}}}],
    )
    tags: list[str] = Field([], description="The first one is its class.", examples=[["small"]])
    kind: Literal["mapreduce", "spark", "dag", "plain"] = Field(
        "plain", description="How its master behaves.", examples=["mapreduce"]
    )
    am: Size | None = Field(
        None,
        description="Its AM's container; default: none, the AM is unmanaged.",
        examples=[{"memory_mb": 1024, "vcores": 1}],
    )
    am_start_ms: Ms | None = Field(
        None,
        description="From its AM container's start to its first ask; default: the cluster's.",
        examples=[8000],
    )
    slowstart: Value = Field(
        0.05, description="mapreduce: the part of maps that end before reduces.", examples=[0.05]
    )
    shuffle: Shuffle = Field(
        Shuffle(),  # type: ignore[call-arg]
        description="mapreduce: the copying of maps' output.",
        examples=[{"ms_per_map": 10}],
    )
    reduce_asks: Literal["ramp", "all"] = Field(
        "ramp",
        description="mapreduce: `ramp`: by the AM's own rule, from progress and headroom; `all`:"
        " all at once when slow start is over, and none is given up (simulator only).",
        examples=["all"],
    )
    max_attempts: Annotated[int, Field(ge=1, le=1000)] = Field(
        4, description="So many failures of one task fail the application.", examples=[4]
    )
    executors: Executors | None = Field(
        None,
        description="spark: what it holds.",
        examples=[{"count": 4, "memory_mb": 4096, "vcores": 2}],
    )
    asks: Literal["unmarked", "altruistic"] = Field(
        "unmarked",
        description="plain and dag: altruistic, and its AM computes which tasks must start now, and"
        " marks them and the others.",
        examples=["altruistic"],
    )
    stages: list[Stage] = Field(
        [],
        min_length=1,
        description="What it does.",
        examples=[[{"id": "map", "tasks": 20, "memory_mb": 1024, "duration_ms": 30000}]],
    )
    dag: DrawnDag | None = Field(
        None,
        description="In place of `stages`: a distribution of DAGs (not of kind mapreduce).",
        examples=[
            {"stages": 8, "critical_path": 5, "tasks": 20, "memory_mb": 1024, "duration_ms": 30000}
        ],
    )


class Application(Template):
    """One application."""

    id: Name = Field(description="Its name.", examples=["j1"])
    submit_ms: Count = Field(0, description="When it is submitted.", examples=[0])


class Class(Part):
    """Applications that are equal in everything but the random values."""

    id: Name = Field(description="Applications are named by it and a number.", examples=["small"])
    share: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="The part of ``count`` that is of this class.", examples=[0.3]
    )
    count: Amount | None = Field(
        None,
        description="How many. A class with neither takes what the others leave.",
        examples=[10],
    )
    tag: Name | None = Field(
        None, description="Its class in reports. Default: the id.", examples=["small"]
    )
    numbers: dict[Name, Value] = Field(
        {},
        description="In place of the application's numbers of these names.",
        examples=[{"width": {"uniform": {"low": 2, "high": 9}}}],
    )
    application: Template = Field(description="What each of them is.")


class Generate(Part):
    """Many applications."""

    count: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="How many in all; default: the sum of the classes'.", examples=[30]
    )
    start_ms: Ms = Field(0, description="When the first is submitted.", examples=[0])
    arrivals: Value = Field(
        0,
        description="From one submission to the next, in ms.",
        examples=[{"exponential": {"mean": 5000}}],
    )
    order: list[Name] = Field(
        [],
        description="The class of each application, one after the other, in place of a draw;"
        " without counts and shares.",
        examples=[["large", "small", "large"]],
    )
    name: Name | None = Field(
        None,
        description="Applications are named by it and their place from 1. Default: by their class"
        " and their number in it.",
        examples=["j"],
    )
    classes: list[Class] = Field(min_length=1, description="What comes.")


class Workload(Part):
    """A workload: a cluster and the applications that arrive there."""

    version: Literal[1] = Field(description="The version of this format.", examples=[1])
    kind: Literal["workload"] = Field("workload", description="What the file is.")
    description: str = Field("", description="What it is for.")
    parameters: dict[Name, bool | int | float | str] = Field(
        {},
        description="Values by name; `$name` anywhere in the file stands for one.",
        examples=[{"small_share": 0.3}],
    )
    stop_ms: Ms | None = Field(
        None,
        description="The run ends then, finished or not (simulator only). Default: when all have.",
        examples=[3600000],
    )
    cluster: Cluster = Field(Cluster(), description="What the applications run on.")  # type: ignore[call-arg]
    applications: list[Application] = Field([], description="Applications one by one.")
    generate: Generate | None = Field(None, description="Applications by the dozen.")
    trace: Trace | None = Field(None, description="Applications that ran elsewhere.")


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of workload files. A number may be a ``$name`` in
    them, because its value is known only when parameters are replaced.
    """
    whole: dict[str, Any] = _with_names(Workload.model_json_schema())
    return published(whole, ["version"])


def _with_names(part: Any) -> Any:
    if isinstance(part, list):
        return [_with_names(item) for item in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") in ("integer", "number"):
        notes = {key: part[key] for key in ("description", "examples", "default") if key in part}
        bare = {key: value for key, value in part.items() if key not in notes and key != "title"}
        return {"anyOf": [bare, {"type": "string", "pattern": PARAMETER}], **notes}
    return {
        key: value if key in ("examples", "default") else _with_names(value)
        for key, value in part.items()
    }
