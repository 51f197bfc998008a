"""All four papers in one configuration, policies/organisations.yml: each of its four parts acts.
Without one of them, the figure that its paper improves is worse, on a small workload of two
organisations.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from loomcard.config import compile_config
from loomcard.results.metrics import facts
from loomcard.results.record import RunRecord
from loomcard.simulator import simulate
from loomcard.stress.parts import app, stage
from loomcard.workload import load

CARD = (Path(__file__).parents[2] / "policies" / "organisations.yml").read_text()
# A job of two tasks is small in a queue that is entitled to eight.
SMALL = CARD.replace(
    "policy: dress", "policy: dress, options: {theta: 0.3, delta: 0.3, tick_ms: 500}"
)


def run(card: str) -> RunRecord:
    """Run the demo's workload and two MapReduce jobs whose AM asks for all reduces at once."""
    scenario = load(Path("organisations"), seed=1)
    added = []
    for i in range(2):
        reduce = replace(stage(f"r{i}", 4, 1500, (1024, 1, 0), 2, after=[0]), priority=10)
        stages = [stage(f"m{i}", 24, 2500, (1024, 1, 0)), reduce]
        facts_ = {"kind": "mapreduce", "reduce_asks": "all", "am": (512, 1, 0), "user": "shop"}
        added.append(app(f"etl{i}", 0, i * 1500, "root.shop.etl", stages=stages, **facts_))
    scenario = replace(scenario, applications=[*scenario.applications, *added])
    return simulate(scenario, compile_config(card, "card.yml"), policy="card")


def mean(record: RunRecord, what: str, job: Callable[[dict], bool]) -> float:
    """Return the mean of a figure over some jobs."""
    found = [row[what] for row in facts(record)["applications"] if job(row)]
    return sum(found) / len(found)


def waits_of_small_jobs(record: RunRecord) -> float:
    """Return what DRESS improves: how long small jobs wait, in ms."""
    return mean(record, "waiting_ms", lambda row: "small" in row["tags"])


def completion_of_queries(record: RunRecord) -> float:
    """Return what Carbyne improves: the completion of short DAGs, in ms."""
    return mean(record, "completion_ms", lambda row: "query" in row["tags"])


def completion_of_prepare(record: RunRecord) -> float:
    """Return what H-DRF improves: the completion of memory's jobs beside those of GPUs, in ms."""
    return mean(record, "completion_ms", lambda row: row["queue"] == "root.lab.prepare")


def idle_reduces(record: RunRecord) -> float:
    """Return what Coupling improves: for how long reduces have room before the last map ended."""
    rows = [row for row in record.containers if row.application.startswith("etl")]
    last = {
        job: max(row.finished_ms for row in rows if (row.application, row.stage) == (job, "s1"))
        for job in ("etl0", "etl1")
    }
    reduces = [row for row in rows if row.stage == "s2"]
    return sum(max(0, last[row.application] - row.allocated_ms) for row in reduces)


@pytest.fixture(scope="module")
def whole() -> RunRecord:
    """Return the run under the whole configuration."""
    return run(SMALL)


@pytest.mark.parametrize(
    ("without", "figure"),
    [
        ({SMALL: CARD.replace("dress", "fifo")}, waits_of_small_jobs),
        ({"policy: carbyne": "policy: drf"}, completion_of_queries),
        ({"policy: coupling": "policy: fifo"}, idle_reduces),
        ({"hdrf\noptions: {reserve_after_ms: 0}": "per_level_drf"}, completion_of_prepare),
    ],
    ids=["DRESS", "Carbyne", "Coupling", "H-DRF"],
)
def test_each_part_acts(whole: RunRecord, without: dict[str, str], figure: Callable) -> None:
    """The figure is at least a tenth better than without the part."""
    card = SMALL
    for part, other in without.items():
        card = card.replace(part, other)
    assert figure(whole) < 0.9 * figure(run(card))
