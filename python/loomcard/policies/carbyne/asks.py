"""Jobs with an AM that decides itself what must start, and marks asks DEFAULT or ALTRUISTIC (2.7).

The scheduler does not plan them. It sends the AM the job's fair share. Asks marked DEFAULT must
start as far as the share has room; all other asks may start.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor
from typing import TYPE_CHECKING, Any

from loomcard import Application, Ask, Plan, Resource
from loomcard.advanced import ALTRUISTIC_ASKS, DEFAULT_ASKS
from loomcard.policies.carbyne.estimates import Memory
from loomcard.policies.carbyne.waves import EPS

if TYPE_CHECKING:
    from loomcard.policies.carbyne.job import Job


def is_default(ask: Ask) -> bool:
    """Return whether the AM says that the ask must start."""
    return ask.key.allocation_request_id in DEFAULT_ASKS


def is_altruistic(ask: Ask) -> bool:
    """Return whether the AM says that the ask may wait."""
    return ask.key.allocation_request_id in ALTRUISTIC_ASKS


def marks_asks(app: Application) -> bool:
    """Return whether the application's AM marks asks."""
    return any(is_default(ask) or is_altruistic(ask) for ask in app.asks)


def send_shares(plan: Plan, jobs: Iterable[Job]) -> None:
    """Send each AM that marks its asks the most that its tasks may use, as its headroom: the fair
    share A_k minus what the AM itself uses.
    """
    for job in jobs:
        if job.sent is not job.share:
            job.sent = job.share
            own = [floor(amount * (1 + EPS)) for amount in job.own_share()]
            if job.known.get("sent") != own:
                job.known["sent"] = own
                plan.headroom(job.app, Resource(own))


def note_excess(memory: Memory, known: dict[str, Any], tasks: int) -> None:
    """Note for how many ``tasks`` marked DEFAULT a job's share has no room now. More of them than
    at the last event count as violations. ``known``: the job's part of the memory.
    """
    before = known.get("beyond", 0)
    if tasks != before:
        known["beyond"] = tasks
        memory["violations"] = memory.get("violations", 0) + max(0, tasks - before)
