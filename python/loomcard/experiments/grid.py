"""An experiment -> its cells: policies x workloads x parameters x seeds, each a run of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from loomcard.experiments.expectations import Scalar
from loomcard.experiments.inputs import Choice

WORKLOAD, POLICY = "workload.", "policy."


@dataclass(frozen=True)
class Grid:
    """What is to be run: every combination of these, on one engine."""

    policies: Sequence[Choice]
    workloads: Mapping[str, Path]
    vary: Mapping[str, Sequence[Scalar]]
    seeds: Sequence[int]
    engine: str
    given: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)  # by policy's source


@dataclass(frozen=True)
class Cell:
    """One run. ``vary`` and what this policy is ``given`` go to the workload, ``options`` to the
    policy; ``config`` is the compiled
    configuration and ``text`` its YAML (both None for stock YARN's schedulers). ``queues``: the
    compiled configuration whose queues a stock scheduler gets.
    """

    index: int
    policy: str
    source: str
    text: str | None
    config: dict[str, Any] | None
    options: dict[str, Scalar]
    workload: str
    file: Path
    vary: dict[str, Scalar]
    seed: int
    engine: str
    queues: dict[str, Any] | None = None
    given: dict[str, Scalar] = field(default_factory=dict)
    home: Path = Path()  # where the configuration's file lies

    @property
    def changes(self) -> dict[str, Scalar]:
        """What is put into the workload in place of its own values."""
        return self.vary | self.given

    @property
    def parameters(self) -> dict[str, Scalar]:
        """What was varied, under the names that the experiment gave."""
        workload = {WORKLOAD + name: value for name, value in self.vary.items()}
        return workload | {POLICY + name: value for name, value in self.options.items()}

    @property
    def folder(self) -> str:
        """The name of the cell's folder: to be read by people, and no other cell's."""
        who = [self.policy, self.workload, self.seed, self.engine, self.parameters]
        mark = sha256(msgspec.json.encode(who, order="deterministic")).hexdigest()[:8]
        said = [self.policy, self.workload]
        said += [f"{name.rpartition('.')[2]}={value}" for name, value in self.parameters.items()]
        return re.sub(r"[^A-Za-z0-9=.-]+", "-", "_".join(said))[:120] + f"_s{self.seed}-{mark}"


def cells(grid: Grid) -> list[Cell]:
    """Every cell, in the order of the experiment: policies first, seeds last. A ``policy.x`` is
    varied for the policies that have such an option; the others run once without it. Raises
    InputError where a configuration is wrong.
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
    """The configuration whose queues a stock scheduler gets: of the policy that bears its name,
    else of the first of ours, so that both are compared on the same queues.
    """
    if choice.text is not None:
        return None
    ours = [other.compiled({}) or {} for other in among if other.text is not None]
    name = choice.source.removeprefix("stock:")
    alike = [config for config in ours if config["queues"][0]["policy"] == name]
    return next(iter([*alike, *ours]), None)


def unknown_options(grid: Grid) -> list[str]:
    """The ``policy.x`` that no policy of the grid has."""
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
