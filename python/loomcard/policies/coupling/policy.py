"""The Coupling Scheduler (Tan, Meng, Zhang, INFOCOM 2013): reduces start near their data, when
enough maps have finished; remote maps start with a probability, instead of a delay.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from loomcard import Ask, ClusterView, Plan, saved_rows, serve
from loomcard.policies.coupling.jobs import Jobs, Memory, job_of
from loomcard.policies.coupling.options import Options
from loomcard.policies.coupling.places import Places
from loomcard.policies.coupling.reclaim import reclaim
from loomcard.policies.coupling.report import state_of
from loomcard.policies.coupling.serve import Serving


@dataclass(frozen=True)
class Coupling(Options):
    """Couple reduces to the progress of their maps, and start remote maps with a probability."""

    leaf_only = True
    needs = frozenset({"heartbeats"})

    def initial(self, view: ClusterView, saved: dict[str, Any] | None) -> Memory:
        """Return the saved progress of jobs; candidates are chosen again."""
        saved = saved or {}
        rows, hosts = saved_rows(saved.get("jobs", {}), view), saved.get("hosts", [])
        return Memory(jobs={job_id: job_of(row, hosts) for job_id, row in rows.items()})

    def save(self, memory: Memory) -> dict[str, Any]:
        """Return the progress of jobs, because the ResourceManager does not send it again."""
        hosts: defaultdict[str, int] = defaultdict(count().__next__)
        jobs = {job_id: job.row(hosts) for job_id, job in memory.jobs.items()}
        return {"hosts": [*hosts], "jobs": jobs}

    def decide(self, view: ClusterView, memory: Memory) -> tuple[Plan, Memory]:
        """Serve maps and at most one reduce at each heartbeat (docs/papers/coupling.md 2.1), and
        all other asks at once.
        """
        plan = Plan(view)
        jobs = view.cache("jobs", lambda: Jobs(view, self))
        places = view.cache("places", lambda: Places(view, self))
        serving = Serving(plan, jobs, places, memory)
        serving.note(view.changes)
        plan.go_on = partial(serve, plan, serving, self.reserve_after_ms)
        serve(plan, serving, self.reserve_after_ms)
        if self.reclaim_after_ms:
            reclaim(plan, jobs, memory, self.reclaim_after_ms)
        if plan.report_due:
            plan.report(view.queue, state_of(jobs, memory, view.node_count))
        return plan, memory

    def explain(self, view: ClusterView, _memory: Any, ask: Ask) -> dict[str, Any]:
        """Say what MAPS_FIRST and the others come to: the counts of Algorithm 1 of the job."""
        jobs: Jobs | None = view.cached("jobs")
        job = None if jobs is None else jobs.by_id.get(ask.application.id)
        if job is None or job.tasks is None:
            return {}
        tasks = job.tasks
        return {
            "maps": tasks.maps, "finished": tasks.finished_maps,
            "reduces": tasks.reduces, "started": tasks.launched_reduces,
            "reduces that may start now": max(0, round(job.mismatch, 2)),
        }  # fmt: skip
