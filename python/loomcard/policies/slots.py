"""Slots: each node runs a fixed number of containers of any size, as MapReduce's first version did.

A node's real capacity still counts: what does not fit waits, even if a slot is free.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loomcard import (
    EVERYBODY,
    RESERVE_AFTER_MS,
    RULE_MS,
    Application,
    ApplicationAdded,
    Ask,
    AttemptAdded,
    ClusterView,
    ExhaustedShapes,
    Node,
    Plan,
    Resource,
    fits,
    headroom_by_user,
    no_room,
    serve,
)
from loomcard.advanced import Amounts, InOrder, MemberIndex

SLOTS = "SLOTS"
"""The reason of an ask that waits because no node with room for it has a free slot."""


@dataclass(frozen=True)
class Slots:
    """Count containers, not resources: each node has a number of slots, which are shared fairly.

    ``slots_per_node``: the slots of every node; 0: as many slots of ``slot_memory_mb`` and
    ``slot_vcores`` (0: ignored) as fit into its capacity. An AM takes a slot too.
    ``reserve_after_ms``: as for ``fifo``; a slot is reserved with the room.
    """

    slots_per_node: int = 8
    slot_memory_mb: int = 1024
    slot_vcores: int = 1
    reserve_after_ms: int = RESERVE_AFTER_MS

    leaf_only = True
    asks_again = True  # containers of other queues free slots too

    def __post_init__(self) -> None:
        if self.slots_per_node < 0:
            raise ValueError("slots_per_node is at least 0")
        if not self.slots_per_node and self.slot_memory_mb <= 0 and self.slot_vcores <= 0:
            raise ValueError("slots_per_node is 0, so slot_memory_mb or slot_vcores is above 0")

    def initial(self, _view: ClusterView, _saved: Any) -> dict[str, Amounts]:
        """Return no headrooms, because none was reported yet."""
        return {}

    def decide(
        self, view: ClusterView, reported: dict[str, Amounts]
    ) -> tuple[Plan, dict[str, Amounts]]:
        """Give slots to the application with the fewest by its weight, until none is free.

        The memory is the headroom last reported to each AM. If an AM saw free memory that it cannot
        get, for lack of a slot or by a limit, its reduces would start and wait for ever for maps.
        """
        plan = Plan(view)
        free = view.cache("free slots", lambda: FreeSlots(view, self))
        index = view.cache(
            "order", lambda: MemberIndex(view.queue, guarantees_first=False).attach(view)
        )
        serve(plan, BySlots(plan, index, free), self.reserve_after_ms, shared=False)
        return plan, report_headroom(plan, reported, free.room(view.cluster_capacity))

    def explain(self, view: ClusterView, _memory: Any, _ask: Ask) -> dict[str, Any]:
        """Say what SLOTS comes to: how many slots there are, and how many are free."""
        free: FreeSlots | None = view.cached("free slots")
        if free is None:
            return {}
        return {"slots": free.total, "free slots": free.count}


def report_headroom(plan: Plan, reported: dict[str, Amounts], free: Resource) -> dict[str, Amounts]:
    """Report headroom to new AMs and to those for which it differs from ``reported``.

    Return it by user: the least of ``free`` and of what maxima along the path and the user limit
    leave.
    """
    leaf = plan.view.queue
    now = headroom_by_user(leaf, free)
    new = dict.fromkeys(c.attempt.application for c in plan.view.changes_of(AttemptAdded))
    new |= dict.fromkeys(c.application for c in plan.view.changes_of(ApplicationAdded))
    for app in leaf.applications.values() if now != reported else new:
        if app.number not in leaf.applications:
            continue  # it was added and removed in one batch
        user = EVERYBODY if leaf.user_limit is None else app.user
        if app in new or now[user] != reported.get(user):
            plan.headroom(app, Resource(now[user]))
    return now


def by_slots(app: Application) -> float:
    """Return the slots that an application uses, divided by its weight."""
    return len(app.containers) / app.weight


def slots_of(capacity: Sequence[int], slot: Sequence[int]) -> int:
    """Return how many slots of a size fit on a node; amounts of 0 are ignored."""
    return min(whole // part for whole, part in zip(capacity, slot, strict=False) if part > 0)


class FreeSlots:
    """The nodes with a free slot, by number; each call looks at those that changed."""

    def __init__(self, view: ClusterView, slots: Slots) -> None:
        self.numbers: list[int] = []
        self.count = 0  # of free slots
        self.total = 0  # of all slots
        self._counted: dict[int, tuple[int, int]] = {}  # free and all slots, by node number
        self._view = view
        self._fixed = slots.slots_per_node
        self._slot = (slots.slot_memory_mb, slots.slot_vcores)
        self._changed = view.watch_nodes()

    def update(self) -> None:
        """Look at the nodes that changed."""
        for node in self._changed:
            number = node.number
            before_free, before = self._counted.pop(number, (0, 0))
            alive = self._view.node(number) is node
            slots = self._slots(node) if alive else 0
            free = max(0, slots - len(node.containers) - (node.reservation is not None))
            if alive:
                self._counted[number] = free, slots
            self.count += free - before_free
            self.total += slots - before
            if free and not before_free:
                insort(self.numbers, number)
            elif before_free and not free:
                del self.numbers[bisect_left(self.numbers, number)]
        self._changed.clear()

    def on(self, node: Node) -> bool:
        """Return whether a slot is free or reserved on the node."""
        return len(node.containers) < self._slots(node)

    def _slots(self, node: Node) -> int:
        return self._fixed or slots_of(node.capacity, self._slot)

    def room(self, capacity: Resource) -> Resource:
        """Return the free slots as amounts; each slot is an equal part of the cluster."""
        return Resource(amount * self.count // max(1, self.total) for amount in capacity)

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """Return the node for the ask's next container (node-local, rack, any), or None."""
        if ask.hosts or ask.racks or ask.attempt.blacklist or not ask.relax_locality:
            return next(
                (
                    n
                    for n in plan.nodes_fitting(ask)
                    if n.number in self._counted and self._counted[n.number][0]
                ),
                None,
            )
        offers = self._view.offers
        nodes = (node for node in map(self._view.node, self.numbers) if node is not None)
        return next((n for n in nodes if offers(n, ask.label) and fits(ask.size, n.room)), None)


class BySlots(InOrder):
    """Serve the application with the fewest slots by its weight, on a node with a free slot."""

    def __init__(self, plan: Plan, index: MemberIndex, free: FreeSlots) -> None:
        super().__init__(plan, index, by_slots)
        self._free = free
        self._lacking = False  # nodes have room, and no slot, for some ask

    def update(self) -> None:
        """Look at what changed."""
        self._free.update()
        super().update()

    def next(self, full: ExhaustedShapes) -> Any:
        """Return the first in order while a slot is free, otherwise None."""
        return super().next(full) if self._free.numbers else None

    def allocated(self, chosen: Any, ask: Any) -> None:
        """Count one more slot to it."""
        self._free.update()
        super().allocated(chosen, ask)

    def place(self, plan: Plan, ask: Ask) -> Node | None:
        """Choose node-local, rack, any, among the nodes with a free slot."""
        return self._free.place(plan, ask)

    def takes(self, node: Node) -> bool:
        """Return whether a slot is free or reserved on the node."""
        return self._free.on(node)

    def nowhere(self, plan: Plan, ask: Ask, full: ExhaustedShapes) -> None:
        """Report why: no node with room has a free slot, or the ask may not go there."""
        if not ask.attempt.blacklist and ask.suits_all:
            full.add((ask.size, ask.label))
        if plan.place(ask) is None:
            plan.wait(ask, no_room(plan.view, ask))
        else:
            self._lacking = True
            plan.wait(ask, SLOTS, plan.view.now_ms + RULE_MS)

    def report(self, plan: Plan) -> None:
        """Report that the queue waits for slots, if none is free or one is missing where there is
        room: other asks of that shape were not looked at.
        """
        if self.queue.pending_count and (self._lacking or not self._free.numbers):
            plan.wait(self.queue, SLOTS, plan.view.now_ms + RULE_MS)
        super().report(plan)
