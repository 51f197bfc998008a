"""DRESS (Mao, Green, Wang, Xiong, Guo, 2018): a share of the cluster is reserved for small jobs.

Once per tick the share changes, by the demand, the free room and the forecast releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import floor
from typing import Any

from loomcard import Ask, ClusterView, Plan, saved_rows, serve
from loomcard.policies.dress.allocation import Allocation, report_headroom
from loomcard.policies.dress.jobs import Memory, tasks_held
from loomcard.policies.dress.options import Options
from loomcard.policies.dress.paper import LARGE, SMALL, Rule, adjust
from loomcard.policies.dress.pools import Pools
from loomcard.policies.dress.report import state_of

MOST_TICKS = 100
"""The most ticks within ``tick_ms``. A tick does not see what ``eager`` served before it, and would
reserve nothing for later small jobs. So a small job's first ask brings the next tick forward.
"""


@dataclass(frozen=True)
class Dress(Options):
    """Reserve a share of the cluster for small jobs, and adjust it once per tick."""

    leaf_only = True
    asks_again = True  # what other queues leave is divided again at the next tick

    def initial(self, view: ClusterView, saved: Any) -> Memory:
        """Return the saved delta and which applications were large; all else is observed again.

        If the option ``delta`` has changed since, it replaces the saved one. Bounds apply to both.
        """
        saved = saved or {}
        same = saved.get("option", self.delta) == self.delta
        delta = saved.get("delta", self.delta) if same else self.delta
        delta = min(max(delta, self.dmin), self.dmax or 1.0)
        return Memory(delta, saved_rows(dict.fromkeys(saved.get("large", ())), view))

    def save(self, memory: Memory) -> dict[str, Any]:
        """Return delta, the option that it began with, and which applications are large: none
        becomes small again.
        """
        return {"delta": memory.delta, "option": self.delta, "large": sorted(memory.large)}

    def decide(self, view: ClusterView, memory: Memory) -> tuple[Plan, Memory]:
        """Adjust delta (Algorithm 3) once per tick and when a small job first asks for tasks;
        always allocate within the resulting quotas.
        """
        plan, m = Plan(view), memory
        pools = Pools.of(view, self, m)
        due = m.tick_ms is None or view.now_ms >= m.tick_ms + self.tick_ms
        newcomer = self.eager and not due and has_newcomer(pools)
        early_ms = (m.tick_ms or 0) + self.tick_ms // MOST_TICKS
        due = due or (newcomer and view.now_ms >= early_ms)
        if due:
            self.tick(view.now_ms, m, pools)
        else:
            pools.jobs.apply(view.now_ms)
        eager = self.eager and (due or not newcomer)
        allocation = Allocation(
            plan, pools, eager=eager, reserve_after_ms=self.reserve_after_ms, due=due
        )
        plan.go_on = partial(serve, plan, allocation, 0)  # it reserves before it serves
        serve(plan, allocation, 0)
        if due:
            report_headroom(plan, pools)
        if due and (plan.reports_are_read or plan.report_due):
            plan.report(view.queue, state_of(m, pools))
        if m.tick_ms is not None and not m.settled:
            plan.wake_at(early_ms if newcomer and not due else m.tick_ms + self.tick_ms)
        return plan, m

    def explain(self, view: ClusterView, memory: Memory, ask: Ask) -> dict[str, Any]:
        """Say what RESERVED and AMS_WAIT come to: the quota of the application's category, what
        the category uses, and the AMs that wait for a first task.
        """
        kept: list[Pools] | None = view.cached("pools")
        if not kept:
            return {}
        pools, app = kept[0], ask.application
        kind = LARGE if pools.category_of.get(app) == LARGE else SMALL
        quota = [max(0, left + held) for left, held in zip(
            pools.left(kind), pools.held(kind), strict=True)]  # fmt: skip
        return {
            "delta": round(memory.delta, 4),
            "category": pools.category_of.get(app, ""),
            "the category's quota is": [floor(amount) for amount in quota],
            "it uses": pools.held(kind),
            "AMs that wait for a first task use": pools.waiting_ams,
            "asked": ask.size,
        }

    def tick(self, now_ms: int, m: Memory, pools: Pools) -> None:
        """Evaluate phases, forecast releases, adjust delta (docs/papers/dress.md 2.1)."""
        pools.jobs.evaluate(now_ms)
        pools.measure()
        pools.update()
        hungry = self.age_ms > 0 and age(pools, now_ms, self.age_ms)
        m.tick_ms, m.large_at_tick = now_ms, list(pools.held(LARGE))
        m.settled = not m.live and not pools.new_ams
        releases, counts = pools.jobs.releases(now_ms, len(m.large_at_tick))
        m.figures.ticked(counts)
        pools.collect_pending()
        rule = Rule(self.dmin, self.dmax or 1.0, self.pack, not hungry)
        delta, branch = adjust(m.delta, pools.delta_inputs(releases), rule)
        m.figures.count(branch)
        ages = self.age_ms > 0 and any(pools.pending.values())
        m.settled = m.settled and delta == m.delta and not ages
        m.delta = delta
        pools.divide()


def has_newcomer(pools: Pools) -> bool:
    """Return whether a waiting small job first asked for tasks since the last tick."""
    jobs, last_ms = pools.memory.jobs, pools.memory.tick_ms or 0
    waiting = (jobs[app.number].asked_ms for app in pools.queues[SMALL].entries)
    return any(asked_ms is not None and asked_ms > last_ms for asked_ms in waiting)


def age(pools: Pools, now_ms: int, age_ms: int) -> bool:
    """Put jobs first in their line that asked ``age_ms`` ago and have no task.

    Return whether one of them is large.
    """
    large = False
    for number, job in pools.memory.jobs.items():
        app = pools.applications.get(number)
        old = job.asked_ms is not None and now_ms - job.asked_ms >= age_ms
        if app is not None and old and app.pending_count > 0 and not tasks_held(app):
            if not job.aged:
                job.aged = True
                pools.queues[pools.category_of[app]].stale[app] = None
            large = large or job.kind == LARGE
    return large
