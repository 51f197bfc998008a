"""Which fault comes when: a pure function of the seed and the fault's number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

PLAIN_KINDS: tuple[str, ...] = (
    "policy.kill", "policy.stop", "policy.pause", "policy.slow", "policy.hang", "policy.garbage",
    "policy.huge-reply", "policy.prints", "policy.version", "policy.raises", "policy.memory",
    "policy.overcommit", "policy.gone", "policy.exit", "policy.leaks",
    "silent.always", "silent.user", "silent.one-node", "silent.rounds", "silent.false-reason",
    "silent.lies-for-ever", "silent.lies-now-and-then",
    "disk.full", "disk.hang", "disk.no-folder", "disk.read-only",
    "nodes.leave", "nodes.vanish", "nodes.silence", "nodes.resize", "nodes.relabel",
    "nodes.relabel-storm", "nodes.decommission",
    "directory.slow",
    "rm.kill",
    "swap.good", "swap.broken", "swap.raising", "swap.slow-import",
    "greedy.keys", "greedy.strict", "greedy.resize", "greedy.oversized", "greedy.storm",
    "greedy.crowd",
)  # fmt: skip
"""Every kind of fault that one ResourceManager allows."""
PAIR_KINDS = (*(kind for kind in PLAIN_KINDS if kind != "rm.kill"), "rm.failover", "rm.fence")
"""Every kind of fault that a pair of them allows."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: it begins when the last one's ``pause_s`` is over and lasts ``lasts_s``, so that
    faults overlap. ``target`` picks what is hit, ``strength`` (0 to 1) how hard.
    """

    index: int
    kind: str
    pause_s: float
    lasts_s: float
    target: int
    strength: float


def fault(seed: int, index: int, kinds: Sequence[str] = PLAIN_KINDS) -> Fault:
    """Return the fault of that number. Each run of ``len(kinds)`` faults has every kind once."""
    block, place = divmod(index, len(kinds))
    order = sorted(kinds)
    Random(f"{seed}/order/{block}").shuffle(order)  # noqa: S311 - faults, not secrets
    random = Random(f"{seed}/fault/{index}")  # noqa: S311
    return Fault(
        index=index,
        kind=order[place],
        pause_s=round(random.uniform(1.5, 6.5), 2),
        lasts_s=round(random.uniform(1.5, 9.0), 2),
        target=random.randrange(1 << 30),
        strength=round(random.random(), 3),
    )
