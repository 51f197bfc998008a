"""A paper's figures, as an experiment states them: the value, and how ours is measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from loomcard.validation.findings import nearest

Text = Annotated[str, StringConstraints(min_length=1)]
Scalar = bool | int | float | str
Seconds = Annotated[float, Field(ge=0)]
Measure = Literal[
    "completion",
    "waiting",
    "makespan",
    "completed",
    "running",
    "share",
    "jain",
    "capped_jain",
    "speedup",
    "starvation",
]
Statistic = Literal["mean", "median", "p5", "p25", "p75", "p95", "p98", "max", "min"]


class Expected(BaseModel):
    """A figure of a paper that the experiment is compared with; with a ``measure`` it is judged."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    figure: Text = Field(description="Which figure or table of the paper.", examples=["Fig. 7"])
    paper: float | int | str = Field(description="What the paper says.", examples=[-21.3])
    sign: Literal["less", "equal", "more"] | None = Field(
        None,
        description="How the policy should stand to what it is compared with. With a measure and a"
        " number as `paper` it follows from that.",
        examples=["less"],
    )
    measure: Measure | None = Field(
        None,
        description="What of our runs is set beside it: times in s; `completed`, how many"
        " applications succeeded; `running`, how many task containers ran at a time while"
        " there was demand; `share`, the dominant share that was held; `jain`, Jain's index of"
        " each window of 60 s; `capped_jain`, the index of what each application received of its"
        " fair share, at most all of it; `starvation`, how long a MapReduce job's reduces waited"
        " in the mean after its last map, those that started later alone; `speedup`, of each"
        " application its completion under `against` over that under `policy`. Without it the"
        " figure is shown and not judged.",
        examples=["completion"],
    )
    of: str = Field(
        "",
        description="Of whom: a tag, a queue (with all below it), or an application's id; `*`"
        " stands for anything. Default: everybody.",
        examples=["small"],
    )
    statistic: Statistic | None = Field(
        None,
        description="Over the applications of a run, or over time. Default: the mean, but the"
        " median of running and share.",
        examples=["median"],
    )
    policy: str = Field("", description="Whose figure it is. Default: the only one.")
    against: str = Field("", description="What it is compared with. Default: the baseline.")
    as_: Literal["value", "difference", "ratio", "change_percent", "improvement"] = Field(
        "change_percent",
        alias="as",
        description="How: the figure itself against the paper's number; policy - against; policy /"
        " against; the change in percent; or the improvement in percent, against / policy - 1 where"
        " that is positive and -(policy / against - 1) where not. Of a speedup: `value`, or"
        " nothing, which sets it against 1.",
    )
    above: Seconds | None = Field(
        None,
        description="Of a speedup: the percentage of applications whose own is above this, against"
        " the paper's number.",
        examples=[1],
    )
    below: Seconds | None = Field(None, description="Likewise below this.", examples=[0.8])
    workload: str = Field("", description="On which. Default: all of them together.")
    where: dict[Text, Scalar] = Field(
        {},
        description="Only with these values of what is varied.",
        examples=[{"policy.theta": 0.1}],
    )
    resource: str = Field("", description="The share of this resource type, not the largest one.")
    from_s: Seconds | None = Field(
        None, description="The share, or what is running, from here on, in s of the run."
    )
    to_s: Seconds | None = Field(
        None,
        description="Up to here. Default of both: a share while all queues demand, what is running"
        " while those that are meant do.",
    )
    within: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="How far from equal still counts as equal, in the unit shown. Default: 0.1 %.",
        examples=[3],
    )
    because: str = Field("", description="Why it is not reproduced, where it is not.")
    yarn: str = Field(
        "",
        description="What it was on a real ResourceManager, as measured apart from these runs.",
        examples=["-39.1 to -40.8, three seeds"],
    )


class EntryProblem(NamedTuple):
    """An error in an entry: its key, the message and the remedy."""

    key: str
    message: str
    hint: str


class Names(NamedTuple):
    """What entries may name: the policies, workloads and parameters of the experiment."""

    policies: Sequence[str]
    workloads: Sequence[str]
    baseline: str
    vary: Mapping[str, Sequence[Any]]


def problems_of(each: Expected, names: Names) -> Iterator[EntryProblem]:
    """Yield everything in which an entry contradicts its experiment."""
    given = {Expected.model_fields[name].alias or name for name in each.model_fields_set}
    if each.measure is None:
        for key in sorted(given - {"figure", "paper", "sign", "because", "yarn"}):
            yield EntryProblem(
                key, f"{key!r} says how it is measured, and there is no measure", _MEASURE
            )
        if each.sign is None:
            yield EntryProblem("figure", "the key 'sign' is missing", "less, equal or more")
        return
    for key, name in (("policy", each.policy), ("against", each.against)):
        if name and named(name, names.policies) is None:
            yield EntryProblem(
                key, f"{name!r} is none of the policies", nearest(name, names.policies)
            )
    if each.workload and named(each.workload, names.workloads) is None:
        hint = nearest(each.workload, names.workloads)
        yield EntryProblem("workload", f"{each.workload!r} is none of the workloads", hint)
    if compares(each) and not (each.against or names.baseline):
        yield EntryProblem(
            "figure", "there is nothing to compare with", "say against, or as: value"
        )
    elif not each.policy and len(_candidates(each, names)) != 1:
        yield EntryProblem("figure", "it does not say whose figure it is", "say policy")
    yield from _value_problems(each, names, given)


def _value_problems(each: Expected, names: Names, given: set[str]) -> Iterator[EntryProblem]:
    for key, value in each.where.items():
        if key not in names.vary:
            hint = nearest(key, list(names.vary)) if names.vary else "nothing is varied"
            yield EntryProblem("where", f"{key!r} is not varied", hint)
        elif value not in names.vary[key]:
            known = ", ".join(map(str, names.vary[key]))
            yield EntryProblem("where", f"{key} is never {value!r}", f"its values are {known}")
    for keys, measures in _ONLY_OF:
        for key in sorted(given & keys) if each.measure not in measures else ():
            hint = f"leave it out, or say measure: {measures[0]}"
            yield EntryProblem(key, f"{key!r} is of a {measures[0]}", hint)
    if each.measure in ("jain", "capped_jain") and each.of:
        yield EntryProblem("of", "Jain's index is of all applications", "leave it out")
    if each.measure == "speedup" and each.as_ not in ("value", "change_percent"):
        yield EntryProblem("as", "a speedup is against / policy already", "leave it out")
    if each.above is not None and each.below is not None:
        yield EntryProblem("below", "above or below, not both", "write two entries")
    if each.from_s is not None and each.to_s is not None and each.from_s >= each.to_s:
        yield EntryProblem("to_s", f"{each.to_s:g} is not after {each.from_s:g}", "swap them")
    if isinstance(each.paper, str) and (each.as_ == "value" or each.sign is None):
        yield EntryProblem("paper", "expected a number to compare with", "or say sign and as")


_MEASURE = f"say measure: {', '.join(get_args(Measure)[:-1])} or {get_args(Measure)[-1]}"
_ONLY_OF: tuple[tuple[set[str], tuple[str, ...]], ...] = (
    ({"resource"}, ("share",)),
    ({"from_s", "to_s"}, ("share", "running")),
    ({"above", "below"}, ("speedup",)),
)
"""Keys that apply only to these measures."""


def compares(each: Expected) -> bool:
    """Return whether an entry compares two policies."""
    return each.as_ != "value" or each.measure == "speedup"


def named(name: str, among: Sequence[str]) -> str | None:
    """Return the one of ``among`` that a word names: by the same word, or by its file's stem."""
    if name in among:
        return name
    found = [each for each in among if PurePath(each).stem == name]
    return found[0] if len(found) == 1 else None


def _candidates(each: Expected, names: Names) -> list[str]:
    """Return the policies to which the figure may apply: all except the one that it is compared
    with.
    """
    if not compares(each):
        return list(names.policies)
    other = named(each.against or names.baseline, names.policies)
    return [policy for policy in names.policies if policy != other]


def _meant(policy: str, names: Names) -> str:
    """Return the name unchanged if the experiment does not have it: the command line may name
    others to run.
    """
    return named(policy, names.policies) or policy


def resolved(each: Expected, names: Names, called: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry for a manifest, with the names of policies in the results. ``called``: the
    name of each policy and workload in the results.
    """
    entry = each.model_dump(by_alias=True, exclude_defaults=True)
    if each.measure is None:
        return entry
    policy = _meant(each.policy, names) or next(iter(_candidates(each, names)), "")
    entry |= {"policy": called.get(policy, policy), "as": each.as_}
    if each.measure == "speedup":  # of two policies, against 1 or the paper's number
        parts = each.above is not None or each.below is not None
        entry["as"] = "value" if parts or each.as_ == "value" else "ratio"
    if compares(each):
        against = _meant(each.against or names.baseline, names)
        entry["against"] = called.get(against, against)
    if each.workload:
        workload = named(each.workload, names.workloads) or each.workload
        entry["workload"] = PurePath(workload).stem
    return entry
