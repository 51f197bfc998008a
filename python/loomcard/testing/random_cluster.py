"""A cluster driven at random, by a seed: nodes, applications and containers come and go. At its
end every ask that can be served must be served.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from loomcard.api.stages.dag_hint import HINT, DagStage, write_dag
from loomcard.model.objects import Ask
from loomcard.model.resource import fits
from loomcard.testing.cluster import BrokenPlanError, Cluster

NODE = (4096, 4)
"""The nodes are small, so that room is seldom enough for all: only then does an order matter."""
SIZES = [(512, 1), (1024, 1), (1024, 2), (2048, 1)]
AM_SIZE = (1024, 1)
REASONS = ["NODE_FULL", "QUEUE_MAX", "ASK_GONE", "STALE"]
PATIENCE = 10
"""How many timers may fire without an allocation before a running container ends."""
TIMERS, IDLE_ROUNDS = 1_000, 200
"""How many timers, or heartbeats of all nodes, an idle cluster may see without an allocation."""


class RandomCluster:
    """Produces random events on a cluster. Equal seeds give equal values; which containers these
    affect depends on what the policy allocated before.

    ``refusing``: the engine refuses single decisions. ``rebuilding``: plans come too late, and
    snapshots are sent.
    """

    def __init__(
        self, cluster: Cluster, seed: int, *, refusing: bool = False, rebuilding: bool = False
    ) -> None:
        self.cluster = cluster
        self.rng = Random(seed)  # noqa: S311 - no secret
        self.refusing = refusing
        self.rebuilding = rebuilding
        self._numbers = {"node": 0, "app": 0}
        paths = [queue["path"] for queue in cluster.compiled["queues"] if queue["leaf"]]
        self._leaves = paths

    def run(self, rounds: int, watch: Callable[[], None]) -> None:
        """Run so many rounds, then the end (see ``drain``); ``watch`` is called after each."""
        for _ in range(3):
            self._node_joins()
        for _ in range(rounds):
            for _ in range(self.rng.randint(1, 4)):
                self._something()
            self._round()
            watch()
        self.cluster.refuse = lambda _: None
        withdraw_hopeless(self.cluster)
        drain(self.cluster, watch)

    def _round(self) -> None:
        cluster, rng = self.cluster, self.rng
        if self.refusing:
            cluster.refuse = lambda _: rng.choice(REASONS) if rng.random() < 0.4 else None
        if self.rebuilding and rng.random() < 0.2:
            cluster.snapshot()
        cluster.heartbeat()
        late = self.rebuilding and rng.random() < 0.3
        cluster.round(rng.choice([1, 10, 500, 3000]), late)

    def _something(self) -> None:
        happenings = [
            (6, self._asks), (6, self._container_ends), (3, self._application_comes),
            (1, self._application_ends), (1, self._node_joins), (1, self._node_is_lost),
            (1, self._refuses_a_node),
        ]  # fmt: skip
        weights = [weight for weight, _ in happenings]
        self.rng.choices([happening for _, happening in happenings], weights)[0]()

    def _next(self, kind: str) -> int:
        self._numbers[kind] += 1
        return self._numbers[kind]

    def _node_joins(self) -> None:
        rack = self.rng.choice(["/a", "/b"])
        self.cluster.add_node(self._next("node"), *NODE, rack=rack)

    def _node_is_lost(self) -> None:
        if len(self.cluster.nodes) > 2:
            self.cluster.lose_node(self.rng.choice(sorted(self.cluster.nodes)))

    def _application_comes(self) -> None:
        number, rng = self._next("app"), self.rng
        user, queue = rng.choice(["alice", "bob"]), rng.choice(self._leaves)
        stages = [
            DagStage("first", 20, rng.randint(1, 8), 1000.0 * rng.randint(1, 60), SIZES[0], []),
            DagStage("last", 10, rng.randint(1, 4), 1000.0 * rng.randint(1, 60), SIZES[1], [0]),
        ]
        hints = {HINT: write_dag(stages)} if rng.random() < 0.5 else {}
        kind = "MAPREDUCE" if number % 3 == 0 else "T"
        self.cluster.add_app(number, queue, user, rng.choice([0, 0, 0, 1]), hints=hints, type=kind)
        if rng.random() < 0.3:
            self.cluster.ask(number, 1, AM_SIZE, priority=0, is_am=True)
        self.cluster.ask(number, rng.randint(1, 6), rng.choice(SIZES))

    def _application_ends(self) -> None:
        if self.cluster.applications:
            self.cluster.end_app(self.rng.choice(sorted(self.cluster.applications)))

    def _asks(self) -> None:
        rng, apps = self.rng, sorted(self.cluster.applications)
        if not apps:
            return
        keys = {}
        if rng.random() < 0.3:
            node = rng.choice(sorted(self.cluster.nodes))
            keys = {"hosts": {f"n{node}": 2}, "racks": {"/a": 2}, "relax": rng.random() < 0.7}
        app, priority, count = rng.choice(apps), rng.choice([10, 20]), rng.randint(0, 6)
        if count or (app, priority, 0) in self.cluster.asks:
            self.cluster.ask(app, count, rng.choice(SIZES), priority, **keys)

    def _container_ends(self) -> None:
        if self.cluster.containers:
            number = self.rng.choice(sorted(self.cluster.containers))
            self.cluster.complete(number, self.rng.choice(["completed", "killed", "released"]))

    def _refuses_a_node(self) -> None:
        if self.cluster.applications:
            names = [f"n{number}" for number in sorted(self.cluster.nodes)[:1]]
            app = self.rng.choice(sorted(self.cluster.applications))
            self.cluster.blacklist(app, *self.rng.choice([names, []]))


def withdraw_hopeless(cluster: Cluster) -> None:
    """Withdraw asks that even the empty cluster could not serve, and all blacklists."""
    for app in sorted(cluster.applications):
        cluster.blacklist(app)
    cluster.round()  # the limits of the mirror's queues then follow the present nodes
    for key, demand in list(cluster.asks.items()):
        if not any(_may_ever(cluster, demand, number) for number in cluster.nodes):
            app, priority, request_id = key
            cluster.ask(app, 0, demand.size, priority, request_id=request_id)
        elif not demand.relax_locality:
            rows = [*demand.hosts.values(), *demand.racks.values()]
            if demand.count > min(rows):  # the rows run out before the count does
                app, priority, request_id = key
                size = demand.size
                cluster.ask(app, demand.count, size, priority, request_id=request_id)


def _may_ever(cluster: Cluster, ask: Ask, number: int) -> bool:
    node, size = cluster.state.nodes[number], ask.size
    if not node.takes(ask.label) or not fits(size, node.capacity) or ask.reach(node) is None:
        return False
    queue = ask.application.queue
    limits = [*(above.maximum for above in queue.capped), queue.user_limit]
    return all(limit is None or fits(size, limit) for limit in limits)


def drain(cluster: Cluster, watch: Callable[[], None] = lambda: None) -> None:
    """Let every ask be served: run rounds and due timers, and end the oldest container when
    neither allocates anything. Nothing new comes.

    Raises BrokenPlanError ("liveness") when an ask waits although nothing runs and no timer is
    set, or when timers fire without end. A policy that never uses the whole cluster passes.
    """
    idle = fired = 0
    while cluster.asks:
        cluster.heartbeat()
        if cluster.timers and (fired < PATIENCE or not cluster.containers):
            fired += 1
            allocated = cluster.round(max(1, min(cluster.timers.values()) - cluster.now))
        else:
            allocated = cluster.round(1000)
            if not allocated and not cluster.timers and not cluster.containers:
                idle += 1
        watch()
        if allocated:
            idle = fired = 0
        elif cluster.containers and (fired >= PATIENCE or not cluster.timers):
            cluster.complete(min(cluster.containers))
            fired = 0
        elif fired > TIMERS or idle > (IDLE_ROUNDS if cluster.compiled["needs"] else 1):
            raise BrokenPlanError("liveness", _waits(cluster, fired))


def _waits(cluster: Cluster, fired: int) -> str:
    key, demand = next(iter(cluster.asks.items()))
    timers = f"{fired} timers fired" if fired else "no timer is set"
    said = cluster.reasons.get(key, "nothing")
    return (
        f"application {key[0]} waits for {demand.count} containers of {demand.size} on a "
        f"cluster where nothing runs, and {timers}; the reported reason is {said}"
    )
