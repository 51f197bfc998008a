"""What tests of preemption share: options that preempt quickly, the list of evictions, and a queue
that arrives late.
"""

from hdrf_clusters import grown, wants
from loomcard.wire import messages as r

CPU, GPU = (0, 1, 0), (0, 0, 1)
QUICK = {
    "preempt_after_ms": 1000, "preempt_grace_ms": 500, "preempt_budget": 0.2,
    "preempt_cooldown_ms": 1000, "headroom": False,
}  # fmt: skip


def evictions(made, rounds: int = 1, ms: int = 500) -> list[r.Preempt]:
    """Return all preemptions that are decided in this many rounds."""
    found = []
    for _ in range(rounds):
        plan = made.exchange(ms)
        assert plan.faults == []
        found += [each for each in plan.decisions if isinstance(each, r.Preempt)]
        made.commit(plan)
    return found


def late(tree, first, second, *nodes, **options):
    """Return a cluster that one queue fills before a second one asks; ``first`` and ``second`` are
    (queue, size).
    """
    made = grown("hdrf", tree, *nodes, **{**QUICK, **options})
    wants(made, 1, *first)
    made.round()
    wants(made, 2, *second)
    return made


def application_of(eviction):
    """Return the number of the application that an eviction's reason names as its victim."""
    return int(eviction.reason.split("; application_")[1].split("_")[1].split(" ")[0])
