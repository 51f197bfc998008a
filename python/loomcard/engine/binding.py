"""What keeps one ask waiting, in amounts: the limits and the nodes that bind it now.

The checks are those of ``ClusterState.why_not``. Each constraint says what would have to change, by
how much, so that it does not bind any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loomcard.model.limits import PPM
from loomcard.model.objects import Ask, Node
from loomcard.model.queue import Queue, Running
from loomcard.model.reasons import Reason
from loomcard.model.resource import UNLIMITED, Resource, fits, room_for, share
from loomcard.model.state import ClusterState

TOO_LARGE = "TOO_LARGE"
"""No node that the ask may use would have room even if it were empty."""
NO_NODE = "NO_NODE"
"""No node is registered, or none with the ask's label."""
RESERVATION = "RESERVATION"
"""The ask waits for the room that is reserved for it."""
NAMES_SHOWN = 5
"""How many hosts or nodes a text names."""


@dataclass(frozen=True)
class Constraint:
    """One thing that forbids the next container of an ask.

    ``where``: the queue or node. ``limit`` and ``used``: what may be used there and what is, None
    where no amount binds. ``short``: by how much ``limit`` must grow, or ``used`` shrink. ``key``
    and ``to``: the key of the queue in the YAML and its least value that would do.
    """

    code: str
    where: str
    text: str
    remedy: str
    asked: Resource
    limit: Resource | None = None
    used: Resource | None = None
    short: Resource | None = None
    key: str | None = None
    to: Any = None
    node: Node | None = field(default=None, compare=False)
    queue: Queue | None = field(default=None, compare=False)

    def document(self, types: Sequence[str]) -> dict[str, Any]:
        """The constraint as explanations contain it."""
        amounts = {
            "asked": self.asked, "limit": self.limit, "used": self.used,
            "free": _left(self.limit, self.used), "short": self.short,
        }  # fmt: skip
        return {
            "code": self.code,
            "where": self.where,
            "node": None if self.node is None else self.node.id,
            **{name: named(each, types) for name, each in amounts.items()},
            "key": self.key,
            "to": self.to,
            "text": self.text,
            "remedy": self.remedy,
        }


def named(amounts: Sequence[int] | None, types: Sequence[str]) -> dict[str, int] | None:
    """Amounts by the name of their type, without types that have no limit."""
    if amounts is None:
        return None
    return {t: a for t, a in zip(types, amounts, strict=True) if a < UNLIMITED}


def amounts_text(amounts: Sequence[int], types: Sequence[str]) -> str:
    """The exact amounts as a text, such as ``512 MB, 1 vcore``; types with nothing are left out."""
    return ", ".join(
        f"{amount} {_unit(name, amount)}"
        for name, amount in (named(amounts, types) or {}).items()
        if amount
    ) or "nothing"  # fmt: skip


def _unit(name: str, amount: int) -> str:
    return "MB" if name == "memory_mb" else "vcore" if (name, amount) == ("vcores", 1) else name


def _left(limit: Resource | None, used: Resource | None) -> Resource | None:
    if limit is None or used is None:
        return None
    return Resource(min(m, UNLIMITED) - u if m < UNLIMITED else m for m, u in zip(limit, used))  # noqa: B905


def shortage(size: Sequence[int], used: Sequence[int], limit: Sequence[int]) -> Resource:
    """By how much a limit is too small for one more container of ``size`` beside ``used``; types
    that the container does not need count nothing.
    """
    rows = zip(size, used, limit, strict=True)
    return Resource(max(0, taken + wanted - most) if wanted else 0 for wanted, taken, most in rows)


def percent(ppm: int) -> str:
    """Millionths as the YAML states them, exactly, such as ``37.5%``."""
    whole, rest = divmod(ppm, 10_000)
    return f"{whole}.{rest:04d}".rstrip("0").rstrip(".") + "%"


def least_ppm(needed: Sequence[int], whole: Sequence[int], size: Sequence[int]) -> int | None:
    """The least part of ``whole``, in millionths, that is ``needed`` in each type of ``size``; None
    if the whole is less.
    """
    found = 0
    for need, most, wanted in zip(needed, whole, size, strict=True):
        if wanted and most < UNLIMITED:
            if need > most:
                return None
            found = max(found, -(-need * PPM // most) if most else 0)
    return found


def ceiling(state: ClusterState, queue: Queue) -> Resource:
    """The most that a queue may use: its own maximum, or that of the first queue above it with one;
    for none the cluster's capacity.
    """
    above: Queue | None = queue
    while above is not None:
        if above.maximum is not None:
            return above.maximum
        above = above.parent
    return state.capacity


def limits(state: ClusterState, ask: Ask) -> Iterator[Constraint]:
    """The limits of the queue tree that forbid one more container of ``ask``, from the label's and
    the leaf's up to root's, then the user's, then the AMs', then those of running applications.
    """
    leaf = ask.application.queue
    yield from _label_limits(state, ask)
    for queue in reversed(leaf.capped):
        assert queue.maximum is not None
        if not room_for(ask.size, queue.used, queue.maximum):
            above = state.capacity if queue.parent is None else ceiling(state, queue.parent)
            yield _limit(state, ask, Reason.QUEUE_MAX, queue, queue.used, queue.maximum, above,
                         "maximum", f"the maximum of {queue.path}")  # fmt: skip
    user, most = ask.application.user, leaf.user_limit
    used: Sequence[int] = leaf.user_used.get(user, state.zero)
    if most is not None and not room_for(ask.size, used, most):
        yield _limit(state, ask, Reason.USER_LIMIT, leaf, used, most, ceiling(state, leaf),
                     "user_limit", f"what user {user} may use in {leaf.path}")  # fmt: skip
    masters = leaf.am_limit if ask.is_am and any(leaf.am_used) else None
    if masters is not None and not room_for(ask.size, leaf.am_used, masters):
        what = f"what AMs may use in {leaf.path}"
        whole = ceiling(state, leaf)
        yield _limit(
            state, ask, Reason.AM_LIMIT, leaf, leaf.am_used, masters, whole, "am_share", what
        )
    if ask.is_am:
        for queue in reversed(leaf.running_limited):
            if queue.running is not None:
                yield from _running_limits(ask, queue, queue.running)


def _running_limits(ask: Ask, queue: Queue, here: Running) -> Iterator[Constraint]:
    """What a queue states of running applications, where that forbids one more AM."""
    user, key = ask.application.user, "maximum_running_applications"
    mine = here.count_of.get(user, 0)
    limits: list[tuple[int | None, int, str, str, Any]] = [
        (here.most, here.count, "", key, here.count + 1),
        (here.limit_of(user), mine, f" of user {user}", f"{key}_per_user",
         {**here.most_of, user: mine + 1}),
    ]  # fmt: skip
    for most, running, whose, name, to in limits:
        if most is not None and running >= most:
            text = (
                f"the limit of running applications{whose} in {queue.path} is {most}; {running} run"
            )
            less = running - most + 1
            remedy = f"the end of {less} of them" if most else "a higher limit"
            shown = json.dumps(to) if isinstance(to, dict) else to
            yield Constraint(
                Reason.RUNNING_LIMIT, queue.path, text, f"{remedy}, or {name}: {shown}"
                f" of {queue.path}", ask.size, key=name, to=to, queue=queue,
            )  # fmt: skip


def _limit(
    state: ClusterState, ask: Ask, code: Reason, queue: Queue, used: Sequence[int],
    most: Resource, whole: Resource, key: str, what: str,
) -> Constraint:  # fmt: skip
    """A limit on what is used; ``whole`` is what a percentage under ``key`` is a part of."""
    types, short = state.types, shortage(ask.size, used, most)
    needed = Resource(m + s for m, s in zip(most, short, strict=True))
    stated = queue.spec.get(key, {})
    to: Any
    if isinstance(stated, dict) and "amounts" in stated:
        to = {t: n for t, n in (named(needed, types) or {}).items() if t in stated["amounts"]}
    else:
        ppm = least_ppm(needed, whole, ask.size)
        to = None if ppm is None else percent(ppm)
    text = (
        f"{what} is {amounts_text(most, types)}; {amounts_text(used, types)} is used and"
        f" {amounts_text(ask.size, types)} asked: {amounts_text(short, types)} too little"
    )
    remedy = f"{amounts_text(short, types)} that end there"
    if isinstance(to, str):
        remedy += f", or {key}: {to} of {queue.path}"
    elif to is not None:
        remedy += f", or {key} of {queue.path} raised by {amounts_text(short, types)}"
    return Constraint(str(code), queue.path, text, remedy, ask.size, most, Resource(used), short,
                      key, to, queue=queue)  # fmt: skip


def _label_limits(state: ClusterState, ask: Ask) -> Iterator[Constraint]:
    labels, leaf, label = state.label_limits, ask.application.queue, ask.label
    if not labels.active or not label:
        return
    allowed = labels.labels_of(leaf)
    if allowed is not None and label not in allowed:
        shown = ", ".join(sorted(allowed)) or "none"
        text = f"{leaf.path} may not use nodes with label {label}; it may use: {shown}"
        to = [*sorted(allowed), label]
        remedy = f"{label} in labels of {leaf.path}"
        yield Constraint(Reason.LABEL, leaf.path, text, remedy, ask.size, key="labels", to=to,
                         queue=leaf)  # fmt: skip
    for queue, most, whole in labels.maxima(state, leaf, label):
        used = labels.used(state, queue, label)
        if not room_for(ask.size, used, most):
            short = shortage(ask.size, used, most)
            types = state.types
            ppm = least_ppm(most.plus(short), whole, ask.size)
            to_percent = None if ppm is None else percent(ppm)
            text = (
                f"{queue.path} may use {amounts_text(most, types)} on nodes with label {label};"
                f" {amounts_text(used, types)} is used and {amounts_text(ask.size, types)} asked:"
                f" {amounts_text(short, types)} too little"
            )
            remedy = f"{amounts_text(short, types)} that end there"
            if to_percent is not None:
                remedy += f", or label_maximum: {{{label}: {to_percent}}} of {queue.path}"
            key = "label_maximum"
            yield Constraint(
                Reason.QUEUE_MAX, queue.path, text, remedy, ask.size, most, Resource(used), short,
                key, to_percent, queue=queue,
            )  # fmt: skip


def nodes(state: ClusterState, ask: Ask) -> Constraint | None:
    """What keeps one more container of ``ask`` from every node; None if a node has room for it."""
    best = _Best()
    for node in state.nodes.values():
        if node.label == ask.label or node.takes(ask.label, lent=True):
            best.add(ask, node)
            if best.fits:
                return None
    return best.constraint(state, ask)


class _Best:
    """The nodes of an ask's label, by what keeps the ask from them; of each kind the nearest."""

    def __init__(self) -> None:
        self.fits = False
        self.labelled = 0
        self.banned: list[Node] = []  # with room, but blacklisted
        self.far: list[Node] = []  # with room, but the ask names others
        self.reserved: list[Node] = []
        self.suited: list[Node] = []
        self.full: tuple[float, Node] | None = None  # would have room if it were empty
        self.small: tuple[float, Node] | None = None

    def add(self, ask: Ask, node: Node) -> None:
        """Sort one node in."""
        self.labelled += 1
        blacklist = ask.attempt.blacklist
        has_room = fits(ask.size, node.room)
        if blacklist and not blacklist.isdisjoint((node.host, node.rack)):
            if has_room:
                self.banned.append(node)
            return
        if (ask.racks or not ask.relax_locality) and ask.reach(node) is None:
            if has_room:
                self.far.append(node)
            return
        self.suited.append(node)
        own = node.reservation is not None and node.reservation.ask is ask
        if has_room or (own and fits(ask.size, node.free)):
            self.fits = True
        elif node.reservation is not None and not own and fits(ask.size, node.free):
            self.reserved.append(node)
        else:
            whole = not fits(ask.size, node.capacity)
            short = _needed(ask.size, node.capacity if whole else node.room)
            rank = share(short, node.capacity)
            if whole:
                if self.small is None or rank < self.small[0]:
                    self.small = rank, node
            elif self.full is None or rank < self.full[0]:
                self.full = rank, node

    def constraint(self, state: ClusterState, ask: Ask) -> Constraint:
        """What binds, the nearest first: room that is there, but not for the ask; room that is
        short; a node that is too small; no node at all.
        """
        types = state.types
        size = amounts_text(ask.size, types)
        if ask.reservations:
            node = ask.reservations[0].node
            return _room(state, ask, node, RESERVATION, f"room is reserved for it on {node.id}")
        if self.reserved:
            return _reserved(ask, self.reserved[0], types)
        if self.banned:
            names = _names(self.banned)
            return Constraint(
                Reason.BLACKLISTED, names,
                f"only nodes that its AM has blacklisted have room for {size}: {names}",
                f"{self.banned[0].host} taken off its AM's blacklist", ask.size,
                node=self.banned[0],
            )  # fmt: skip
        wishes = ", ".join([*ask.hosts, *ask.racks][:NAMES_SHOWN]) or "none"
        if self.far:
            names = _names(self.far)
            text = f"it may only go to {wishes}; {names} with room is not one of them"
            if self.full is not None:
                return _room(state, ask, self.full[1], Reason.LOCALITY, text)
            return Constraint(Reason.LOCALITY, wishes, text,
                              "relaxed locality, or a node with room among those it names",
                              ask.size, node=self.far[0])  # fmt: skip
        if self.full is not None:
            node = self.full[1]
            what = f"no node of {len(self.suited)} has room for it; nearest is {node.id}"
            return _room(state, ask, node, Reason.NODE_FULL, what)
        if self.small is not None:
            node = self.small[1]
            short = _needed(ask.size, node.capacity)
            text = (
                f"no node could run {size} even if it were empty; the largest for it is {node.id}"
                f" with {amounts_text(node.capacity, types)}: {amounts_text(short, types)} too"
                " little"
            )
            remedy = f"a node with {amounts_text(short, types)} more, or a smaller container"
            return Constraint(TOO_LARGE, node.id, text, remedy, ask.size, node.capacity,
                              state.zero, short, node=node)  # fmt: skip
        return self._none(state, ask, wishes)

    def _none(self, state: ClusterState, ask: Ask, wishes: str) -> Constraint:
        if self.labelled and ask.attempt.blacklist:
            names = ", ".join(sorted(ask.attempt.blacklist)[:NAMES_SHOWN])
            text = f"its AM has blacklisted every node that it may use: {names}"
            return Constraint(Reason.BLACKLISTED, names, text, "fewer names on the blacklist",
                              ask.size)  # fmt: skip
        if self.labelled:
            text = f"it may only go to {wishes}, and no registered node is one of them"
            remedy = "relaxed locality, or one of these nodes registered"
            return Constraint(Reason.LOCALITY, wishes, text, remedy, ask.size)
        if state.nodes:
            with_label = f"label {ask.label}" if ask.label else "no label"
            text = f"no registered node has {with_label}"
            return Constraint(NO_NODE, ask.label, text, f"a node with {with_label}", ask.size)
        return Constraint(NO_NODE, "", "no node is registered", "a node", ask.size)


def _room(state: ClusterState, ask: Ask, node: Node, code: str, what: str) -> Constraint:
    """Room that one node lacks."""
    types, room = state.types, node.free if code == RESERVATION else node.room
    short, used = _needed(ask.size, room), node.used
    text = (
        f"{what}: {amounts_text(room, types)} of {amounts_text(node.capacity, types)} free,"
        f" {amounts_text(ask.size, types)} asked, {amounts_text(short, types)} too little"
    )
    remedy = f"{amounts_text(short, types)} that end on {node.id}"
    return Constraint(str(code), node.id, text, remedy, ask.size, node.capacity, used, short,
                      node=node)  # fmt: skip


def _reserved(ask: Ask, node: Node, types: Sequence[str]) -> Constraint:
    reservation = node.reservation
    assert reservation is not None
    kept = reservation.ask
    text = (
        f"{node.id} has {amounts_text(node.free, types)} free, but"
        f" {amounts_text(kept.size, types)} is reserved there for {kept.application.id}"
    )
    remedy = f"the end of that reservation, or {amounts_text(_needed(ask.size, node.room), types)}"
    return Constraint(
        Reason.NODE_RESERVED, node.id, text, remedy + f" more on {node.id}", ask.size,
        node.capacity, node.used, _needed(ask.size, node.room), node=node,
    )  # fmt: skip


def _needed(size: Sequence[int], room: Sequence[int]) -> Resource:
    return Resource(max(0, wanted - free) for wanted, free in zip(size, room, strict=True))


def _names(found: Iterable[Node]) -> str:
    names = [node.id for node in found]
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more
