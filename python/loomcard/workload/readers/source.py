"""The input and the output of every reader of traces."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from loomcard.validation.findings import Finding, FindingsError
from loomcard.workload.distributions import Part
from loomcard.workload.scenario import ScenarioApplication, ScenarioNode

TYPES = ["memory_mb", "vcores"]
_MOST = 20


@dataclass
class Traced:
    """The content of a trace: applications by time of submission, sizes in the order of ``types``
    and as recorded, and the machines it ran on, if it lists any.
    """

    applications: list[ScenarioApplication]
    nodes: list[ScenarioNode] = field(default_factory=list)
    types: list[str] = field(default_factory=lambda: list(TYPES))


class Source(Part):
    """The place of a trace, and the options of all formats."""

    file: str = Field(
        min_length=1,
        description="The trace, relative to this file; $NAME/... expands a variable.",
        examples=["$LOOMCARD_TRACES/swim/FB-2009_samples_24_times_1hr_0.tsv"],
    )
    queue: str | None = Field(
        None, description="Put all applications into this queue.", examples=["root.default"]
    )
    stretch: Annotated[float, Field(gt=0)] = Field(
        1.0, description="Submission times are multiplied by it.", examples=[0.5]
    )
    first: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Take only so many applications from the start.", examples=[1000]
    )
    replicas: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Nodes drawn as wishes for each task of a stage that follows no other and has"
        " none recorded.",
        examples=[3],
    )

    def read(self, file: Path, seed: int) -> Traced:
        """Return what the trace in ``file`` contains; random values, if the rule has any, are
        seeded by ``seed``. Raises FindingsError that names the file's lines, and OSError.
        """
        raise NotImplementedError


class Faults:
    """The errors in the lines of a trace."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._findings: list[Finding] = []

    def add(self, line: int, message: str, hint: str = "") -> None:
        """Note an error. After twenty, the file probably has another format, and reading ends."""
        self._findings.append(Finding(line, 1, "", message, hint, str(self._file)))
        if len(self._findings) >= _MOST:
            self.check()

    def check(self) -> None:
        """Raise FindingsError if anything was noted."""
        if self._findings:
            raise FindingsError(self._findings)
