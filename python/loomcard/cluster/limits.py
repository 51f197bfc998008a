"""Rows from the scheduler's document: the limits that queues state, how far they are used, and the
use of labelled nodes by queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_MILLION = 1_000_000
_NAMED = {
    "reservation_share_ppm", "reservation_nodes", "maximum_applications",
    "maximum_applications_per_user", "maximum_running_applications",
    "maximum_running_applications_per_user", "maximum_allocation", "maximum_lifetime_s",
    "default_lifetime_s", "labels", "default_label", "label_guaranteed_ppm",
}  # fmt: skip
"""The keys that have words of their own here, or another table."""
HEADINGS = ("queue", "limit", "at most", "now")
LABEL_HEADINGS = ("label", "queue", "guaranteed", "used", "of that, lent", "at most")


def limit_rows(queues: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row of ``HEADINGS`` for each limit that a queue of the document states.

    The document of an older ResourceManager states no limits.
    """
    return [[str(queue["path"]), *row] for queue in queues for row in _rows(queue)]


def label_rows(queues: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row of ``LABEL_HEADINGS`` for each label and queue that uses or states something
    there.

    The order is by label, then by queue. Lent is what containers without a label use there. The
    document of an older ResourceManager has fewer rows, or none.
    """
    rows = [
        [label, str(queue["path"]), *_on_label(queue, label, on)]
        for queue in queues
        for label, on in queue.get("by_label", {}).items()
    ]
    return sorted(rows, key=lambda row: row[0])


def amounts(resource: Mapping[str, int]) -> str:
    """Return a text such as ``2.25 GB, 2 vcores``; an empty resource is ``none``."""
    return ", ".join(amount_lines(resource)) or "none"


def amount_lines(resource: Mapping[str, int]) -> list[str]:
    """Return the amount of each type with its unit."""
    return [
        memory(amount) if name == "memory_mb" else f"{amount:,} {_unit(name, amount)}"
        for name, amount in resource.items()
    ]


def memory(mb: int) -> str:
    """Return a text such as ``512 MB`` or ``2.25 GB``, with two decimals from one gigabyte on."""
    if abs(mb) < 1024:
        return f"{mb} MB"
    return f"{mb / 1024:,.2f}".rstrip("0").rstrip(".") + " GB"


def held(resource: Mapping[str, int]) -> list[str]:
    """Return the lines of what is used; one dash for nothing."""
    return amount_lines(resource) if any(resource.values()) else ["-"]


def _unit(name: str, amount: int) -> str:
    return "vcore" if (name, amount) == ("vcores", 1) else name


def _on_label(queue: Mapping[str, Any], label: str, on: Mapping[str, Any]) -> Iterator[str]:
    ppm = queue.get("limits", {}).get("label_guaranteed_ppm", {}).get(label)
    promised, most = on.get("guaranteed"), on.get("maximum")
    part = "-" if ppm is None else f"{ppm / 10_000:.1f} % of the parent's"
    yield part if promised is None else f"{amounts(promised)} ({part})"
    yield ", ".join(held(on["used"]))
    yield ", ".join(held(on.get("lent", {})))
    yield "no limit" if most is None else amounts(most)


def _rows(queue: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    limits = queue.get("limits", {})
    if (state := queue.get("state", "running")) != "running":
        yield "state", "no new applications", state
    yield from _count(limits, "maximum_applications", "applications", str(queue["applications"]))
    users = queue.get("applications_by_user", {}).items()
    counts = ", ".join(f"{user} {count}" for user, count in users)
    yield from _count(limits, "maximum_applications_per_user", "applications of one user", counts)
    yield from _count(limits, "maximum_running_applications", "running applications", "")
    for user, most in limits.get("maximum_running_applications_per_user", {}).items():
        who = "one user" if user == "*" else f"user {user}"
        yield f"running applications of {who}", "no limit" if most is None else f"{most:,}", ""
    maximum = queue.get("maximum", {})
    yield from _share(maximum, queue.get("user_limit_ppm"), "use by one user", "")
    masters = amounts(queue.get("used_by_ams", {}))
    yield from _share(maximum, queue.get("am_share_ppm"), "application masters", masters)
    yield from _share(maximum, limits.get("reservation_share_ppm"), "room reserved for asks", "")
    yield from _count(limits, "reservation_nodes", "nodes reserved for one application", "")
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
    for key in sorted(limits.keys() - _NAMED):
        yield key.replace("_", " "), str(limits[key]), ""


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
