"""What one policy instance keeps from call to call, in addition to its memory."""

from __future__ import annotations

from typing import Any

Changed = dict[Any, None]
"""A set of what changed, in order: a dict without values."""


class Cache:
    """Values by key, and the sets to which the cluster's state adds changes for them."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self._watches: list[tuple[list[Any], Changed]] = []

    def watch(self, watchers: list[Any], changed: Changed) -> None:
        """Make ``changed`` one of the ``watchers``, until it is dropped."""
        watchers.append(changed)
        self._watches.append((watchers, changed))

    def unwatch(self, changed: Changed) -> None:
        """Add nothing more to one set."""
        for watchers, each in self._watches:
            if each is changed:
                watchers[:] = [watcher for watcher in watchers if watcher is not changed]
        self._watches = [watch for watch in self._watches if watch[1] is not changed]

    def drop(self) -> None:
        """Forget all values and stop watching."""
        for watchers, changed in self._watches:
            watchers[:] = [watcher for watcher in watchers if watcher is not changed]
        self._watches = []
        self.values = {}
