"""The limit on early reduces, which run while maps of their job wait: on YARN they use the room of
these maps, and may wait for them for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

from loomcard import EVERYBODY, Ask, ClusterView, Resource, add_all, headroom_by_user

Held = tuple[list[int], ...]
"""What containers use: each row has their count, then the amount of each resource type."""


class EarlyReduces:
    """What maps use, and what early reduces use: of all users, and of each if users are limited.

    ``part``: the part that the reduces may have of what both use plus what is left; 1: all.
    """

    def __init__(self, view: ClusterView, part: float) -> None:
        self._view, self._part = view, part
        self._held: dict[str, Held] = {}
        self.free: dict[str, Resource] = {}
        """What is free by label, computed once per round."""

    def replace(self, user: str, before: Held, now: Held) -> None:
        """Count what a job's maps and its early reduces use ``now``, instead of ``before``."""
        for i in range(2):
            change = [n - b for n, b in zip(now[i], before[i], strict=True)]
            if any(change):
                for held in self._sums(user):
                    add_all([held[i]], change)

    def beyond(self, ask: Ask, maps: Sequence[Ask]) -> bool:
        """Return whether one more container of the ask would give early reduces more than their
        part of a resource that the waiting ``maps`` need.
        """
        if self._part >= 1 or not maps:
            return False
        view, user = self._view, ask.application.user
        rooms = headroom_by_user(view.queue, self._free_of(ask.label))
        room = rooms.get(user) or rooms.get(EVERYBODY, view.zero)
        needed = [any(column) for column in zip(*(each.size for each in maps), strict=True)]
        return any(
            needs and early + more > self._part * (held + early + left)
            for (_, *of_maps), (_, *of_reduces) in self._sums(user)
            for needs, held, early, more, left in zip(
                needed, of_maps, of_reduces, ask.size, room, strict=True
            )
        )

    def _sums(self, user: str) -> list[Held]:
        zero, found = self._view.zero, self._held
        whose = (EVERYBODY,) if self._view.queue.user_limit is None else (EVERYBODY, user)
        for each in whose:
            if each not in found:
                found[each] = [0, *zero], [0, *zero]
        return [found[each] for each in whose]

    def _free_of(self, label: str) -> Resource:
        partitions = self._view.partitions
        if label in partitions and len(partitions) == 1:
            return Resource(self._view.free)
        if label not in self.free:
            self.free[label] = partitions[label].free if label in partitions else self._view.zero
        return self.free[label]
