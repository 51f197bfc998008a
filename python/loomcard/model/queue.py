"""A queue of the sharing tree, with what it uses and what it may use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from loomcard.model.renamed import warn_renamed
from loomcard.model.resource import Resource, short_of

if TYPE_CHECKING:
    from loomcard.model.objects import Application, Member


class Running:
    """How many applications have an AM in a queue and below it, and how many may: ``most`` in all,
    None for no limit, and by user in ``most_of``, where ``*`` is for all others.
    """

    __slots__ = ("count", "count_of", "most", "most_of")

    def __init__(self, most: int | None, most_of: Mapping[str, int | None]) -> None:
        self.most = most
        self.most_of = most_of
        self.count = 0
        self.count_of: dict[str, int] = {}

    def limit_of(self, user: str) -> int | None:
        """How many of one user may; None: no limit."""
        return self.most_of[user] if user in self.most_of else self.most_of.get("*")

    @property
    def is_full(self) -> bool:
        """Whether one more application must wait, whoever its user is."""
        return self.most is not None and self.count >= self.most

    def forbids(self, user: str) -> bool:
        """Whether one more application of a user must wait."""
        most = self.limit_of(user)
        return self.is_full or (most is not None and self.count_of.get(user, 0) >= most)

    def add(self, user: str, change: int) -> bool:
        """Count an AM of a user that started or ended. Return whether applications may start that
        had to wait before, or the reverse.
        """
        before = self.most == self.count or self.limit_of(user) == self.count_of.get(user, 0)
        self.count += change
        mine = self.count_of[user] = self.count_of.get(user, 0) + change
        if not mine:
            del self.count_of[user]
        return before or self.most == self.count or self.limit_of(user) == mine


def _running(spec: Mapping[str, Any]) -> Running | None:
    most = spec.get("maximum_running_applications")
    most_of = spec.get("maximum_running_applications_per_user") or {}
    return None if most is None and not most_of else Running(most, most_of)


class Queue:
    """A node of the sharing tree; ``maximum``, ``user_limit`` and ``am_limit`` are None if there is
    no such limit.
    """

    __slots__ = (
        "am_limit", "am_used", "applications", "capped", "children", "guaranteed",
        "leaf", "maximum", "number", "oldest_ms", "parent", "path", "pending_count", "policy",
        "reservation_limit", "reservation_nodes", "running", "running_limited",
        "spec", "used", "user_limit", "user_used", "watchers", "weight",
    )  # fmt: skip

    def __init__(self, number: int, spec: dict[str, Any], parent: Queue | None, width: int) -> None:
        self.number = number
        """Its number in the policy configuration; the root is 0."""
        self.spec = spec
        self.path: str = spec["path"]
        """Its full path, such as root.research."""
        self.parent = parent
        """None for the root."""
        self.children: list[Queue] = []
        """Its child queues, in the order of the configuration; empty for a leaf."""
        self.leaf: bool = spec["leaf"]
        """Whether applications run in it."""
        self.policy: str | None = spec["policy"]
        """The policy that it names; None if the policy above governs it."""
        self.weight: float = spec["weight"]
        """Its weight among its siblings."""
        self.guaranteed = Resource([0] * width)
        """Its guaranteed amounts of the cluster's present capacity; 0 without a guarantee."""
        self.maximum: Resource | None = None
        """The most that it may use."""
        self.user_limit: Resource | None = None
        """The most that one user may use in it."""
        self.am_limit: Resource | None = None
        """The most that AMs may use in it."""
        self.reservation_limit = self.guaranteed
        """The most that may be reserved for all its asks together."""
        self.reservation_nodes: int = spec.get("reservation_nodes", 1)
        """On how many nodes room may be reserved for one application."""
        self.capped: list[Queue] = []
        """Those of itself and its ancestors that have a maximum."""
        self.running: Running | None = _running(spec)
        """How many applications run in it and below it; None: no limit."""
        self.running_limited: list[Queue] = [] if parent is None else list(parent.running_limited)
        """Those of itself and its ancestors that limit how many applications run."""
        if self.running is not None:
            self.running_limited.append(self)
        self.used = [0] * width
        """The amounts that its containers use."""
        self.am_used = [0] * width
        """The amounts that its AMs use."""
        self.user_used: dict[str, list[int]] = {}
        """The amounts that each user's containers in it use."""
        self.pending_count = 0
        """The count of containers that are asked for in it and below it."""
        self.applications: dict[int, Application] = {}
        """The applications of a leaf, a dict from number to application."""
        self.oldest_ms: int | None = None  # cached; ClusterState clears it
        self.watchers: list[dict[Member, None]] = []  # sets that get the members that change

    @property
    def submitted_ms(self) -> int:
        """Submission time of its oldest pending application, in ms; for ties among members."""
        if self.oldest_ms is None:
            below: Iterable[Member] = self.applications.values() if self.leaf else self.children
            self.oldest_ms = min((m.submitted_ms for m in below if m.pending_count), default=0)
        return self.oldest_ms

    @property
    def below_guaranteed(self) -> bool:
        """Whether it uses less than it is guaranteed, in every type that is guaranteed."""
        return short_of(self.used, self.guaranteed)

    def __repr__(self) -> str:
        return f"Queue({self.path}, used={self.used})"

    @property
    def hold_limit(self) -> Resource:
        """Deprecated since 0.1: ``reservation_limit``."""
        warn_renamed("queue.hold_limit", "queue.reservation_limit")
        return self.reservation_limit

    @property
    def hold_nodes(self) -> int:
        """Deprecated since 0.1: ``reservation_nodes``."""
        warn_renamed("queue.hold_nodes", "queue.reservation_nodes")
        return self.reservation_nodes


def queues_above(queue: Queue) -> Iterator[Queue]:
    """Yield a queue and those above it, up to the root."""
    above: Queue | None = queue
    while above is not None:
        yield above
        above = above.parent
