"""Policies, the loop and the turns they share, and the registry that finds them."""

from __future__ import annotations

from typing import Any, Protocol

from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView


class Policy(Protocol):
    """A scheduling policy: a frozen dataclass whose fields are its options.

    A policy without memory writes ``decide(view) -> Plan``; the registry lifts it to this form.
    ``initial(view, saved)``
    makes the memory at first, and again after a failure or a snapshot; absent, the memory starts as
    None. ``save(memory)``
    names the small durable part that survives a restart. Class attributes, all optional:
    ``walks_tree`` (governs its subtree), ``leaf_only`` (only on a queue without children),
    ``plan_api`` (the version of the policy API that it needs, see PLAN_API),
    ``needs`` (``frozenset({"heartbeats"})``), ``asks_again`` (it may hold back for a reason outside
    its scope, so a turn that took nothing is offered again in the next round, not only after its
    next change or timer).
    """

    def decide(self, view: ClusterView, memory: Any) -> tuple[Plan, Any]:
        """The decisions for what the view shows, and the memory for the next call."""
        ...
