"""Tasks for which containers were preempted: room is reserved for them, and they start before all
other asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from loomcard.api.plan import Plan
from loomcard.api.preempt.trees import ShareNode, ShareTrees
from loomcard.api.view import asks_below
from loomcard.model.fit_index import Shape
from loomcard.model.objects import Application, Ask, Node, Reservation
from loomcard.model.queue import Queue
from loomcard.model.resource import Resource, fits


@dataclass
class OwedTask:
    """A task for which containers were preempted; plain data, for a memory."""

    leaf: str
    """Its word (``word_of``)."""
    node: int
    """The number of the server on which containers were preempted for it."""
    size: list[int]
    label: str
    until_ms: int
    """Until when (ms) the room that becomes free there is for it."""

    @property
    def shape(self) -> Shape:
        """Size and partition."""
        return Resource(self.size), self.label


class OwedTasks:
    """The tasks that are owed in one call.

    Room is reserved for as many as may have a reservation: one per application and one per server.
    The others get theirs after those before them have started.
    """

    def __init__(self, plan: Plan, trees: ShareTrees, tasks: list[OwedTask]) -> None:
        self._plan = plan
        self._trees = trees
        self.tasks = tasks
        self.unused: list[str] = []  # words of leaves that did not use their room
        if tasks:
            tasks[:] = [task for task in tasks if self._stands(task)]

    def _stands(self, task: OwedTask) -> bool:
        leaf, node = self._leaf_of(task), self._plan.view.node(task.node)
        over = task.until_ms <= self._plan.view.now_ms
        wanted = leaf is not None and task.shape in leaf.wanted
        if over or (not wanted and task.leaf in self._trees.withheld):
            self.unused.append(task.leaf)
        return wanted and not over and node is not None and node.label == task.label

    def of(self, leaf: ShareNode) -> list[list[int]]:
        """Return the sizes of the tasks owed to a leaf."""
        word = word_of(leaf)
        return [task.size for task in self.tasks if task.leaf == word]

    def add(self, leaf: ShareNode, ask: Ask, node: Node, until_ms: int) -> None:
        """Note that containers were preempted on a server for one task of ``ask``."""
        task = OwedTask(word_of(leaf), node.number, list(ask.size), node.label, until_ms)
        self.tasks.append(task)
        self._reserve(task, ask, node)

    def _reserve(self, task: OwedTask, ask: Ask, node: Node) -> None:
        """Reserve room for a task. Reservations for the first in line that are in the way end,
        because an owed task is within a guarantee.
        """
        for reservation in self._plan.view.reservations:
            in_the_way = reservation.node is node or reservation.ask.application is ask.application
            if (
                in_the_way
                and reservation in reservation.ask.reservations
                and for_first(self._trees, reservation)
            ):
                self._plan.unreserve(reservation.ask)  # all of its reservations
        if ask.reservation is None and self._plan.why_no_reservation(ask, node) is None:
            self._plan.reserve(ask, node, task.until_ms)

    def serve(self) -> Iterator[OwedTask]:
        """Serve the tasks whose room is free, before all other asks; yield those that started."""
        for task in list(self.tasks):
            leaf, node = self._leaf_of(task), self._plan.view.node(task.node)
            if leaf is None or node is None or self._plan.spent:
                continue
            if fits(task.size, node.free) and self._serve_on(leaf, task.shape, node):
                self.tasks.remove(task)
                yield task
            elif node.reservation is None or for_first(self._trees, node.reservation):
                for ask in asks_of(leaf, [task.shape])[:1]:
                    self._reserve(task, ask, node)

    def _serve_on(self, leaf: ShareNode, shape: Shape, node: Node) -> bool:
        """Allocate one container of this shape on this server if one of the leaf's asks may go
        there, and return whether it did. A queue with its own policy decides what and where.
        """
        plan, member = self._plan, leaf.member
        if isinstance(member, Queue) and self._trees.decides_itself(member):
            return plan.turn(member).count > 0
        for ask in asks_of(leaf, [shape]):
            free = plan.limited(ask) is None and plan.allows(ask)
            free = free and self._trees.forbids(ask, plan.view.zero) is None
            if free and plan.why_not(ask, node) is None:
                plan.allocate_checked(ask, node)
                return True
        return False

    def _leaf_of(self, task: OwedTask) -> ShareNode | None:
        partition, view = self._trees.partitions.get(task.label), self._plan.view
        path, _, number = task.leaf.partition("application ")
        member: Application | Queue | None
        member = view.find_application(int(number)) if number else view.find_queue(path)
        return None if partition is None or member is None else partition.leaf_of(member)


def word_of(leaf: ShareNode) -> str:
    """Return a leaf's name as plain text, for a memory."""
    member = leaf.member
    return member.path if isinstance(member, Queue) else f"application {member.number}"


def by_submission(app: Any) -> tuple[int, int]:
    """Return the sort key of FIFO inside a leaf queue: priority, then submission."""
    return -app.priority, app.submitted_ms


def asks_of(leaf: ShareNode, shapes: Collection[Shape]) -> list[Ask]:
    """Return the outstanding asks of a leaf for these shapes, in their order."""
    asks = [ask for ask in asks_below(leaf.member) if (ask.size, ask.label) in shapes]
    return sorted(asks, key=lambda ask: by_submission(ask.application))


def for_first(trees: ShareTrees, reservation: Reservation) -> bool:
    """Return whether room is reserved for the first in line, not for a task that is owed."""
    return reservation.until_ms is None and trees.governs(reservation.ask.application.queue)
