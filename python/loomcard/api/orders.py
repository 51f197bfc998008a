"""Orders in which members are served."""

from __future__ import annotations

from loomcard.model.objects import Member


def by_priority(member: Member) -> tuple[int, int]:
    """Higher YARN application priority first, then earlier submission; queues have no priority."""
    return -getattr(member, "priority", 0), member.submitted_ms
