"""What the golden journals record: workloads, and the policies that decide on them.

Together they contain every kind of event that a policy can receive. They are small: a journal has
some hundred rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace as asked

from loomcard.api.registry import built_in
from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.simulator.engine import Simulation
from loomcard.stress.parts import app, nodes, stage, workload
from loomcard.stress.scenario import Candidate, StressScenario
from loomcard.testing import Cluster
from loomcard.testing.random_cluster import RandomCluster
from loomcard.wire import messages as r
from loomcard.workload.scenario import Executors, Fault, Stage

TREE = {
    "a": {"weight": 2, "guaranteed": "50%", "queues": {"x": {"weight": 3}, "y": {}}},
    "b": {"guaranteed": "25%", "maximum": "75%"},
}
"""A queue tree of two levels; the leaves are root.a.x, root.a.y and root.b."""
LEAVES = ("root.a.x", "root.a.y", "root.b")
AM = (512, 1)
SHAPES: tuple[tuple[list[int], ...], ...] = (
    ([], [0], [0], [1], [2, 3], []),
    ([], [], [0, 1], [2]),
    ([], [0], [0], [0], [1, 2]),
)
"""Shapes of jobs: for each stage, the stages that it waits for."""


def _two_levels() -> StressScenario:
    """Return jobs of different sizes in three queues, which ask for more than the cluster has."""
    sizes = ((1024, 1), (2048, 1), (1024, 2))
    apps = [
        app(f"j{i}", 5 + i % 4 * 3, i * 1500, LEAVES[i % 3], user=f"u{i % 2}", size=sizes[i % 3])
        for i in range(9)
    ]
    return _simulated(apps, 3, TREE, stop_s=60)


def _labels() -> StressScenario:
    """Return a cluster with a partition of its own, one that lends, a queue whose asks go to a
    label, and limits on labels.
    """
    machines = nodes(2) + nodes(1, name="g", label="gpu")
    machines += nodes(1, name="s", label="spare", shared=True)
    apps = [app(f"p{i}", 12, i * 500, f"root.{'ab'[i % 2]}") for i in range(4)]
    apps += [app(f"g{i}", 6, 2_000 + i * 700, "root.c") for i in range(2)]
    for i, label in enumerate(["gpu", "spare", "gpu", "spare"]):
        tasks = [stage(f"l{i}", 8, label=label)]
        apps.append(app(f"l{i}", 0, 3_000 + i * 900, f"root.{'ab'[i % 2]}", stages=tasks))
    queues = {
        "a": {"guaranteed": "50%", "label_maximum": {"gpu": "50%"}},
        "b": {"guaranteed": "25%", "label_guaranteed": {"gpu": "50%"}},
        "c": {"default_label": "gpu"},
    }
    return _simulated(apps, machines, queues, stop_s=70)


def _large_task() -> StressScenario:
    """Return a stream of small tasks, for which room is reserved for tasks of a node's size. One
    task is larger than each node.
    """
    apps = [app(f"s{i}", 4, i * 1_000, LEAVES[i % 3], ms=6_000) for i in range(16)]
    apps += [
        app("large", 2, 2_500, "root.a.x", size=(8192, 8), ms=4_000),
        app("tall", 2, 4_500, "root.b", size=(6144, 2), ms=4_000),
        app("never", 1, 3_000, "root.a.y", size=(12288, 4)),
    ]
    return _simulated(apps, nodes(2) + nodes(1, (10240, 12), name="m"), TREE, stop_s=75)


def _masters() -> StressScenario:
    """Return more application masters than may run; their users are limited too."""
    apps = [
        app(f"m{i}", 3, i * 700, LEAVES[i % 3], user=f"u{i % 4}", am=AM, ms=5_000)
        for i in range(14)
    ]
    limits = {"am_share": "30%", "user_limit": "60%", "maximum_applications_per_user": 3}
    queues = {
        "a": {"guaranteed": "60%", "am_share": "40%", "queues": {"x": limits, "y": {}}},
        "b": {"am_share": "20%", "user_limit": "50%"},
    }
    return _simulated(apps, 3, queues, stop_s=70)


def _nodes_lost() -> StressScenario:
    """Return a scenario in which nodes are lost with all their containers, masters included, and
    come back; tasks fail.
    """
    faults = [Fault(9_000, "n1", 12_000), Fault(15_000, "n2", 3_000), Fault(26_000, "n3")]
    apps = []
    for i in range(7):
        tasks = [stage(f"f{i}", 7, fails_ms={1: [900]})]
        master = AM if i % 2 else None
        apps.append(app(f"f{i}", 0, i * 1_800, LEAVES[i % 3], am=master, stages=tasks))
    return _simulated(apps, 4, TREE, stop_s=60, faults=faults)


def _swap() -> StressScenario:
    """Return swaps from fifo to the policy, to drf and back, while everything runs."""
    apps = [app(f"j{i}", 8, i * 1_500, LEAVES[i % 3], am=AM) for i in range(9)]
    apps.append(app("large", 1, 10_000, "root.a.x", size=(8192, 8)))
    found = _simulated(apps, 3, TREE, stop_s=60)
    return replace(
        found, begins_under="fifo", swaps=((8_000, None), (22_000, "drf"), (30_000, None))
    )


def _mapreduce() -> StressScenario:
    """Return jobs whose maps prefer certain hosts in two racks; the reduces follow a slow start."""
    apps = []
    for i in range(6):
        rng = Random(i)  # noqa: S311 - no secret
        hosts = [sorted(rng.sample([f"n{n}" for n in range(1, 7)], 2)) for _ in range(9)]
        stages = [
            stage(f"map{i}", 9, 5_000, remote_factor=1.5, nodes=hosts),
            asked(stage(f"red{i}", 3, 4_000, (2048, 1), 2, after=[0]), priority=10),
        ]
        queue = LEAVES[i % 3]
        facts = {
            "kind": "mapreduce",
            "slowstart": 0.3,
            "ms_per_map": 150,
        }
        apps.append(app(f"mr{i}", 0, i * 2_500, queue, am=AM, stages=stages, **facts))
    return _simulated(apps, nodes(6, (4096, 4)), TREE, stop_s=60)


def _dags(asks: str) -> Callable[[], StressScenario]:
    def build() -> StressScenario:
        """Return jobs of stages that wait for others; the hint of d3 does not state that."""
        apps = []
        for i in range(8):
            rng = Random(i)  # noqa: S311 - no secret
            stages: list[Stage] = []
            after = SHAPES[i % 3]
            for number, before in enumerate(after):
                size = rng.choice([(1024, 1), (2048, 1), (1024, 2), (3072, 1)])
                ms, tasks = rng.randint(2, 9) * 1_000, rng.randint(1, 5)
                stages.append(stage(f"{i}-{number}", tasks, ms, size, number + 1, after=before))
            apps.append(app(f"d{i}", 0, i * 1_700, LEAVES[i % 3], stages=stages, asks=asks))
        found = _simulated(apps, 2, TREE, stop_s=75)
        return replace(
            found, hints={"d3": write_dag([DagStage("one", 20, 3, 2000.0, (1024, 1), [])])}
        )

    return build


def _gangs() -> StressScenario:
    """Return equal jobs that come together, each larger than what is left: ties, and small jobs
    among large ones.
    """
    apps = [app(f"g{i}", 6, i // 4 * 6_000, ms=6_000) for i in range(7)]
    failing = stage("g7", 6, 6_000, fails_ms={n: [1_000 + n * 700] for n in range(6)})
    apps.append(app("g7", 0, 6_000, stages=[failing]))
    apps += [app(f"s{i}", 1 + i % 2, 1_000 + i * 2_500, ms=3_000) for i in range(9)]
    apps += [app(f"l{i}", 20, 4_000 + i * 12_000, ms=5_000) for i in range(2)]
    return _simulated(apps, 2, {}, stop_s=60)


def _three_resources() -> StressScenario:
    """Return complementary jobs over memory, vcores and GPUs. The nodes with GPUs are lost for a
    while.
    """
    machines = nodes(2, (8192, 8, 0)) + nodes(2, (8192, 8, 4), name="g")
    faults = [Fault(14_000, "g1", 9_000), Fault(16_000, "g2", 9_000)]
    sizes = ((3072, 1, 0), (512, 3, 0), (1024, 1, 1))
    apps = [
        app(f"c{i}", 8, i * 1_200, LEAVES[i % 3], size=sizes[i * 2 % 3], ms=8_000) for i in range(9)
    ]
    types = ["memory_mb", "vcores", "gpu"]
    return _simulated(apps, machines, TREE, stop_s=60, faults=faults, types=types)


def _hogged() -> StressScenario:
    """Return a queue that uses everything when the others come with their guarantees. Policies that
    preempt do so.
    """
    apps = [app(f"h{i}", 14, i * 300, "root.b", ms=40_000) for i in range(3)]
    apps += [app(f"x{i}", 5, 6_000 + i * 4_000, LEAVES[i % 2], ms=7_000) for i in range(7)]
    queues = {"a": TREE["a"], "b": {"guaranteed": "25%"}}
    return _simulated(apps, 3, queues, stop_s=70)


def _executors() -> StressScenario:
    """Return Spark's executors beside plain jobs."""
    apps = []
    for i in range(6):
        stages = [stage(f"e{i}", 6, 4_000), stage(f"e{i}b", 3, 6_000, number=2, after=[0])]
        held = Executors(2 + i % 2, (2048, 2))
        facts: dict[str, Any] = {"kind": "spark", "am": AM, "executors": held} if i % 2 else {}
        apps.append(app(f"e{i}", 0, i * 1_500, LEAVES[i % 3], stages=stages, **facts))
    return _simulated(apps, 2, TREE, stop_s=60)


SIMULATED: Mapping[str, Callable[[], StressScenario]] = {
    "two-levels": _two_levels,
    "labels": _labels,
    "large-task": _large_task,
    "masters": _masters,
    "nodes-lost": _nodes_lost,
    "swap": _swap,
    "mapreduce": _mapreduce,
    "dags": _dags("unmarked"),
    "altruistic": _dags("altruistic"),
    "gangs": _gangs,
    "three-resources": _three_resources,
    "hogged": _hogged,
    "executors": _executors,
}
"""The workloads that the simulator plays."""


def _simulated(
    apps: list[Any], machines: Any, queues: Mapping[str, Any], stop_s: int, **keys: Any
) -> StressScenario:
    machines = nodes(machines) if isinstance(machines, int) else machines
    return StressScenario(
        "golden", "", workload("golden", machines, apps, stop_s, **keys), (), queues
    )


def simulate(scenario: StressScenario, candidate: Candidate, journal: Path) -> None:
    """Play a scenario with its swaps."""
    own = scenario.config(candidate)
    first = scenario.begins_under
    simulation = Simulation(
        scenario.workload, own if first is None else scenario.config(Candidate(first)), journal
    )
    for master in simulation.masters:
        if (text := scenario.hints.get(master.spec.id)) is not None:
            master.hints = {HINT: text}
    for at_ms, policy in scenario.swaps:
        config = own if policy is None else scenario.config(Candidate(policy))
        simulation.clock.at(at_ms, simulation.rm.apply, config)
    simulation.run()


class _Enough(Exception):  # noqa: N818 - no error
    """Raised when enough rounds were played."""


def _at_random(cluster: Cluster, seed: int, **keys: bool) -> None:
    """Play a hundred random rounds, without the end, in which only the rest is served."""

    def watch() -> None:
        if cluster.rounds >= 100:
            raise _Enough

    with suppress(_Enough):
        RandomCluster(cluster, seed, **keys).run(101, watch)


def refusals(cluster: Cluster) -> None:
    """Let the ResourceManager refuse single decisions, for various reasons."""
    _at_random(cluster, 5, refusing=True)


def rebuilt(cluster: Cluster) -> None:
    """Let plans come late, so that they are refused whole, and send snapshots."""
    _at_random(cluster, 8, rebuilding=True)


def changes(cluster: Cluster) -> None:
    """Change priorities and queues of applications, resize and label nodes, let applications ask
    for certain racks only or stop asking for a host; preempt, if the policy does.
    """
    rng = Random(3)  # noqa: S311 - no secret
    leaves = [n for n, queue in enumerate(cluster.compiled["queues"]) if queue["leaf"]]
    for number in range(1, 5):
        cluster.add_node(number, 6144, 6, rack=f"/r{number % 2}")
    for number in range(1, 71):
        if number % 4 == 1:
            _arrives(cluster, number, leaves[number // 4 % len(leaves)], rng)
        for container in sorted(cluster.containers):
            if rng.random() < 0.22:
                cluster.complete(container, rng.choice(["completed", "completed", "failed"]))
        if number % 6 == 0 and (apps := sorted(cluster.applications)):
            moved, queue = rng.choice(apps), rng.choice(leaves)
            cluster.send(r.ApplicationChangedRecord(cluster.now, moved, queue, rng.randint(0, 3)))
        _to_the_nodes(cluster, number)
        cluster.heartbeat()
        cluster.round(rng.choice([10, 300, 1_000, 1_700]))


def _arrives(cluster: Cluster, number: int, queue: int, rng: Random) -> None:
    stages = [
        DagStage("one", 20, 4, 1000.0 * rng.randint(1, 9), (1024, 1), []),
        DagStage("two", 10, 2, 1000.0 * rng.randint(1, 9), (1024, 2), [0]),
    ]
    hints = {HINT: write_dag(stages)} if number % 8 == 1 else {}
    facts = {"hints": hints, "type": "MAPREDUCE" if number % 8 == 5 else "T"}
    cluster.add_app(number, queue, f"u{number % 3}", rng.randint(0, 2), **facts)
    cluster.ask(number, 1, AM, priority=0, is_am=True)
    cluster.ask(
        number, rng.randint(1, 5), (1024, 1), 20, hosts={"n1": 2, "n3": 2}, racks={"/r1": 3}
    )
    cluster.ask(number, rng.randint(1, 2), (1024, 2), 10, request_id=7)
    if number % 3 == 0:
        wanted = {"racks": {"/r0": 1}, "relax": False}
        cluster.ask(number, 1, (2048, 1), 20, request_id=3, **wanted)
        cluster.ask(number, 1, (1024, 1), 10, request_id=3, **wanted)
    if number % 5 == 0:
        cluster.ask(number, 1, (6144, 6), 5)
    if number % 7 == 0:
        cluster.blacklist(number, "n2")
    if number > 16 and number - 16 in cluster.applications:
        cluster.end_app(number - 16)


def _to_the_nodes(cluster: Cluster, number: int) -> None:
    if number in (12, 44):
        cluster.send(r.NodeResizedRecord(cluster.now, 2, (3072, 3) if number == 12 else (8192, 8)))
    if number in (20, 40):
        cluster.relabel_node(3, "gpu" if number == 20 else "", shared=number == 20)
    if number in (28, 52):
        cluster.lose_node(4) if number == 28 else cluster.add_node(5, 6144, 6, rack="/r1")


DRIVEN: Mapping[str, Callable[[Cluster], None]] = {
    "refusals": refusals,
    "rebuilt": rebuilt,
    "changes": changes,
}
"""The workloads that the simulator cannot play; `loomcard.testing` plays the ResourceManager."""

WORKLOADS = (*SIMULATED, *DRIVEN)

_TREES = ("two-levels", "labels", "large-task", "three-resources", "refusals")
_JOBS = ("two-levels", "large-task", "gangs", "masters", "refusals")
_STAGES = ("dags", "altruistic", "large-task", "refusals")
_MAPS = ("mapreduce", "changes")
_TAKES_BACK: Mapping[str, Any] = {
    "preempt_after_ms": 2000,
    "preempt_grace_ms": 1500,
    "preempt_budget": 0.5,
    "preempt_cooldown_ms": 2000,
}

VARIANTS: Mapping[str, tuple[str, Mapping[str, Any], tuple[str, ...]]] = {
    "capacity_fair": (
        "capacity",
        {"ordering": "fair", "user_limit_factor": 0.7},
        ("two-levels", "masters", "changes"),
    ),
    "capacity_users": (
        "capacity",
        {"minimum_user_limit_percent": 25, "calculator": "memory"},
        ("two-levels", "masters", "changes"),
    ),
    "capacity_preempt": (
        "capacity",
        {**_TAKES_BACK, "user_limit_factor": -1, "preempt_within": "user_limit"},
        ("hogged", "labels", "masters", "large-task"),
    ),
    "capacity_priority": (
        "capacity",
        {**_TAKES_BACK, "preempt_within": "priority", "preempt_queue_budget": 0.2},
        ("hogged", "changes"),
    ),
    "carbyne_alone": ("carbyne", {"altruism": 0.5, "learn": False}, _STAGES),
    "carbyne_guarded": ("carbyne", {"loan": "guarded", "most_borrowed": 0}, _STAGES),
    "carbyne_preempt": ("carbyne", {"loan": "preempt"}, (*_STAGES, "hogged")),
    "carbyne_rules": (
        "carbyne",
        {"default_rule": "srtf", "leftover_rule": "pack", "error_percent": 25},
        _STAGES,
    ),
    "collapsed_fixed_queue": ("collapsed_fixed", {"leaf": "queue", "headroom": False}, _TREES),
    "collapsed_recalculated_queue": (
        "collapsed_recalculated",
        {"leaf": "queue", "headroom": False},
        _TREES,
    ),
    "coupling_any": (
        "coupling",
        {"maps": "any", "fairness": "dominant", "reduces": "greedy"},
        _MAPS,
    ),
    "coupling_delay": (
        "coupling",
        {"reduces": "greedy", "maps": "delay", "delay_node_ms": 3000, "delay_rack_ms": 2000},
        _MAPS,
    ),
    "coupling_fixed": (
        "coupling",
        {"beta_fixed": 0.5, "fairness": "memory", "unknown_reduces": "launch", "peeked_nodes": 2},
        _MAPS,
    ),
    "coupling_paper": (
        "coupling",
        {"nodes_per_candidate": 0, "lists": "all", "early_share": 1},
        _MAPS,
    ),
    "coupling_reclaim": (
        "coupling",
        {"reclaim_after_ms": 4000, "kept_nodes": 2, "threshold": 1.0},
        _MAPS,
    ),
    "dress_aged": ("dress", {"age_ms": 5000, "pack": "partial", "theta": 0.3}, _JOBS),
    "dress_bare": ("dress", {"forecast": False, "defer_releases": False}, _JOBS),
    "dress_bounded": (
        "dress",
        {"dmin": 0.2, "dmax": 0.5, "waiting_ams": 0.3, "order": "demand"},
        _JOBS,
    ),
    "dress_printed": ("dress", {"reading": "printed", "eager": False}, _JOBS),
    "drf_past": ("drf", {"half_life_hours": 0.005}, ("two-levels", "rebuilt", "changes")),
    "fair_past": (
        "fair",
        {"half_life_hours": 0.005, "levels": {"root.a": "drf"}},
        ("two-levels", "rebuilt", "changes", "swap"),
    ),
    "fair_preempt": ("fair", _TAKES_BACK, ("hogged", "labels", "large-task")),
    "fair_drf": (
        "fair",
        {"default": "drf", "levels": {"root.a": "fifo"}},
        ("two-levels", "masters", "labels"),
    ),
    "hdrf_cap": ("hdrf", {"setting": "cap", "headroom": True}, _TREES),
    "hdrf_preempt": (
        "hdrf",
        _TAKES_BACK,
        (*_TREES, "hogged"),
    ),
    "hdrf_prose": ("hdrf", {"setting": "prose", "leaf": "queue"}, _TREES),
    "hdrf_static": ("hdrf", {"setting": "static", "headroom": True, "leaf": "queue"}, _TREES),
    "ignore_blocked_only_queue": (
        "ignore_blocked_only",
        {"leaf": "queue", "headroom": False},
        _TREES,
    ),
    "per_level_drf_blocked": ("per_level_drf", {"leaf": "queue", "stop_at_blocked": True}, _TREES),
    "rescale_only_queue": ("rescale_only", {"leaf": "queue", "headroom": False}, _TREES),
    "slots_large": (
        "slots",
        {"slots_per_node": 4, "slot_memory_mb": 2048},
        ("two-levels", "three-resources", "changes"),
    ),
    "strict_all": ("strict", {"over": "all"}, ("two-levels", "masters", "changes")),
    "tetris_fair": (
        "tetris",
        {"fairness": 0.5, "work_weight": 0.3},
        ("dags", "mapreduce", "three-resources"),
    ),
}
"""Policies with other options, as in the papers' ablations, and the workloads that show the
effect.
"""


def pairs() -> list[tuple[str, str]]:
    """Return every workload with every policy that decides on it, by their names."""
    plain = [(name, policy) for name in WORKLOADS for policy in sorted(built_in())]
    return plain + [
        (name, variant) for variant, (_, _, names) in VARIANTS.items() for name in names
    ]


def record(name: str, policy: str, folder: Path) -> None:
    """Write the journal of one pair into the folder."""
    base, options, _ = VARIANTS.get(policy, (policy, {}, ()))
    candidate = Candidate(base, options)
    if name in SIMULATED:
        simulate(SIMULATED[name](), candidate, folder)
        return
    config = StressScenario("golden", "", workload("golden", [], [], 1), (), TREE).config(candidate)
    # One workload gets two segments: the second begins with all state.
    cluster = Cluster(config, journal=folder, segment_rounds=60 if name == "rebuilt" else 1000)
    DRIVEN[name](cluster)
    assert cluster.session.journal is not None
    cluster.session.journal.close()
