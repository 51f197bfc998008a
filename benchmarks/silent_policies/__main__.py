"""``python -m benchmarks.silent_policies``: what the watchdog for progress does on a real YARN.

Thirteen policies that allocate nothing, or not to everybody, on an embedded cluster with room for
all: how long what fits waits, by the NodeManagers' clocks. ``--built-in``: each policy of Loomcard
under a load that makes it leave room idle by design; none may stall. The last line is JSON, the
status 1 where the watchdog was late, or blamed a policy that is none of these.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.silent_policies import load
from loomcard.api import registry
from loomcard.cluster.embedded import LocalCluster, LocalSettings, Machine, clear

DEADLINE_MS, LONGEST_MS, GRACE_MS = 10_000, 8_000, 2_000
LIARS = ("lies-for-ever", "lies-now-and-then")
SILENT = (
    "always", "user", "application", "one-node", "rounds", "masters", "tasks", "priority", "queue",
    "false-reason", *LIARS, "slowly",
)  # fmt: skip
TASK_MS = {"one-node": 30_000}
"""No room becomes free on one node: its tasks run longer than the deadline."""
LIMIT_S = 100.0
BUILT_IN_S = 60.0
OPTIONS: dict[str, dict[str, Any]] = {
    "strict": {"over": "all"},
    "capacity": {"minimum_user_limit_percent": 25},
}
"""Options of a built-in policy that make it leave more room idle."""


@dataclass(frozen=True)
class Found:
    """The result of a run: its waits, its stalls, and whether they are as required."""

    policy: str
    waits: list[load.Wait]
    stalls: int
    bound_ms: int | None

    @property
    def is_good(self) -> bool:
        """Whether no wait exceeds the bound; without a bound, whether no queue stalled."""
        if self.bound_ms is None:
            return self.stalls == 0
        return bool(self.waits) and max(wait.ms for wait in self.waits) <= self.bound_ms

    def figures(self) -> dict[str, Any]:
        """Return the figures for the JSON."""
        times = [wait.ms for wait in self.waits] or [0]
        return {
            "policy": self.policy, "containers": len(self.waits),
            "never_came": sum(not wait.served for wait in self.waits), "stalls": self.stalls,
            "min_ms": min(times), "median_ms": round(median(times)), "max_ms": max(times),
            "max_whole_ms": max((wait.whole_ms for wait in self.waits), default=0),
            "bound_ms": self.bound_ms, "good": self.is_good,
        }  # fmt: skip


def silent_config(kind: str) -> str:
    """Return the configuration of a silent policy over two queues."""
    if kind == "queue":
        return _yaml("silent.py:NoTurn", {"child": "root.b"}, {"policy": "fifo"})
    return _yaml("silent.py:Silent", {"kind": kind}, {})


def built_in_config(name: str) -> str:
    """Return the configuration of a built-in policy over two queues; one for leaf queues is below
    ``drf``.
    """
    options = OPTIONS.get(name, {})
    if getattr(registry.find(name), "leaf_only", False):
        return _yaml("drf", {}, {"policy": name, "options": options})
    return _yaml(name, options, {})


def _yaml(policy: str, options: dict[str, Any], queue: dict[str, Any]) -> str:
    document = {"version": 1, "kind": "policy", "policy": policy, "options": options}
    return json.dumps(document | {"queues": {"a": queue, "b": queue}})


def bound_of(kind: str) -> int:
    """Return how long an ask that fits may wait under a silent policy."""
    return DEADLINE_MS + GRACE_MS + (LONGEST_MS if kind in LIARS else 0)


def settings(folder: Path, *, built_in: bool) -> LocalSettings:
    """Return the settings of the cluster. Except for built-in policies, a stated rule is believed
    for some seconds only.
    """
    size = {"memory_mb": load.NODE_MB, "vcores": load.NODE_VCORES}
    policy = folder / "first.yml"
    policy.write_text(_yaml("fifo", {}, {}))
    return LocalSettings(
        run_dir=folder / "cluster", virtual=True, heartbeat_ms=load.BEAT_MS, policy=policy,
        policy_path=(Path(__file__).parent,),
        machines=tuple(
            Machine(f"n{i + 1}", f"/rack{i % 2 + 1}", size) for i in range(load.NODES)
        ),
        yarn={} if built_in else {
            "loomcard.progress.deadline-ms": str(DEADLINE_MS),
            "loomcard.progress.longest-wait-ms": str(LONGEST_MS),
        },
    )  # fmt: skip


def run(cluster: LocalCluster, name: str, folder: Path, *, built_in: bool) -> Found:
    """Run one policy for one load."""
    cluster.rest.apply_policy(
        built_in_config(name) if built_in else silent_config(name), f"{name}.yml"
    )
    before = _stalls(cluster)
    scenario = load.mixed() if built_in else load.roomy(TASK_MS.get(name, 4_000))
    waits = load.played(cluster, scenario, folder, BUILT_IN_S if built_in else LIMIT_S)
    return Found(name, waits, _stalls(cluster) - before, None if built_in else bound_of(name))


def _stalls(cluster: LocalCluster) -> int:
    return int(cluster.rest.scheduler()["schedulerInfo"]["bridge"]["stalls"])


def main(arguments: list[str] | None = None) -> int:
    """Runs what is asked for; 1 where a run is not as it must be."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.silent_policies", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=Path("run/silent-policies"))
    parser.add_argument("--built-in", action="store_true", help="Loomcard's own policies instead")
    parser.add_argument("--only", default="", help="policies, with commas between them")
    given = parser.parse_args(arguments)
    known = tuple(each.name for each in registry.names()) if given.built_in else SILENT
    wanted = [name for name in given.only.split(",") if name] or known
    if unknown := [name for name in wanted if name not in known]:
        parser.error(f"--only: unknown {', '.join(unknown)}; known: {', '.join(known)}")
    out = given.out.resolve()
    clear(out)
    out.mkdir(parents=True)
    rows = []
    with LocalCluster(settings(out, built_in=given.built_in)) as cluster:
        for name in wanted:
            found = run(cluster, name, out / name, built_in=given.built_in).figures()
            rows.append(found)
            print(json.dumps(found), file=sys.stderr, flush=True)
    print(json.dumps({"runs": rows, "bad": [row["policy"] for row in rows if not row["good"]]}))
    return 1 if any(not row["good"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
