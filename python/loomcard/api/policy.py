"""Policies, the loop and the turns they share, and the registry that finds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from loomcard.api.plan import Plan
from loomcard.api.view import ClusterView

ENDED_KEPT = 1_000
"""How many saved rows are kept of applications that are not live."""
Row = TypeVar("Row")


class Policy(Protocol):
    """A scheduling policy: a frozen dataclass whose fields are its options.

    A policy without memory defines ``decide(view) -> Plan`` instead.
    ``initial(view, saved)`` makes the memory at first, and again after a failure or a snapshot;
    without it, the memory starts as None. A policy with a memory is called for each change in its
    scope; while what ``initial`` began as None is None, only where something may be allocated.
    ``save(memory)`` returns the small part of the memory that survives a restart.

    ``explain(view, memory, ask)`` returns the figures behind a reason of the policy's own, for
    ``loomcard explain`` and YARN's diagnostics: a dict from words to amounts, numbers or texts. It
    is called between two rounds for an ask that waits by the policy's rule, and changes nothing.

    Class attributes, all optional: ``walks_tree`` (governs its subtree), ``leaf_only`` (only on a
    queue without children), ``plan_api`` (the version of the policy API that it needs, see
    PLAN_API), ``needs`` (``frozenset({"heartbeats"})``), ``asks_again`` (it may allocate nothing
    for a reason outside its scope, so a turn that took nothing is offered again in the next round,
    not only after its next change or timer).
    """

    def decide(self, view: ClusterView, memory: Any) -> tuple[Plan, Any]:
        """Return the decisions for what the view shows, and the memory for the next call."""
        ...


def saved_rows(saved: Mapping[str, Row], view: ClusterView) -> dict[str, Row]:
    """Of the saved rows by application id, those to begin with: the rows of all live applications,
    and the newest ``ENDED_KEPT`` of others. An application may have ended while no policy process
    ran, and no event reports that later. Or it may come back after a ResourceManager's restart.
    """
    live = {app.id for app in view.applications}
    others = sorted((id_ for id_ in saved if id_ not in live), key=_age)[-ENDED_KEPT:]
    kept = live.union(others)
    return {id_: row for id_, row in saved.items() if id_ in kept}


def _age(application: str) -> tuple[list[int], str]:
    """Return a key that sorts YARN's ids by the ResourceManager's start and the application's
    number, which they contain.
    """
    parts = application.split("_")
    return [int(part) for part in parts if part.isdecimal()], application
