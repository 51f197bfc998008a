"""DRESS (Mao, Green, Wang, Xiong, Guo, 2018): a share of the cluster is reserved for small jobs,
and moved once a tick by what is asked for, what is free and what is forecast to be released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loomcard.model.plan import Plan
from loomcard.model.view import ClusterView
from loomcard.policies.dress.books import Books
from loomcard.policies.dress.classify import LD
from loomcard.policies.dress.headroom import tell_headroom
from loomcard.policies.dress.lines import Lines
from loomcard.policies.dress.memory import Memory
from loomcard.policies.dress.options import Options
from loomcard.policies.dress.reserve import adjust
from loomcard.policies.dress.state import state_of
from loomcard.policies.registry import register

LARGE_KEPT = 1_000
"""Of so many names are large applications read back, the last; for some have ended unseen."""


@register("dress")
@dataclass(frozen=True)
class Dress(Options):
    """Reserve a share of the cluster for small jobs, and move the border once a tick."""

    leaf_only = True
    asks_again = True  # what other queues leave is divided anew at the next tick

    def initial(self, _view: ClusterView, saved: Any) -> Memory:
        """delta as it was saved, unless the options say another than they did then; who was large,
        and the unit. Everything else is seen again.
        """
        saved = saved or {}
        same = not self.fixed and saved.get("option", self.delta) == self.delta
        delta = saved.get("delta", self.delta) if same else self.delta
        large = saved.get("large", ())[-LARGE_KEPT:]
        return Memory(delta, dict.fromkeys(large), unit=tuple(saved.get("unit", ())))

    def save(self, memory: Memory) -> dict[str, Any]:
        """delta and the option that it began with, the unit, and which applications are large: none
        becomes small again.
        """
        large, unit = sorted(memory.large), list(memory.scale.unit or memory.unit)
        return {"delta": memory.delta, "option": self.delta, "large": large, "unit": unit}

    def decide(self, view: ClusterView, memory: Memory) -> tuple[Plan, Memory]:
        """Once a tick move the border (Algorithm 3); always grant within the quotas it left."""
        plan, m = Plan(view), memory
        books = Books.of(view, self, m)
        due = m.tick_ms is None or view.now_ms >= m.tick_ms + self.tick_ms
        if due:
            self.tick(view.now_ms, m, books)
        self.assign(plan, books)
        if due:
            tell_headroom(plan, books)
            plan.report(view.queue, state_of(m, books))
        if m.tick_ms is not None and not m.settled:
            plan.wake_at(m.tick_ms + self.tick_ms)
        return plan, m

    def tick(self, now_ms: int, m: Memory, books: Books) -> None:
        """Specification 2.1: phases are evaluated, releases are forecast, delta is adjusted."""
        books.jobs.evaluate(now_ms)
        books.measure()
        if self.classifier == "work":
            books.classify_all()
        m.tick_ms, m.settled, m.held = now_ms, not m.live, list(books.used[LD])
        if m.scale.tot < 2:
            return  # nothing to divide: delta is kept
        outlook = books.outlook(books.jobs.releases(now_ms, len(m.held)))
        m.tally.ticked(outlook, m.scale.each)
        if self.fixed:
            return
        hungry = self.age_ms > 0 and books.starved(now_ms, self.age_ms)
        adjusted = adjust(m.delta, outlook, self.rule(m.scale.tot, lends=not hungry))
        m.tally.count(adjusted.branch)
        ages = self.age_ms > 0 and any(outlook.asks[1])
        m.settled = m.settled and adjusted.delta == m.delta and not ages
        m.delta = adjusted.delta

    def assign(self, plan: Plan, books: Books) -> None:
        """Specification 2.7: one container at a time to the category that holds least of its quota,
        in it to the first job of which an ask fits.
        """
        books.divide()
        lines = Lines(plan, books, self.key)
        while (found := lines.next()) is not None:
            kind, app = found
            if lines.serve(kind, app):
                books.granted(app)
                lines.update()
        lines.finish()

    def key(self, app: Any) -> Any:
        """Within a category: first in, first out, or by what is asked for."""
        return app.pending_count if self.order == "demand" else -app.priority
