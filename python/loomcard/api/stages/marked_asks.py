"""Asks that an AM has marked: those that must run now, and those that may.

An AM that schedules its own stages (Carbyne's "altruistic" AM) adds a mark to the allocation
request ids of its asks. Policies that know marks treat the two kinds differently; for every other
policy a marked ask is an ask like any other.
"""

from __future__ import annotations

from typing import Final

DEFAULT_ASKS: Final = range(1 << 40, 2 << 40)
"""Allocation request ids of asks that must run now, so that the job ends as early as it would
inside its fair share: 2^40 plus the id that the ask would have without a mark."""

ALTRUISTIC_ASKS: Final = range(2 << 40, 3 << 40)
"""Allocation request ids of asks that may run where no other application needs the room: 2^41 plus
the id that the ask would have without a mark."""


def unmarked(request: int) -> int:
    """An allocation request id without its mark."""
    if request < DEFAULT_ASKS.start:  # most of all calls
        return request
    if request in DEFAULT_ASKS:
        return request - DEFAULT_ASKS.start
    return request - ALTRUISTIC_ASKS.start if request in ALTRUISTIC_ASKS else request
