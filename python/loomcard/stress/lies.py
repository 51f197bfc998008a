"""Scenarios of false hints. Applications with false hints may gain or lose; no other application
may lose more than its share promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from loomcard.api.stages.dag_hint import DagStage, write_dag
from loomcard.stress.parts import SLOT, TASK_MS, TURNOVER_MS, USUAL, app, nodes, stage, workload
from loomcard.stress.predicates import Guarantee, InTime
from loomcard.stress.scenario import StressScenario

HONEST = 4
"""Applications of two stages in the liars' queue, all submitted before the first liar."""
WIDTHS = (20, 10)
"""The tasks of each of their stages."""
LIE_TASKS = 150
"""The tasks of each liar: more than all honest applications have."""
SLOTS = 20
"""What the liars' queue is promised, of 40 slots."""
LATENCY_MS = 2_000
"""The time from the end of a task to the start of the next one in its place: heartbeats of node and
AM.
"""
LONGEST_MS = round(1.2 * TASK_MS)
"""The longest time of any task."""


def hints_too_small() -> StressScenario:
    """Liars that look nearly done: one by the times of its tasks, one by their number."""
    quick = [DagStage("s1", 20, LIE_TASKS, 1, SLOT, [], 1)]
    hiding = [DagStage("s1", 20, 1, TASK_MS, SLOT, [], 1)]
    return _scenario(
        "hints-too-small",
        "two of six say that their tasks take a millisecond, and that one of 150 is all",
        {"quick": write_dag(quick), "hiding": write_dag(hiding)},
    )


def hints_too_large() -> StressScenario:
    """Liars that look endless: by times, by numbers, by a thousand stages with as many shapes."""
    slow = [DagStage("s1", 20, LIE_TASKS, 1e12, SLOT, [], 1)]
    many = [DagStage("s1", 20, 10**9, TASK_MS, SLOT, [], 1)]
    wide = [DagStage("", 20, 50, 999 + i, (1024 + i, 1), [], i) for i in range(1000)]
    return _scenario(
        "hints-too-large",
        "three of seven claim tasks of thirty years, a billion tasks, a thousand shapes",
        {"slow": write_dag(slow), "many": write_dag(many), "wide": write_dag(wide)},
    )


def hints_refused() -> StressScenario:
    """Invalid hints: a cycle, garbage, half a megabyte, bytes that are not text."""
    cycle = [
        DagStage("s1", 20, LIE_TASKS, TASK_MS, SLOT, [1], 1),
        DagStage("s2", 20, 1, 1, SLOT, [0], 2),
    ]
    return _scenario(
        "hints-refused",
        "four of eight give a cycle, nested brackets, half a megabyte, and no text at all",
        {
            "cycle": write_dag(cycle),
            "nested": "[" * 9_000,
            "huge": "x" * 500_000,
            "binary": "\x00\ufffd\udcff",
        },
    )


def _scenario(name: str, about: str, hints: Mapping[str, str]) -> StressScenario:
    """Honest applications and these liars share a queue of half the cluster; another queue always
    wants the other half.
    """
    honest = [app(f"h{i}", 0, i * 500, "root.a", stages=_stages(f"h{i}")) for i in range(HONEST)]
    liars = [app(each, LIE_TASKS, 3_000 + 500 * i, "root.a") for i, each in enumerate(hints)]
    steady = app("steady", 500, 0, "root.b")
    limit_ms = longest_ms(SLOTS // (HONEST + len(hints)))
    return StressScenario(
        name,
        about,
        workload(name, nodes(5), [*honest, *liars, steady], 900),
        (
            *USUAL, Guarantee({"root.a": 0.5, "root.b": 0.5}, TURNOVER_MS),
            InTime(dict.fromkeys([each.id for each in honest], limit_ms)),
        ),
        {"a": {"guaranteed": "50%"}, "b": {"guaranteed": "50%"}},
        hints=hints,
        cheap=True,
    )  # fmt: skip


def _stages(name: str) -> list:  # type: ignore[type-arg]
    first, second = WIDTHS
    return [stage(name, first), stage(f"{name}/2", second, number=2, after=[0])]


def longest_ms(slots: int) -> int:
    """Return the longest completion time of an honest application with a share of ``slots``: its
    stages in waves, and before each stage the longest task of another application that has its room
    on loan.
    """
    waves = sum(ceil(width / slots) for width in WIDTHS)
    return waves * (LONGEST_MS + LATENCY_MS) + len(WIDTHS) * (LONGEST_MS + LATENCY_MS)
