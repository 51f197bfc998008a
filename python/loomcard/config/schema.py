"""The keys of a policy configuration, their types, defaults and bounds; its JSON Schema."""

import re
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StringConstraints,
    Tag,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from loomcard.model.limits import MOST_RESERVATION_NODES, RESERVATION_SHARE_PPM
from loomcard.validation.json_schema import published

QUEUE_NAME: Final = r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,127}$"
RESOURCE_NAME: Final = r"^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?/)?[A-Za-z][A-Za-z0-9_.-]*$"
ACL_ENTRY: Final = r"^(\*|(group:)?[^\s,:*]+)$"
PERCENT: Final = r"^(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?)%$"
LABEL: Final = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
LABEL_ENTRY: Final = r"^(\*|[A-Za-z0-9][A-Za-z0-9_-]*)$"
UNLIMITED: Final = "unlimited"
PERCENT_TAG: Final = "<percent>"
AMOUNTS_TAG: Final = "<amounts>"
MILLION: Final = 1_000_000
_RENAMED: Final = {
    "memory": "memory_mb",
    "memory-mb": "memory_mb",
    "mem": "memory_mb",
    "cpu": "vcores",
    "cores": "vcores",
    "vcore": "vcores",
}


def ppm(percent: str) -> int:
    """Return the millionths of a percentage such as ``12.5%``, rounded down."""
    return int(Decimal(percent.removesuffix("%")) * 10_000)


def _percent(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(PERCENT, value):
        return value
    raise PydanticCustomError("percent", "expected a percentage from 0% to 100%")


def _above_zero(value: str) -> str:
    if ppm(value) < 1:
        raise PydanticCustomError("percent", "expected a percentage above 0%")
    return value


def _queue_name(name: str) -> str:
    if not re.fullmatch(QUEUE_NAME, name):
        message = "a queue's name is letters, digits, _ and -; a dot would part it from its parent"
        raise PydanticCustomError("queue_name", message)
    if name == "root":
        raise PydanticCustomError("queue_name", "the name 'root' is the file's own queue")
    return name


def _resource_name(name: str) -> str:
    if name in _RENAMED:
        message = "no resource is called {name}: it is {right} here"
        raise PydanticCustomError("resource_name", message, {"name": name, "right": _RENAMED[name]})
    if not re.fullmatch(RESOURCE_NAME, name):
        message = "not a resource's name: memory_mb, vcores, or one such as gpu or yarn.io/gpu"
        raise PydanticCustomError("resource_name", message)
    return name


def _acl_entry(entry: str) -> str:
    if re.fullmatch(ACL_ENTRY, entry):
        return entry
    message = 'expected a user\'s name, "group:NAME", or "*" for everyone'
    raise PydanticCustomError("acl_entry", message)


def _label(name: str) -> str:
    if re.fullmatch(LABEL, name):
        return name
    raise PydanticCustomError("label", "expected a node label: letters, digits, _ and -")


def _label_entry(name: str) -> str:
    if re.fullmatch(LABEL_ENTRY, name):
        return name
    raise PydanticCustomError("label", 'expected a node label, or "*" for all')


def _count(value: object, least: int = 1) -> object:
    if value == UNLIMITED or (type(value) is int and least <= value < 2**31):
        return value
    raise PydanticCustomError(
        "count", f"expected a whole number from {least} to 2147483647, or unlimited"
    )


def _running_count(value: object) -> object:
    return _count(value, 0)


def _count_schema(least: int) -> WithJsonSchema:
    number = {"type": "integer", "minimum": least, "maximum": 2**31 - 1}
    return WithJsonSchema({"anyOf": [number, {"const": UNLIMITED}]})


def _not_empty(amounts: dict[str, int]) -> dict[str, int]:
    if not amounts:
        raise PydanticCustomError("amounts", "expected at least one resource")
    return amounts


QueueName = Annotated[
    str,
    AfterValidator(_queue_name),
    Field(json_schema_extra={"pattern": "(?!^root$)" + QUEUE_NAME}),
]
ResourceName = Annotated[
    str, AfterValidator(_resource_name), Field(json_schema_extra={"pattern": RESOURCE_NAME})
]
AclEntry = Annotated[
    str, AfterValidator(_acl_entry), Field(json_schema_extra={"pattern": ACL_ENTRY})
]
Percent = Annotated[str, BeforeValidator(_percent), Field(json_schema_extra={"pattern": PERCENT})]
Share = Annotated[Percent, AfterValidator(_above_zero)]
Amounts = Annotated[
    dict[ResourceName, Annotated[int, Field(ge=0, lt=2**63)]],
    AfterValidator(_not_empty),
    Field(json_schema_extra={"minProperties": 1}),
]


Count = Annotated[int | str, PlainValidator(_count), _count_schema(1)]
RunningCount = Annotated[int | str, PlainValidator(_running_count), _count_schema(0)]
PositiveAmounts = Annotated[
    dict[ResourceName, Annotated[int, Field(ge=1, lt=2**63)]],
    AfterValidator(_not_empty),
    Field(json_schema_extra={"minProperties": 1}),
]
Label = Annotated[str, AfterValidator(_label), Field(json_schema_extra={"pattern": LABEL})]
LabelEntry = Annotated[
    str, AfterValidator(_label_entry), Field(json_schema_extra={"pattern": LABEL_ENTRY})
]


def _names(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if isinstance(names, list) and names and all(isinstance(name, str) and name for name in names):
        return tuple(names)
    raise PydanticCustomError("names", "expected a name, or a list of names")


Names = Annotated[
    tuple[str, ...],
    PlainValidator(_names),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}},
            ]
        }
    ),
]
QueuePath = Annotated[str, StringConstraints(min_length=1)]


def _form(value: object) -> str:
    return AMOUNTS_TAG if isinstance(value, dict) else PERCENT_TAG


Guaranteed = Annotated[
    Annotated[Percent, Tag(PERCENT_TAG)] | Annotated[Amounts, Tag(AMOUNTS_TAG)],
    Discriminator(_form),
]
Allocation = Annotated[
    Annotated[Literal["unlimited"], Tag(PERCENT_TAG)]
    | Annotated[PositiveAmounts, Tag(AMOUNTS_TAG)],
    Discriminator(_form),
]
Maximum = Annotated[
    Annotated[Share, Tag(PERCENT_TAG)] | Annotated[Amounts, Tag(AMOUNTS_TAG)],
    Discriminator(_form),
]


RunningPerUser = Annotated[
    Annotated[RunningCount, Tag(PERCENT_TAG)]
    | Annotated[
        dict[Annotated[str, StringConstraints(min_length=1)], RunningCount], Tag(AMOUNTS_TAG)
    ],
    Discriminator(_form),
]


class QueueKeys(BaseModel):
    """What any queue may state: its policy, its limits, and who may use it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    policy: Annotated[str, StringConstraints(min_length=1)] | None = Field(
        None,
        description="The policy that governs the queue: a registered name, or"
        " path/to/file.py:Class. The file must name one; a queue may leave it to its parent's.",
        examples=["drf"],
    )
    options: dict[str, Any] = Field(
        {},
        description="The named policy's options; `loomcard policy list` shows them.",
        examples=[{"theta": 0.1}],
    )
    weight: float = Field(
        1.0,
        gt=0,
        le=MILLION,
        description="The queue's part, beside its siblings, of what is left after guarantees.",
        examples=[2],
    )
    guaranteed: Guaranteed | None = Field(
        None,
        description="What the queue may always get: percent of the parent's guaranteed capacity,"
        " or amounts. Default 0%; for the file itself all that its maximum allows.",
        examples=["25%", {"memory_mb": 8192, "vcores": 4}],
    )
    maximum: Maximum | None = Field(
        None,
        description="What the queue may never exceed: percent of the parent's maximum capacity,"
        " or amounts. Default 100%.",
        examples=["50%", {"memory_mb": 8192, "vcores": 4}],
    )
    user_limit: Share = Field(
        "100%",
        description="What one user may use: percent of the queue's maximum capacity.",
        examples=["50%"],
    )
    am_share: Share = Field(
        "100%",
        description="What application masters may use: percent of the queue's maximum capacity.",
        examples=["20%"],
    )
    reservation_share: Percent = Field(
        f"{RESERVATION_SHARE_PPM * 100 // MILLION}%",
        description="What room may be reserved for asks here and below: percent of the queue's"
        " maximum capacity. The first reservation is always let in; 0%: none is.",
        examples=["10%"],
    )
    reservation_nodes: int | None = Field(
        None,
        ge=1,
        le=MOST_RESERVATION_NODES,
        description="On how many nodes at once room may be reserved for one application. Default:"
        " as the parent; for the file itself 1.",
        examples=[3],
    )
    submit: list[AclEntry] | None = Field(
        None,
        description="Who may submit, in place of the parent's list. Default: as the parent;"
        " for the file itself everyone.",
        examples=[["alice", "group:data"]],
    )
    administer: list[AclEntry] | None = Field(
        None,
        description="Who may administer, and so submit too, in place of the parent's list."
        " Default: as the parent; where nobody states it, everyone while everyone may submit,"
        " else YARN's administrators only.",
        examples=[["alice"]],
    )
    state: Literal["running", "stopped", "draining"] = Field(
        "running",
        description="Whether applications are accepted here and below. stopped and draining both"
        " accept none and let those that are there run to their end.",
        examples=["stopped"],
    )
    maximum_applications: Count = Field(
        UNLIMITED,
        description="How many applications may wait and run here and below.",
        examples=[100],
    )
    maximum_applications_per_user: Count = Field(
        UNLIMITED,
        description="How many applications of one user may wait and run here and below.",
        examples=[10],
    )
    maximum_running_applications: RunningCount = Field(
        UNLIMITED,
        description="How many applications may run here and below: the AM of a further one waits.",
        examples=[20],
    )
    maximum_running_applications_per_user: RunningPerUser = Field(
        UNLIMITED,
        description='The same for one user, or by user, "*" for all others.',
        examples=[5, {"alice": 10, "*": 5}],
    )
    default_priority: int | None = Field(
        None,
        ge=0,
        lt=2**31,
        description="The priority of an application that asks for none; YARN's"
        " yarn.cluster.max-application-priority bounds it. Default: as the parent; for the file"
        " itself 0.",
        examples=[5],
    )
    maximum_allocation: Allocation = Field(
        UNLIMITED,
        description="The largest container that may be asked for here and below.",
        examples=[{"memory_mb": 8192, "vcores": 4}],
    )
    maximum_lifetime: Count = Field(
        UNLIMITED,
        description="Seconds after which YARN kills an application of this queue or one below.",
        examples=[86400],
    )
    default_lifetime: Count | None = Field(
        None,
        description="The lifetime in seconds of an application that states none. Default: as the"
        " parent, or else the maximum lifetime.",
        examples=[3600],
    )
    labels: list[LabelEntry] | None = Field(
        None,
        description='The node labels that may be asked for here; "*" for all, [] for none.'
        " Default: as the parent; for the file itself all.",
        examples=[["gpu"]],
    )
    default_label: Literal[""] | Label | None = Field(
        None,
        description='The node label of asks that name none; "" for nodes without a label.'
        " Default: as the parent.",
        examples=["gpu"],
    )
    label_maximum: dict[Label, Share] = Field(
        {},
        description="What the queue may never exceed on the nodes of a label: percent of the"
        " parent's maximum there. Default 100%.",
        examples=[{"gpu": "50%"}],
    )
    label_guaranteed: dict[Label, Percent] = Field(
        {},
        description="What the queue gets before its siblings on the nodes of a label, where it asks"
        " for them: percent of what the parent is guaranteed there. Default 0%; for the file itself"
        " its label_maximum.",
        examples=[{"gpu": "40%"}],
    )


class AutoCreate(BaseModel):
    """The queues that placement rules may create below a queue."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    template: QueueKeys | None = Field(
        None,
        description="The keys of each leaf that is created; none: defaults.",
        examples=[{"maximum": "20%"}],
    )
    maximum_queues: int = Field(
        1000,
        ge=1,
        le=10_000,
        description="How many leaves that were created may exist below the queue.",
        examples=[100],
    )
    remove_after: Count = Field(
        300,
        description="Seconds without an application after which a created queue is removed, or"
        " unlimited.",
        examples=[3600],
    )
    depth: int = Field(
        1,
        ge=1,
        le=8,
        description="How many levels of queues may be created below the queue.",
        examples=[2],
    )


class Queue(QueueKeys):
    """One queue: its policy, its limits, who may use it, and the queues below it."""

    auto_create: AutoCreate | None = Field(
        None,
        description="Lets placement rules create leaves below the queue. Default: none is.",
        examples=[{"template": {"maximum": "20%"}, "maximum_queues": 100}],
    )
    queues: "dict[QueueName, Queue]" = Field(
        {}, description="The queues below this one, by name.", examples=[{"a": {}, "b": {}}]
    )


class PlacementRule(BaseModel):
    """Which queue applications go to, where all conditions of the rule hold."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    user: Names | None = Field(
        None, description="Only applications of this user, or of these.", examples=["alice"]
    )
    primary_group: Names | None = Field(
        None, description="Only of users whose first group this is.", examples=["data"]
    )
    group: Names | None = Field(
        None, description="Only of users that are in this group.", examples=["data"]
    )
    application: Names | None = Field(
        None, description="Only applications of exactly this name.", examples=["nightly"]
    )
    tag: Names | None = Field(
        None, description="Only applications with this tag.", examples=["gpu"]
    )
    named: bool | None = Field(
        None,
        description="true: only where the submitter named a queue; false: only where not. default"
        " counts as none.",
        examples=[True],
    )
    queue: QueuePath | None = Field(
        None,
        description="The path of the queue; whole parts may be %user, %primary_group,"
        " %secondary_group, %group, %specified or %application.",
        examples=["root.users.%user"],
    )
    create: Literal[False, True, "leaf"] = Field(
        False,
        description="Whether the queue may be created: leaf: only the last part of the path; true:"
        " also the parts before it.",
        examples=["leaf"],
    )
    otherwise: QueuePath = Field(
        "next",
        alias="else",
        description="What if the path is no leaf: next: the next rule; reject; or another path.",
        examples=["reject"],
    )
    reject: Literal[True] | None = Field(
        None, description="Refuses the application.", examples=[True]
    )


class PolicyConfig(Queue):
    """A policy configuration. The file itself is the queue ``root``."""

    version: Literal[1] = Field(description="The version of this format.", examples=[1])
    kind: Literal["policy"] = Field("policy", description="What the file is.", examples=["policy"])
    placement: list[PlacementRule] | None = Field(
        None,
        description="Which queue an application goes to: rules, asked in order; if none fits, it is"
        " refused. Default: the queue that its submitter names, otherwise default.",
        examples=[[{"queue": "root.users.%user", "create": "leaf"}]],
    )


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of policy configurations."""
    return published(PolicyConfig.model_json_schema(), ["version", "policy"])
