"""The bench of H-DRF: CPU microseconds of one whole decision, by applications, queues and shapes.

A decision is one container that ends and the policy's choice of what follows it, in a full cluster
of ten servers: everything that ``decide`` does, except for the records that cross the wire. In some
cells a second passes between two decisions, so that states are reported and preemption looks.
docs/benchmarks/speed.md says what is measured. Run it with `make bench-hdrf`.
"""

from __future__ import annotations

import json
from collections import Counter
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

from loomcard.config import compile_config
from loomcard.engine.session import Session
from loomcard.model.resource import add_all, subtract_all
from loomcard.simulator import simulate
from loomcard.wire import messages as r
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

SERVERS = 10
TASKS = 3
"""An application has about this many running tasks."""
SIZES = ((1024, 1), (2048, 1), (1024, 2))
"""Sizes of the tasks of a simulation."""
ASKED = 1_000_000
"""What an application asks for, which is more than it ever gets."""
DECISIONS = 150
"""Number of decisions per repeat."""
WATCHED = {"preempt_after_ms": 1_000, "preempt_grace_ms": 1_000, "preempt_cooldown_ms": 0}
"""Options of the cells in which preemption looks."""
NAP_EVERY, NAPPING = 10, 3
"""In those cells, once in ``NAP_EVERY`` decisions, ``NAPPING`` applications give back all their
containers and ask again a second later: then they are starved.
"""


@dataclass(frozen=True)
class Cell:
    """A cluster: its applications, its leaf queues, the number of shapes of task, and the number of
    levels of queues. ``watched``: decisions are a second apart, not a millisecond, and preemption
    is on.
    """

    applications: int
    queues: int = 10
    shapes: int = 3
    depth: int = 1
    watched: bool = False


CELLS = (
    Cell(100), Cell(1_000), Cell(10_000), Cell(1_000, 100), Cell(1_000, 1_000), Cell(300, 10, 3),
    Cell(300, 10, 30), Cell(1_000, 100, 3, 2), Cell(100, watched=True), Cell(1_000, watched=True),
    Cell(1_000, 100, watched=True), Cell(300, 10, 30, watched=True),
)  # fmt: skip
CELLS_QUICK = (
    Cell(100), Cell(1_000), Cell(100, 100), Cell(100, 10, 30), Cell(100, watched=True),
)  # fmt: skip


class Load:
    """A full cluster of ``cell``, with churn by a seeded generator."""

    def __init__(self, cell: Cell, seed: int = 1) -> None:
        self.cell = cell
        self.random = Random(seed)  # noqa: S311 - no secret
        paths = list(_paths(cell))
        turn = lcm(cell.queues, cell.shapes)  # so that each queue sees all shapes in time
        kinds = [(n + n // turn) % cell.shapes for n in range(cell.applications)]
        self.size = [(1 + kind, 1 + kind % 2) for kind in kinds]
        each = [sum(s[r] for s in self.size) * TASKS // SERVERS + 1 for r in (0, 1)]
        config = {"version": 1, "policy": "hdrf", "options": WATCHED if cell.watched else {}}
        compiled = compile_config(json.dumps(config | {"queues": _queues(paths)}), "bench.yml")
        numbers = {spec["path"]: number for number, spec in enumerate(compiled["queues"])}
        settings = {"round_containers": 10**6, "saved_every_ms": 10**9}
        types = ["memory_mb", "vcores"]
        self.session = Session(r.Hello(r.SCHEMA, 1, "bench", "3.4.2", types, [], settings))
        self.running: dict[int, int] = {}  # container -> its application
        self.left = dict.fromkeys(range(1, cell.applications + 1), ASKED)  # what each asks for
        self.napping: list[int] = []
        self.taken: dict[int, int] = {}  # container -> time when a preempted one is killed
        self.counts = Counter[str]()
        """Counts since the start: containers given out and taken, decisions in which states were
        reported, and decisions in which preemption looked.
        """
        self.step_ms, self.look_ms = 1_000 if cell.watched else 1, 0
        self.free = [amount * SERVERS for amount in each]
        self.now, self.rounds, self.records, self.next = 0, 0, 0, 1
        self.waiting: list[Any] = [
            r.SnapshotRecord(0, "start"), r.ConfigRecord(0, 1, compiled), r.SavedStateRecord(0, {}),
            *(r.NodeAddedRecord(0, n, f"n{n}:1", "/r", tuple(each), "", f"n{n}")
              for n in range(1, SERVERS + 1)),
        ]  # fmt: skip
        for number, amounts in enumerate(self.size, 1):
            self.waiting += _application(number, numbers[paths[number % len(paths)]], amounts)
        while self.decide():
            pass

    def decide(self) -> int:
        """Send one batch and carry out its plan; return how many containers it started."""
        self.now, self.rounds = self.now + self.step_ms, self.rounds + 1
        for number in [n for n, at_ms in self.taken.items() if at_ms <= self.now]:
            self.end(number, "preempted")
        applications, free = len(self.size), tuple(self.free)
        pending = sum(self.left.values())
        check = r.Check(SERVERS, applications, len(self.running), pending, free)
        records, self.waiting = self.waiting, []
        batch = r.Batch(self.rounds, self.records + 1, self.now, check, records)
        self.records += len(records)
        plan = self.session.answer(batch)
        assert plan.resync is None, plan.resync
        assert not plan.faults, plan.faults
        given = [d.attempt for d in plan.decisions if isinstance(d, r.Allocate)
                 for _ in range(d.count)]  # fmt: skip
        numbers = list(range(self.next, self.next + len(given)))
        self.running.update(zip(numbers, given, strict=True))
        self.next += len(given)
        for application in given:
            self.left[application] -= 1
            subtract_all([self.free], self.size[application - 1])
        taken = [d for d in plan.decisions if isinstance(d, r.Preempt)]
        self.taken.update((d.container, self.now + d.grace_ms) for d in taken)
        self.counts.update(
            given=len(given), taken=len(taken), reported=bool(plan.reports), looked=self._looked()
        )
        if given:
            self.waiting.append(r.OutcomesRecord(self.now, self.rounds, numbers[0], numbers, []))
        return len(given)

    def _looked(self) -> bool:
        """Return whether preemption checked in this decision which queues are starved."""
        tree: Any = self.session.tree
        before, self.look_ms = self.look_ms, tree.instances[0].memory.preemption.look_ms
        return before != self.look_ms

    def end(self, number: int, kind: str = "completed") -> None:
        """End a container."""
        add_all([self.free], self.size[self.running.pop(number) - 1])
        self.taken.pop(number, None)
        self.waiting.append(r.ContainerCompletedRecord(self.now, number, kind, 0))

    def ask(self, application: int, count: int) -> None:
        """Let an application ask for this many containers from now on."""
        self.left[application] = count
        self.waiting.append(_asked(application, self.size[application - 1], count))

    def nap(self) -> None:
        """Let some applications give back all containers and ask for nothing."""
        self.napping = self.random.sample(list(self.left), NAPPING)
        for application in self.napping:
            self.ask(application, 0)
        for number in [n for n, application in self.running.items() if application in self.napping]:
            self.end(number)

    def wake(self) -> None:
        """Let them ask again."""
        for application in self.napping:
            self.ask(application, ASKED)
        self.napping = []

    def churn(self, ends: int) -> float:
        """End this many containers, one after the other; return the CPU microseconds per
        decision.
        """
        spent = 0.0
        tree: Any = self.session.tree
        run = tree.run

        def timed(*given: Any) -> Any:
            nonlocal spent
            began = process_time()
            pending = run(*given)
            spent += process_time() - began
            return pending

        tree.run = timed
        for turn in range(ends):
            self.wake()
            if self.cell.watched and turn % NAP_EVERY == 0:
                self.nap()
            self.end(self.random.choice(list(self.running)))
            self.decide()
        tree.run = run
        return spent / ends * 1e6


def _application(number: int, queue: int, size: tuple[int, int]) -> list[Any]:
    id_ = f"application_1_{number:06d}"
    return [
        r.ApplicationAddedRecord(0, number, id_, queue, "user", "", "", [], 0, 0, {}),
        r.AttemptAddedRecord(0, number, number, 1, True),
        r.AttemptRegisteredRecord(0, number),
        _asked(number, size, ASKED),
    ]


def _asked(number: int, size: tuple[int, int], count: int) -> Any:
    return r.AskChangedRecord(0, number, 20, 0, False, size, count, {}, {}, True, "", [])


def _paths(cell: Cell) -> Iterator[str]:
    """Yield the paths of the leaf queues: all at one level, or below as many parents as each has
    children.
    """
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
    """Return the CPU microseconds per container of a whole simulation, simulator included: 100
    nodes that this many applications in ten queues keep full, with 20,000 tasks in all or two per
    application.
    """
    random = Random(1)  # noqa: S311 - no secret
    inner = f"{{policy: {policy}}}" if policy == "drf" else "{}"
    queues = ", ".join(f"q{number}: {inner}" for number in range(10))
    compiled = compile_config(f"version: 1\npolicy: {policy}\nqueues: {{{queues}}}\n", "bench.yml")
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
    """Measure all cells, one after the other."""
    found = []
    for cell in cells:
        load = Load(cell)
        load.churn(decisions)
        load.counts.clear()
        each = [load.churn(decisions) for _ in range(repeats)]
        spread = {"min": min(each), "median": median(each), "max": max(each)}
        us = {name: round(value) for name, value in spread.items()}
        found.append(asdict(cell) | {"us": us, "counts": dict(load.counts)})
    return found


def table(cells: list[dict[str, Any]]) -> Table:
    """Return minimum / median / maximum over repeats. Return also how often states were reported
    and preemption looked, and how many containers it took, in all repeats.
    """
    result = Table(title="CPU microseconds a decision: minimum / median / maximum over repeats")
    for name in ("applications", "queues", "shapes", "levels", "reported", "looked", "taken", "us"):
        result.add_column(name, justify="right")
    for cell in cells:
        keys = ("applications", "queues", "shapes", "depth")
        words = [f"{cell[key]:,}" for key in keys]
        words += [f"{cell['counts'][key]:,}" for key in ("reported", "looked", "taken")]
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
