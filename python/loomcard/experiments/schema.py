"""The keys of an experiment file, and how one is read: every finding with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from loomcard.experiments.expectations import Expected, Names, Scalar, Text, problems_of
from loomcard.validation.findings import FindingsError, nearest
from loomcard.validation.json_schema import published
from loomcard.validation.reading import Document, read
from loomcard.validation.reading import Path as Place
from loomcard.validation.structure import check_header, check_mapping, drop_empty, message_of

VARIED: Final = r"^(workload|policy)\.[A-Za-z0-9_$.-]+$"
_SEED_MAX: Final = 2**63 - 1


def _seeds(value: object) -> object:
    listed = isinstance(value, list) and all(type(seed) is int for seed in value)
    if type(value) is int and value >= 1:
        return list(range(1, value + 1))
    if listed and value and all(0 <= seed <= _SEED_MAX for seed in value):  # type: ignore[attr-defined]
        return value
    raise PydanticCustomError("seeds", "expected how many seeds (from 1 on) or a list of them")


class Experiment(BaseModel):
    """Policies x workloads x parameters x seeds, run on one engine."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    version: Literal[1] = Field(description="The version of this format.", examples=[1])
    kind: Literal["experiment"] = Field("experiment", description="What the file is.")
    name: str = Field("", description="Its name in reports. Default: the file's.")
    description: str = Field("", description="What it is to show.")
    policies: list[Text] = Field(
        min_length=1,
        description="Policy configurations (files beside this one, or shipped with Loomcard),"
        ' policies by name, or "stock:capacity", "stock:fair", "stock:fifo" (on real YARN only).',
        examples=[["drf", "my-queues.yml"]],
    )
    workloads: list[Text] = Field(
        min_length=1,
        description="Workload files beside this one, or names of ones that come with Loomcard.",
        examples=[["mixed-30"]],
    )
    vary: dict[
        Annotated[str, StringConstraints(pattern=VARIED)],
        Annotated[list[Scalar], Field(min_length=1)],
    ] = Field(
        {},
        description="Values to try: `workload.x` for a parameter (or a dotted key) of the"
        " workloads, `policy.x` for an option of those policies that have it.",
        examples=[{"workload.small_share": [0.1, 0.3]}],
    )
    given: dict[Text, dict[Annotated[str, StringConstraints(pattern=r"^workload\.")], Scalar]] = (
        Field(
            {},
            description="By a policy as named above: values of the workloads' parameters that hold"
            " for it alone. Its runs are compared with the others' of the same workload and seed"
            " all the same.",
            examples=[{"my-slots.yml": {"workload.slots": 4}}],
        )
    )
    seeds: Annotated[list[int], BeforeValidator(_seeds, json_schema_input_type=int | list[int])] = (
        Field([1], description="How many (1, 2, ...), or a list of them.", examples=[20])
    )
    over_seeds: Literal["mean", "median"] = Field(
        "mean",
        description="What is stated of the seeds, as a paper states it of its repetitions.",
        examples=["median"],
    )
    baseline: str = Field("", description="The policy that reports compare with.", examples=["drf"])
    expect: list[Expected] = Field(
        [],
        description="What a paper found.",
        examples=[[{"figure": "7", "paper": -21, "sign": "less"}]],
    )


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of experiment files."""
    required = ["version", "kind", "policies", "workloads"]
    return published(Experiment.model_json_schema(), required)


def read_experiment(text: str, file: Path) -> tuple[Experiment, Document]:
    """Return the experiment of a YAML text, and the document for later findings. Raises
    FindingsError with all errors; ``file`` gives the default name.
    """
    document = read(text)
    if not check_mapping(document):
        raise FindingsError(document.findings)
    drop_empty(document, lambda _: False, "vary")
    check_header(document, "experiment", "a file")
    experiment = None
    try:
        experiment = Experiment.model_validate(document.data)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _report(document, detail)
    if experiment is not None and experiment.baseline not in ("", *experiment.policies):
        message = f"the baseline {experiment.baseline!r} is none of the policies"
        document.report(("baseline",), message, nearest(experiment.baseline, experiment.policies))
    if experiment is not None:
        for source in experiment.given:
            if source not in experiment.policies:
                message = f"{source!r} is none of the policies"
                hint = nearest(source, experiment.policies)
                document.report(("given", source), message, hint, at_key=True)
        _check_expected(experiment, document)
    _refuse_doubles(document)
    if experiment is None or document.findings:
        raise FindingsError(document.findings)
    return experiment.model_copy(update={"name": experiment.name or file.stem}), document


def _refuse_doubles(document: Document) -> None:
    """Report repeated list entries: they would be two runs of one name, or run only once."""
    keys = document.data
    lists: dict[Place, Any] = {(key,): keys.get(key) for key in ("policies", "workloads", "seeds")}
    vary = keys.get("vary")
    lists |= {("vary", name): vary[name] for name in vary} if isinstance(vary, dict) else {}
    for place, values in lists.items():
        seen: set[str] = set()
        for index, value in enumerate(values if isinstance(values, list) else ()):
            # Results name a workload by its file's stem.
            known = Path(str(value)).stem if place == ("workloads",) else repr(value)
            if known in seen:
                document.report((*place, index), f"{value!r} stands there already", "leave it out")
            seen.add(known)


def _check_expected(experiment: Experiment, document: Document) -> None:
    for index, each in enumerate(experiment.expect):
        for key, message, hint in problems_of(each, names_in(experiment)):
            document.report(("expect", index, key), message, hint)


def names_in(experiment: Experiment) -> Names:
    """Return what the entries of ``expect`` may name."""
    each = experiment
    return Names(each.policies, each.workloads, each.baseline, each.vary)


def _report(document: Document, detail: ErrorDetails) -> None:
    scalars = {"bool", "int", "float", "str", "[key]"}
    place: Place = tuple(part for part in detail["loc"] if part not in scalars)
    if detail["type"] == "missing":
        hint = _example(str(place[-1]))
        document.report(place[:-1], f"the key {place[-1]!r} is missing", hint)
    elif detail["type"] == "extra_forbidden":
        known = (Experiment if len(place) == 1 else Expected).model_fields
        hint = nearest(str(place[-1]), [field.alias or name for name, field in known.items()])
        document.report(place, f"unknown key {place[-1]!r}", hint, at_key=True)
    elif "[key]" in detail["loc"]:
        hint = "such as workload.small_share or policy.theta"
        document.report(place, "expected workload.NAME or policy.NAME", hint, at_key=True)
    else:
        document.report(place, message_of(detail), _example(str(place[0])) if place else "")


def _example(key: str) -> str:
    field = Experiment.model_fields.get(key)
    if field is None or not field.examples:
        return ""
    return f"for example {key}: {json.dumps(field.examples[0])}"
