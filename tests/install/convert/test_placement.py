"""Queue mappings of CapacityScheduler as placement rules that `policy check` accepts."""

import json
from pathlib import Path
from typing import Any

import pytest

from converting import TWO, capacity, outcome, queue
from loomcard.install.convert import Conversion, ConversionError

DEFAULT = {"root.queues": "a,default", "root.a.capacity": "60", "root.default.capacity": "40"}
NAMED = {"named": True, "queue": "%specified", "else": "reject"}
EVERYONE = {"type": "user", "matches": "*"}


def of_rules(tmp_path: Path, rules: Any, queues: dict[str, str] = DEFAULT) -> Conversion:
    """Convert JSON rules over these queues."""
    text = json.dumps({"rules": rules})
    return capacity(tmp_path, queues | {"mapping-rule-format": "json", "mapping-rule-json": text})


@pytest.mark.parametrize(
    "last",
    [
        {"policy": "custom", "customPlacement": "root.default"},
        {"policy": "defaultQueue", "fallbackResult": "skip"},
    ],
)
def test_no_rule_follows_one_that_decides_about_all(tmp_path: Path, last: dict[str, str]) -> None:
    alice = {"type": "user", "matches": "alice", "policy": "custom", "customPlacement": "root.a"}

    found = queue(of_rules(tmp_path, [alice, EVERYONE | last]), "root")["placement"]

    assert [rule["queue"] for rule in found] == ["%specified", "root.a", "root.default"]


def test_without_the_default_queue_what_would_go_there_is_refused(tmp_path: Path) -> None:
    made = capacity(tmp_path, TWO | {"queue-mappings": "u:alice:root.a"})

    assert queue(made, "root")["placement"] == [
        NAMED,
        {"user": "alice", "queue": "root.a", "create": True, "else": "reject"},
        {"reject": True},
    ]


@pytest.mark.parametrize("fallback", ["skip", "placeDefault", "reject"])
def test_a_rule_for_a_default_queue_that_is_not_there_refuses_or_is_skipped(
    tmp_path: Path, fallback: str
) -> None:
    rule = EVERYONE | {"policy": "defaultQueue", "fallbackResult": fallback}

    found = queue(of_rules(tmp_path, [rule], TWO), "root").get("placement")

    assert found == (None if fallback == "skip" else [NAMED, {"reject": True}])


def test_only_a_default_queue_for_all_is_the_default_queue(tmp_path: Path) -> None:
    rule = {"policy": "setDefaultQueue", "value": "root.a", "fallbackResult": "skip"}
    last = EVERYONE | {"policy": "defaultQueue"}
    bob = of_rules(tmp_path, [{"type": "user", "matches": "bob"} | rule, last])
    everyone = of_rules(tmp_path, [EVERYONE | rule, last])

    assert queue(bob, "root")["placement"] == [NAMED, {"queue": "root.default"}]
    assert outcome(bob, "mapping-rule-json").became == "lost"
    assert queue(everyone, "root")["placement"] == [NAMED, {"queue": "root.a"}]


@pytest.mark.parametrize("rules", [["x"], None, {}, 1])
def test_rules_that_are_none_are_refused_with_one_error(tmp_path: Path, rules: Any) -> None:
    with pytest.raises(ConversionError, match=r"mapping-rule-json: the rules cannot be read"):
        of_rules(tmp_path, rules)


def test_a_mapping_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="'ug:alice:a' is no mapping"):
        capacity(tmp_path, DEFAULT | {"queue-mappings": "ug:alice:a"})
