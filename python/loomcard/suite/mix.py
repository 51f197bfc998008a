"""A mix: which benchmarks arrive when, in which queues and for which users."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from loomcard.cluster.job_profiles import PROFILES, profile_properties
from loomcard.suite.benchmarks import BENCHMARKS, SuiteError, benchmark
from loomcard.suite.commands import EXECUTORS
from loomcard.suite.inputs import Job
from loomcard.suite.shipped_mixes import SHIPPED, shipped
from loomcard.validation.findings import FindingsError, nearest
from loomcard.validation.json_schema import published
from loomcard.validation.reading import Document, read
from loomcard.validation.structure import check_header, check_mapping, drop_empty, message_of

_LONGEST_NAME: Final = 60
_NAME: Final = r"^[A-Za-z0-9_.-]+$"


def _name(text: str) -> str:
    if re.fullmatch(_NAME, text):
        return text
    raise PydanticCustomError("name", "expected a name of letters, digits, dots, _ and -")


Name = Annotated[str, AfterValidator(_name), Field(json_schema_extra={"pattern": _NAME})]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class MixJob(_Model):
    """One entry: a benchmark at a size, once or several times."""

    benchmark: Name = Field(description="Its name, see `loomcard suite list`.", examples=["sort"])
    size: Literal["tiny", "small", "large"] = Field("tiny", description="How much it works.")
    queue: Name | None = Field(None, description="A leaf queue. Default: the cluster's.")
    user: Name | None = Field(None, description="Who submits. Default: who runs the suite.")
    tags: list[Name] = Field(
        [], description="Reports tell classes apart by tags. Its size and its name are tags always."
    )
    count: int = Field(1, ge=1, le=1000, description="How often it comes.")
    executors: int | None = Field(
        None, ge=1, le=1000, description="How many a Spark job asks for. Default: 2."
    )
    profile: Name | None = Field(
        None, description="Of a MapReduce job, as `loomcard submit --profile`. Default: the mix's."
    )
    at_s: float | None = Field(
        None, ge=0, description="When it (first) comes. Default: `every_s` after the job before."
    )


class ClusterSize(_Model):
    """The embedded cluster of the mix; a compose cluster is used as it was started."""

    nodes: int = Field(3, ge=1, le=64, description="NodeManagers.")
    node_memory_mb: int = Field(2048, ge=640, description="Of each.")
    node_vcores: int = Field(8, ge=1, description="Of each.")


class Mix(_Model):
    """Jobs with their arrivals."""

    version: Literal[1] = Field(description="The version of this format.", examples=[1])
    kind: Literal["mix"] = Field("mix", description="What the file is.")
    name: str = Field("", description="Its name in reports. Default: the file's.")
    description: str = Field("", description="What it is to show.")
    seed: int = Field(1, ge=0, description="Of the inputs' data, the same in every repetition.")
    every_s: float = Field(0.0, ge=0, description="Between arrivals that no job states.")
    shuffled: bool = Field(
        False, description="Whether each repetition deals the jobs out to the arrivals again."
    )
    submitters: int = Field(
        4, ge=1, le=64, description="Clients at a time; a job that finds none free waits for one."
    )
    profile: Name | None = Field(
        None,
        description="Properties that a policy wants of MapReduce jobs, under every policy alike.",
        examples=["coupling"],
    )
    limit_s: int = Field(3600, ge=10, description="After which what still runs is killed.")
    warm_up: list[Name] = Field(
        [], description="Benchmarks that run at tiny before each run, and are not measured."
    )
    cluster: ClusterSize = Field(
        default_factory=lambda: ClusterSize.model_validate({}),
        description="Of the embedded cluster.",
    )
    jobs: list[MixJob] = Field(min_length=1, description="In the order of their arrivals.")


@dataclass(frozen=True)
class Arrival:
    """One job of a run. `id` is its name in reports and in YARN."""

    id: str
    at_ms: int
    job: Job
    queue: str = ""
    user: str = ""
    tags: tuple[str, ...] = ()
    executors: int = EXECUTORS
    profile: str = ""

    @property
    def definitions(self) -> dict[str, str]:
        """The Hadoop properties of its profile."""
        if not self.profile:
            return {}
        reduces = self.job.benchmark.numbers(self.job.size)["reduces"]
        return profile_properties(self.profile, reduces)


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of mixes."""
    return published(Mix.model_json_schema(), ["version", "kind", "jobs"])


def find(what: str, beside: Path = Path()) -> Path:
    """Return the file of a mix, by path or by the name of one that ships. Raises SuiteError."""
    for file in (beside / what, SHIPPED / f"{what}.yml"):
        if file.is_file():
            return file
    if Path(what).suffix or len(Path(what).parts) > 1:
        raise SuiteError(f"{beside / what}: no such file", "check the path")
    hint = nearest(what, [*BENCHMARKS, *shipped()])
    raise SuiteError(f"no benchmark or mix {what!r}", f"{hint} A mix of your own: name its file")


def read_mix(file: Path) -> Mix:
    """Return the mix in a file. Raises FindingsError with all errors."""
    document = read(file.read_bytes().decode("utf-8-sig"))
    if not check_mapping(document):
        raise FindingsError(document.findings).named(str(file))
    drop_empty(document, lambda _: False, "cluster")
    check_header(document, "mix", "a file")
    mix = None
    try:
        mix = Mix.model_validate(document.data)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _report(document, detail)
    if mix is not None:
        _check_benchmarks(mix, document)
        _check_profiles(mix, document)
    if mix is None or document.findings:
        raise FindingsError(document.findings).named(str(file))
    return mix.model_copy(update={"name": mix.name or file.stem})


def one_each(names: list[str], size: Literal["tiny", "small", "large"]) -> Mix:
    """Return a mix of benchmarks by name, each once, all at the same time. Its name depends on the
    benchmarks. Raises SuiteError.
    """
    jobs = [{"benchmark": benchmark(name).name, "size": size} for name in names]
    name = "-".join([*names, size])
    if len(name) > _LONGEST_NAME:
        name = f"{size}-{len(jobs)}-{sha256(name.encode()).hexdigest()[:8]}"
    return Mix.model_validate({"version": 1, "name": name, "jobs": jobs})


def arrivals(mix: Mix, repetition: int) -> list[Arrival]:
    """Return the jobs of one repetition, by time."""
    listed = [each for each in mix.jobs for _ in range(each.count)]
    times: list[float] = []
    for entry in mix.jobs:
        for index in range(entry.count):
            after = times[-1] + mix.every_s if times else 0.0
            times.append(after if index or entry.at_s is None else entry.at_s)
    if mix.shuffled:
        Random(f"{mix.name} {repetition}").shuffle(listed)  # noqa: S311 - no secret
    width = len(str(len(listed)))
    found = [
        Arrival(
            id=f"{number:0{width}}-{entry.benchmark}",
            at_ms=round(at_s * 1000),
            job=Job(benchmark(entry.benchmark), entry.size, mix.seed),
            queue=entry.queue or "",
            user=entry.user or "",
            tags=tuple(dict.fromkeys([*entry.tags, entry.size, entry.benchmark])),
            executors=entry.executors or EXECUTORS,
            profile=_profile(mix, entry),
        )
        for number, (entry, at_s) in enumerate(zip(listed, times, strict=True), 1)
    ]
    return sorted(found, key=lambda each: (each.at_ms, each.id))


def _profile(mix: Mix, entry: MixJob) -> str:
    is_spark = BENCHMARKS[entry.benchmark].framework == "spark"
    return "" if is_spark else entry.profile or mix.profile or ""


def _check_profiles(mix: Mix, document: Document) -> None:
    named: list[tuple[tuple[str | int, ...], str | None]] = [(("profile",), mix.profile)]
    for index, entry in enumerate(mix.jobs):
        place: tuple[str | int, ...] = ("jobs", index, "profile")
        named.append((place, entry.profile))
        known = BENCHMARKS.get(entry.benchmark)
        if entry.profile and known is not None and known.framework == "spark":
            message = f"{entry.benchmark} is a Spark job, and profiles are for MapReduce jobs"
            document.report(place, message, "leave the key out", at_key=True)
    for place, name in named:
        if name is not None and name not in PROFILES:
            document.report(place, f"no profile {name!r}", nearest(name, PROFILES))


def _check_benchmarks(mix: Mix, document: Document) -> None:
    for index, entry in enumerate(mix.jobs):
        if entry.benchmark not in BENCHMARKS:
            message = f"no benchmark {entry.benchmark!r}"
            place = ("jobs", index, "benchmark")
            document.report(place, message, nearest(entry.benchmark, BENCHMARKS))
        elif entry.executors and BENCHMARKS[entry.benchmark].framework != "spark":
            message = f"{entry.benchmark} is a MapReduce job, and has no executors"
            hint = "leave the key out; a MapReduce job has as many maps as its size has files"
            document.report(("jobs", index, "executors"), message, hint, at_key=True)
    for index, name in enumerate(mix.warm_up):
        if name not in BENCHMARKS:
            hint = nearest(name, BENCHMARKS)
            document.report(("warm_up", index), f"no benchmark {name!r}", hint)


def _report(document: Document, detail: ErrorDetails) -> None:
    place = tuple(detail["loc"])
    if detail["type"] == "missing":
        document.report(place[:-1], f"the key {place[-1]!r} is missing", _example(str(place[-1])))
    elif detail["type"] == "extra_forbidden":
        known: dict[int, type[_Model]] = {1: Mix, 2: ClusterSize}
        hint = nearest(str(place[-1]), known.get(len(place), MixJob).model_fields)
        document.report(place, f"unknown key {place[-1]!r}", hint, at_key=True)
    else:
        document.report(place, message_of(detail))


def _example(key: str) -> str:
    examples = {"jobs": "jobs: [{benchmark: wordcount}]", "benchmark": "benchmark: wordcount"}
    return f"for example {examples[key]}" if key in examples else ""
