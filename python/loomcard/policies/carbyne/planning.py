"""When a job is planned again, and which part of its schedule stays (docs/papers/carbyne.md 2.5-5).

The memory has the plan, so that a replay decides in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from operator import gt
from typing import Any

from loomcard.policies.carbyne.job import Job
from loomcard.policies.carbyne.paper import intra_job
from loomcard.policies.carbyne.waves import EPS, TooLongError, Vector, Wave

MOVED = 0.05
"""A change of a share or an estimate by at most this part keeps the plan."""

COARSE = 0.01
"""How exact the far part of a long schedule is, as a part of the time until then: most of it is
planned again before it comes.
"""

PROGRESS = 0.1
"""A job is planned again after this part of its waiting tasks started or ended, and this part of
the time to its deadline has passed."""

QUICK_WAVES = 20
"""A plan with at most so many waves is made without a pause."""

LONG_WAVES, REST_MS = 100, 0.1
"""After a plan with more waves, no job is planned again for so many ms for each of them: then a
container waits for one plan, and not for those of all jobs whose estimates changed at once.
"""


def plan(
    job: Job, sizes: Sequence[Vector], capacity: Vector, now_ms: int, tolerance_ms: int,
    most: int, *, firm: bool = False, altruist: bool = False, rests: bool = False,
) -> float | None:  # fmt: skip
    """Plan a job, unless almost nothing happened since the last time. Return when (in ms) to look
    again if nothing else happens; None: not at all.

    ``sizes``: of one task of each stage; ``most``: steps that its schedule may take;
    ``firm``: a plan stays while share and estimates do, because loans rely on it; ``altruist``:
    nobody reads its packed schedule, so it is not kept; ``rests``: only a job without a plan gets
    one now.
    """
    old, share = job.plan, job.own_share()
    moved, reset = _moved(job, old, share)
    if old is None:
        if _too_long(job):
            return None
    else:
        stays = not moved and not reset
        if stays and (_behind(old, now_ms) or not _progressed(job, old)):
            return None
        if now_ms < (paused_ms := old["planned"] + _pause_ms(old)):
            return float(paused_ms)
        ready_ms = old["planned"] + PROGRESS * (old["deadline"] - old["planned"])
        if stays and (firm or now_ms < ready_ms):
            return None if firm else float(ready_ms)
        if rests:
            return float(now_ms)
    try:
        found = intra_job(job.stages(sizes, now_ms), share, capacity, tolerance_ms, most, COARSE)
    except TooLongError:  # it takes all that fits the share, as a job without a DAG does
        job.plan = job.known["plan"] = None
        job.known["too_long"] = sum(job.waiting)
        return None
    late, forward = columns(found.late, now_ms), columns(found.forward, now_ms)
    made = {
        "share": share, "durations": list(job.durations), "deadline": now_ms + found.end,
        "planned": now_ms, "late": late, "forward": [[], [], []] if altruist else forward,
        "waves": max(len(late[0]), len(forward[0])),
        "waiting": list(job.waiting), "seen": [*job.waiting, *job.done],
    }  # fmt: skip
    if old is not None and not reset and made["deadline"] > old["deadline"] + EPS * found.end:
        made |= {key: old[key] for key in ("deadline", "late", "forward", "waiting")}
        made["waves"] = _waves(old)
    job.plan = job.known["plan"] = made
    return None


def columns(waves: Sequence[Wave], now_ms: int) -> list[list[Any]]:
    """Return three lists for the waves to start, in order: start in ms, stage, and tasks."""
    rows = [wave for wave in sorted(waves) if not wave.pinned]
    return [[now_ms + w.start for w in rows], [w.stage for w in rows], [w.tasks for w in rows]]


def rest_ms(plan: dict[str, Any] | None) -> int:
    """Return for how many ms no job is planned again after this plan."""
    waves = 0 if plan is None else _waves(plan)
    return ceil(REST_MS * waves) if waves > LONG_WAVES else 0


def _pause_ms(old: dict[str, Any]) -> float:
    """Return the least time in ms between plans, so that one job uses about a fiftieth of a core.

    A schedule costs as the square of its waves, and an AM may change its asks at any time.
    """
    return max(0, _waves(old) - QUICK_WAVES) ** 2 / 5


def _waves(plan: dict[str, Any]) -> int:
    """Return how many waves its schedules have, at most; plans in older journals do not say."""
    counted = plan.get("waves") or max(len(plan["late"][0]), len(plan["forward"][0]))
    return int(counted)


def _moved(job: Job, old: dict[str, Any] | None, share: Vector) -> tuple[bool, bool]:
    """Return whether its share moved, as far as its schedule depends on it, and whether the
    deadline no longer binds: the share shrank, an estimate changed, or there is more to do, for
    example after a failure.
    """
    if old is None:
        return True, True
    now, before = share, old["share"]
    if moved := off(now, before):
        now, before = job.useful(now), job.useful(before)
        moved = off(now, before)
    shrank = moved and any(s < (1 - MOVED) * b for s, b in zip(now, before, strict=True))
    more = any(map(gt, job.waiting, old["waiting"]))
    rows = zip(job.waiting, job.running, job.durations, old["durations"], strict=True)
    estimated = any(off([ms], [b]) for waits, runs, ms, b in rows if waits or runs)
    return moved, shrank or more or estimated


def _behind(old: dict[str, Any], now_ms: int) -> bool:
    """Return whether all tasks should have started by now: a new schedule would end later."""
    starts = old["late"][0]
    return not starts or starts[-1] <= now_ms


def _progressed(job: Job, old: dict[str, Any]) -> bool:
    """Return whether enough tasks started or ended since the last plan."""
    seen = zip(old["seen"], [*job.waiting, *job.done], strict=True)
    moved: int = sum(abs(a - b) for a, b in seen)
    return moved > PROGRESS * sum(job.waiting)


def _too_long(job: Job) -> bool:
    """Return whether its last schedule took too many steps, with little progress since."""
    return 2 * sum(job.waiting) > int(job.known.get("too_long", 0)) > 0


def off(now: Vector, before: Vector) -> bool:
    """Return whether some number changed by more than MOVED."""
    pairs = zip(now, before, strict=True)
    return any(abs(a - b) > MOVED * max(abs(b), EPS) for a, b in pairs)
