"""First in, first out: the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from loomcard.model.cluster import Member
from loomcard.model.plan import Plan
from loomcard.model.view import ClusterView
from loomcard.policies.fill import fill
from loomcard.policies.hold import HOLD_AFTER_MS
from loomcard.policies.registry import register


@register("fifo")
@dataclass(frozen=True)
class FirstInFirstOut:
    """Serve the member that was submitted first; a higher application priority goes before.

    ``hold_after_ms``: how long who is first in line is passed over, because it fits nowhere, before
    room is held for it; 0: it never is.
    """

    hold_after_ms: int = HOLD_AFTER_MS

    def decide(self, view: ClusterView) -> Plan:
        """Fill by priority, then by submission; what fits nowhere is passed over."""
        return fill(Plan(view), order=by_priority, hold_after_ms=self.hold_after_ms, goes_on=True)


def by_priority(member: Member) -> tuple[int, int]:
    """Higher YARN application priority first, then earlier submission; queues have no priority."""
    return -getattr(member, "priority", 0), member.submitted_ms
