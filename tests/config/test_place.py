"""Placement rules: what they decide, as Java decides it, and what is wrong with them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loomcard.config import Finding, compile_config
from loomcard.config.place import Submission, place

FindingsOf = Callable[..., list[Finding]]

SETS = json.loads((Path(__file__).parents[1] / "golden" / "placement.json").read_text())


def with_created(config: dict[str, Any], leaves: list[str]) -> dict[str, Any]:
    """Return a configuration with created queues, as far as placing them goes."""
    paths = {queue["path"] for queue in config["queues"]}
    rows = [*config["queues"]]
    for leaf in leaves:
        above = leaf.rpartition(".")[0]
        if above not in paths:
            paths.add(above)
            rows.append({"path": above, "leaf": False, "created": True})
        rows.append({"path": leaf, "leaf": True, "created": True})
    return {**config, "queues": rows}


@pytest.mark.parametrize("known", SETS, ids=lambda known: known["about"])
def test_rules_decide_as_in_java(known: dict[str, Any]) -> None:
    """Java reads the same file: queue, rule, whether it must be created, and the reasons."""
    compiled = compile_config(known["yaml"], "queues.yml")
    assert compiled == known["compiled"]
    config = with_created(compiled, known["created"])
    for case in known["cases"]:
        of = Submission(
            case["user"], case.get("groups", ()), case.get("name", ""), case.get("tags", ()),
            case.get("queue"),
        )  # fmt: skip
        found, expected = place(config, of), case["expect"]
        assert found.queue == expected.get("queue"), case
        assert (found.rule or 0) == expected["rule"], case
        assert list(found.why) == expected.get("why", []), case
        assert found.created == expected.get("created", False), case


HEAD = "version: 1\npolicy: drf\n"
QUEUES = "queues:\n  a: {queues: {b: {}, c: {auto_create: {}}}}\n  d: {}\n  e: {queues: {b: {}}}\n"


@pytest.mark.parametrize(
    ("rule", "path", "part", "remedy"),
    [
        ("{queue: root.f}", "queue", "root.f does not exist", "did you mean 'root."),
        ("{queue: root.d.x}", "queue", "root.d is a leaf", "root.d"),
        ("{queue: root.a}", "queue", "holds queues, not applications", "name a leaf below it"),
        ("{queue: b}", "queue", "no queue, or more than one, is called 'b'", ""),
        ("{queue: root..x}", "queue", "a part of 'root..x' is empty", "root.a.b"),
        ("{queue: root.a.%usr}", "queue", "unknown variable '%usr'", "%user"),
        ("{queue: root.a.u_%user}", "queue", "a variable is a whole part", "root.users.%user"),
        ("{queue: root.d.%user}", "queue", "root.d is a leaf", "give root.d auto_create"),
        ("{queue: root.z.%user}", "queue", "root.z does not exist", ""),
        (
            "{queue: root.a.%user, create: leaf}",
            "queue",
            "no queue is created below root.a",
            "give root.a auto_create, or leave create out",
        ),
        ("{queue: root.a.c.new}", "queue", "does not exist", "write create: leaf"),
        ("{queue: root.a.c.x.y, create: true}", "queue", "deeper than root.a.c creates", ""),
        ("{queue: root.d, else: root.f}", "else", "root.f does not exist", ""),
        ("{user: eve}", "", "neither queue nor reject", "such as queue: root.a"),
        ("{reject: true, queue: root.d}", "queue", "has no effect", "remove queue or reject"),
        ("{queue: root.d, usr: eve}", "usr", "unknown key 'usr'", "user"),
        ("{queue: root.d, user: 7}", "user", "expected a name, or a list of names", "user: alice"),
        ("{queue: root.d, create: always}", "create", "expected", "create: leaf"),
        ("{queue: root.d, reject: false}", "reject", "expected", "reject: true"),
    ],
)
def test_a_wrong_rule_is_one_finding(
    findings_of: FindingsOf, rule: str, path: str, part: str, remedy: str
) -> None:
    """At its line, with a remedy."""
    rules = f"placement:\n  - {{user: x, reject: true}}\n  - {rule}\n"
    (finding,) = findings_of(HEAD + rules + QUEUES)
    assert (finding.line, finding.path) == (5, f"placement[1].{path}".removesuffix("."))
    assert part in finding.message
    assert remedy in finding.hint
    if not finding.message.startswith(("unknown key", "expected")):
        assert finding.rule == "LC150"


@pytest.mark.parametrize(
    "last", ["{reject: true}", "{queue: root.d}", "{queue: root.a.%user, else: d}"]
)
def test_no_rule_comes_after_one_that_decides(findings_of: FindingsOf, last: str) -> None:
    """Rules after it would never be asked."""
    text = f"{HEAD}placement:\n  - {last}\n  - {{queue: root.e.b}}\n{QUEUES}"
    (finding,) = findings_of(text)
    assert (finding.line, finding.path) == (5, "placement[1]")
    assert "rule 1 decides about all" in finding.message


@pytest.mark.parametrize(
    ("text", "path", "part"),
    [
        ("placement: []", "placement", "there is no rule"),
        ("auto_create: {depth: 9}", "auto_create.depth", "less than or equal to 8"),
        (
            "auto_create: {template: {queues: {x: {}}}}",
            "auto_create.template.queues",
            "unknown key",
        ),
        ("auto_create: {templat: {}}", "auto_create.templat", "unknown key"),
        ("auto_create: {remove_after: 0}", "auto_create.remove_after", "whole number from 1"),
        (
            "auto_create: {maximum_queues: 5, template: {guaranteed: 25%}}",
            "auto_create.template.guaranteed",
            "with this (5 queues) the siblings' guarantees add up to 125%",
        ),
        ("auto_create: {template: {policy: nope}}", "auto_create.template.policy", "nope"),
        (
            "auto_create: {template: {options: {a: 1}}}",
            "auto_create.template.options",
            "names none",
        ),
    ],
)
def test_a_wrong_template_is_one_finding(
    findings_of: FindingsOf, text: str, path: str, part: str
) -> None:
    """A template is checked as the queues that will be made from it."""
    (finding,) = findings_of(f"{HEAD}{text}\n")
    assert finding.path == path
    assert part in finding.message


def test_a_queue_that_creates_others_is_a_parent(queues: Any) -> None:
    """Also before it has any; the hash says nothing of created queues, as Java adds those."""
    found = queues(HEAD + "queues: {u: {auto_create: {template: {maximum: 20%}}}}")
    assert not found["root.u"]["leaf"]
    assert found["root.u"]["auto_create"] == {
        "depth": 1, "maximum_queues": 1000, "remove_after_s": 300,
        "template": found["root.u"]["auto_create"]["template"],
    }  # fmt: skip
    assert found["root.u"]["auto_create"]["template"]["maximum"] == {"ppm": 200_000}
