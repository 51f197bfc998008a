"""First in, first out, bound to heartbeats: as YARN's own schedulers, which grant on the node that
has just sent its heartbeat and nowhere else. Some of YARN's tests expect no less.
"""

from dataclasses import dataclass

from loomcard.model.cluster import Ask, Node
from loomcard.model.events import NodeHeartbeat
from loomcard.model.plan import Plan
from loomcard.model.view import ClusterView


@dataclass(frozen=True)
class HeartbeatFifo:
    """Serve asks in order on each node that sent its heartbeat, as far as it holds them."""

    leaf_only = True
    asks_again = True
    needs = frozenset({"heartbeats"})

    def decide(self, view: ClusterView) -> Plan:
        """Every heartbeat once, in order."""
        plan = Plan(view)
        for event in view.changes_of(NodeHeartbeat):
            for ask in plan.pending(order=lambda ask: ask.priority):
                serve(plan, ask, event.node)
        return plan


def serve(plan: Plan, ask: Ask, node: Node) -> None:
    """As many containers of the ask as the node may hold."""
    while (
        ask.count > 0
        and plan.allows(ask)
        and plan.limited(ask) is None
        and plan.why_not(ask, node) is None
    ):
        plan.allocate(ask, node)
