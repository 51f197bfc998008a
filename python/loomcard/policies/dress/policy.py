"""DRESS (Mao, Green, Wang, Xiong, Guo, 2018): a share of the cluster is reserved for small jobs,
and moved once a tick by what is asked for, what is free and what is forecast to be released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any

from loomcard.model.plan import Plan
from loomcard.model.view import ClusterView
from loomcard.policies.dress.books import Books
from loomcard.policies.dress.classify import CATEGORIES, LD, SD
from loomcard.policies.dress.forecast import MODES, amounts, job_release
from loomcard.policies.dress.lines import Lines
from loomcard.policies.dress.memory import Memory
from loomcard.policies.dress.phases import Windows
from loomcard.policies.dress.quotas import filled, quotas, split_vectors, times, within
from loomcard.policies.dress.reserve import GROWTHS, LEFTOVERS, Outlook, Rule, adjust
from loomcard.policies.registry import register

CHOICES = {
    "forecast": MODES,
    "leftover": LEFTOVERS,
    "growth": GROWTHS,
    "order": ("submission", "demand"),
    "classifier": ("demand", "work"),
}


@register("dress")
@dataclass(frozen=True)
class Dress:
    """Reserve a share of the cluster for small jobs, and move the border once a tick.

    The options and their defaults are in docs/dress.md; those that extend the paper are off.
    """

    theta: float = 0.10
    delta: float = 0.10
    phase_window_ms: int = 10_000
    start_threshold: int = 5
    finish_threshold: int = 5
    adaptive_thresholds: bool = True
    use_priority: bool = False
    tick_ms: int = 1_000
    forecast: str = "incremental"
    leftover: str = "net"
    defer_releases: bool = True
    dmin: float = 0.0
    dmax: float = 0.0
    fixed: bool = False
    order: str = "submission"
    unit: dict[str, int] = field(default_factory=dict)
    classifier: str = "demand"
    growth: str = "surplus"
    age_ms: int = 0
    rate_limit: float = 0.0
    dead_band: float = 0.0
    floor_need: bool = False
    floor_demand: bool = False

    leaf_only = True
    asks_again = True  # what other queues leave is divided anew at the next tick

    def __post_init__(self) -> None:
        for name in ("theta", "delta"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} lies between 0 and 1, both excluded")
        for name in ("dmin", "dmax", "rate_limit"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} lies between 0 (no such bound) and 1, excluded")
        if self.dmax and self.dmin > self.dmax:
            raise ValueError("dmin is at most dmax")
        for name in ("start_threshold", "finish_threshold", "age_ms", "dead_band"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is at least 0")
        if not 0 < self.tick_ms <= self.phase_window_ms:
            raise ValueError("tick_ms is above 0, and phase_window_ms at least tick_ms")
        if any(amount < 0 for amount in self.unit.values()) or not any(self.unit.values() or [1]):
            raise ValueError("unit is amounts by resource type, at least one of them above 0")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is one of {', '.join(known)}")

    def initial(self, _view: ClusterView, saved: Any) -> Memory:
        """delta as it was saved, or as the options say; everything else is seen again."""
        saved = saved or {}
        return Memory(saved.get("delta", self.delta), dict.fromkeys(saved.get("large", ())))

    def save(self, memory: Memory) -> dict[str, Any]:
        """delta, and which applications are large: none becomes small again."""
        return {"delta": memory.delta, "large": sorted(memory.large)}

    def decide(self, view: ClusterView, memory: Memory) -> tuple[Plan, Memory]:
        """Once a tick move the border (Algorithm 3); always grant within the quotas it left."""
        plan, m = Plan(view), memory
        books = Books.of(view, self, m)
        if m.tick_ms is None or view.now_ms >= m.tick_ms + self.tick_ms:
            self.tick(view.now_ms, m, books)
        self.assign(plan, m, books)
        if m.tick_ms is not None and not m.settled:
            plan.wake_at(m.tick_ms + self.tick_ms)
        return plan, m

    def tick(self, now_ms: int, m: Memory, books: Books) -> None:
        """2.1: phases are evaluated, and then delta is adjusted."""
        self.evaluate(now_ms, m, books)
        books.measure()
        if self.classifier == "work":
            books.classify_all()
        m.tick_ms, m.settled, m.held = now_ms, not m.live, list(books.used[LD])
        scale, before = m.scale, m.delta
        if scale.tot < 2 or self.fixed:
            return
        q1, _ = quotas(m.delta, scale.tot)  # the border in force until now
        held = zip(scale.total, books.used[SD], books.used[LD], strict=True)
        ac = [max(0.0, whole - small - large) for whole, small, large in held]
        free = split_vectors(ac, times(scale.each, q1), books.used[SD])
        asks = books.asks()
        outlook = Outlook(
            scale.total, free, self.releases(now_ms, m, len(ac)), asks, books.used[SD]
        )
        m.delta, branch = self.adjusted(now_ms, m, books, outlook)
        m.tally.branches[branch] = m.tally.branches.get(branch, 0) + 1
        if m.delta != before or (self.age_ms and asks[1]):
            m.settled = False

    def adjusted(self, now_ms: int, m: Memory, books: Books, outlook: Outlook) -> tuple[float, str]:
        """Algorithm 3, with the options that extend it."""
        tot = m.scale.tot
        rule = Rule(
            self.dmin or 1 / tot, self.dmax or 1 - 1 / tot, self.leftover, self.growth,
            not (self.age_ms and books.starved(now_ms, self.age_ms)),
            self.rate_limit, self.dead_band / tot, self.floor_need, self.floor_demand,
        )  # fmt: skip
        found = adjust(m.delta, outlook, rule)
        return found.delta, found.branch

    def evaluate(self, now_ms: int, m: Memory, books: Books) -> None:
        """Bring the trackers up to date, at each tick that was missed and now."""
        windows = Windows(
            self.phase_window_ms, self.start_threshold, self.finish_threshold,
            self.adaptive_thresholds,
        )  # fmt: skip
        t = now_ms if m.tick_ms is None else m.tick_ms + self.tick_ms
        t += max(0, -((t - m.since_ms) // self.tick_ms)) * self.tick_ms
        while m.live:
            t = min(t, now_ms)
            for number, touched_ms in list(m.live.items()):
                tracker = m.jobs[number].tracker
                tracker.advance(t, partial(books.waiting, number), windows)
                quiet_ms = max(touched_ms + self.phase_window_ms, tracker.released_ms(self.tick_ms))
                if t >= quiet_ms:
                    del m.live[number]
            if t == now_ms:
                break
            t += self.tick_ms

    def releases(self, now_ms: int, m: Memory, width: int) -> tuple[list[float], list[float]]:
        """F_1 and F_2 for the tick that begins."""
        found: dict[str, list[Any]] = {kind: [] for kind in CATEGORIES}
        for number in m.live:
            job = m.jobs[number]
            found[job.kind] += job_release(
                now_ms, self.tick_ms, job.tracker, self.forecast, self.tick_ms
            )
        return amounts(found[SD], width), amounts(found[LD], width)

    def assign(self, plan: Plan, m: Memory, books: Books) -> None:
        """2.7: one container at a time to the category that holds least of its quota."""
        scale = m.scale
        divided = scale.tot >= 2
        q: dict[str, Sequence[float]] = {kind: [inf] for kind in CATEGORIES}
        if divided:
            counts = quotas(m.delta, scale.tot)
            q = {kind: times(scale.each, n) for kind, n in zip(CATEGORIES, counts, strict=True)}

        def may(kind: str, size: Any) -> bool:
            if not divided:
                return True
            held: Sequence[float] = books.used[kind]
            if kind == LD and self.defer_releases and books.lines[SD].entries:
                held = m.held
            return within(size, held, q[kind])

        lines = Lines(
            plan, books.lines, self.key, may,
            lambda kind: filled(books.used[kind], q[kind]) if divided else 0.0,
        )  # fmt: skip
        while (found := lines.next() if divided else lines.first()) is not None:
            kind, app = found
            before = books.used[LD]
            if lines.serve(kind, app):
                books.charge(app)
                grown = zip(m.held, before, books.used[LD], strict=True)
                m.held = [max(held + now - was, now) for held, was, now in grown]
                lines.update()
                m.settled = False
        lines.finish()

    def key(self, app: Any) -> Any:
        """Within a category: first in, first out, or by what is asked for."""
        if self.order == "demand":
            return app.pending_count
        return -app.priority
