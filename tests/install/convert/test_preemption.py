"""Preemption of the stock schedulers: on only where they preempt."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from converting import TWO, capacity, fair, outcome, queue

ON = "yarn.resourcemanager.scheduler.monitor.enable"
POLICIES = "yarn.resourcemanager.scheduler.monitor.policies"
OBSERVE = "yarn.resourcemanager.monitor.capacity.preemption.observe_only"
IGNORED = "yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity"
CLASSES = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity"
PREEMPTS = f"{CLASSES}.ProportionalCapacityPreemptionPolicy"
DELETES = f"{CLASSES}.AutoCreatedQueueDeletionPolicy"


def preempts(made: Any) -> bool:
    """Whether the written policy takes anything back."""
    return "preempt_after_ms" in queue(made, "root").get("options", {})


@pytest.mark.parametrize(
    ("site", "on"),
    [
        ({ON: "true"}, True),
        ({ON: "true", OBSERVE: "false"}, True),
        ({ON: "true", POLICIES: f"{DELETES} , {PREEMPTS}"}, True),
        ({ON: "true", OBSERVE: "true"}, False),
        ({ON: "true", POLICIES: DELETES}, False),
        ({ON: "false"}, False),
        ({}, False),
    ],
)
def test_capacity_schedulers_monitor_preempts_by_its_policy_and_not_while_it_observes(
    tmp_path: Path, site: Mapping[str, str], on: bool
) -> None:
    made = capacity(tmp_path, TWO, site=site)

    assert preempts(made) == on
    assert not [each for each in made.outcomes if each.became == "lost"]


def test_nothing_of_a_monitor_that_is_off_has_an_effect(tmp_path: Path) -> None:
    made = capacity(tmp_path, TWO, site={ON: "false", OBSERVE: "false", IGNORED: "0.1"})

    assert outcome(made, "observe_only").became == "no effect"
    assert outcome(made, "max_ignored_over_capacity").became == "no effect"
    assert outcome(capacity(tmp_path, TWO, site={ON: "true", IGNORED: "0.1"}),
                   "max_ignored_over_capacity").became == "lost"  # fmt: skip


MINIMUM = "<defaultMinSharePreemptionTimeout>10</defaultMinSharePreemptionTimeout>"
WHOLE = "<defaultFairSharePreemptionTimeout>60</defaultFairSharePreemptionTimeout>"
SITE = {"yarn.scheduler.fair.preemption": "true"}


def test_fair_scheduler_takes_fair_shares_back_after_their_own_timeout(tmp_path: Path) -> None:
    both = fair(tmp_path, f'<queue name="a"/>{MINIMUM}{WHOLE}', site=SITE)
    alone = fair(tmp_path, f'<queue name="a"/>{MINIMUM}', site=SITE)

    assert queue(both, "root")["options"]["preempt_after_ms"] == 59_500
    assert not preempts(alone)
    for made in (both, alone):
        assert outcome(made, "defaultMinSharePreemptionTimeout").became == "lost"


def test_that_the_threshold_becomes_1_is_said_unless_the_file_states_it(tmp_path: Path) -> None:
    stated = "<defaultFairSharePreemptionThreshold>1</defaultFairSharePreemptionThreshold>"

    made = fair(tmp_path, f'<queue name="a"/>{WHOLE}', site=SITE)
    other = fair(tmp_path, f'<queue name="a"/>{WHOLE}{stated}', site=SITE)

    assert "becomes 1" in outcome(made, "defaultFairSharePreemptionTimeout").why
    assert "becomes 1" not in outcome(other, "defaultFairSharePreemptionTimeout").why


@pytest.mark.parametrize("tag", ["fairSharePreemptionTimeout", "allowPreemptionFrom"])
def test_what_belongs_to_preemption_has_no_effect_while_it_is_off(tag, tmp_path):
    """Its remedy would switch preemption on."""
    made = fair(tmp_path, f"<queue name='a'><{tag}>5</{tag}></queue>")
    assert outcome(made, tag).became == "no effect"
    (tmp_path / "on").mkdir()
    made = fair(tmp_path / "on", f"<queue name='a'><{tag}>5</{tag}></queue>", site=SITE)
    assert outcome(made, tag).became == "lost"
