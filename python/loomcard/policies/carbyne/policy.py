"""Carbyne (Grandl et al., OSDI 2016): jobs give up the part of their fair share that they do not
need now to end in time, and jobs that are nearest to their end get it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil, floor, inf
from typing import Any

from loomcard import Ask, ClusterView, Plan, saved_rows, serve
from loomcard.policies.carbyne.asks import send_shares
from loomcard.policies.carbyne.estimates import Memory, fresh
from loomcard.policies.carbyne.jobs import Jobs
from loomcard.policies.carbyne.options import Options
from loomcard.policies.carbyne.report import state_of
from loomcard.policies.carbyne.serve import Serving


@dataclass(frozen=True)
class Carbyne(Options):
    """Serve what must start for each job to end as it would in its share, then lend the rest."""

    leaf_only = True
    asks_again = True  # what the queue is entitled to depends on other queues

    def initial(self, view: ClusterView, saved: Memory | None) -> Memory:
        """Return how long tasks took, of running applications and of earlier ones."""
        memory = fresh(saved)
        memory["finished"] = saved_rows(memory["finished"], view)
        return memory

    def explain(self, view: ClusterView, _memory: Any, ask: Ask) -> dict[str, Any]:
        """Say what SHARE and LOAN come to: the job's share, what it uses, and when its task must
        start at the latest.
        """
        jobs: Jobs | None = view.cached("jobs")
        job = None if jobs is None else jobs.by_app.get(ask.application)
        if job is None:
            return {}
        found: dict[str, Any] = {
            "its share is": [floor(a) for a in job.share],
            "it uses": ask.application.used,
        }
        wait_ms = job.latest_ms(ask) - view.now_ms
        due = {} if wait_ms == inf else {"ms until it must start": max(0, ceil(wait_ms))}
        return {**found, **due}

    def save(self, memory: Memory) -> Memory:
        """Return the part that is saved; plans are made again."""
        return {name: memory[name] for name in ("finished", "runs")}

    def decide(self, view: ClusterView, memory: Memory) -> tuple[Plan, Memory]:
        """Find shares, schedules in them, must-starts, leftover (docs/papers/carbyne.md 2.1)."""
        plan = Plan(view)
        jobs = view.cache("jobs", lambda: Jobs(view, self))
        jobs.update(view, memory)
        serving = Serving(plan, jobs)
        plan.go_on = partial(serve, plan, serving, self.reserve_after_ms)
        serve(plan, serving, self.reserve_after_ms)
        send_shares(plan, jobs.marked.values())
        if (wake_ms := jobs.next_ms()) < inf:
            plan.wake_at(ceil(wake_ms))
        if plan.report_due:
            plan.report(view.queue, state_of(jobs, serving))
        return plan, memory
