"""``make papers-reality``: four papers' policies on the embedded cluster, beside their papers.

Two hours and more of real time with next to no load of its own; run it on a quiet machine. The last
line is JSON; each part is also written to ``--out``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.papers_on_yarn import carbyne, coupling, dress, hdrf, tables
from loomcard.player.play import measured_rate

CARBYNE_ROWS = {
    "carbyne-offline": carbyne.POLICIES,
    "carbyne-online": carbyne.ONLINE,
    "carbyne-altruism": carbyne.ALTRUISM,
}
CARBYNE = ("carbyne-fig2", "carbyne-fifty", *CARBYNE_ROWS)
PARTS = ("hdrf-shares", "hdrf-churn", "dress", *CARBYNE, "coupling-fifty", *coupling.WORKLOADS)


def main(arguments: list[str] | None = None) -> None:
    """Run what is asked for; results go to ``--out``."""
    parser = argparse.ArgumentParser(prog="make papers-reality", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--seeds", type=int, default=5, help="how many, where a part has several")
    parser.add_argument("--workload", choices=dress.WORKLOADS, help="of dress: only this one")
    parser.add_argument(
        "--time-divided-by", type=int, default=10, help="of dress, coupling and carbyne"
    )
    given = parser.parse_args(arguments)
    folder = given.out / "papers-reality"
    document = {}
    for part in PARTS if given.only is None else (given.only,):
        found = _run(part, folder / part, given)
        (folder / f"{part}.json").write_text(json.dumps(found, indent=1) + "\n")
        print(tables.TABLES[part](found), flush=True)
        document[part] = found
    print(json.dumps(document))


def _run(part: str, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    if part == "coupling-fifty":
        return coupling.fifty(folder, given.seeds, _notify)
    if part in coupling.WORKLOADS:
        seeds = range(given.seed, given.seed + given.seeds)
        return coupling.compare(part, folder, seeds, given.time_divided_by, _notify)
    if part in CARBYNE:
        return _carbyne(part, folder, given)
    if part == "dress":
        _notify("launch rate")
        held = measured_rate("virtual")
        seeds = range(given.seed, given.seed + given.seeds)
        found = [
            dress.compare(name, folder, seeds, given.time_divided_by, _notify)
            for name in ([given.workload] if given.workload else dress.WORKLOADS)
        ]
        return {"held_per_second": round(held, 1), "workloads": found}
    run = hdrf.shares if part == "hdrf-shares" else hdrf.churn
    document = {}
    for policy in hdrf.POLICIES:
        _notify(f"{part}: {policy}")
        document[policy] = run(policy, folder / policy, given.seed)
    return document


def _carbyne(part: str, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    if part == "carbyne-fig2":
        return carbyne.fig2(folder, given.seeds, _notify)
    if part == "carbyne-fifty":
        return carbyne.fifty(folder, given.seeds, _notify)
    seeds = range(given.seed, given.seed + given.seeds)
    gap_ms = carbyne.GAP_MS if part == "carbyne-online" else 0
    by = given.time_divided_by
    return carbyne.compare(CARBYNE_ROWS[part], folder, seeds, by, _notify, gap_ms)


def _notify(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
