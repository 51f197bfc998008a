"""What a queue and the queues above it allow applications: how many there may be, how large their
containers may be, and how long they may live.

The rules and messages are those of the shim's ``Admission``; tests/golden/admission.json checks
both.
"""

from __future__ import annotations

from collections.abc import Sequence

from loomcard.model.queue import Queue, queues_above

TOO_OLD = "Application is killed by ResourceManager as it has exceeded the lifetime period."
"""YARN's message at the end of an application's lifetime."""


def refusal(queue: Queue, user: str, application_id: str) -> str | None:
    """Why ``queue`` accepts no further application of ``user``, or None."""
    tail = f"cannot accept submission of application: {application_id}"
    state = _state(queue)
    if state != "RUNNING":
        return f"Queue {queue.path} is {state}. C{tail[1:]}"
    for limited in queues_above(queue):
        most = limited.spec.get("maximum_applications")
        if most is not None and (live := _live(limited)) >= most:
            return f"Queue {limited.path} already has {live} applications, {tail}"
        most = limited.spec.get("maximum_applications_per_user")
        if most is not None and (live := _live(limited, user)) >= most:
            return f"Queue {limited.path} already has {live} applications from user {user} {tail}"
    return None


def oversize(queue: Queue, types: Sequence[str], size: Sequence[int]) -> str | None:
    """Why no application of ``queue`` may ask for a container of that size, or None."""
    most = _largest(queue)
    asked = dict(zip(types, size, strict=True))
    for name, amount in asked.items():
        if name in most and amount > most[name]:
            return (
                "Invalid resource request! Cannot allocate containers as requested resource is"
                f" greater than maximum allowed allocation. Requested resource type=[{name}],"
                f" Requested resource=<{_text(asked)}>, maximum allowed allocation=<{_text(most)}>"
            )
    return None


def lifetime_s(queue: Queue, asked: int = 0) -> int | None:
    """For how many seconds an application may live if it requests ``asked`` (0 or less: it
    requests no lifetime); None: without end.
    """
    most: int | None = queue.spec.get("maximum_lifetime_s")
    if asked <= 0:
        default: int | None = queue.spec.get("default_lifetime_s")
        return most if default is None else default
    return asked if most is None else min(most, asked)


def _largest(queue: Queue) -> dict[str, int]:
    found: dict[str, int] = {}
    for above in queues_above(queue):
        for name, amount in above.spec.get("maximum_allocation", {}).items():
            found[name] = min(amount, found.get(name, amount))
    return found


def _state(queue: Queue) -> str:
    if all(above.spec.get("state", "running") == "running" for above in queues_above(queue)):
        return "RUNNING"
    return "DRAINING" if _live(queue) else "STOPPED"


def _live(queue: Queue, user: str | None = None) -> int:
    """The count of live applications in a queue and below it; if a user is named, of that user."""
    if not queue.leaf:
        return sum(_live(child, user) for child in queue.children)
    apps = queue.applications
    return len(apps) if user is None else sum(app.user == user for app in apps.values())


def _text(amounts: dict[str, int]) -> str:
    return ", ".join(f"{name}: {amount}" for name, amount in amounts.items())
