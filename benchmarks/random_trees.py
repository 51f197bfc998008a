"""Random trees under H-DRF and its baselines: which leaves differ from the static allocation, which
nodes are below a guarantee, and how soon a leaf that wakes has its share.

On the paper's rules as pure functions (`benchmarks/hdrf_pool.py`), without a cluster.
docs/papers/hdrf.md holds the figures. Run it with `make hdrf-trees`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from statistics import fmean, median
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.hdrf_pool import ROUNDS, Pool, churn, fill
from loomcard.policies.hdrf.paper import (
    Node,
    dominant_share,
    guarantees,
    static_hdrf,
    static_hdrf_tasks,
)

KINDS = ((2, 2), (2, 3), (3, 2), (3, 3))
"""Depth of the leaves, and how many resources there are."""
COMPLETIONS = 700
FAR = 0.1
"""A share counts if it differs by more than this."""
_EPS = 0.005
_MARKS = (0, 100, 300, 700)
"""The distance is measured after these numbers of completions, and after the last."""


class Trial(msgspec.Struct):
    """One tree under one rule; shares are dominant and count only what is really used."""

    distances: list[float]
    """The largest difference of a leaf's share from the static one, in slices or in whole tasks,
    whichever is nearer. The first value is after filling the empty tree, the others are under
    churn.
    """
    short: float
    """How far the worst node is below its guarantee in the end."""
    woken: int | None
    """Completions until a leaf that slept has its guarantee again, less at most one task; None if
    it does not within as many completions as the churn had.
    """


class Row(msgspec.Struct):
    """All trees of a kind under one rule."""

    depth: int
    resources: int
    rule: str
    trees: int
    mismatching: int
    """Trees with a leaf further than 0.1 from its static share after the churn."""
    breaking: int
    """Trees with a node more than 0.1 below its guarantee."""
    distances: list[float]
    """The mean distance after 0, 100, 300 and 700 completions (those that were run)."""
    worst: float
    """The largest distance in the end."""
    woken: float | None
    """The median of the woken leaves' completions, over those that reached their guarantee."""
    never: int
    """The number of leaves that woke and did not reach their guarantee."""


def random_tree(rng: Random, depth: int, resources: int) -> tuple[Node, tuple[int, ...]]:
    """Return a tree with its capacity: 2 or 3 children, leaves at `depth`, weights of 1 to 3, tasks
    of 0 to 3 units of each resource, capacities of 60 to 140.
    """

    def demand() -> tuple[int, ...]:
        while not any(task := tuple(rng.randint(0, 3) for _ in range(resources))):
            pass
        return task

    def grow(name: str, level: int) -> Node:
        weight = float(rng.randint(1, 3))
        if level == depth:
            return Node(name, weight, demand=demand())
        count = rng.randint(2, 3)
        return Node(name, weight, [grow(f"{name}.{i}", level + 1) for i in range(count)])

    return grow("root", 0), tuple(rng.randint(60, 140) for _ in range(resources))


def trial(
    rule: str, root: Node, capacity: Sequence[int], rng: Random,
    completions: int = COMPLETIONS, headroom: bool = True, reserve: bool = False,
) -> Trial:  # fmt: skip
    """Fill the tree, end random running tasks, then let a leaf sleep and wake."""
    goals = _static(root, capacity)
    pool, round_ = Pool(root, [capacity], headroom, reserve), ROUNDS[rule]
    fill(pool, round_)
    distances = []
    for done in range(completions + 1):
        if done:
            churn(pool, round_, [_one_running(pool, rng)])
        if done in _MARKS or done == completions:
            distances.append(_distance(pool, goals))
    shares = pool.shares()
    short = max(g - shares[n] for n, g in guarantees(root).items())
    return Trial(distances, short, _wake(pool, rule, rng, completions))


def _one_running(pool: Pool, rng: Random) -> Node:
    """Return the leaf of a running task; each task is equally likely."""
    leaves = list(pool.running)
    return rng.choices(leaves, [len(pool.running[leaf]) for leaf in leaves])[0]


def _static(root: Node, capacity: Sequence[int]) -> list[dict[Node, float]]:
    """Return the shares of Algorithm 1 in slices and in whole tasks. They differ by more than tasks
    if a resource is full and decides a node's share: more of another resource then does not raise
    the node's share, so that rounding decides which node takes it.
    """
    thin, whole = static_hdrf(root, capacity, _EPS), static_hdrf_tasks(root, capacity)
    sizes = {leaf: dominant_share(leaf.demand, capacity) for leaf in root.leaves()}
    return [
        {leaf: dominant_share(thin[leaf], capacity) for leaf in sizes},
        {leaf: whole[leaf] * size for leaf, size in sizes.items()},
    ]


def _distance(pool: Pool, goals: list[dict[Node, float]]) -> float:
    """Return the distance to the nearer of the static allocations."""
    shares = pool.shares()
    return min(max(abs(shares[leaf] - s) for leaf, s in goal.items()) for goal in goals)


def _wake(pool: Pool, rule: str, rng: Random, most: int) -> int | None:
    leaf = rng.choice(list(pool.running))
    leaf.wants = False
    churn(pool, ROUNDS[rule], [leaf] * len(pool.running[leaf]))
    leaf.wants = True
    fill(pool, ROUNDS[rule])
    enough = guarantees(pool.root)[leaf] - dominant_share(leaf.demand, pool.capacity)
    for done in range(most):
        if dominant_share(leaf.used, pool.capacity) >= enough:
            return done
        churn(pool, ROUNDS[rule], [_one_running(pool, rng)])
    return None


def study(
    trees: int, seed: int, rules: Iterable[str] = ROUNDS, kinds: Iterable[tuple[int, int]] = KINDS,
    completions: int = COMPLETIONS, headroom: bool = True, reserve: bool = False,
) -> Iterator[Row]:  # fmt: skip
    """Return a row per kind and rule; every rule sees the same trees and the same random values."""
    rules = list(rules)
    for depth, resources in kinds:
        for rule in rules:
            trials = []
            for i in range(trees):
                rng = Random(f"{seed}/{depth}/{resources}/{i}")  # noqa: S311 - no secret
                root, capacity = random_tree(rng, depth, resources)
                trials.append(trial(rule, root, capacity, rng, completions, headroom, reserve))
            yield _row(depth, resources, rule, trials)


def _row(depth: int, resources: int, rule: str, trials: list[Trial]) -> Row:
    came = [t.woken for t in trials if t.woken is not None]
    final = [t.distances[-1] for t in trials]
    return Row(
        depth, resources, rule, len(trials),
        mismatching=sum(d > FAR for d in final),
        breaking=sum(t.short > FAR for t in trials),
        distances=[round(fmean(d), 4) for d in zip(*(t.distances for t in trials), strict=True)],
        worst=round(max(final), 4),
        woken=median(came) if came else None,
        never=len(trials) - len(came),
    )  # fmt: skip


def _table(rows: Iterable[Row]) -> Table:
    table = Table("depth", "types", "rule", "trees", "far from static", "guarantee broken",
                  "distance", "worst", "woken after", "never")  # fmt: skip
    for row in rows:
        cells = (row.depth, row.resources, row.rule, row.trees, row.mismatching, row.breaking)
        distance = " ".join(f"{d:.3f}" for d in row.distances)
        woken = "-" if row.woken is None else f"{row.woken:.0f}"
        table.add_row(*map(str, cells), distance, f"{row.worst:.3f}", woken, str(row.never))
    return table


def main(
    trees: Annotated[int, typer.Option(help="Of each kind.", min=1)] = 40,
    seed: Annotated[int, typer.Option(help="Another seed, other trees.")] = 1,
    completions: Annotated[int, typer.Option(help="Tasks that end, of each tree.", min=1)] = (
        COMPLETIONS
    ),
    rules: Annotated[str, typer.Option(help="With commas between.")] = ",".join(ROUNDS),
    headroom: Annotated[bool, typer.Option(help="A task waits for room for the largest.")] = True,
    reserve: Annotated[
        bool, typer.Option(help="Keep room for the leaf furthest below its guarantee.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One list of rows, no table.")] = False,
) -> None:
    """Random trees under H-DRF and its baselines; minutes."""
    if unknown := [rule for rule in rules.split(",") if rule not in ROUNDS]:
        raise typer.BadParameter(f"{unknown[0]!r}: expected some of {', '.join(ROUNDS)}")
    rows = list(study(trees, seed, rules.split(","), KINDS, completions, headroom, reserve))
    if as_json:
        typer.echo(msgspec.json.encode(rows).decode())
    else:
        Console(width=130).print(_table(rows))


if __name__ == "__main__":
    typer.run(main)
