"""``make agreement``: the simulator beside the embedded cluster, and ours beside YARN's schedulers.

Some 45 minutes of real time, with next to no load of its own; run it on a quiet machine. The last
line is JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.agreement import simulator_vs_yarn, stock_schedulers
from loomcard.config import compile_config
from loomcard.player.play import play
from loomcard.results.record import RunRecord
from loomcard.workload.scenario import Scenario

PARTS = ("agreement", "steady", "late", "imported")


def main(arguments: list[str] | None = None) -> None:
    """Run what is asked for; results go to ``--out``."""
    parser = argparse.ArgumentParser(prog="make agreement", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    document = {}
    if given.only in (None, "agreement"):
        folder = given.out / "agreement"
        document["agreement"] = simulator_vs_yarn.run_all(_ours, folder, given.seed, _notify)
        print((folder / "agreement.md").read_text())
    if given.only in (None, "steady"):
        document["steady"] = stock_schedulers.run_all(
            either, given.out / "steady", given.seed, _notify
        )
    if given.only in (None, "late"):
        document["late"] = stock_schedulers.run_late(either, given.out / "late", notify=_notify)
    if given.only in (None, "imported"):
        folder = given.out / "imported"
        document["imported"] = stock_schedulers.run_imported(play, folder, notify=_notify)
    print(json.dumps(document))


def _notify(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)


def _ours(scenario: Scenario, policy: Path, folder: Path) -> RunRecord:
    return play(scenario, policy, folder=folder)


def either(scenario: Scenario, scheduler: str, policy: Path, folder: Path) -> RunRecord:
    """Play under ours with a configuration, or under YARN's scheduler with its queues."""
    if scheduler == "loomcard":
        return play(scenario, policy, folder=folder)
    config = compile_config(policy.read_text("utf-8"), policy.name)
    return play(scenario, scheduler, config=config, folder=folder)


if __name__ == "__main__":
    main()
