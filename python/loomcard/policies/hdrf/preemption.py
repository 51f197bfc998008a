"""Preemption for H-DRF (section 6d of the specification): what a leaf is guaranteed and waits for
is taken from those that hold most beyond their own guarantee.

It cannot loop: a victim, and each queue above it that does not also hold the starved leaf, keeps
what it is guaranteed; a leaf is starved only while one more task stays within its guarantee; and
what was taken for a leaf goes to it. So each eviction makes the sum of what leaves lack smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loomcard.model.cluster import Application, Container, Node, Queue
from loomcard.model.plan import Plan
from loomcard.model.resource import add_all, fits
from loomcard.policies.hdrf.follow import Forest, Partition, applications_of
from loomcard.policies.hdrf.sums import Branch, Child, Leaf

EVERY_MS = 1000
"""How often it is looked at who is starved, at most."""
ROUNDING = 1e-9


@dataclass
class Preemption:
    """What one call leaves for the next; leaves by the word of ``word_of``."""

    starved: dict[str, int] = field(default_factory=dict)
    """Since when, in ms, a leaf has wanted something within its guarantee."""
    owed: dict[str, list[int]] = field(default_factory=dict)
    """For how many tasks of a leaf containers were taken, and till when, in ms, they go to it."""
    rest_ms: int = 0
    """Nothing more is taken before."""
    look_ms: int = 0
    """It is looked at again."""


@dataclass(frozen=True)
class Rules:
    """When and how much: the options of the policy."""

    after_ms: int
    grace_ms: int
    budget: float
    cooldown_ms: int

    def __post_init__(self) -> None:
        if min(self.after_ms, self.grace_ms, self.cooldown_ms) < 0:
            raise ValueError(
                "preempt_after_ms, preempt_grace_ms and preempt_cooldown_ms are at least 0"
            )
        if not 0 < self.budget <= 1:
            raise ValueError("preempt_budget is above 0 and at most 1")


def guarantees(partition: Partition) -> dict[Child, float]:
    """g(n) = g(parent) * w[n] / the sum of w over demanding siblings and n (section 1)."""
    found: dict[Child, float] = {partition.tree.root: 1.0}
    waiting: list[Branch] = [partition.tree.root]
    while waiting:
        branch = waiting.pop()
        demanding = sum(sorted(c.weight for c in branch.children if c.wants))
        for child in branch.children:
            total = demanding if child.wants else demanding + child.weight
            found[child] = found[branch] * child.weight / total
            if isinstance(child, Branch):
                waiting.append(child)
    return found


def word_of(leaf: Leaf) -> str:
    """A leaf as plain text, for a memory."""
    member = leaf.member
    return member.path if isinstance(member, Queue) else f"application {member.number}"


def look(plan: Plan, forest: Forest, rules: Rules, memory: Preemption) -> None:
    """See who is starved, and take what it has waited for long enough."""
    now = plan.view.now_ms
    for word, (_, until_ms) in list(memory.owed.items()):
        if until_ms <= now:
            del memory.owed[word]
    if now >= memory.look_ms:
        memory.look_ms = now + EVERY_MS
        lacking = [Taking(plan, forest, p, rules, memory) for p in forest.partitions.values()]
        known = memory.starved
        memory.starved = {w: known.get(w, now) for each in lacking for w in each.starved}
        count = sum(each.take_all() for each in lacking) if now >= memory.rest_ms else 0
        if count:
            memory.rest_ms = now + rules.cooldown_ms
    if memory.starved:
        plan.wake_at(memory.look_ms)


class Taking:
    """Who is starved in one partition, and what can be taken for it."""

    def __init__(
        self, plan: Plan, forest: Forest, partition: Partition, rules: Rules, memory: Preemption
    ) -> None:
        self._plan = plan
        self._forest = forest
        self._partition = partition
        self._rules = rules
        self._memory = memory
        self._guarantee = guarantees(partition)
        self._plain: dict[Child, list[int]] = {}  # what is held and not being taken
        self._leaf_of: dict[Application, Leaf] = {}
        for leaf in partition.leaves.values():
            self._charge(leaf, forest.used(leaf.member, partition.label), 1)
            for app in applications_of(leaf.member):
                self._leaf_of[app] = leaf
                for container in app.containers:
                    if self._here(container) and container.preempting_since is not None:
                        self._charge(leaf, container.size, -1)
        self._shares = partition.tree.at(-1)
        self._left = rules.budget
        self._promised: dict[Node, list[int]] = {}  # of a server's room, in this call
        by_need = sorted(partition.leaves.values(), key=self._need)
        self.starved: dict[str, Leaf] = {word_of(x): x for x in by_need if self._lacks(x)}

    def _need(self, leaf: Leaf) -> tuple[Any, ...]:
        return self._share(leaf) / self._guarantee[leaf], word_of(leaf)

    def _here(self, container: Container) -> bool:
        return container.node.label == self._partition.label

    def _charge(self, leaf: Leaf, amounts: Sequence[int], sign: int) -> None:
        node: Child | None = leaf
        while node is not None:
            sums = self._plain.setdefault(node, [0] * len(amounts))
            for r, amount in enumerate(amounts):
                sums[r] += sign * amount
            node = node.parent

    def _share(self, child: Child) -> float:
        return self._largest(self._plain[child]) if child in self._plain else 0.0

    def _largest(self, amounts: Sequence[int]) -> float:
        return max(self._partition.fractions(amounts), default=0.0)

    def _lacks(self, leaf: Leaf) -> bool:
        """It wants a task, and with it, and with what it is owed, stays within its guarantee."""
        if not leaf.wants:
            return False
        count = 1 + self._memory.owed.get(word_of(leaf), [0])[0]
        tasks = zip(self._plain[leaf], leaf.wants[0][0], strict=True)
        after = [held + count * amount for held, amount in tasks]
        return self._largest(after) <= self._guarantee[leaf] + ROUNDING

    def take_all(self) -> int:
        """Take for each that has been starved long enough, within the budget or else for one task;
        how many containers were taken.
        """
        now, count = self._plan.view.now_ms, 0
        for word, leaf in self.starved.items():
            if now - self._memory.starved[word] < self._rules.after_ms:
                continue
            while self._lacks(leaf):
                victims = self._victims(leaf)
                cost = sum(self._largest(container.size) for container in victims)
                if not victims or (count and cost > self._left + ROUNDING):
                    break
                self._left -= cost
                self._evict(leaf, victims)
                count += len(victims)
        return count

    def _victims(self, leaf: Leaf) -> list[Container]:
        """Containers of one server that make room there for one task of a starved leaf: of those
        that hold most first, AMs last.
        """
        tried: set[Node] = set()
        for am_too in (False, True):
            for container in self._candidates(leaf, am_too, self._leaf_of):
                node = container.node
                if node not in tried:
                    tried.add(node)
                    found = self._on_server(leaf, node, am_too)
                    if found:
                        return found
            tried.clear()
        return []

    def _on_server(self, leaf: Leaf, node: Node, am_too: bool) -> list[Container]:
        size = leaf.wants[0][0]
        need = self._forest.servers.needs(size, (node.label, node.capacity))
        promised = self._promised.get(node) or [0] * len(size)
        room = [free - taken for free, taken in zip(node.free, promised, strict=True)]
        for container in node.containers:
            if container.preempting_since is not None:
                room = [a + b for a, b in zip(room, container.size, strict=True)]
        if not fits(size, node.capacity) or fits(need, room):
            return []  # it never fits, or what is being taken there is enough already
        found: list[Container] = []
        apps = dict.fromkeys(c.application for c in node.containers)
        for container in self._candidates(leaf, am_too, apps, node):
            short = [n > free for n, free in zip(need, room, strict=True)]
            if not any(s and c for s, c in zip(short, container.size, strict=True)):
                continue
            found.append(container)
            room = [a + b for a, b in zip(room, container.size, strict=True)]
            victim = self._leaf_of[container.application]
            self._charge(victim, container.size, -1)
            if fits(need, room):
                break
        for container in found:
            victim = self._leaf_of[container.application]
            self._charge(victim, container.size, 1)
        return found if fits(need, room) else []

    def _candidates(
        self, leaf: Leaf, am_too: bool, apps: Any, node: Node | None = None
    ) -> Iterator[Container]:
        """What may be taken, by the mirror of the descent: at each queue from the root down the
        child of the largest s/w; of a leaf's containers the latest first, AMs last.
        """
        victims = dict.fromkeys(self._leaf_of[app] for app in apps if app in self._leaf_of)
        for victim in sorted(victims, key=self._mirrored):
            if victim is leaf:
                continue
            mine = [
                container
                for app in applications_of(victim.member)
                for container in app.containers
                if (container.node is node if node is not None else self._here(container))
                and container.number
                and container.preempting_since is None
                and (am_too or not container.is_am)
            ]
            mine.sort(key=lambda c: (c.is_am, -c.allocated_ms, -c.number))
            yield from (container for container in mine if self._spares(victim, leaf, container))

    def _mirrored(self, leaf: Leaf) -> list[Any]:
        key: list[Any] = []
        node: Child | None = leaf
        while node is not None:
            key.append((-self._shares.of(node).share / node.weight, node.order))
            node = node.parent
        return key[::-1]

    def _spares(self, victim: Leaf, starved: Leaf, container: Container) -> bool:
        """No node above the container that does not gain by it falls below its guarantee."""
        gains = set(_path(starved))
        for node in _path(victim):
            if node not in gains:
                pairs = zip(self._plain[node], container.size, strict=True)
                after = self._largest([held - loss for held, loss in pairs])
                if after < self._guarantee[node] - ROUNDING:
                    return False
        return True

    def _evict(self, leaf: Leaf, victims: list[Container]) -> None:
        now, rules = self._plan.view.now_ms, self._rules
        share, due = self._share(leaf), self._guarantee[leaf]
        for container in victims:
            victim = self._leaf_of[container.application]
            reason = (
                f"{_name(leaf)} holds {share:.1%} of its guaranteed {due:.1%}; {_name(victim)} "
                f"holds {self._share(victim):.1%}, and is guaranteed {self._guarantee[victim]:.1%}"
            )
            self._plan.preempt(container, rules.grace_ms, reason)
            self._charge(victim, container.size, -1)
        promised = self._promised.setdefault(victims[0].node, [0] * len(leaf.wants[0][0]))
        add_all([promised], leaf.wants[0][0])
        owed = self._memory.owed.get(word_of(leaf), [0])[0] + 1
        until_ms = now + rules.grace_ms + rules.cooldown_ms + EVERY_MS
        self._memory.owed[word_of(leaf)] = [owed, until_ms]


def _path(leaf: Leaf) -> Iterator[Child]:
    node: Child | None = leaf
    while node is not None:
        yield node
        node = node.parent


def _name(leaf: Leaf) -> str:
    member = leaf.member
    return member.path if isinstance(member, Queue) else f"{member.id} in {member.queue.path}"


def owed_first(
    partition: Partition, memory: Preemption
) -> Callable[[Branch, Callable[[Child], bool]], Child | None]:
    """Of a branch, the child at or below which stands a leaf for which containers were taken."""
    leaves = partition.leaves.values() if memory.owed else ()
    owed = [leaf for leaf in leaves if word_of(leaf) in memory.owed]
    above = {node: None for leaf in owed for node in _path(leaf)}

    def first(branch: Branch, able: Callable[[Child], bool]) -> Child | None:
        found = (node for node in above if node.parent is branch and able(node))
        return min(found, key=lambda node: node.order, default=None)

    return first


def pay(leaf: Leaf, memory: Preemption) -> None:
    """A leaf was served: less is owed to it."""
    word = word_of(leaf)
    if word in memory.owed:
        memory.owed[word][0] -= 1
        if memory.owed[word][0] <= 0:
            del memory.owed[word]
