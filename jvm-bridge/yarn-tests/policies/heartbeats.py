"""First in, first out, bound to heartbeats.

Like YARN's own schedulers it allocates only on the node that has just sent its heartbeat. Like
Capacity by default it allocates, per heartbeat, at most one container that is not near what its ask
named. Some of YARN's tests expect exactly that.
"""

from dataclasses import dataclass

from loomcard.model.objects import Ask, Node
from loomcard.model.events import NodeHeartbeat
from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView

FAR = 2  # what Ask.reach calls a node that the ask did not name


@dataclass(frozen=True)
class HeartbeatFifo:
    """Serve asks in order on each node that sent its heartbeat, up to the first far container."""

    leaf_only = True
    asks_again = True
    needs = frozenset({"heartbeats"})

    def decide(self, view: ClusterView) -> Plan:
        """Serve every heartbeat once, in order."""
        plan = Plan(view)
        for event in view.changes_of(NodeHeartbeat):
            for ask in plan.pending(order=lambda ask: ask.priority):
                if serve(plan, ask, event.node):
                    break
        return plan


def serve(plan: Plan, ask: Ask, node: Node) -> bool:
    """Allocate as many containers of the ask as the node has room for. Stop and return True after
    one on a node that is neither a host nor in a rack that the ask named.
    """
    while (
        ask.count > 0
        and plan.allows(ask)
        and plan.limited(ask) is None
        and plan.why_not(ask, node) is None
    ):
        far = ask.reach(node) == FAR
        plan.allocate(ask, node)
        if far:
            return True
    return False
