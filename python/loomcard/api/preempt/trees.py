"""What preemption must know about the shares of a policy: trees of queues and applications."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from loomcard.model.objects import Ask, Container, Member, Node
from loomcard.model.queue import Queue
from loomcard.model.resource import Resource


class ShareNode(Protocol):
    """A queue, or a leaf of the tree: an application or a queue."""

    @property
    def member(self) -> Any:
        """The queue or application."""

    @property
    def weight(self) -> float:
        """By what its use is divided when it is compared with that of its siblings."""

    @property
    def order(self) -> tuple[Any, ...]:
        """Breaks ties among siblings."""

    @property
    def wanted(self) -> Any:
        """Of a leaf: the shapes that it asks for."""

    def path(self) -> Iterable[Any]:
        """Return the node and those above it, up to the root."""


class Shares(Protocol):
    """What nodes are charged with."""

    def share(self, node: Any) -> float:
        """Return what the node is charged with, before the division by its weight."""


class SharePartition(Protocol):
    """The tree of one node label."""

    label: str

    @property
    def leaves(self) -> Mapping[Member, Any]:
        """The leaves, by their queue or application."""

    def leaf_of(self, member: Member, /) -> Any:
        """Return the leaf of a queue or application; None if it has none."""

    def charged(self) -> Shares:
        """Return the shares by which victims are chosen."""

    def guarantees(self, whole: Resource, held: Callable[[Any], float], /) -> Mapping[Any, float]:
        """Return the share that each node is guaranteed now; ``held``: what it uses."""

    def share(self, amounts: Sequence[int], /) -> float:
        """Return amounts as a part of the partition."""


class ShareTrees(Protocol):
    """The trees of a scope."""

    @property
    def partitions(self) -> Mapping[str, Any]:
        """The trees, by node label; each is a ``SharePartition``."""

    @property
    def withheld(self) -> Mapping[str, Any]:
        """The queues, by path, whose own policy withholds their asks."""

    def governs(self, queue: Queue) -> bool:
        """Whether the policy serves the applications of a leaf queue."""

    def decides_itself(self, queue: Queue) -> bool:
        """Whether a queue has its own policy."""

    def used(self, member: Member, label: str) -> Sequence[int]:
        """Return what a member uses on the nodes of one label."""

    def needs(self, size: Resource, node: Node) -> Resource:
        """Return what must be free on a node for a container of ``size``."""

    def forbids(self, ask: Ask, owed: Sequence[int], /) -> object:
        """Return why the policy itself gives the ask nothing, if its queue got what it is ``owed``;
        None if it may have a container.
        """

    def lent(self, container: Container) -> bool:
        """Return whether a container uses lent room, which counts towards no guarantee."""

    def may_take_master(self, master: Container, /) -> bool:
        """Return whether an AM may be preempted when no other container makes room."""

    def rank(self, container: Container) -> Any:
        """Return the sort key of a leaf's containers: the least is preempted first."""

    def taken(self, container: Container) -> None:
        """Note that a container is preempted."""
