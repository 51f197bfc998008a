"""Preemption: a leaf that waits for its guarantee gets room from the leaves that use most beyond
their own guarantee. What a leaf is, and what it is guaranteed, a policy says (``ShareTrees``).

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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from loomcard.api.plan import Plan
from loomcard.api.preempt.limits import Limits, has_room
from loomcard.api.preempt.owed import OwedTasks, asks_of, for_first, word_of
from loomcard.api.preempt.rules import EVERY_MS, Preemption, PreemptionRules
from loomcard.api.preempt.trees import ShareNode, SharePartition, ShareTrees
from loomcard.api.view import applications_below
from loomcard.model.fit_index import Shape
from loomcard.model.objects import Application, Ask, Container, Node
from loomcard.model.queue import Queue, queues_above
from loomcard.model.reservations import why_never
from loomcard.model.resource import Resource, add_all, fits, subtract_all

ROUNDING = 1e-9


def take_back(
    plan: Plan, trees: ShareTrees, rules: PreemptionRules, memory: Preemption, owed: OwedTasks,
    inside: Callable[[dict[str, int]], Iterable[Search]] | None = None,
) -> None:  # fmt: skip
    """Find the starved leaves, and take room for those that have waited long enough. ``inside``
    returns further searches, inside leaves; it gets the words of the starved leaves.
    """
    now = plan.view.now_ms
    memory.pause(dict.fromkeys(owed.unused), now, rules.until_ms + rules.after_ms)
    if now >= memory.look_ms:
        memory.look_ms = now + EVERY_MS
        known, memory.starved = memory.starved, {}
        partitions = trees.partitions.values()
        count, left = 0, dict[str, float]()
        for search in [Search(plan, trees, p, rules, memory, owed) for p in partitions]:
            memory.starved |= {w: known.get(w, now) for w in search.starved}
            count += search.take_all() if now >= memory.rest_ms else 0
            left[search.label] = search.left
        for search in inside(dict(memory.starved)) if inside is not None else ():
            memory.starved |= {w: known.get(w, now) for w in search.starved}
            search.left = left[search.label]
            count += search.take_all(count) if now >= memory.rest_ms else 0
            left[search.label] = search.left
        if count:
            memory.rest_ms = now + rules.cooldown_ms
        if rules.after_ms < EVERY_MS and any(since == now for since in memory.starved.values()):
            memory.look_ms = now + rules.after_ms
    if memory.starved:
        plan.wake_at(memory.look_ms)


class Search:
    """The starved leaves of one partition, and what can be taken for them."""

    def __init__(
        self, plan: Plan, trees: ShareTrees, partition: SharePartition, rules: PreemptionRules,
        memory: Preemption, owed: OwedTasks,
    ) -> None:  # fmt: skip
        self._plan = plan
        self._trees = trees
        self._partition = partition
        self._rules = rules
        self._memory = memory
        self._tasks = owed
        self.label = partition.label
        self._limits = Limits(plan.view._state, partition.label)
        self._plain: dict[ShareNode, list[int]] = {}  # what is used and not being preempted
        self._leaf_of: dict[Application, ShareNode] = {}
        self._lost: dict[ShareNode, float] = {}  # what is being preempted from each leaf
        for leaf in partition.leaves.values():
            self._charge(leaf, trees.used(leaf.member, partition.label), 1)
        self._before = {node: self._share(node) for node in self._plain}
        self._guarantee = partition.guarantees(plan.view.cluster_capacity, self._share)
        for leaf in partition.leaves.values():
            self._note(leaf)
        self._shares = partition.charged()
        self._held: dict[ShareNode, list[Container]] | None = None  # once it is needed
        self._served = Counter[Ask]()  # in this call, tasks for an ask and for similar ones
        by_need = sorted(partition.leaves.values(), key=self._need)
        self.starved = {word_of(leaf): leaf for leaf in by_need if any(self._claims(leaf))}
        self._taking = sum(self._lost.values())
        self.left = rules.budget - self._taking
        self._due = self._due_now()  # of what is lacking, the part that is taken at once
        self._excess = sum(map(self._beyond_guarantee, partition.leaves.values()))

    def _due_now(self) -> float:
        """Return the part of what the starved leaves lack that may be taken at once."""
        part = self._rules.queue_budget
        if part == 1:
            return float("inf")
        return part * min(self._rules.budget, sum(map(self._lacking, self.starved.values())))

    def _lacking(self, leaf: ShareNode) -> float:
        """Return how much more of its guarantee a starved leaf wants."""
        wanted = [0] * len(self._plain[leaf])
        for ask, count in _kinds(leaf, leaf.wanted).items():
            add_all([wanted], ask.size.times(count))
        return min(self._guarantee[leaf] - self._share(leaf), self._partition.share(wanted))

    def _beyond_guarantee(self, leaf: ShareNode) -> float:
        return max(0.0, self._before[leaf] - self._guarantee[leaf])

    def _note(self, leaf: ShareNode) -> None:
        """Count what is being preempted from a leaf, and what is owed to it."""
        for app in applications_below(leaf.member):
            self._leaf_of[app] = leaf
            for container in app.containers:
                if container.preempting_since is not None:
                    self._limits.free(container)
                    if self._here(container):
                        self._discharge(leaf, container)
        for size in self._tasks.of(leaf):
            self._limits.owe(_queue(leaf), size)

    def _need(self, leaf: ShareNode) -> tuple[Any, ...]:
        least = self._guarantee[leaf]
        part = self._share(leaf) / least if least else float("inf")
        return part, [node.order for node in leaf.path()][::-1]  # of equals the first child

    def _here(self, container: Container) -> bool:
        return container.node.label == self._partition.label

    def _charge(self, leaf: ShareNode, amounts: Sequence[int], sign: int) -> None:
        sums = [self._plain.setdefault(node, [0] * len(amounts)) for node in leaf.path()]
        (add_all if sign > 0 else subtract_all)(sums, amounts)

    def _discharge(self, leaf: ShareNode, container: Container, sign: int = -1) -> None:
        """Count a container as ended, or with ``sign`` 1 as running again."""
        if not self._trees.lent(container):
            self._charge(leaf, container.size, sign)
            size = self._partition.share(container.size)
            self._lost[leaf] = self._lost.get(leaf, 0.0) - sign * size

    def _share(self, child: ShareNode) -> float:
        return self._partition.share(self._plain[child]) if child in self._plain else 0.0

    def _claims(self, leaf: ShareNode) -> Iterator[Ask]:
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
            if more and not self._limits.barred(ask) and self._free(ask):
                yield ask

    def _free(self, ask: Ask) -> bool:
        """Return whether the policy itself allows one more, besides what its queue is owed."""
        owed = self._limits.owed(ask.application.queue)
        return self._trees.forbids(ask, owed) is None

    def _within(self, leaf: ShareNode, size: Sequence[int]) -> bool:
        total = list(self._plain[leaf])
        for each in (size, *self._tasks.of(leaf)):
            add_all([total], each)
        return self._partition.share(total) <= self._guarantee[leaf] + ROUNDING

    def take_all(self, before: int = 0) -> int:
        """Take room for each leaf that has been starved long enough: within the budget, or for one
        task if nothing was taken ``before`` and nothing is being taken. Return how many containers
        were preempted.
        """
        now, count = self._plan.view.now_ms, 0
        for word, leaf in self.starved.items():
            pause = self._memory.pauses.get(word)
            ready_ms = self._memory.starved[word] + self._rules.after_ms
            if now < max(ready_ms, pause[1] if pause else 0):
                continue
            if pause and self._tasks.of(leaf):
                continue  # first it shows that it uses this
            while not self._plan.spent and (found := self._victims(leaf)):
                ask, victims = found
                cost = sum(self._partition.share(container.size) for container in victims)
                if (before + count or self._taking) and cost > self.left + ROUNDING:
                    break
                self.left -= cost
                self._evict(leaf, ask, victims)
                count += len(victims)
                if pause:
                    break
        return count

    def _victims(self, leaf: ShareNode) -> tuple[Ask, list[Container]] | None:
        """Return an ask of a starved leaf, and the containers of one server that make room there
        for one of its tasks; or None. Leaves that use most lose first, and AMs last.
        """
        asks = list(self._claims(leaf))
        if asks and self._held is None:
            self._held = self._by_leaf(c for app in self._leaf_of for c in app.containers)
        for am_too in (False, True):
            for ask in asks:
                tried: set[Node] = set()
                for container in self._candidates(leaf, ask, am_too, self._held or {}):
                    node = container.node
                    if node not in tried:
                        tried.add(node)
                        found = self._victims_on(leaf, ask, node, am_too)
                        if found:
                            return ask, found
        return None

    def _victims_on(self, leaf: ShareNode, ask: Ask, node: Node, am_too: bool) -> list[Container]:
        if why_never(ask, node) is not None:
            return []  # the task may not go there
        need = self._trees.needs(ask.size, node)
        room = list(node.room)
        for size in self._reserved_on(node):
            subtract_all([room], size)
        for container in node.containers:
            if container.preempting_since is not None:
                add_all([room], container.size)
        tight = self._limits.tight(ask)
        here = self._by_leaf(node.containers)
        found: dict[Container, None] = {}
        while not _enough(ask, need, room, tight):
            short = [n > free for n, free in zip(need, room, strict=True)]
            for left in tight.values():
                over = [s > most for s, most in zip(ask.size, left, strict=True)]
                short = [a or b for a, b in zip(short, over, strict=True)]
            each = self._candidates(leaf, ask, am_too, here)
            of_use = (c for c in each if c not in found and _helps(c, short))
            container = next(of_use, None)  # type: ignore[assignment]
            if container is None:
                break
            found[container] = None
            add_all([room, *tight.values()], container.size)
            self._discharge(self._leaf_of[container.application], container)
        for container in found:
            self._discharge(self._leaf_of[container.application], container, 1)
        return list(found) if _enough(ask, need, room, tight) else []

    def _reserved_on(self, node: Node) -> list[Sequence[int]]:
        """Return the sizes of the tasks for which room on a server is reserved or will be."""
        sizes: list[Sequence[int]] = [t.size for t in self._tasks.tasks if t.node == node.number]
        reservation = node.reservation
        if reservation is not None and not sizes and not for_first(self._trees, reservation):
            sizes.append(reservation.ask.size)
        return sizes

    def _candidates(
        self, leaf: ShareNode, ask: Ask, am_too: bool, held: Mapping[ShareNode, list[Container]]
    ) -> Iterator[Container]:
        """Yield the containers in ``held`` that may be preempted, in the reverse order of the
        descent: at each queue from the root down the child of the largest s/w first; of a leaf's
        containers the latest first, AMs last. If maxima are tight for ``ask``, only containers
        inside the lowest of those queues. A leaf may lose what is lent to it for its own claims,
        but never an AM: that AM may be the one that asks, and would come back on the same room.
        """
        inside = next(reversed(self._limits.tight(ask)), None)
        for victim in sorted(held, key=self._mirrored):
            mine = [
                container
                for container in held[victim]
                if (victim is not leaf or (self._trees.lent(container) and not container.is_am))
                and (inside is None or inside in queues_above(container.application.queue))
                and container.preempting_since is None
                and (not container.is_am or (am_too and self._trees.may_take_master(container)))
            ]
            mine.sort(key=lambda c: (c.is_am, self._trees.rank(c)))
            yield from (container for container in mine if self._spares(victim, leaf, container))

    def _by_leaf(self, held: Iterable[Container]) -> dict[ShareNode, list[Container]]:
        """Return the containers that run on nodes of the label, by their leaf."""
        found: dict[ShareNode, list[Container]] = {}
        for container in held:
            victim = self._leaf_of.get(container.application)
            if victim is not None and self._here(container) and container.number:
                found.setdefault(victim, []).append(container)
        return found

    def _mirrored(self, leaf: ShareNode) -> list[Any]:
        """Return a sort key: the attributed shares at each queue, less what was preempted since."""
        key: list[Any] = []
        for node in leaf.path():
            before = self._before[node]
            kept = self._share(node) / before if before else 1.0
            key.append((-self._shares.share(node) * kept / node.weight, node.order))
        return key[::-1]

    def _spares(self, victim: ShareNode, starved: ShareNode, container: Container) -> bool:
        """Return whether no node above the container, except those above the starved leaf, falls
        below its guarantee. A leaf whose guarantee is less than this container has no claim on it:
        otherwise many small leaves with one container each would keep more than their queue is
        guaranteed. Nor does a leaf lose more at once than its part, in whole containers. Lent room
        is not spared.
        """
        if self._trees.lent(container):
            return True
        gains, size = set(starved.path()), self._partition.share(container.size)
        lost, beyond = self._lost.get(victim, 0.0), self._beyond_guarantee(victim)
        if lost and beyond and lost >= self._due * beyond / self._excess - ROUNDING:
            return False
        for node in victim.path():
            if node not in gains and not (node is victim and size > self._guarantee[node]):
                pairs = zip(self._plain[node], container.size, strict=True)
                after = self._partition.share([held - loss for held, loss in pairs])
                if after < self._guarantee[node] - ROUNDING:
                    return False
        return True

    def _why(self, leaf: ShareNode, share: float, victim: ShareNode, container: Container) -> str:
        """Return the reason that YARN shows: ``share`` is what the leaf held before."""
        holds = f"{_name(leaf)} holds {share:.1%} of its guaranteed {self._guarantee[leaf]:.1%}"
        if self._trees.lent(container):
            label = self._partition.label
            return f"{holds} on {label}; {_name(victim)} was lent what is idle there"
        has, least = self._share(victim), self._guarantee[victim]
        return f"{holds}; {_name(victim)} holds {has:.1%}, and is guaranteed {least:.1%}"

    def _evict(self, leaf: ShareNode, ask: Ask, victims: list[Container]) -> None:
        now, rules, share = self._plan.view.now_ms, self._rules, self._share(leaf)
        for container in victims:
            victim = self._leaf_of[container.application]
            self._plan.preempt(container, rules.grace_ms, self._why(leaf, share, victim, container))
            self._trees.taken(container)
            self._discharge(victim, container)
            self._limits.free(container)
        self._served[ask] += 1
        self._limits.owe(_queue(leaf), ask.size)
        self._tasks.add(leaf, ask, victims[0].node, now + rules.until_ms)


def _enough(ask: Ask, need: Any, room: list[int], tight: dict[Queue, list[int]]) -> bool:
    """Return whether the task fits on the server and every maximum above it allows it."""
    return fits(need, room) and all(has_room(ask.size, left) for left in tight.values())


def _helps(container: Container, short: list[bool]) -> bool:
    return any(s and amount for s, amount in zip(short, container.size, strict=True))


def _kinds(leaf: ShareNode, shapes: Collection[Shape]) -> dict[Ask, int]:
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


def _queue(leaf: ShareNode) -> Queue:
    member = leaf.member
    return member if isinstance(member, Queue) else member.queue


def _name(leaf: ShareNode) -> str:
    member = leaf.member
    return member.path if isinstance(member, Queue) else f"{member.id} in {member.queue.path}"
