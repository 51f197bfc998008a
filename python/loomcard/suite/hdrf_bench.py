"""The bench of H-DRF: microseconds a decision, incrementally and by recomputing all shares.

A decision is one task that ends, and the choice and the start of the one that follows it, in a full
cluster. docs/bench.md says what is measured. Run it with `make bench-hdrf`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from time import process_time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from loomcard.config import compile_setup
from loomcard.policies.hdrf.incremental import ShareTree
from loomcard.policies.hdrf.shares import update_shares
from loomcard.policies.hdrf.sums import Branch, Child, Leaf
from loomcard.policies.hdrf.tree import Node
from loomcard.simulator import simulate
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

SHAPES = 6
"""Kinds of task among all leaves."""
SIZES = ((1024, 1), (2048, 1), (1024, 2))
"""Of the tasks of a simulation."""
TASKS = 3
"""A leaf holds about so many."""
SIZES_QUICK = [100, 1_000]
WHOLE = 20_000
"""The largest tree of which all shares are recomputed."""


@dataclass(frozen=True)
class Cell:
    """A tree: its leaves, the levels below its root, and the count of resource types."""

    leaves: int
    depth: int
    types: int


class Load:
    """A tree of ``cell`` in a full cluster of one server, with churn by seeded dice."""

    def __init__(self, cell: Cell, seed: int) -> None:
        self.dice = Random(seed)  # noqa: S311 - dice
        self.cell = cell
        root = Branch("root", None, (0,))
        self.tree = ShareTree(root, "static", cell.types)
        self.capacity = [cell.leaves * TASKS] * cell.types
        self.free = list(self.capacity)
        self.kinds = list(self._kinds())
        self.kind: dict[Leaf, tuple[int, ...]] = {}
        self.used: dict[Leaf, list[int]] = {}
        self.running: list[Leaf] = []
        for kind in self.kinds:
            self.tree.learn(kind, self._part(kind))
        queues = list(self._queues(root))
        for number in range(cell.leaves):
            leaf = Leaf(number, queues[number % len(queues)], (number,))
            self.kind[leaf] = self.kinds[number % len(self.kinds)]
            self.used[leaf] = [0] * cell.types
            self._hold(leaf, 0)
        for leaf in list(self.used) * (TASKS - 1):  # by no rule: a start for the real one
            if self.kind[leaf] not in self.full():
                self.start(leaf)
        self.fill()

    def _part(self, amounts: Sequence[int]) -> tuple[float, ...]:
        return tuple(a / c for a, c in zip(amounts, self.capacity, strict=True))

    def _kinds(self) -> Iterator[tuple[int, ...]]:
        for number in range(SHAPES):
            kind = [self.dice.choice((0, 0, 1, 2)) for _ in range(self.cell.types)]
            kind[number % self.cell.types] = 1 + number // self.cell.types
            yield tuple(kind)

    def _queues(self, root: Branch) -> list[Branch]:
        fan = max(2, round(self.cell.leaves ** (1 / self.cell.depth)))
        level, number = [root], 0
        for _ in range(self.cell.depth - 1):
            below: list[Branch] = []
            for branch in level:
                for _ in range(fan):
                    number += 1
                    below.append(Branch(number, branch, (number,), self.dice.choice((1.0, 2.0))))
            level = below
        return level

    def _hold(self, leaf: Leaf, count: int) -> None:
        used, kind = self.used[leaf], self.kind[leaf]
        for r, amount in enumerate(kind):
            used[r] += count * amount
            self.free[r] -= count * amount
        self.tree.put(leaf, self._part(used), (kind,))

    def unsaturated(self) -> int:
        """Y."""
        largest = [max(column) for column in zip(*self.kinds, strict=True)]
        pairs = enumerate(zip(self.free, largest, strict=True))
        return sum(1 << r for r, (left, most) in pairs if left and left >= most)

    def full(self) -> set[Any]:
        """What fits no more."""
        return {k for k in self.kinds if any(t > f for t, f in zip(k, self.free, strict=True))}

    def start(self, leaf: Leaf) -> None:
        """A task of a leaf."""
        self._hold(leaf, 1)
        self.running.append(leaf)

    def finish(self) -> None:
        """Any task that runs."""
        pick = self.dice.randrange(len(self.running))
        self.running[pick], self.running[-1] = self.running[-1], self.running[pick]
        self._hold(self.running.pop(), -1)

    def fill(self, *, whole: bool = False) -> int:
        """Start tasks until none fits; how many."""
        count = 0
        while len(full := self.full()) < len(self.kinds):
            leaf = self.choose_whole(full) if whole else self.choose(full)
            if leaf is None:
                break
            self.start(leaf)
            count += 1
        self.tree.put_back()
        return count

    def choose(self, full: set[Any]) -> Leaf | None:
        """By the structure."""
        return self.tree.at(self.unsaturated()).descend(full, ())

    def choose_whole(self, full: set[Any]) -> Leaf | None:
        """By recomputing all shares."""
        y = self.unsaturated()
        flags = [bool(y >> r & 1) for r in range(self.cell.types)]
        nodes: dict[Child, Node] = {}
        root = self._as_nodes(self.tree.root, nodes)
        share = update_shares(root, self.capacity, flags)
        node: Child = self.tree.root
        while isinstance(node, Branch):
            able = [
                c for c in node.children
                if share[nodes[c]].active and any(want not in full for want in c.wants)
            ]  # fmt: skip
            if not able:
                return None
            node = min(able, key=lambda c: (share[nodes[c]].share / c.weight, c.order))
        return node

    def _as_nodes(self, child: Child, nodes: dict[Child, Node]) -> Node:
        if isinstance(child, Leaf):
            made = Node("", child.weight, [], self.kind[child], list(map(float, self.used[child])))
        else:
            below = [self._as_nodes(each, nodes) for each in child.children]
            made = Node("", child.weight, below, (0,) * self.cell.types, wants=False)
        nodes[child] = made
        return made

    def churn(self, ends: int, *, whole: bool = False) -> float:
        """So many tasks end, and what they free is given out anew; CPU microseconds a decision."""
        began = process_time()
        for _ in range(ends):
            self.finish()
            self.fill(whole=whole)
        return (process_time() - began) / ends * 1e6


def simulated(policy: str, applications: int) -> float:
    """The whole policy: CPU microseconds a container of a simulation, simulator included. 100 nodes
    kept full by so many applications in ten queues, 20,000 tasks or two an application.
    """
    dice = Random(1)  # noqa: S311 - dice
    inner = f"{{policy: {policy}}}" if policy == "drf" else "{}"
    queues = ", ".join(f"q{number}: {inner}" for number in range(10))
    compiled = compile_setup(f"version: 1\npolicy: {policy}\nqueues: {{{queues}}}\n", "bench.yml")
    tasks = max(2, 20_000 // applications)
    given = []
    for number in range(applications):
        lengths = [dice.randint(10_000, 30_000) for _ in range(tasks)]
        stage = Stage("s", SIZES[number % len(SIZES)], 20, 1, lengths)
        queue = f"root.q{number % 10}"
        given.append(ScenarioApplication(f"a{number}", 0, queue, "user", "plain", [stage]))
    nodes = [ScenarioNode(f"n{number}", "/r", (32_768, 32)) for number in range(100)]
    types = ["memory_mb", "vcores"]
    scenario = Scenario("bench", 1, types, nodes, given, heartbeat_ms=0, am_heartbeat_ms=0)
    began = process_time()
    record = simulate(scenario, compiled, policy=policy)
    return (process_time() - began) / len(record.containers) * 1e6


def measure(sizes: list[int], depths: list[int], types: list[int], repeats: int) -> list[Any]:
    """All cells; the repeats of one take turns between the structure and recomputation."""
    found = []
    for cell in [Cell(n, d, m) for d in depths for m in types for n in sizes]:
        load = Load(cell, 1)
        load.churn(300)
        ours, whole = [], []
        for _ in range(repeats):
            ours.append(load.churn(300))
            if cell.leaves <= WHOLE:
                whole.append(load.churn(max(1, 3000 // cell.leaves), whole=True))
        found.append({
            "leaves": cell.leaves, "depth": cell.depth, "types": cell.types,
            "incremental_us": _spread(ours), "recomputed_us": _spread(whole),
        })  # fmt: skip
    return found


def _spread(values: list[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {"min": round(min(values)), "median": round(median(values)), "max": round(max(values))}


def table(cells: list[Any]) -> Table:
    """Minimum / median / maximum over repeats."""
    result = Table(title="CPU microseconds a decision: minimum / median / maximum over repeats")
    for name in ("leaves", "depth", "types", "incremental", "all recomputed"):
        result.add_column(name, justify="right")
    for cell in cells:
        spreads = (cell["incremental_us"], cell["recomputed_us"])
        words = [" / ".join(f"{v:,}" for v in s.values()) if s else "-" for s in spreads]
        result.add_row(f"{cell['leaves']:,}", str(cell["depth"]), str(cell["types"]), *words)
    return result


def main(
    quick: Annotated[bool, typer.Option(help="small trees alone: half a minute")] = False,
    repeats: Annotated[int, typer.Option(min=1)] = 3,
) -> None:
    """Print a table, and one line of JSON at the end."""
    sizes = SIZES_QUICK if quick else [100, 1_000, 10_000, 100_000]
    depths = [2] if quick else [2, 4, 6]
    types = [2] if quick else [2, 4, 6]
    cells = measure(sizes, depths, types, repeats)
    whole = [
        {"policy": name, "applications": count, "us_a_container": round(simulated(name, count))}
        for count in ([100] if quick else [100, 1_000, 10_000])
        for name in ("hdrf", "drf", "fair")
    ]
    Console().print(table(cells))
    print(json.dumps({"decisions": cells, "simulations": whole}))


if __name__ == "__main__":
    typer.run(main)
