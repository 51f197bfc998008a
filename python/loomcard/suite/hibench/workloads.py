"""The workloads of HiBench that can be run, and what each needs besides Hadoop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from loomcard.suite.benchmarks import SuiteError

Framework = Literal["hadoop", "spark"]
FRAMEWORKS: Final[tuple[Framework, ...]] = ("hadoop", "spark")
SCALES: Final = ("tiny", "small", "large", "huge", "gigantic", "bigdata")
"""The workloads that HiBench contains."""


@dataclass(frozen=True)
class Workload:
    """One workload by HiBench's name. `needs`: by framework, programs and jars beside Hadoop's or
    Spark's own.
    """

    name: str
    frameworks: tuple[Framework, ...]
    prepares: tuple[str, ...] = ()
    hadoop: tuple[str, ...] = ()
    spark: tuple[str, ...] = ("sparkbench",)

    @property
    def path(self) -> str:
        """Its folder below bin/workloads."""
        return self.name.replace(".", "/")

    def needs(self, framework: Framework) -> tuple[str, ...]:
        """Return what must exist before it runs on the framework."""
        return (*self.prepares, *(self.hadoop if framework == "hadoop" else self.spark))


_BOTH: Final[tuple[Framework, ...]] = ("hadoop", "spark")
_SPARK: Final[tuple[Framework, ...]] = ("spark",)
_ALL: Final = (
    Workload("micro.wordcount", _BOTH),
    Workload("micro.sort", _BOTH),
    Workload("micro.terasort", _BOTH),
    Workload("ml.kmeans", _BOTH, ("autogen",), ("mahout",)),
    Workload("ml.lr", _SPARK, ("sparkbench",)),
    Workload("ml.bayes", _BOTH, ("autogen", "sparkbench"), ("mahout",)),
    Workload("sql.scan", _BOTH, ("autogen",), ("hive",)),
    Workload("sql.join", _BOTH, ("autogen",), ("hive",)),
    Workload("websearch.pagerank", _BOTH, ("autogen",), ("pegasus",)),
    Workload("graph.nweight", _SPARK, ("sparkbench", "features")),
)
WORKLOADS: Final = {each.name: each for each in _ALL}


def workload(named: str) -> Workload:
    """Return a workload by its name, such as micro.sort, or the last part of it. Raises
    SuiteError.
    """
    for each in _ALL:
        if named in (each.name, each.name.partition(".")[2]):
            return each
    raise SuiteError(f"no workload {named!r} of HiBench", f"there are {', '.join(WORKLOADS)}")
