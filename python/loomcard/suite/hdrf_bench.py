"""The bench of H-DRF: CPU microseconds of one whole decision, by applications, queues and shapes.

A decision is one container that ends and the policy's choice of what follows it, in a full cluster
of ten servers: everything that ``decide`` does, but for the records that cross the wire.
docs/bench.md says what is measured. Run it with `make bench-hdrf`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import lcm
from random import Random
from statistics import median
from time import process_time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from loomcard.config import compile_setup
from loomcard.model import records as r
from loomcard.model.resource import add_all, subtract_all
from loomcard.policies.session import Session
from loomcard.simulator import simulate
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

SERVERS = 10
TASKS = 3
"""An application holds about so many."""
SIZES = ((1024, 1), (2048, 1), (1024, 2))
"""Of the tasks of a simulation."""
ASKED = 1_000_000
"""What an application asks for: more than it ever gets."""
DECISIONS = 150
"""A repeat has so many."""


@dataclass(frozen=True)
class Cell:
    """A cluster: its applications, its leaf queues, how many shapes of task there are, and how many
    levels of queues.
    """

    applications: int
    queues: int = 10
    shapes: int = 3
    depth: int = 1


CELLS = (
    Cell(100), Cell(1_000), Cell(10_000), Cell(1_000, 100), Cell(1_000, 1_000), Cell(300, 10, 3),
    Cell(300, 10, 30), Cell(1_000, 100, 3, 2),
)  # fmt: skip
CELLS_QUICK = (Cell(100), Cell(1_000), Cell(100, 100), Cell(100, 10, 30))


class Load:
    """A full cluster of ``cell``, with churn by a seeded generator."""

    def __init__(self, cell: Cell, seed: int = 1) -> None:
        self.random = Random(seed)  # noqa: S311 - no secret
        paths = list(_paths(cell))
        turn = lcm(cell.queues, cell.shapes)  # so that each queue sees all shapes in time
        kinds = [(n + n // turn) % cell.shapes for n in range(cell.applications)]
        self.size = [(1 + kind, 1 + kind % 2) for kind in kinds]
        each = [sum(s[r] for s in self.size) * TASKS // SERVERS + 1 for r in (0, 1)]
        text = json.dumps({"version": 1, "policy": "hdrf", "queues": _queues(paths)})
        compiled = compile_setup(text, "bench.yml")
        numbers = {spec["path"]: number for number, spec in enumerate(compiled["queues"])}
        settings = {"round_containers": 10**6, "saved_every_ms": 10**9}
        types = ["memory_mb", "vcores"]
        self.session = Session(r.Hello(r.SCHEMA, 1, "bench", "3.4.2", types, [], settings))
        self.running: list[tuple[int, tuple[int, int]]] = []  # number and size
        self.pending = ASKED * cell.applications
        self.free = [amount * SERVERS for amount in each]
        self.now, self.rounds, self.records, self.next = 0, 0, 0, 1
        self.waiting: list[Any] = [
            r.Snapshot(0, "start"), r.Setup(0, 1, compiled), r.SavedState(0, {}),
            *(r.NodeAdded(0, n, f"n{n}:1", "/r", tuple(each), "", f"n{n}")
              for n in range(1, SERVERS + 1)),
        ]  # fmt: skip
        for number, amounts in enumerate(self.size, 1):
            self.waiting += _application(number, numbers[paths[number % len(paths)]], amounts)
        while self.decide():
            pass

    def decide(self) -> int:
        """One batch and its plan, which is carried out; how many containers it started."""
        self.now, self.rounds = self.now + 1, self.rounds + 1
        applications, free = len(self.size), tuple(self.free)
        check = r.Check(SERVERS, applications, len(self.running), self.pending, free)
        records, self.waiting = self.waiting, []
        batch = r.Batch(self.rounds, self.records + 1, self.now, check, records)
        self.records += len(records)
        plan = self.session.answer(batch)
        assert plan.resync is None, plan.resync
        assert not plan.faults, plan.faults
        sizes = [self.size[d.attempt - 1] for d in plan.decisions if isinstance(d, r.Allocate)
                 for _ in range(d.count)]  # fmt: skip
        numbers = list(range(self.next, self.next + len(sizes)))
        self.running += zip(numbers, sizes, strict=True)
        self.next += len(sizes)
        self.pending -= len(sizes)
        for size in sizes:
            subtract_all([self.free], size)
        if sizes:
            self.waiting.append(r.Outcomes(self.now, self.rounds, numbers[0], numbers, []))
        return len(sizes)

    def churn(self, ends: int) -> float:
        """So many containers end, one after the other; CPU microseconds of one decision."""
        spent = 0.0
        tree: Any = self.session.tree
        run = tree.run

        def timed(*given: Any) -> Any:
            nonlocal spent
            began = process_time()
            draft = run(*given)
            spent += process_time() - began
            return draft

        tree.run = timed
        for _ in range(ends):
            pick = self.random.randrange(len(self.running))
            self.running[pick], self.running[-1] = self.running[-1], self.running[pick]
            number, size = self.running.pop()
            add_all([self.free], size)
            self.waiting.append(r.ContainerCompleted(self.now, number, "completed", 0))
            self.decide()
        tree.run = run
        return spent / ends * 1e6


def _application(number: int, queue: int, size: tuple[int, int]) -> list[Any]:
    id_ = f"application_1_{number:06d}"
    return [
        r.ApplicationAdded(0, number, id_, queue, "user", "", "", [], 0, 0, {}),
        r.AttemptAdded(0, number, number, 1, True),
        r.AttemptRegistered(0, number),
        r.AskChanged(0, number, 20, 0, False, size, ASKED, {}, {}, True, "", []),
    ]


def _paths(cell: Cell) -> Iterator[str]:
    """Of the leaf queues: in a row, or below as many parents as each has children."""
    if cell.depth == 1:
        yield from (f"root.q{n}" for n in range(cell.queues))
    else:
        side = round(cell.queues**0.5)
        yield from (f"root.p{n // side}.q{n}" for n in range(side * side))


def _queues(paths: list[str]) -> Mapping[str, Any]:
    root: dict[str, Any] = {}
    for path in paths:
        below = root
        *above, leaf = path.split(".")[1:]
        for name in above:
            below = below.setdefault(name, {"queues": {}})["queues"]
        below[leaf] = {}
    return root


def simulated(policy: str, applications: int) -> float:
    """CPU microseconds a container of a whole simulation, simulator included: 100 nodes kept full
    by so many applications in ten queues, 20,000 tasks or two an application.
    """
    random = Random(1)  # noqa: S311 - no secret
    inner = f"{{policy: {policy}}}" if policy == "drf" else "{}"
    queues = ", ".join(f"q{number}: {inner}" for number in range(10))
    compiled = compile_setup(f"version: 1\npolicy: {policy}\nqueues: {{{queues}}}\n", "bench.yml")
    tasks = max(2, 20_000 // applications)
    given = []
    for number in range(applications):
        lengths = [random.randint(10_000, 30_000) for _ in range(tasks)]
        stage = Stage("s", SIZES[number % len(SIZES)], 20, 1, lengths)
        queue = f"root.q{number % 10}"
        given.append(ScenarioApplication(f"a{number}", 0, queue, "user", "plain", [stage]))
    nodes = [ScenarioNode(f"n{number}", "/r", (32_768, 32)) for number in range(100)]
    types = ["memory_mb", "vcores"]
    scenario = Scenario("bench", 1, types, nodes, given, heartbeat_ms=0, am_heartbeat_ms=0)
    began = process_time()
    record = simulate(scenario, compiled, policy=policy)
    return (process_time() - began) / len(record.containers) * 1e6


def measure(cells: tuple[Cell, ...], repeats: int, decisions: int) -> list[dict[str, Any]]:
    """All cells, one after the other."""
    found = []
    for cell in cells:
        load = Load(cell)
        load.churn(decisions)
        each = [load.churn(decisions) for _ in range(repeats)]
        spread = {"min": min(each), "median": median(each), "max": max(each)}
        found.append(asdict(cell) | {"us": {k: round(v) for k, v in spread.items()}})
    return found


def table(cells: list[dict[str, Any]]) -> Table:
    """Minimum / median / maximum over repeats."""
    result = Table(title="CPU microseconds a decision: minimum / median / maximum over repeats")
    for name in ("applications", "queues", "shapes", "levels", "us"):
        result.add_column(name, justify="right")
    for cell in cells:
        keys = ("applications", "queues", "shapes", "depth")
        words = [f"{cell[key]:,}" for key in keys]
        result.add_row(*words, " / ".join(f"{v:,}" for v in cell["us"].values()))
    return result


def main(
    quick: Annotated[bool, typer.Option(help="small clusters alone: half a minute")] = False,
    repeats: Annotated[int, typer.Option(min=1)] = 3,
    simulations: Annotated[bool, typer.Option(help="whole simulations, too")] = True,
) -> None:
    """Print a table, and one line of JSON at the end."""
    cells = measure(CELLS_QUICK if quick else CELLS, repeats, DECISIONS)
    whole = [
        {"policy": name, "applications": count, "us_a_container": round(simulated(name, count))}
        for count in ([100] if quick else [100, 1_000, 10_000])
        for name in ("hdrf", "drf", "fair")
        if simulations
    ]
    Console().print(table(cells))
    print(json.dumps({"decisions": cells, "simulations": whole}))


if __name__ == "__main__":
    typer.run(main)
