"""Tetris (Grandl et al., SIGCOMM 2014) as a third party would write it: from the paper, with what
`loomcard` exports. It looks at everything again for each container, without a clever index, so it
is slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, fsum
from typing import Any

from loomcard import (
    Application,
    Ask,
    Chooser,
    ClusterView,
    Estimates,
    ExhaustedShapes,
    Finished,
    Node,
    Plan,
    Shape,
    WeighsWork,
    fits,
    serve,
)

UNIT = 1_000_000


@dataclass(frozen=True)
class PlainTetris(WeighsWork):
    """The task that aligns best with a node, less the remaining work of its application."""

    fairness: float = 0.0
    remote_penalty: float = 0.1
    work_weight: float = 1.0
    assumed_ms: float = 30_000.0
    reserve_after_ms: int = 1_000

    leaf_only = True

    def decide(self, view: ClusterView, memory: Finished) -> tuple[Plan, Finished]:
        plan = Plan(view)
        estimates = Estimates.of(view, memory, self.assumed_ms)
        return serve(plan, Best(self, plan, estimates), self.reserve_after_ms), memory

    def candidates(self, plan: Plan, estimates: Estimates, price: float) -> Iterator[Any]:
        """Yield (-score, work, submission, number, key, ask, node): for each application the first
        ask of each shape that may be allocated and fits.
        """
        found = list(self.able(plan))
        apps = dict.fromkeys(ask.application for ask in found)
        if self.fairness:
            most = max(1, ceil((1 - self.fairness) * len(apps)))
            order = sorted(
                apps, key=lambda app: (plan.dominant_share(app), app.submitted_ms, app.number)
            )
            apps = dict.fromkeys(order[:most])
        for ask in found:
            app = ask.application
            if app in apps:
                work = work_of(estimates, app)
                aligned, node = self.best(plan, ask)
                rank = (-(aligned - price * work), work, app.submitted_ms, app.number, ask.key)
                yield *rank, ask, node

    def able(self, plan: Plan) -> Iterator[Ask]:
        for app in plan.view.members:
            shapes: dict[Shape, None] = {}
            for ask in app.asks:
                shape = (ask.size, ask.label)
                if ask.count <= 0 or shape in shapes:
                    continue
                reason = plan.limited(ask)
                if reason is not None:
                    plan.wait(ask, reason)
                elif plan.allows(ask) and plan.place(ask) is not None:
                    shapes[shape] = None
                    yield ask

    def best(self, plan: Plan, ask: Ask) -> tuple[float, Node]:
        """Return the score and the node of the best alignment, ties by number; a node that is not
        near costs the penalty.
        """
        view = plan.view
        table, rows = (view.hosts, ask.hosts) if ask.hosts else (view.racks, ask.racks)
        near = {number for name, count in rows.items() if count for number in table.get(name, ())}
        remote = 1 - self.remote_penalty
        scored = [
            (
                -aligned(view, ask, n) * (remote if near and n.number not in near else 1.0),
                n.number,
                n,
            )
            for n in plan.nodes_fitting(ask)
        ]
        score, _, node = min(scored)
        return -score, node

    def price(self, view: ClusterView, estimates: Estimates) -> float:
        """Return eps: mean alignment / mean remaining work over the candidates, at the begin of the
        call.
        """
        alignments, works = [], []
        for shape in view.shapes:
            size, label = shape
            nodes = [n for n in view.nodes if view.offers(n, label) and fits(size, n.room)]
            asks = list(asks_of(view, shape))
            if not asks or not nodes or shape in view.exhausted:
                continue
            best = max(aligned(view, asks[0], node) for node in nodes)
            for app in dict.fromkeys(ask.application for ask in asks):
                alignments.append(best)
                works.append(work_of(estimates, app))
        total = sum(works)
        return self.work_weight * (fsum(alignments) / total if total else 0.0)


class Best(Chooser):
    """The best candidate of all is next; prices are those at the begin of the call."""

    def __init__(self, tetris: PlainTetris, plan: Plan, estimates: Estimates) -> None:
        super().__init__(plan.view.queue)
        self.tetris, self.plan, self.estimates = tetris, plan, estimates
        self.cost: float | None = None
        self.node: Node | None = None

    def next(self, full: ExhaustedShapes) -> Ask | None:  # noqa: ARG002
        if self.cost is None:
            self.cost = self.tetris.price(self.plan.view, self.estimates)
        candidates = list(self.tetris.candidates(self.plan, self.estimates, self.cost))
        if not candidates:
            return None
        *_, ask, self.node = min(candidates, key=lambda found: found[:-2])
        assert isinstance(ask, Ask)
        return ask

    def place(self, plan: Plan, ask: Ask) -> Node | None:  # noqa: ARG002
        return self.node


def asks_of(view: ClusterView, shape: Shape) -> Iterator[Ask]:
    return (ask for ask in view.asks if (ask.size, ask.label) == shape)


def work_of(estimates: Estimates, app: Application) -> int:
    return round(estimates.work(app) * UNIT)


def aligned(view: ClusterView, ask: Ask, node: Node) -> float:
    """sum_r (size_r / R_r) * (free_r / R_r), R the cluster's capacity."""
    rows = zip(ask.size, node.room, view.cluster_capacity, strict=True)
    return sum(size * free / (whole * whole) for size, free, whole in rows if whole)
