"""How the demo plays its workload: one run after the other, and none after Ctrl-C."""

from pathlib import Path
from typing import Any

import pytest

from loomcard.config import compile_config
from loomcard.demo import schedulers
from loomcard.results.record import RunRecord
from loomcard.workload import load
from loomcard.workload.loading import find


def test_ctrl_c_during_a_run_ends_the_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The player then returns what it has, and no other scheduler runs."""
    begun: list[str] = []

    def stopped(scenario: Any, policy: Path | str, **_: Any) -> RunRecord:
        begun.append(str(policy))
        return RunRecord(str(policy), scenario.name, 1, "local", [], [], finished=False)

    monkeypatch.setattr(schedulers, "play", stopped)
    with pytest.raises(KeyboardInterrupt):
        schedulers.play_all(tmp_path, lambda _: None)
    assert begun == [schedulers.STOCK]


@pytest.mark.parametrize("name", ["capacity", *schedulers.POLICIES])
def test_all_schedulers_have_the_same_queues(name: str) -> None:
    """The queues are those that the applications name, with equal weight, guarantee and maximum."""
    file = Path(schedulers.__file__).with_name(f"{name}.yml")
    queues = compile_config(file.read_text(), file.name)["queues"]
    leaves = {queue["path"] for queue in queues if queue["leaf"]}
    assert leaves == {app.queue for app in load(find(schedulers.WORKLOAD), seed=1).applications}
    assert {(q["weight"], str(q["guaranteed"]), str(q["maximum"])) for q in queues[1:]} == {
        (1.0, str(queues[1]["guaranteed"]), str(queues[1]["maximum"]))
    }


def test_a_full_cluster_still_has_memory_for_a_task() -> None:
    """The free room is in pieces over the nodes, as on real ones. Otherwise stock CapacityScheduler
    keeps free GPUs from the queue beside one that lacks memory, and its charges to a queue stay
    invisible.
    """
    scenario = load(find(schedulers.WORKLOAD), seed=1)
    sizes = {stage.size[0] for app in scenario.applications for stage in app.stages}
    task = max(sizes)
    pieces = sum(node.capacity[0] % task for node in scenario.nodes if node.capacity[0] >= task)
    assert pieces >= task
