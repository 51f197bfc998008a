"""Leaves that fit nowhere for long: they count as blocked (section 6a of the specification).

Else one task that never fits keeps its leaf at the least share, holds its parent's attributed share
down, and lets its siblings take too much.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loomcard.model.cluster import Application
from loomcard.model.plan import Plan
from loomcard.model.room import Shape
from loomcard.policies.hdrf.follow import Forest, Partition


@dataclass
class Unfit:
    """Since when, in ms, what fits nowhere has done so."""

    shapes: dict[str, int] = field(default_factory=dict)
    """By size and partition, as text."""
    applications: dict[int, int] = field(default_factory=dict)
    """By number: no server that it may use has room, though others have."""

    def review(self, plan: Plan, forest: Forest, age: int) -> None:
        """Tell the forest which applications count as blocked now: what they want has fitted
        nowhere for ``age`` ms.
        """
        now, applications = plan.view.now_ms, forest.ledger.applications
        partitions = list(forest.partitions.values())
        stuck = {s for partition in partitions for s in self._stuck(forest, partition, age, now)}
        for number in list(self.applications):
            app = applications.get(number)
            if app is None or _can_go_on(plan, forest, app):
                del self.applications[number]
        unfit = {n: None for n, since in self.applications.items() if now - since >= age}
        if stuck:
            for partition in partitions:
                for member, leaf in partition.leaves.items():
                    hopeless = leaf.wants and all(want in stuck for want in leaf.wants)
                    if hopeless and isinstance(member, Application):
                        unfit[member.number] = None
        for number in {**forest.unfit, **unfit}:
            if number in applications and (number in forest.unfit) != (number in unfit):
                forest.changed[applications[number]] = None
        forest.unfit = unfit

    def _stuck(self, forest: Forest, partition: Partition, age: int, now: int) -> list[Shape]:
        """The wanted shapes for which no server of a partition has had room for so long."""
        partition.look(forest.servers)
        here: dict[str, Shape] = {_word(shape): shape for shape in partition.wanted}
        full = {w: s for w, s in here.items() if forest.servers.first(*s) is None}
        for word in list(self.shapes):
            if word.startswith(f"{partition.label}:") and word not in full:
                del self.shapes[word]
        return [s for w, s in full.items() if now - self.shapes.setdefault(w, now) >= age]

    def note(self, app: Application, now: int) -> None:
        """It was tried in vain though servers have room for its shapes."""
        self.applications.setdefault(app.number, now)


def _can_go_on(plan: Plan, forest: Forest, app: Application) -> bool:
    """It wants nothing, or something that fits."""
    asks = [ask for ask in app.asks if ask.count > 0]
    return not asks or any(forest.servers.place(plan, ask) is not None for ask in asks)


def _word(shape: Shape) -> str:
    return f"{shape[1]}:{','.join(map(str, shape[0]))}"
