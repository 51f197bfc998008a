"""The contract of every policy, and a randomised test of it."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from loomcard.engine.session import Session, replay
from loomcard.model.label_limits import PPM
from loomcard.simulator import PolicyFaultError, simulate
from loomcard.stress.predicates import Consistent, Ends, NoIdleRoom
from loomcard.stress.run import SCENARIOS, judge
from loomcard.testing.cluster import BrokenPlanError, Cluster, PolicyRaisedError
from loomcard.testing.policy_configs import candidate, configs
from loomcard.testing.random_cluster import NODE, SIZES, RandomCluster
from loomcard.testing.small_workload import small_scenario
from loomcard.testing.subprocess_replay import plans_in_subprocess
from loomcard.wire.plain_data import decode, encode

ROUNDS = 15
SEEDS = range(3)
STREAM_NODES, STREAM_ROUNDS = 8, 120


class Clause(StrEnum):
    """What a policy promises.

    OVER_ALLOCATES: no node, queue or user ever uses more than it may. ASK: only what is asked for
    is allocated. RAISES: ``decide`` never raises. READ_ONLY: only a plan's methods change what the
    view shows. EMPTY: without a node or an ask no decision is made. DETERMINISTIC: equal batches
    give equal plans: in another session, from any segment of the journal on, and in another process
    with other hashes. ORDER: applications and nodes that are introduced at one time may be
    introduced and numbered in any order. If no two applications were submitted at the same time and
    all nodes are equal, each application gets the same amount in every order. REFUSAL: an ask whose
    allocation was refused is served later. REBUILD: every ask is served after late plans and
    snapshots. MEMORY: memory is plain data that the journal can contain. LIVENESS: every finite
    demand is served in finite time if timers are honoured, in the simulator too. WAIT: a task of a
    node's size that came first is served within a bounded time, even if small tasks keep coming.
    STRESS: in the short stress scenarios nothing raises or is refused, and every application ends.
    IDLE: in them no room that a waiting task could use stays free for more than 2 s.
    """

    OVER_ALLOCATES = "over-allocates"
    ASK = "ask"
    RAISES = "raises"
    READ_ONLY = "read-only"
    EMPTY = "empty"
    DETERMINISTIC = "deterministic"
    ORDER = "order"
    REFUSAL = "refusal"
    REBUILD = "rebuild"
    MEMORY = "memory"
    LIVENESS = "liveness"
    WAIT = "bounded-wait"
    STRESS = "stress"
    IDLE = "idle-room"


class ContractError(AssertionError):
    """A policy broke ``clause``, with ``seed``, in the configuration ``where``; ``batch`` is the
    last batch that it was given, as text. A stress scenario has no seed and no batch.
    """

    def __init__(
        self, clause: Clause, message: str, where: str, seed: int | None = None, batch: str = ""
    ) -> None:
        again = f"`loomcard {where.replace(' scenario', ' ... --scenario')}`"
        if seed is not None:
            where = f"configuration {where!r} with seed {seed}"
            again = f"check_contract(..., seeds=[{seed}])\n  the last batch: {batch[:2000]}"
        super().__init__(f"{clause}: {message}\n  found in {where}; again: {again}")
        self.clause = clause
        self.where = where
        self.seed = seed
        self.batch = batch


@dataclass
class Trial:
    """One configuration with one seed, and the cluster that was used last."""

    where: str
    compiled: dict[str, Any]
    seed: int
    cluster: Cluster = field(init=False)
    completed: Cluster | None = None  # the cluster of the plain run

    def fresh(self, **keys: Any) -> Cluster:
        """Return a new cluster under the policy."""
        self.cluster = Cluster(self.compiled, **keys)
        return self.cluster

    def broken(self, clause: Clause, message: str) -> ContractError:
        """Return the error, with all that is needed to reproduce it."""
        history = self.cluster.history
        batch = history[-1][0] if history else ""
        return ContractError(clause, message, self.where, self.seed, batch)


def check_contract(
    policy: Any,
    *,
    seeds: Iterable[int] = SEEDS,
    skip: Collection[Clause] = (),
    hash_seed: int | None = 77,
) -> None:
    """Raise ContractError unless ``policy`` keeps every clause in the runs of these seeds.

    ``policy``: an object, a class, a registered name or ``path/to/file.py:Class``, or the YAML text
    of a configuration. A policy is tried alone and among queues, a configuration unchanged.
    ``skip``: clauses that the policy breaks by design (a policy that samples by arrival breaks
    ORDER). ``hash_seed``: PYTHONHASHSEED of the other process. With None no other process is
    started; also not for a class inside a function, which another process could not import.
    """
    places = configs(policy)
    trials = [Trial(where, places[where], seed) for where in places for seed in seeds]
    for trial in trials:
        for clause, check in _CHECKS.items():
            if clause not in skip:
                _evaluate(trial, clause, check, skip)
    _withstands(policy, skip)
    if hash_seed is not None and Clause.DETERMINISTIC not in skip:
        _same_in_subprocess(trials, hash_seed)


def _evaluate(
    trial: Trial, clause: Clause, check: Callable[[Trial], None], skip: Collection[Clause]
) -> None:
    """Run one check; an inconsistent state is reported as such, whatever was checked."""
    try:
        check(trial)
    except BrokenPlanError as error:
        broken = Clause(error.clause)
        if broken is Clause.LIVENESS and clause in (Clause.REFUSAL, Clause.REBUILD):
            broken = clause  # a run without refusals or rebuilds serves it
        if broken not in skip:
            raise trial.broken(broken, str(error)) from error
    except PolicyRaisedError as error:
        broken = _of_fault(clause, error.fault)
        if broken not in skip:
            raise trial.broken(broken, str(error)) from error


def _of_fault(clause: Clause, fault: str) -> Clause:
    """Return the clause that a policy breaks by raising; a Plan's own errors have other clauses."""
    if ": PlanError: " in fault:
        reason = fault.rpartition(" ")[2]
        if reason in ("NODE_FULL", "QUEUE_MAX", "USER_LIMIT", "AM_LIMIT", "RUNNING_LIMIT"):
            return Clause.OVER_ALLOCATES
        if reason.isupper():
            return Clause.ASK
    return clause if clause in (Clause.EMPTY, Clause.REFUSAL, Clause.REBUILD) else Clause.RAISES


def _empty(trial: Trial) -> None:
    """Try no nodes and asks; asks without a node; nodes without an ask; a node that is lost."""
    cluster = trial.fresh()
    leaf = next(queue["path"] for queue in trial.compiled["queues"] if queue["leaf"])
    cluster.round()
    cluster.add_app(1, leaf)
    cluster.ask(1, 2)
    cluster.round()
    cluster.ask(1, 0)
    cluster.add_node(1, *NODE)
    cluster.round()
    cluster.lose_node(1)
    cluster.heartbeat()
    cluster.round()
    for _, plan in cluster.history:
        if not plan.startswith(f'["plan",{cluster.history.index((_, plan)) + 1},[],'):
            raise trial.broken(Clause.EMPTY, f"a plan decides on nothing: {plan}")


def _random_clusters(trial: Trial) -> None:
    """Check that a run without refusals keeps the state consistent and serves every ask."""
    trial.completed = cluster = trial.fresh()
    RandomCluster(cluster, trial.seed).run(ROUNDS, lambda: None)


def _memory_is_plain(trial: Trial) -> None:
    cluster = trial.fresh()
    RandomCluster(cluster, trial.seed).run(ROUNDS, lambda: _memory_encodes(trial))


def _memory_encodes(trial: Trial) -> None:
    assert trial.cluster.session.tree is not None
    for instance in trial.cluster.session.tree.instances.values():
        try:
            again = decode(encode(instance.memory))
        except Exception as error:  # a class of the policy may raise any error
            raise trial.broken(
                Clause.MEMORY, f"{instance.key}: {type(error).__name__}: {error}"
            ) from error
        if again != instance.memory:
            message = f"{instance.key}: {instance.memory!r} is read back as {again!r}"
            raise trial.broken(Clause.MEMORY, message)


def _decides_alike(trial: Trial) -> None:
    """Replay the same batches in a fresh session, then from each segment of its journal."""
    if trial.completed is None:
        return
    completed = trial.cluster = trial.completed
    settings = {**completed.session.hello.settings, "journal_segment_rounds": 4}
    hello = msgspec.structs.replace(completed.session.hello, settings=settings)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(hello, Path(folder))
        for number, (batch, plan) in enumerate(completed.history, 1):
            again = session.decide(batch)
            if again != plan:
                message = f"round {number} gave {plan}, and the second time {again}"
                raise trial.broken(Clause.DETERMINISTIC, message)
        assert session.journal is not None
        session.journal.close()
        for difference in replay(Path(folder)):
            message = (
                f"round {difference.round}, replayed from the journal, gives {difference.replay} "
                f"instead of {difference.journal}: something it decides by is not in its memory"
            )
            raise trial.broken(Clause.DETERMINISTIC, message)


def _same_in_subprocess(trials: list[Trial], hash_seed: int) -> None:
    """Replay the same batches in a process whose sets and dicts of text have other hashes."""
    completed = [trial for trial in trials if trial.completed is not None]
    for trial in completed:
        trial.cluster = trial.completed  # type: ignore[assignment]
    plans = plans_in_subprocess([trial.cluster for trial in completed], hash_seed)
    for trial, found in zip(completed, plans, strict=True):
        for (_, plan), other in zip(trial.cluster.history, found, strict=True):
            if plan != other:
                message = f"with PYTHONHASHSEED={hash_seed} it gives {other} instead of {plan}"
                raise trial.broken(Clause.DETERMINISTIC, message)


def _survives_refusals(trial: Trial) -> None:
    RandomCluster(trial.fresh(), trial.seed, refusing=True).run(ROUNDS, lambda: None)


def _survives_rebuilding(trial: Trial) -> None:
    RandomCluster(trial.fresh(), trial.seed, rebuilding=True).run(ROUNDS, lambda: None)


def _orders_alike(trial: Trial) -> None:
    """Check that equal applications, introduced in three orders, get equal amounts each round."""
    orders = [list(range(6)), list(range(6))[::-1], Random(trial.seed).sample(range(6), 6)]  # noqa: S311
    runs = [_introduce(trial, order) for order in orders]
    for order, run in zip(orders[1:], runs[1:], strict=True):
        for number, (first, other) in enumerate(zip(runs[0], run, strict=True), 1):
            if first != other:
                message = (
                    f"introduced as {orders[0]}, applications get {dict(first)} in round {number}; "
                    f"introduced as {order}, they get {dict(other)}"
                )
                raise trial.broken(Clause.ORDER, message)


def _introduce(trial: Trial, order: list[int]) -> list[Counter[int]]:
    """Return what each application gets in each round, by its rank in submission order."""
    cluster, rng = trial.fresh(), Random(trial.seed)  # noqa: S311 - no secret
    leaves = [queue["path"] for queue in trial.compiled["queues"] if queue["leaf"]]
    number_of = {rank: number for number, rank in enumerate(order, 1)}
    rank_of = {number: rank for rank, number in number_of.items()}
    cluster.now = 10_000
    for number, rank in enumerate([rank for rank in order if rank < 4], 1):
        cluster.add_node(number, *NODE, host=f"host{rank}")
    wanted = [(rng.randint(6, 20), rng.choice(SIZES), rng.random()) for _ in order]
    for rank in order:
        facts: dict[str, Any] = {
            "submitted_ms": 1000 * (rank + 1),
            "id": f"application_1_{rank + 1:04d}",
        }
        cluster.add_app(number_of[rank], leaves[rank % len(leaves)], f"user{rank % 2}", **facts)
        cluster.ask(number_of[rank], *wanted[rank][:2])
    found = []
    for _ in range(6):
        cluster.heartbeat()
        found.append(Counter(rank_of[allocated.app] for allocated in cluster.round(5000)))
        for rank in order:
            mine = [g.number for g in cluster.containers.values() if rank_of[g.app] == rank]
            for number in mine[: round(len(mine) * wanted[rank][2])]:
                cluster.complete(number)
    return found


def _ends_in_the_simulator(trial: Trial) -> None:
    """Check that a small workload with faults, failing tasks and AMs ends, twice equally."""
    trial.fresh()
    scenario = small_scenario(trial.compiled, trial.seed)
    try:
        one, two = (simulate(scenario, trial.compiled, policy="test", check=True) for _ in range(2))
    except PolicyFaultError as error:
        fault = str(error).rpartition("\n")[2]
        broken = _of_fault(Clause.RAISES, f": {fault}")
        raise trial.broken(broken, f"in the simulator: {error}") from error
    left = [app.id for app in one.applications if not app.state]
    if left:
        raise trial.broken(Clause.LIVENESS, f"in the simulator {', '.join(left)} never end")
    if one.containers != two.containers:
        raise trial.broken(Clause.DETERMINISTIC, "two simulations of one workload differ")


def _withstands(policy: Any, skip: Collection[Clause]) -> None:
    """Run the short stress scenarios, with the predicates that every policy should fulfil."""
    wanted = {
        Consistent.name: Clause.STRESS,
        Ends.name: Clause.STRESS,
        NoIdleRoom.name: Clause.IDLE,
    }
    wanted = {name: clause for name, clause in wanted.items() if clause not in skip}
    for build in SCENARIOS.values() if wanted else ():
        if (scenario := build()).cheap:
            for name, said in judge(scenario, candidate(policy)).broken.items():
                if name in wanted:
                    where = f"stress scenario {scenario.name}"
                    raise ContractError(wanted[name], f"{name}: {said}", where)


def _unlimited_leaf(queues: list[dict[str, Any]]) -> str | None:
    """Return the first leaf queue that may use the whole cluster, as may each of its users."""
    whole = {"ppm": PPM}
    free: dict[int | None, bool] = {None: True}
    for number, queue in enumerate(queues):  # parents come first
        own = queue["maximum"] == whole and queue["user_limit_ppm"] == PPM
        free[number] = own and free[queue["parent"]]
        if queue["leaf"] and free[number]:
            return str(queue["path"])
    return None


def _waits_boundedly(trial: Trial) -> None:
    """Check that a task of a node's size is served though small tasks keep coming. Each small task
    comes as soon as there is room for it, and runs for about ten seconds. The queue has no limits:
    below a queue's maximum the task would wait for its own queue, whatever a policy reserves.
    """
    unlimited = _unlimited_leaf(trial.compiled["queues"])
    if unlimited is None:
        return
    cluster = trial.fresh()
    leaves = [queue["path"] for queue in trial.compiled["queues"] if queue["leaf"]]
    slots = NODE[1] * STREAM_NODES
    for number in range(1, STREAM_NODES + 1):
        cluster.add_node(number, *NODE)
    apps = iter(range(2, 1 << 30))
    for _ in range(slots):
        _small_app(cluster, next(apps), leaves)
    cluster.heartbeat()
    cluster.round(1000)
    cluster.add_app(1, unlimited, "large", submitted_ms=0)
    cluster.ask(1, 1, NODE)
    for _ in range(STREAM_ROUNDS):
        for container in sorted(cluster.containers)[: slots // 10]:
            cluster.complete(container)
            _small_app(cluster, next(apps), leaves)
        cluster.heartbeat()
        if any(allocated.app == 1 for allocated in cluster.round(1000)):
            return
    said = cluster.reasons.get((1, 20, 0), "nothing")
    raise trial.broken(
        Clause.WAIT,
        f"a task of {NODE} on nodes of that size waits for {STREAM_ROUNDS} s while tasks of "
        f"{SIZES[1]} that came later are served; the reported reason is {said}. "
        "fill reserves room for it",
    )


def _small_app(cluster: Cluster, number: int, leaves: list[str]) -> None:
    cluster.add_app(number, leaves[number % len(leaves)], f"user{number % 2}")
    cluster.ask(number, 1, SIZES[1])


_CHECKS: dict[Clause, Callable[[Trial], None]] = {
    Clause.EMPTY: _empty,
    Clause.RAISES: _random_clusters,
    Clause.MEMORY: _memory_is_plain,
    Clause.DETERMINISTIC: _decides_alike,
    Clause.ORDER: _orders_alike,
    Clause.REFUSAL: _survives_refusals,
    Clause.REBUILD: _survives_rebuilding,
    Clause.LIVENESS: _ends_in_the_simulator,
    Clause.WAIT: _waits_boundedly,
}
