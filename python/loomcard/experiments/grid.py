"""The cells of an experiment: policies x workloads x parameters x seeds, each one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from loomcard.experiments.expectations import Scalar
from loomcard.experiments.inputs import Choice
from loomcard.results.run_folder import cell_name
from loomcard.workload import load
from loomcard.workload.scenario import Scenario

WORKLOAD, POLICY = "workload.", "policy."


@dataclass(frozen=True)
class Grid:
    """What to run: every combination of these, on one engine. ``workloads``: by name, a file
    or a scenario that has been drawn already.
    """

    policies: Sequence[Choice]
    workloads: Mapping[str, Path | Scenario]
    vary: Mapping[str, Sequence[Scalar]]
    seeds: Sequence[int]
    engine: str
    given: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)  # by policy's source


@dataclass(frozen=True)
class Cell:
    """One run. ``vary`` and what this policy is ``given`` go to the workload, ``options`` to the
    policy; ``config`` is the compiled configuration and ``text`` its YAML (both None for stock
    YARN's schedulers). ``queues``: the compiled configuration whose queues a stock scheduler gets.
    """

    index: int
    policy: str
    source: str
    text: str | None
    config: dict[str, Any] | None
    options: dict[str, Scalar]
    workload: str
    file: Path | Scenario
    vary: dict[str, Scalar]
    seed: int
    engine: str
    queues: dict[str, Any] | None = None
    given: dict[str, Scalar] = field(default_factory=dict)
    home: Path = Path()  # where the configuration's file lies

    @property
    def changes(self) -> dict[str, Scalar]:
        """Return the values that replace those of the workload."""
        return self.vary | self.given

    @property
    def parameters(self) -> dict[str, Scalar]:
        """Return what was varied, under the names that the experiment gave."""
        workload = {WORKLOAD + name: value for name, value in self.vary.items()}
        return workload | {POLICY + name: value for name, value in self.options.items()}

    @property
    def folder(self) -> str:
        """Return the name of the cell's folder, which no other cell has."""
        return cell_name(self.policy, self.workload, self.seed, self.engine, self.parameters)

    def drawn(self) -> Scenario:
        """Return the workload with its random values sampled. Raises FindingsError."""
        if isinstance(self.file, Scenario):
            return self.file
        return load(self.file, seed=self.seed, vary=self.changes)


def cells(grid: Grid) -> list[Cell]:
    """Return every cell, in the order of the experiment: policies first, seeds last. A ``policy.x``
    is varied for the policies that have such an option; the others run once without it. Raises
    InputError if a configuration is wrong.
    """
    found: list[Cell] = []
    for choice in grid.policies:
        values = grid.given.get(choice.source, {})
        given = {name.removeprefix(WORKLOAD): value for name, value in values.items()}
        for options in _combinations(grid.vary, POLICY, choice):
            config, text = choice.compiled(options), choice.varied(options)
            for workload, file in grid.workloads.items():
                for vary in _combinations(grid.vary, WORKLOAD):
                    for seed in grid.seeds:
                        cell = Cell(
                            len(found), choice.name, choice.source, text, config, options,
                            workload, file, vary, seed, grid.engine,
                            _queues_for(choice, grid.policies), given, choice.folder,
                        )  # fmt: skip
                        found.append(cell)
    return found


def _queues_for(choice: Choice, among: Sequence[Choice]) -> dict[str, Any] | None:
    """Return the configuration whose queues a stock scheduler gets: of the policy of its name,
    otherwise of the first of ours, so that both are compared on the same queues.
    """
    if choice.text is not None:
        return None
    ours = [other.compiled({}) or {} for other in among if other.text is not None]
    name = choice.source.removeprefix("stock:")
    alike = [config for config in ours if config["queues"][0]["policy"] == name]
    return next(iter([*alike, *ours]), None)


def unknown_options(grid: Grid) -> list[str]:
    """Return the ``policy.x`` that no policy of the grid has."""
    options = [name for name in grid.vary if name.startswith(POLICY)]
    return [
        name
        for name in options
        if not any(choice.takes(name.removeprefix(POLICY)) for choice in grid.policies)
    ]


def _combinations(
    vary: Mapping[str, Sequence[Scalar]], prefix: str, choice: Choice | None = None
) -> Iterator[dict[str, Scalar]]:
    names = [name.removeprefix(prefix) for name in vary if name.startswith(prefix)]
    taken = [name for name in names if choice is None or choice.takes(name)]
    for values in product(*(vary[prefix + name] for name in taken)):
        yield dict(zip(taken, values, strict=True))
