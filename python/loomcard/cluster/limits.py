"""The limits that queues state and how far they are used: from the scheduler's document to rows.

The page of the ResourceManager shows the same rows (``LimitTable`` in Java).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_MILLION = 1_000_000
HEADINGS = ("queue", "limit", "at most", "now")


def limit_rows(queues: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """A row of ``HEADINGS`` for each limit that a queue of the document states; [] where none does.

    A document of an older ResourceManager, which names no limits, has none.
    """
    return [[str(queue["path"]), *row] for queue in queues for row in _rows(queue)]


def amounts(resource: Mapping[str, int]) -> str:
    """Such as ``2,048 MB, 2 vcores``; an empty resource is ``none``."""
    return ", ".join(amount_lines(resource)) or "none"


def amount_lines(resource: Mapping[str, int]) -> list[str]:
    """The amount of each type with its unit."""
    return [
        f"{amount:,} {'MB' if name == 'memory_mb' else name}" for name, amount in resource.items()
    ]


def _rows(queue: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    limits = queue.get("limits", {})
    if (state := queue.get("state", "running")) != "running":
        yield "state", "no new applications", state
    yield from _count(limits, "maximum_applications", "applications", str(queue["applications"]))
    users = queue.get("applications_by_user", {}).items()
    counts = ", ".join(f"{user} {count}" for user, count in users)
    yield from _count(limits, "maximum_applications_per_user", "applications of one user", counts)
    maximum = queue.get("maximum", {})
    yield from _share(maximum, queue.get("user_limit_ppm"), "use by one user", "")
    masters = amounts(queue.get("used_by_ams", {}))
    yield from _share(maximum, queue.get("am_share_ppm"), "application masters", masters)
    yield from _share(maximum, limits.get("hold_share_ppm"), "room held for asks", "")
    if "maximum_allocation" in limits:
        yield "one container", amounts(limits["maximum_allocation"]), ""
    for key, limit in (
        ("maximum_lifetime_s", "lifetime of an application"),
        ("default_lifetime_s", "lifetime where none is stated"),
    ):
        if key in limits:
            yield limit, f"{limits[key]:,} s", ""
    if "labels" in limits:
        yield "labels", ", ".join(limits["labels"]) or "none", ""
    if "default_label" in limits:
        yield "label of asks without one", limits["default_label"], ""
    for label, ppm in limits.get("label_guaranteed_ppm", {}).items():
        yield f"guaranteed on nodes labelled {label}", f"{ppm / 10_000:.1f} % of the parent's", ""
    for label, on in queue.get("by_label", {}).items():
        most = on.get("maximum")
        yield (
            f"nodes labelled {label}",
            "no limit" if most is None else amounts(most),
            amounts(on["used"]),
        )


def _count(
    limits: Mapping[str, Any], key: str, limit: str, now: str
) -> Iterator[tuple[str, str, str]]:
    if key in limits:
        yield limit, f"{limits[key]:,}", now


def _share(
    maximum: Mapping[str, int], ppm: int | None, limit: str, now: str
) -> Iterator[tuple[str, str, str]]:
    if ppm is not None and ppm < _MILLION:
        part = {name: amount * ppm // _MILLION for name, amount in maximum.items()}
        yield limit, amounts(part), now
