"""Policies that leave out what could be served: for ``python -m benchmarks.silent_policies`` and
``make chaos``. They serve everything else in order of submission.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loomcard import Ask, ClusterView, Node, Plan

ROUNDS = 40
"""After this many rounds the kind ``rounds`` allocates nothing more."""
EVERY_MS = 30_000
"""The kind ``slowly`` allocates a container once in this time."""
LIE_MS = 5_000
"""A stated rule is valid this long; a liar states it again."""
USER, APPLICATION, PRIORITY, NODE = "u1", "app-2", 10, "n1"
"""What the kinds of these names leave out; the node, though, is the only one that is served."""


@dataclass(frozen=True)
class Silent:
    """Leaves out what ``kind`` names; ``whom`` replaces the user, application or node above."""

    kind: str
    whom: str = ""

    walks_tree = True

    def initial(self, _view: ClusterView, _saved: Any) -> dict[str, int]:
        """Return a memory with no round and no allocation yet."""
        return {"rounds": 0, "at_ms": -EVERY_MS}

    def decide(self, view: ClusterView, memory: dict[str, int]) -> tuple[Plan, dict[str, int]]:
        """Serve by submission; the memory counts rounds, and contains when the last container was
        allocated.
        """
        plan = Plan(view)
        memory["rounds"] += 1
        left = plan.pending(lambda ask: ask.application.submitted_ms)
        for ask in left:
            if self._leaves_out(ask, memory):
                self._excuse(plan, ask)
                continue
            while ask.count > 0 and (node := self._node(plan, ask)) is not None:
                if self.kind == "slowly":
                    if view.now_ms - memory["at_ms"] < EVERY_MS:
                        break
                    memory["at_ms"] = view.now_ms
                plan.allocate(ask, node)
        if any(ask.count > 0 for ask in left):
            plan.wake_at(view.now_ms + 1_000)
        return plan, memory

    def _leaves_out(self, ask: Ask, memory: dict[str, int]) -> bool:
        match self.kind:
            case "always" | "false-reason" | "lies-for-ever" | "lies-now-and-then":
                return True
            case "user":
                return ask.application.user == (self.whom or USER)
            case "application":
                return ask.application.name == (self.whom or APPLICATION)
            case "rounds":
                return memory["rounds"] > ROUNDS
            case "masters":
                return ask.is_am
            case "tasks":
                return not ask.is_am
            case "priority":
                return ask.priority == PRIORITY and not ask.is_am
        return False

    def _excuse(self, plan: Plan, ask: Ask) -> None:
        now_ms = plan.view.now_ms
        if self.kind == "false-reason":
            plan.wait(ask, "SHARE")
        elif self.kind == "lies-for-ever" or (
            self.kind == "lies-now-and-then" and now_ms // LIE_MS % 2 == 0
        ):
            plan.wait(ask, "SHARE", now_ms + LIE_MS)

    def _node(self, plan: Plan, ask: Ask) -> Node | None:
        found = plan.nodes_fitting(ask)
        if self.kind == "one-node":
            return next((node for node in found if node.host == (self.whom or NODE)), None)
        return next(found, None)


@dataclass(frozen=True)
class NoTurn:
    """A parent that gives no turn to one of its children."""

    child: str

    def decide(self, view: ClusterView) -> Plan:
        """Give one container to each other child in turn, until none takes one."""
        plan = Plan(view)
        others = [queue for queue in view.queue.children if queue.path != self.child]
        while any(plan.turn(queue).count for queue in others):
            continue
        return plan
