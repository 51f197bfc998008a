"""The mirror that batches maintain equals the one that a snapshot builds, whatever happened
before.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant

from labelled import LabelledMachine
from loomcard.engine.mirror import Mirror
from loomcard.engine.snapshot import dump, load
from loomcard.testing.policy_configs import configs


def as_data(mirror: Mirror) -> dict[str, Any]:
    """Return what a policy can see of a mirror, by numbers that stay the same after a snapshot."""
    state = mirror.state
    return {
        "nodes": {
            n.number: (n.host, n.rack, n.label, n.shared, n.capacity, tuple(n.free))
            for n in state.nodes.values()
        },
        "partitions": {label: sorted(p.nodes) for label, p in state.partitions.items()},
        "shared": sorted(state.partitions.shared),
        "queues": [(q.path, q.used, q.am_used, q.pending_count) for q in state.queues],
        "users": [{u: s for u, s in q.user_used.items() if any(s)} for q in state.queues],
        "applications": {
            a.number: (a.queue.path, a.priority, a.used, a.pending_count)
            for a in state.applications.values()
        },
        "asks": {
            ask.key: (ask.size, ask.count, ask.hosts, ask.racks, ask.label, ask.relax_locality)
            for attempt in state.attempts.values()
            for ask in attempt.asks.values()
            if ask.count
        },
        "labelled": {
            label: sorted(ask.key for ask in asks) for label, asks in state.labelled.items() if asks
        },
        "containers": sorted(
            (c.application.number, c.node.number, c.size, c.ask_key, c.is_am)
            for a in state.applications.values()
            for c in a.containers
        ),
        "shapes": state.shapes,
        "free": state.free,
    }


class ClusterMachine(LabelledMachine):
    """Nodes come, go and change their labels; some of their partitions lend."""

    policy = "drf"
    tolerant = True

    @classmethod
    def compiled(cls, draw):
        places = configs(cls.policy)
        return places[draw(st.sampled_from(list(places)))]

    @invariant()
    def a_snapshot_gives_the_same(self) -> None:
        """Compare the two once the engine has reported all changes."""
        if not hasattr(self, "cluster") or self.cluster.waiting or not self.cluster.history:
            return
        cluster, mirror = self.cluster, self.cluster.session.mirror
        kept = cluster.outcomes, cluster.timers, cluster.waiting
        cluster.snapshot()
        records, fresh = cluster.waiting, Mirror(mirror.types)
        cluster.outcomes, cluster.timers, cluster.waiting = kept
        fresh.absorb(records)
        again = Mirror(mirror.types)
        load(again, dump(mirror))  # as at the beginning of a journal's segment
        assert as_data(mirror) == as_data(again)
        if cluster.outcomes is None or not cluster.outcomes.refusals:
            assert as_data(mirror) == as_data(fresh)


ClusterMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestClusterMachine = ClusterMachine.TestCase
