"""Preemption for H-DRF (docs/papers/hdrf.md 6d). A leaf that waits for its guarantee gets room from
the leaves that use most beyond their own guarantee.

It cannot loop, for these reasons. A victim keeps its guarantee, as far as that is a whole
container; so does each queue above the victim that is not also above the starved leaf. Guarantees
never add up to more than the whole. A leaf is starved only while one more task stays within its
guarantee and its limits. Only servers to which that task may go are considered. The room that is
taken for a leaf is reserved for it. So each eviction reduces the sum of what leaves lack. If a leaf
does not use its room (a policy inside it may withhold its asks), at most one task's room is taken
for it after a pause, and the pause doubles each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loomcard import (
    Application,
    Ask,
    Container,
    Node,
    Plan,
    Queue,
    Resource,
    Shape,
    add_all,
    fits,
    subtract_all,
)
from loomcard.advanced import applications_below, why_never
from loomcard.policies.hdrf import paper
from loomcard.policies.hdrf.cluster_tree import Partition, PartitionTrees
from loomcard.policies.hdrf.fit import Limits, has_room
from loomcard.policies.hdrf.placement import OwedTask, OwedTasks, asks_of, for_first, word_of

ROUNDING = 1e-9
EVERY_MS = 1000
"""The shortest time between two searches for starved leaves, in ms."""
LONGEST_MS = 3_600_000
"""The longest pause after room that was not used, in ms; also for how long after a pause the next
one of that leaf doubles.
"""


@dataclass
class Preemption:
    """What a call keeps for the next; leaves are named by ``word_of``."""

    starved: dict[str, int] = field(default_factory=dict)
    """By leaf: since when, in ms, it has wanted something within its guarantee."""
    pauses: dict[str, list[int]] = field(default_factory=dict)
    """By leaf that did not use its room: how long, and until when, in ms, nothing is taken for it.
    """
    owed: list[OwedTask] = field(default_factory=list)
    """Tasks for which containers were preempted, and which have not started."""
    rest_ms: int = 0
    """Nothing more is taken before this time, in ms."""
    look_ms: int = 0
    """When starved leaves are searched again, in ms."""

    def pause(self, words: Iterable[str], now_ms: int, first_ms: int) -> None:
        """Pause leaves that did not use what was taken for them: for ``first_ms``, then twice as
        long each time.
        """
        for word, (_, until_ms) in list(self.pauses.items()):
            if until_ms + LONGEST_MS <= now_ms:
                del self.pauses[word]
        for word in words:
            pause_ms = 2 * self.pauses[word][0] if word in self.pauses else first_ms
            pause_ms = min(pause_ms, LONGEST_MS)
            self.pauses[word] = [pause_ms, now_ms + pause_ms]


@dataclass(frozen=True)
class Rules:
    """The options of the policy: when and how much is taken."""

    after_ms: int
    grace_ms: int
    budget: float
    cooldown_ms: int

    @property
    def until_ms(self) -> int:
        """For how long, in ms, room that is taken is reserved for its leaf."""
        return self.grace_ms + self.cooldown_ms + EVERY_MS


def look(
    plan: Plan, trees: PartitionTrees, rules: Rules, memory: Preemption, owed: OwedTasks
) -> None:
    """Find the starved leaves, and take room for those that have waited long enough."""
    now = plan.view.now_ms
    memory.pause(dict.fromkeys(owed.unused), now, rules.until_ms + rules.after_ms)
    if now >= memory.look_ms:
        memory.look_ms = now + EVERY_MS
        partitions = trees.partitions.values()
        lacking = [PartitionPreemption(plan, trees, p, rules, memory, owed) for p in partitions]
        known = memory.starved
        memory.starved = {w: known.get(w, now) for each in lacking for w in each.starved}
        count = sum(each.take_all() for each in lacking) if now >= memory.rest_ms else 0
        if count:
            memory.rest_ms = now + rules.cooldown_ms
    if memory.starved:
        plan.wake_at(memory.look_ms)


class PartitionPreemption:
    """The starved leaves of one partition, and what can be taken for them."""

    def __init__(
        self, plan: Plan, trees: PartitionTrees, partition: Partition, rules: Rules,
        memory: Preemption, owed: OwedTasks,
    ) -> None:  # fmt: skip
        self._plan = plan
        self._trees = trees
        self._partition = partition
        self._rules = rules
        self._memory = memory
        self._tasks = owed
        self._limits = Limits()
        self._plain: dict[paper.Node, list[int]] = {}  # what is used and not being preempted
        self._leaf_of: dict[Application, paper.Node] = {}
        for leaf in partition.leaves.values():
            self._charge(leaf, trees.used(leaf.member, partition.label), 1)
        self._before = {node: self._share(node) for node in self._plain}
        self._guarantee = partition.guarantees(plan.view.cluster_capacity, self._share)
        for leaf in partition.leaves.values():
            self._note(leaf)
        everything = frozenset(partition.tree.wanted)
        self._shares = partition.shares(everything)
        self._left = rules.budget
        self._served = Counter[Ask]()  # in this call, tasks for an ask and for similar ones
        by_need = sorted(partition.leaves.values(), key=self._need)
        self.starved = {word_of(leaf): leaf for leaf in by_need if any(self._claims(leaf))}

    def _note(self, leaf: paper.Node) -> None:
        """Count what is being preempted from a leaf, and what is owed to it."""
        for app in applications_below(leaf.member):
            self._leaf_of[app] = leaf
            for container in app.containers:
                if container.preempting_since is not None:
                    self._limits.free(app.queue, container.size)
                    if self._here(container):
                        self._charge(leaf, container.size, -1)
        for size in self._tasks.of(leaf):
            self._limits.owe(_queue(leaf), size)

    def _need(self, leaf: paper.Node) -> tuple[Any, ...]:
        least = self._guarantee[leaf]
        part = self._share(leaf) / least if least else float("inf")
        return part, [node.order for node in leaf.path()][::-1]  # of equals the first child

    def _here(self, container: Container) -> bool:
        return container.node.label == self._partition.label

    def _charge(self, leaf: paper.Node, amounts: Sequence[int], sign: int) -> None:
        sums = [self._plain.setdefault(node, [0] * len(amounts)) for node in leaf.path()]
        (add_all if sign > 0 else subtract_all)(sums, amounts)

    def _share(self, child: paper.Node) -> float:
        return self._partition.share(self._plain[child]) if child in self._plain else 0.0

    def _claims(self, leaf: paper.Node) -> Iterator[Ask]:
        """Yield the asks of which a leaf may have one more task: its limits allow it, and with that
        task and what it is owed the leaf stays within its guarantee.
        """
        shapes = [want for want in leaf.wanted if self._within(leaf, want[0])]
        if not shapes:
            return
        owed = self._tasks.of(leaf)
        asks = _kinds(leaf, shapes)
        wanted = Counter[Resource]()
        for ask, count in asks.items():
            wanted[ask.size] += count
        for ask, count in asks.items():
            more = self._served[ask] < count and owed.count(list(ask.size)) < wanted[ask.size]
            if more and not self._limits.barred(ask):
                yield ask

    def _within(self, leaf: paper.Node, size: Sequence[int]) -> bool:
        total = list(self._plain[leaf])
        for each in (size, *self._tasks.of(leaf)):
            add_all([total], each)
        return self._partition.share(total) <= self._guarantee[leaf] + ROUNDING

    def take_all(self) -> int:
        """Take room for each leaf that has been starved long enough: within the budget, or for one
        task. Return how many containers were preempted.
        """
        now, count = self._plan.view.now_ms, 0
        for word, leaf in self.starved.items():
            pause = self._memory.pauses.get(word)
            ready_ms = self._memory.starved[word] + self._rules.after_ms
            if now < max(ready_ms, pause[1] if pause else 0):
                continue
            if pause and self._tasks.of(leaf):
                continue  # first it shows that it uses this
            while found := self._victims(leaf):
                ask, victims = found
                cost = sum(self._partition.share(container.size) for container in victims)
                if count and cost > self._left + ROUNDING:
                    break
                self._left -= cost
                self._evict(leaf, ask, victims)
                count += len(victims)
                if pause:
                    break
        return count

    def _victims(self, leaf: paper.Node) -> tuple[Ask, list[Container]] | None:
        """Return an ask of a starved leaf, and the containers of one server that make room there
        for one of its tasks; or None. Leaves that use most lose first, and AMs last.
        """
        asks = list(self._claims(leaf))
        for am_too in (False, True):
            for ask in asks:
                tried: set[Node] = set()
                held = (container for app in self._leaf_of for container in app.containers)
                for container in self._candidates(leaf, ask, am_too, held):
                    node = container.node
                    if node not in tried:
                        tried.add(node)
                        found = self._victims_on(leaf, ask, node, am_too)
                        if found:
                            return ask, found
        return None

    def _victims_on(self, leaf: paper.Node, ask: Ask, node: Node, am_too: bool) -> list[Container]:
        if why_never(ask, node) is not None:
            return []  # the task may not go there
        need = self._trees.servers.needs(ask.size, node)
        room = list(node.room)
        for size in self._reserved_on(node):
            subtract_all([room], size)
        for container in node.containers:
            if container.preempting_since is not None:
                add_all([room], container.size)
        tight = self._limits.tight(ask)
        found: dict[Container, None] = {}
        while not _enough(ask, need, room, tight):
            short = [n > free for n, free in zip(need, room, strict=True)]
            for left in tight.values():
                over = [s > most for s, most in zip(ask.size, left, strict=True)]
                short = [a or b for a, b in zip(short, over, strict=True)]
            each = self._candidates(leaf, ask, am_too, node.containers)
            of_use = (c for c in each if c not in found and _helps(c, short))
            container = next(of_use, None)  # type: ignore[assignment]
            if container is None:
                break
            found[container] = None
            add_all([room, *tight.values()], container.size)
            self._charge(self._leaf_of[container.application], container.size, -1)
        for container in found:
            self._charge(self._leaf_of[container.application], container.size, 1)
        return list(found) if _enough(ask, need, room, tight) else []

    def _reserved_on(self, node: Node) -> list[Sequence[int]]:
        """Return the sizes of the tasks for which room on a server is reserved or will be."""
        sizes: list[Sequence[int]] = [t.size for t in self._tasks.tasks if t.node == node.number]
        reservation = node.reservation
        if reservation is not None and not sizes and not for_first(self._trees, reservation):
            sizes.append(reservation.ask.size)
        return sizes

    def _candidates(
        self, leaf: paper.Node, ask: Ask, am_too: bool, held: Iterable[Container]
    ) -> Iterator[Container]:
        """Yield the containers in ``held`` that may be preempted, in the reverse order of the
        descent: at each queue from the root down the child of the largest s/w first; of a leaf's
        containers the latest first, AMs last. If maxima are tight for ``ask``, only containers
        inside the lowest of those queues.
        """
        inside = next(reversed(self._limits.tight(ask)), None)
        found: dict[paper.Node, list[Container]] = {}
        for container in held:
            victim = self._leaf_of.get(container.application)
            if (
                victim is not None
                and victim is not leaf
                and (inside is None or inside in container.application.queue.capped)
                and self._here(container)
                and container.number
                and container.preempting_since is None
                and (am_too or not container.is_am)
            ):
                found.setdefault(victim, []).append(container)
        for victim in sorted(found, key=self._mirrored):
            mine = sorted(found[victim], key=lambda c: (c.is_am, -c.allocated_ms, -c.number))
            yield from (container for container in mine if self._spares(victim, leaf, container))

    def _mirrored(self, leaf: paper.Node) -> list[Any]:
        """Return a sort key: the attributed shares at each queue, less what was preempted since."""
        key: list[Any] = []
        for node in leaf.path():
            before = self._before[node]
            kept = self._share(node) / before if before else 1.0
            key.append((-self._shares.share(node) * kept / node.weight, node.order))
        return key[::-1]

    def _spares(self, victim: paper.Node, starved: paper.Node, container: Container) -> bool:
        """Return whether no node above the container, except those above the starved leaf, falls
        below its guarantee. A leaf whose guarantee is less than this container has no claim on it:
        otherwise many small leaves with one container each would keep more than their queue is
        guaranteed.
        """
        gains, size = set(starved.path()), self._partition.share(container.size)
        for node in victim.path():
            if node not in gains and not (node is victim and size > self._guarantee[node]):
                pairs = zip(self._plain[node], container.size, strict=True)
                after = self._partition.share([held - loss for held, loss in pairs])
                if after < self._guarantee[node] - ROUNDING:
                    return False
        return True

    def _evict(self, leaf: paper.Node, ask: Ask, victims: list[Container]) -> None:
        now, rules = self._plan.view.now_ms, self._rules
        share, least = self._share(leaf), self._guarantee[leaf]
        for container in victims:
            victim = self._leaf_of[container.application]
            reason = (
                f"{_name(leaf)} holds {share:.1%} of its guaranteed {least:.1%}; {_name(victim)} "
                f"holds {self._share(victim):.1%}, and is guaranteed {self._guarantee[victim]:.1%}"
            )
            self._plan.preempt(container, rules.grace_ms, reason)
            self._charge(victim, container.size, -1)
            self._limits.free(container.application.queue, container.size)
        self._served[ask] += 1
        self._limits.owe(_queue(leaf), ask.size)
        self._tasks.add(leaf, ask, victims[0].node, now + rules.until_ms)


def _enough(ask: Ask, need: Any, room: list[int], tight: dict[Queue, list[int]]) -> bool:
    """Return whether the task fits on the server and every maximum above it allows it."""
    return fits(need, room) and all(has_room(ask.size, left) for left in tight.values())


def _helps(container: Container, short: list[bool]) -> bool:
    return any(s and amount for s, amount in zip(short, container.size, strict=True))


def _kinds(leaf: paper.Node, shapes: Collection[Shape]) -> dict[Ask, int]:
    """Return the asks of a leaf for these shapes. Asks of the same size, user, queue and place
    count as one: the first of them, with the count of all.
    """
    found: dict[Any, Ask] = {}
    counts = Counter[Ask]()
    for ask in asks_of(leaf, shapes):
        app = ask.application
        where = () if ask.suits_all else (*ask.hosts, *ask.racks, *ask.strict_racks)
        kind = (
            app.queue.path, app.user, ask.is_am, ask.size, where, frozenset(ask.attempt.blacklist),
        )  # fmt: skip
        counts[found.setdefault(kind, ask)] += ask.count
    return counts


def _queue(leaf: paper.Node) -> Queue:
    member = leaf.member
    return member if isinstance(member, Queue) else member.queue


def _name(leaf: paper.Node) -> str:
    member = leaf.member
    return member.path if isinstance(member, Queue) else f"{member.id} in {member.queue.path}"
