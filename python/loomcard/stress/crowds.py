"""Scenarios with many applications, servers, AMs or shapes, and one greedy user."""

from __future__ import annotations

from random import Random

from loomcard.stress.parts import (
    SLOT,
    TASK_MS,
    TURNOVER_MS,
    USUAL,
    app,
    nodes,
    stage,
    workload,
)
from loomcard.stress.predicates import (
    Consistent,
    Ends,
    Guarantee,
    InUse,
    NoIdleRoom,
    NoStarvation,
    Served,
)
from loomcard.stress.scenario import StressScenario

HALVES = {"a": {"guaranteed": "50%"}, "b": {"guaranteed": "50%"}}


def many_applications() -> StressScenario:
    """60 applications of one queue against 6 of another, of equal work, on 40 slots."""
    crowd = [app(f"a{i}", 6, i * 10, "root.a") for i in range(60)]
    few = [app(f"b{i}", 60, i * 10, "root.b") for i in range(6)]
    name = "many-applications"
    return StressScenario(
        name,
        "60 applications in one queue, 6 with as much work together in another, on 40 slots",
        workload(name, nodes(5), crowd + few, 900),
        (*USUAL, Guarantee({"root.a": 0.5, "root.b": 0.5}, TURNOVER_MS)),
        HALVES,
    )


def arrivals() -> StressScenario:
    """One application per second arrives in one queue. What it uses must not be taken from the
    other queue.
    """
    coming = [app(f"a{i}", 8, i * 1000, "root.a") for i in range(90)]
    steady = [app(f"b{i}", 200, 0, "root.b") for i in range(2)]
    name = "arrivals"
    return StressScenario(
        name,
        "an application a second comes to one queue, while the other has work for ever",
        workload(name, nodes(5), coming + steady, 1500),
        (*USUAL, Guarantee({"root.a": 0.5, "root.b": 0.5}, TURNOVER_MS)),
        HALVES,
    )


def many_servers() -> StressScenario:
    """150 nodes of three sizes, tasks that wish for nodes, three queues by weight."""
    machines = nodes(60) + nodes(50, (16384, 8), name="m") + nodes(40, (4096, 8), name="k")
    rng = Random(1)  # noqa: S311 - no secret
    apps = []
    for i in range(12):
        wishes = [[rng.choice(machines).name] for _ in range(400)]
        one = stage(f"j{i}", 400, size=(2048, 1), nodes=wishes)
        apps.append(app(f"j{i}", 0, i * 100, f"root.{'abc'[i % 3]}", stages=[one]))
    name = "many-servers"
    return StressScenario(
        name,
        "150 nodes of three sizes, three queues of unequal weight, tasks that wish for nodes",
        workload(name, machines, apps, 600),
        (*USUAL, Guarantee({"root.a": 1 / 6, "root.b": 1 / 3, "root.c": 1 / 2}, TURNOVER_MS)),
        {"a": {"weight": 1}, "b": {"weight": 2}, "c": {"weight": 3}},
    )


def masters() -> StressScenario:
    """Every application has an AM; MapReduce's ramp-up, tasks that fail, 30 % for AMs."""
    apps = []
    for i in range(30):
        maps = stage(f"m{i}", 12, fails_ms={0: [2000]} if i % 3 == 0 else {})
        after = stage(f"r{i}", 3, size=(2048, 1), number=2, after=[0])
        kind = "mapreduce" if i % 2 else "dag"
        queue = f"root.{'ab'[i // 2 % 2]}"
        apps.append(app(f"j{i}", 0, i * 2000, queue, stages=[maps, after], am=SLOT, kind=kind))
    name = "masters"
    return StressScenario(
        name,
        "30 applications with AMs, half of them MapReduce; AMs may hold 30 % of a queue",
        workload(name, nodes(6), apps, 1500),
        USUAL,
        {"a": {"am_share": "30%"}, "b": {"am_share": "30%", "guaranteed": "50%"}},
    )


def am_flood() -> StressScenario:
    """200 AMs at once on 40 slots; then a job of another queue, which is promised half."""
    flood = [app(f"f{i}", 2, i * 5, "root.a", ms=5_000, am=SLOT) for i in range(200)]
    later = app("late", 120, 20_000, "root.b", am=SLOT)
    name = "am-flood"
    return StressScenario(
        name,
        "200 small applications with AMs at once on 40 slots, AMs may hold a quarter of them",
        workload(name, nodes(5), [*flood, later], 1500),
        (*USUAL, Guarantee({"root.a": 0.5, "root.b": 0.5}, TURNOVER_MS)),
        {"a": {"guaranteed": "50%", "am_share": "25%"}, "b": {"guaranteed": "50%"}},
    )


def greedy_user() -> StressScenario:
    """Forty large applications of one user, then one of another user; a user may have half."""
    greedy = [app(f"g{i}", 20, i * 10, user="greedy") for i in range(40)]
    modest = app("modest", 80, 30_000, user="modest")
    name = "greedy-user"
    half = {"root.default/greedy": 0.5, "root.default/modest": 0.5}
    return StressScenario(
        name,
        "40 applications of one user, then one of another; a user may have half of the queue",
        workload(name, nodes(5), [*greedy, modest], 1200),
        (*USUAL, Guarantee(half, TURNOVER_MS), Served("modest", 2_000)),
        {"default": {"user_limit": "50%"}},
    )


def tiny_shapes() -> StressScenario:
    """A thousand tasks of a thousand sizes in one application, beside an ordinary application."""
    rng = Random(2)  # noqa: S311 - no secret
    shapes = [
        stage(f"t{i}", 1, 3_000, (100 + i, rng.randint(1, 2)), number=i + 1) for i in range(1000)
    ]
    apps = [app("shapes", 0, stages=shapes), app("usual", 200, 1_000)]
    name = "tiny-shapes"
    return StressScenario(
        name,
        "one application asks for a thousand small containers, no two of one size",
        workload(name, nodes(5), apps, 1500),
        (Consistent(), Ends(), NoIdleRoom(), NoStarvation()),
    )


def long_among_short() -> StressScenario:
    """One long job, and an endless stream of small jobs that could fill the cluster alone."""
    stream = [app(f"s{i}", 4, i * 500, ms=5_000) for i in range(300)]
    long = app("long", 40, 20_500, ms=20_000)
    name = "long-among-short"
    return StressScenario(
        name,
        "a long job comes while short ones, without a gap, would fill the cluster by themselves",
        workload(name, nodes(4), [*stream, long], 600),
        (Consistent(), Ends(), NoIdleRoom(), NoStarvation(), Served("long", 90_000)),
    )


def node_sized() -> StressScenario:
    """Tasks of a node's size arrive among an endless stream of small tasks."""
    stream = [app(f"s{i}", 8, i * 1_250, ms=TASK_MS) for i in range(180)]
    large = app("large", 3, 20_500, size=(8192, 8), ms=TASK_MS)
    name = "node-sized"
    return StressScenario(
        name,
        "three tasks that each need a whole node come while small ones keep all nodes busy",
        workload(name, nodes(8), [*stream, large], 900),
        (Consistent(), Ends(), NoIdleRoom(), Served("large", 60_000), InUse(0.85, 20_000, 200_000)),
    )
