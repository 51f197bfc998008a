"""A stateful test by Hypothesis: it finds the shortest run in which a policy fails."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

try:
    from hypothesis import strategies as st
    from hypothesis.stateful import (
        RuleBasedStateMachine,
        initialize,
        invariant,
        precondition,
        rule,
    )
except ImportError as error:
    raise ImportError("PolicyMachine needs Hypothesis: pip install hypothesis") from error

from loomcard.engine.session import replay
from loomcard.model.objects import Application
from loomcard.model.queue import Queue
from loomcard.testing.cluster import Cluster
from loomcard.testing.policy_configs import configs
from loomcard.testing.random_cluster import drain, withdraw_hopeless

SIZES = st.sampled_from([(512, 1), (1024, 1), (2048, 3), (9000, 1), (1024, 0)])
REASONS = st.sampled_from(["NODE_FULL", "QUEUE_MAX", "STALE"])
USERS, ENDS = st.sampled_from(["alice", "bob"]), st.sampled_from(["completed", "killed"])
Rule = TypeVar("Rule", bound=Callable[..., None])


def if_any(what: str) -> Callable[[Rule], Rule]:
    """Restrict a rule to clusters that have some of ``what``."""
    return precondition(lambda self: getattr(self.cluster, what))


class PolicyMachine(RuleBasedStateMachine):
    """Each rule is an event on the cluster. After each the state must add up; at the end every ask
    must be served, and the journal must replay.

    A subclass sets its ``policy``, in any form that ``check_contract`` takes, and its ``TestCase``
    is the test. ``tolerant``: the policy may raise, and need not serve every ask.
    """

    policy: Any = None
    tolerant = False

    @classmethod
    def compiled(cls, draw: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the compiled configuration of the cluster; ``draw`` draws from a strategy."""
        places = configs(cls.policy)
        return places[draw(st.sampled_from(list(places)))]

    @initialize(data=st.data())
    def begin(self, data: Any) -> None:
        """Begin with an empty cluster and a journal of short segments."""
        compiled = self.compiled(data.draw)
        self.folder = tempfile.TemporaryDirectory()
        journal = Path(self.folder.name)
        self.cluster = Cluster(compiled, journal=journal, segment_rounds=4, tolerant=self.tolerant)
        self.leaves = [queue["path"] for queue in compiled["queues"] if queue["leaf"]]
        self.apps = self.node_number = 0
        self.consistent = True  # no step has failed

    @rule(memory=st.integers(0, 8192), vcores=st.integers(0, 8), rack=st.sampled_from(["/a", "/b"]))
    def node_joins(self, memory: int, vcores: int, rack: str) -> None:
        """Add a node of any size, even 0."""
        self.node_number += 1
        self.cluster.add_node(self.node_number, memory, vcores, rack=rack)

    @if_any("nodes")
    @rule(pick=st.integers(0))
    def node_is_lost(self, pick: int) -> None:
        """Remove a node and its containers."""
        self.cluster.lose_node(_nth(self.cluster.nodes, pick))

    @rule(leaf=st.integers(0), user=USERS, priority=st.integers(0, 2))
    def application_comes(self, leaf: int, user: str, priority: int) -> None:
        """Add an application, which asks for nothing yet."""
        self.apps += 1
        self.cluster.add_app(self.apps, self.leaves[leaf % len(self.leaves)], user, priority)

    @if_any("applications")
    @rule(pick=st.integers(0))
    def application_ends(self, pick: int) -> None:
        """End an application and its containers."""
        self.cluster.end_app(_nth(self.cluster.applications, pick))

    @if_any("applications")
    @rule(
        app=st.integers(0),
        count=st.integers(0, 6),
        size=SIZES,
        priority=st.integers(1, 2),
        node=st.integers(1, 4),
        relax=st.booleans(),
    )
    def application_asks(
        self, app: int, count: int, size: tuple[int, int], priority: int, node: int, relax: bool
    ) -> None:
        """Ask for containers anywhere, or near a node that may not exist."""
        number = _nth(self.cluster.applications, app)
        near = {"hosts": {f"n{node}": 1}, "racks": {"/a": 1}, "relax": relax}
        if count or (number, priority, 0) in self.cluster.asks:
            self.cluster.ask(number, count, size, priority, **(near if node < 4 else {}))

    @if_any("containers")
    @rule(pick=st.integers(0), kind=ENDS)
    def container_ends(self, pick: int, kind: str) -> None:
        """End any running container."""
        self.cluster.complete(_nth(self.cluster.containers, pick), kind)

    @rule(reason=REASONS, nth=st.integers(1, 3))
    def a_round_with_refusals(self, reason: str, nth: int) -> None:
        """Run a round in which every ``nth`` decision is refused."""
        counter = iter(range(10_000))
        self.cluster.refuse = lambda _: reason if next(counter) % nth == 0 else None
        self.cluster.round()
        self.cluster.refuse = lambda _: None

    @rule(late=st.booleans(), ms=st.integers(1, 6000))
    def a_round(self, late: bool, ms: int) -> None:
        """Run a round; its plan comes in time or too late."""
        self.cluster.heartbeat()
        self.cluster.round(ms, late)

    @rule()
    def a_snapshot(self) -> None:
        """Rebuild mirror and memories with the next round."""
        self.cluster.snapshot()

    @invariant()
    def state_adds_up(self) -> None:
        """Check that no node gives more than it has, and queues use what their applications use."""
        if not hasattr(self, "cluster"):
            return
        self.consistent = False
        state = self.cluster.session.mirror.state
        for node in state.nodes.values():
            assert min(node.free, default=0) >= 0, f"{node} is over-allocated"
        for queue in state.queues:
            apps = _below(queue)
            held = [sum(c.size[i] for a in apps for c in a.containers) for i in (0, 1)]
            assert queue.used == held, f"{queue} is booked with another sum than its containers'"
            assert queue.pending_count == sum(ask.count for a in apps for ask in a.asks)
        self.consistent = True

    def teardown(self) -> None:
        """Serve every ask, then replay the journal."""
        if not hasattr(self, "cluster"):
            return
        with self.folder:
            if self.cluster.in_round or not self.consistent:
                return  # a step has failed: later failures only follow from it
            if not self.tolerant:
                withdraw_hopeless(self.cluster)
                drain(self.cluster)
            self.cluster.round()
            assert self.cluster.session.journal is not None
            self.cluster.session.journal.close()
            assert replay(Path(self.folder.name)) == []


def _nth(numbers: Any, pick: int) -> int:
    found = sorted(numbers)
    return int(found[pick % len(found)])


def _below(queue: Queue) -> list[Application]:
    if queue.leaf:
        return list(queue.applications.values())
    return [app for child in queue.children for app in _below(child)]
