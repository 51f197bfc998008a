"""Dominant Resource Fairness (Ghodsi et al., NSDI 2011)."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard.model.plan import Plan
from loomcard.model.view import ClusterView
from loomcard.policies.fill import fill
from loomcard.policies.registry import register


@register("drf")
@dataclass(frozen=True)
class DominantResourceFairness:
    """Serve the member with the smallest weighted dominant share first."""

    def decide(self, view: ClusterView) -> Plan:
        """The paper's Algorithm 1: pick the smallest dominant share s_i, grant one task, repeat."""
        plan = Plan(view)
        return fill(plan, order=plan.dominant_share)
