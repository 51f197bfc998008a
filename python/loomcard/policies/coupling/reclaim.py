"""Room for a map that waits while reduces of its own job use all room.

The paper's reduces have their own slots. On YARN, when a node is lost, its maps must run again.
Reduces may use the room for these maps, and then wait for them for ever.
"""

from __future__ import annotations

from loomcard import Ask, Container, Plan, fits
from loomcard.policies.coupling.jobs import Job, Jobs, Memory, is_reduce, maps_of
from loomcard.policies.coupling.places import suits

REASON = "MAP_BEFORE_REDUCE"


def reclaim(plan: Plan, jobs: Jobs, memory: Memory, after_ms: int) -> None:
    """Preempt reduces of jobs for which no map ran or found room for ``after_ms``, so that one map
    finds room. The next map of a job gets its turn ``after_ms`` later.
    """
    now_ms = plan.view.now_ms
    for job_id, job in jobs.without_map.items():
        own, asks = memory.jobs[job_id], maps_of(job)
        if not any(map(is_reduce, job.app.containers)):
            continue
        if any(plan.limited(ask) is None and plan.place(ask) is not None for ask in asks):
            own.stuck_ms = None  # it waits for a better place
            continue
        if own.stuck_ms is None:
            own.stuck_ms = now_ms
        elif now_ms - own.stuck_ms >= after_ms:
            own.stuck_ms = now_ms
            for container in victims(job, asks):
                plan.preempt(container, 0, REASON)
        plan.wake_at(own.stuck_ms + after_ms)


def victims(job: Job, asks: list[Ask]) -> list[Container]:
    """Return the fewest reduces of the job on one node that free enough room for one of the maps.

    The youngest go first, because they have copied least. Empty if no node has enough of them.
    """
    running = [c for c in job.app.containers if is_reduce(c) and c.number]
    running.sort(key=lambda c: (c.allocated_ms, c.number), reverse=True)
    if any(c.preempting_since is not None for c in running):
        return []  # wait for its room
    best: list[Container] = []
    for node in dict.fromkeys(c.node for c in running):
        here = [c for c in running if c.node is node]
        for ask in asks:
            if not (node.takes(ask.label) and suits(ask, node)):
                continue
            room = list(node.room)
            for count, container in enumerate(here, 1):
                room = [has + more for has, more in zip(room, container.size, strict=True)]
                if fits(ask.size, room):
                    if not best or count < len(best):
                        best = here[:count]
                    break
    return best
