"""TPC-H on Spark as profiled on CloudLab by the Erdos project: stages, tasks and mean task times of
22 queries at four scales and four limits of cores, and each query's graph of stages.

Recorded is the mean of a stage's task times; a task runs that mean times exp(``noise`` * z -
``noise`` ** 2 / 2), z standard normal, so that the mean stays. Task sizes and arrivals are not
recorded: ``memory_mb``, ``vcores`` and ``arrivals`` state them.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from math import exp
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import msgspec
import yaml
from pydantic import Field

from loomcard.workload.distributions import Value, resolve
from loomcard.workload.readers.source import Faults, Source, Traced
from loomcard.workload.scenario import Executors, ScenarioApplication, Stage

Query = Annotated[int, Field(ge=1, le=22)]
Whole = Annotated[int, Field(ge=0)]


class TpchTrace(Source):
    """The profiles, and which queries arrive when."""

    format: Literal["tpch"] = Field(description="What the file is.", examples=["tpch"])
    scale: Literal[50, 100, 250, 500] = Field(100, description="GB of data.", examples=[100])
    cores: Literal[50, 75, 100, 200] = Field(50, description="Profiled with.", examples=[50])
    count: Annotated[int, Field(ge=1)] = Field(22, description="How many queries.", examples=[100])
    queries: Annotated[list[Query], Field(min_length=1)] = Field(
        list(range(1, 23)), description="Which; each as often as any.", examples=[[1, 5, 9]]
    )
    weights: list[Annotated[float, Field(ge=0)]] | None = Field(
        None, description="One a query: draw them, so likely.", examples=[[3, 1, 1]]
    )
    arrivals: Value = Field(
        0, description="From one submission to the next, in ms.", examples=[{"constant": 60000}]
    )
    noise: Annotated[float, Field(ge=0)] = Field(
        0.2, description="Deviation of the logarithm of a task's time.", examples=[0.2]
    )
    memory_mb: Whole = Field(2048, description="Of a task.", examples=[2048])
    vcores: Whole = Field(1, description="Of a task.", examples=[1])
    executors: Whole = Field(
        0,
        description="Above 0: kind spark with so many executors of four tasks each, else dag.",
        examples=[10],
    )

    def read(self, file: Path, seed: int) -> Traced:
        """Return ``count`` queries; ``file`` is the profiles, with queries.yaml beside it, or the
        folder of both.
        """
        profiles = file / "cloudlab_22query_tpch_profiles.json" if file.is_dir() else file
        graphs = _graphs(profiles.with_name("queries.yaml"))
        stages = _profiles(profiles, self.scale, self.cores, graphs)
        rng, at, found = Random(f"{seed}/tpch"), 0.0, []  # noqa: S311
        for number, query in enumerate(self._order(rng), 1):
            name = f"q{query}-{number}"
            found.append(self._application(name, round(at), query, stages[query], seed))
            at += max(0.0, resolve(self.arrivals, rng))
        return Traced(found)

    def _order(self, rng: Random) -> list[int]:
        if self.weights is not None:
            weights = [*self.weights, *[0.0] * len(self.queries)][: len(self.queries)]
            return rng.choices(self.queries, weights if any(weights) else None, k=self.count)
        rounds = -(-self.count // len(self.queries))
        return [q for _ in range(rounds) for q in rng.sample(self.queries, len(self.queries))][
            : self.count
        ]

    def _application(
        self,
        name: str,
        at: int,
        query: int,
        profile: list[tuple[int, int, float, list[int]]],
        seed: int,
    ) -> ScenarioApplication:
        stages = []
        for index, (stage, tasks, mean, after) in enumerate(profile):
            normal = Random(f"{seed}/{name}/{stage}").gauss  # noqa: S311
            shift = -self.noise * self.noise / 2
            times = [
                max(1, round(mean * exp(self.noise * normal(0, 1) + shift))) for _ in range(tasks)
            ]
            size = (self.memory_mb, self.vcores)
            stages.append(Stage(f"s{stage}", size, 20, index + 1, times, after))
        held = None
        if self.executors:
            held = Executors(self.executors, (4 * self.memory_mb, max(1, 4 * self.vcores)))
        kind = "spark" if held else "dag"
        return ScenarioApplication(
            name, at, "root.default", "tpch", kind, stages, [f"q{query}"], executors=held
        )


def _graphs(file: Path) -> dict[int, dict[int, list[int]]]:
    """Return by query and stage the stages that it follows."""
    faults = Faults(file)
    found: dict[int, dict[int, list[int]]] = {}
    try:
        for graph in yaml.safe_load(file.read_text(encoding="utf-8"))["graphs"]:
            after: dict[int, list[int]] = {stage["name"]: [] for stage in graph["graph"]}
            for stage in graph["graph"]:
                for child in stage.get("children", []):
                    after[child].append(stage["name"])
            found[int(graph["name"].removeprefix("Q"))] = after
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        faults.add(line, f"not YAML: {error.problem}")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        faults.add(
            1, f"not the graphs of the queries: {error!r}", "graphs: [{name: Q1, graph: ...}]"
        )
    faults.check()
    return found


def _profiles(
    file: Path, scale: int, cores: int, graphs: dict[int, dict[int, list[int]]]
) -> dict[int, list[tuple[int, int, float, list[int]]]]:
    """Return by query: (stage, tasks, mean ms, places of the stages it follows), parents first."""
    faults = Faults(file)
    text = file.read_bytes()
    found: dict[int, list[tuple[int, int, float, list[int]]]] = {}
    query = 0
    try:
        data: dict[str, Any] = msgspec.json.decode(text)
        for query, after in graphs.items():
            rows = {
                row["stage_id"]: row for row in data[f"tpch_q{query}_{scale}g_maxCores_{cores}"]
            }
            order = [s for s in TopologicalSorter(after).static_order() if s in rows]
            found[query] = [
                (
                    stage,
                    int(rows[stage]["num_tasks"]),
                    float(rows[stage]["average_runtime_ms"]),
                    sorted(order.index(parent) for parent in after[stage] if parent in rows),
                )
                for stage in order
            ]
    except msgspec.DecodeError as error:
        faults.add(1, f"not JSON: {error}")
    except (KeyError, TypeError, ValueError, CycleError) as error:
        faults.add(_line(text, f'"tpch_q{query}_'), f"query {query} cannot be read: {error!r}")
    faults.check()
    return found


def _line(text: bytes, words: str) -> int:
    return text[: max(0, text.find(words.encode()))].count(b"\n") + 1
