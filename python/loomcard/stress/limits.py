"""Scenarios at the limits of a configuration: weights, maxima, labels, tasks that rarely fit."""

from __future__ import annotations

from loomcard.stress.parts import SLOT, TURNOVER_MS, USUAL, app, nodes, stage, workload
from loomcard.stress.predicates import Consistent, Ends, Guarantee, NoIdleRoom, NoStarvation, Served
from loomcard.stress.scenario import StressScenario


def too_large() -> StressScenario:
    """A task larger than any node, and two that only the one large node can run."""
    stream = [app(f"s{i}", 8, i * 1_250) for i in range(150)]
    huge = app("huge", 1, 10_000, size=(65536, 8))
    large = app("large", 2, 20_500, size=(16384, 8))
    name = "too-large"
    return StressScenario(
        name,
        "a task larger than any node waits for ever; two that only one node can run must not",
        workload(name, nodes(6) + nodes(1, (16384, 16), name="big"), [*stream, huge, large], 900),
        (
            Consistent(), Ends(("huge",)), NoIdleRoom(), NoStarvation(), Served("large", 60_000),
        ),
    )  # fmt: skip


def tiny_weights() -> StressScenario:
    """Weights of a millionth, one and a million; no queue is guaranteed anything."""
    apps = [
        app(f"{q}{i}", 100, i * 10, f"root.{q}", size=(1024, 0)) for q in "abc" for i in range(2)
    ]
    name = "tiny-weights"
    return StressScenario(
        name,
        "weights of 0.000001 (none may be 0), 1 and 1000000, guarantees of 0 %, tasks of no vcores",
        workload(name, nodes(5), apps, 1500),
        (*USUAL, Guarantee({"root.c": 1 - 1e-5}, TURNOVER_MS, tasks=2)),
        {
            "a": {"weight": 0.000001, "guaranteed": "0%"},
            "b": {"weight": 1, "guaranteed": "0%"},
            "c": {"weight": 1_000_000},
        },
        cheap=True,
    )


def at_its_maximum() -> StressScenario:
    """Older applications of a queue that may have a quarter; beside and below it there is room."""
    apps = [app(f"x{i}", 40, 0, "root.a.x") for i in range(6)]
    apps += [app(f"y{i}", 40, 2_000, "root.a.y") for i in range(2)]
    apps += [app(f"b{i}", 200, 4_000, "root.b") for i in range(3)]
    name = "at-its-maximum"
    return StressScenario(
        name,
        "a queue that may have a quarter has the older and larger backlog; one below it an eighth",
        workload(name, nodes(5), apps, 1800),
        (*USUAL, Guarantee({"root.b": 0.75}, TURNOVER_MS)),
        {
            "a": {"maximum": "25%", "queues": {"x": {"maximum": "50%"}, "y": {}}},
            "b": {"weight": 3},
        },
    )


def labels() -> StressScenario:
    """Three partitions, one of which lends; the backlog for the smallest is the oldest."""
    machines = nodes(3) + nodes(1, name="f", label="fast")
    machines += nodes(2, name="s", label="spare", shared=True)

    def asks(name: str, label: str, tasks: int, at_ms: int, queue: str):  # type: ignore[no-untyped-def]
        one = stage(name, tasks, label=label)
        return app(name, 0, at_ms, queue, stages=[one])

    apps = [asks(f"f{i}", "fast", 30, i * 100, f"root.{'ab'[i % 2]}") for i in range(4)]
    apps += [asks(f"p{i}", "", 100, 1_000 + i * 100, f"root.{'ab'[i % 2]}") for i in range(4)]
    apps += [asks(f"s{i}", "spare", 40, 30_000, f"root.{'ab'[i % 2]}") for i in range(2)]
    name = "labels"
    return StressScenario(
        name,
        "a backlog for one labelled node, plain tasks, and a shared label whose owners come later",
        workload(name, machines, apps, 1800),
        USUAL,
        {"a": {"guaranteed": "50%"}, "b": {"guaranteed": "50%"}},
        cheap=True,
    )


def third_branch() -> StressScenario:
    """One organisation's large task fits nowhere, while its small tasks and two other organisations
    fill the nodes.
    """
    types = ["memory_mb", "vcores", "gpu"]
    machines = nodes(4, (16384, 16, 16))
    apps = [
        app("small", 800, 0, "root.p.small", size=(1024, 1, 0)),
        app("huge", 2, 5_000, "root.p.huge", size=(4096, 4, 4)),
        app("q", 500, 10_000, "root.q", size=(1024, 1, 0)),
        app("r", 500, 10_000, "root.r", size=(256, 0, 1)),
    ]
    name = "third-branch"
    return StressScenario(
        name,
        "a task of one organisation fits nowhere for long; the third one must have its share",
        workload(name, machines, apps, 1200, types=types),
        (*USUAL, Guarantee({"root.p": 1 / 3, "root.q": 1 / 3}, 2 * TURNOVER_MS)),
        {"p": {"queues": {"small": {}, "huge": {}}}, "q": {}, "r": {}},
    )


def late_queue() -> StressScenario:
    """A queue of three levels gets demand on a full cluster and wants what it is promised."""
    apps = [app(f"e{i}", 150, i * 10, "root.early", am=SLOT) for i in range(4)]
    apps += [app(f"l{i}", 60, 40_000 + i, f"root.late.team.{'xy'[i % 2]}") for i in range(6)]
    name = "late-queue"
    half = {"guaranteed": "50%"}
    parts = {"root.early": 0.4, "root.late": 0.6, "root.late.team.x": 0.3, "root.late.team.y": 0.3}
    return StressScenario(
        name,
        "a queue that is promised 60 %, and each of two below it half of that, finds no room",
        workload(name, nodes(5), apps, 1800),
        (*USUAL, Guarantee(parts, TURNOVER_MS)),
        {
            "early": {"guaranteed": "40%"},
            "late": {
                "guaranteed": "60%",
                "queues": {"team": {"guaranteed": "100%", "queues": {"x": half, "y": half}}},
            },
        },
    )
