"""Preemption on a real YARN: the AM is notified first, then the container is killed."""

import json
from pathlib import Path

import pytest

from benchmarks.agreement.__main__ import either
from benchmarks.agreement.stock_schedulers import run_late
from loomcard.player.play import play
from loomcard.workload.scenario import Scenario, ScenarioApplication, ScenarioNode, Stage

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

GRACE_MS = 1500
POLICY = f"""
version: 1
kind: policy
policy: %s
options:
  preempt_after_ms: 1000
  preempt_grace_ms: {GRACE_MS}
  preempt_budget: 0.5
  preempt_cooldown_ms: 2000
queues: {{early: {{}}, late: {{}}}}
"""


@pytest.mark.parametrize("named", ["capacity", "fair"])
def test_a_late_queue_gets_as_much_as_under_yarns_own_preemption(
    named: str, tmp_path: Path
) -> None:
    """The same workload runs under YARN's scheduler with its preemption. After settling, each queue
    runs as many containers, or one more or less, in at least 95 % of the samples.
    """
    found = run_late(either, tmp_path, [named])[named]
    assert found["agree"] >= 0.95, found
    assert found["ours"][-1] == {"root.a": 12, "root.b": 12}


def tasks(count: int, ms: int) -> list[Stage]:
    return [Stage("s", (512, 1), 20, 1, [ms] * count)]


@pytest.mark.parametrize("named", ["hdrf", "capacity", "fair"])
def test_a_late_queue_gets_its_guarantee_and_the_master_hears_of_it_first(
    named: str, tmp_path: Path
) -> None:
    """early uses both nodes for half a minute; late has its half long before that. The containers
    that it took ended as preempted, a grace after early's AM was notified, and ran again.
    """
    policy = tmp_path / "policy.yml"
    text = POLICY % named
    if named == "capacity":
        text = text.replace("options:", "options:\n  user_limit_factor: -1")
    policy.write_text(text)
    applications = [
        ScenarioApplication("early", 0, "root.early", "alice", "plain", tasks(8, 25_000)),
        ScenarioApplication("late", 4000, "root.late", "bob", "plain", tasks(4, 4000)),
    ]
    nodes = [ScenarioNode(name, "/r1", (2048, 4)) for name in ("n1", "n2")]
    scenario = Scenario(
        "late", 1, ["memory_mb", "vcores"], nodes, applications, heartbeat_ms=200,
        am_heartbeat_ms=200, minimum=(128, 1),
    )  # fmt: skip
    record = play(scenario, policy, folder=tmp_path / "run")
    assert {app.id: app.state for app in record.applications} == {
        "early": "SUCCEEDED",
        "late": "SUCCEEDED",
    }
    ends = [row for row in record.containers if row.application == "early"]
    assert sorted(row.kind for row in ends) == ["completed"] * 8 + ["preempted"] * 4
    served = [row for row in record.containers if row.application == "late"]
    first = min(row.finished_ms or 0 for row in ends if row.kind == "completed")
    assert all(row.started_ms is not None and row.started_ms < first for row in served)
    [account] = (tmp_path / "run").rglob("player.jsonl")
    events = [json.loads(line) for line in account.read_text().splitlines()]
    warned = {e["container"]: e["at_ms"] for e in events if e["event"] == "warned"}
    taken = {e["container"]: e["at_ms"] for e in events if e.get("kind") == "preempted"}
    assert warned.keys() == taken.keys()
    assert all(warned[each] <= taken[each] for each in taken)
