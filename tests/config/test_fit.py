"""Tests that compare a configuration with a cluster: sizes, smallest container, applications; the
rules' ids.
"""

import re
from pathlib import Path

import pytest

from loomcard.config import FindingsError, compile_config
from loomcard.config.fit import ClusterFacts, misfits
from loomcard.config.rules import RULES

ROOT = Path(__file__).parents[2]
CLUSTER = ClusterFacts(
    {"memory_mb": 10240, "vcores": 10}, {"memory_mb": 1024, "vcores": 1}, {"root.a": 2}
)


def found(text: str, cluster: ClusterFacts = CLUSTER) -> list[tuple[str, int, str]]:
    config = compile_config(text, "a.yml")
    return [(f.rule, f.line, f.severity) for f in misfits(text, config, cluster)]


def queues(*lines: str) -> str:
    return "\n".join(["version: 1", "policy: drf", "queues:", *(f"  {line}" for line in lines)])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a: {}"], []),
        (["a: {guaranteed: 20%}", "b: {maximum: 50%}"], []),
        (["a: {guaranteed: 5%}"], [("LC203", 4, "warning")]),
        (["a: {maximum: 5%}"], [("LC202", 4, "error")] * 2),
        (["a: {maximum: {memory_mb: 1000}}"], [("LC202", 4, "error")]),
        (["a: {maximum: {memory_mb: 2048, gpu: 1}}"], [("LC204", 4, "error")]),
        (["a: {maximum_allocation: {memory_mb: 1024, vcores: 1}}"], []),
        (["a: {maximum_allocation: {memory_mb: 512, vcores: 1}}"], [("LC202", 4, "error")]),
        (["a: {maximum_allocation: {gpu: 1}}"], [("LC204", 4, "error")]),
        (["b: {}"], [("LC205", 3, "error")]),
        (["a: {queues: {x: {}}}"], [("LC205", 3, "error")]),
        (["a: {auto_create: {}}"], [("LC205", 3, "error")]),
    ],
)
def test_what_does_not_fit_is_found(lines: list[str], expected: list[tuple[str, int, str]]) -> None:
    """Each finding has its rule, its line and its severity; a configuration that fits has no
    finding.
    """
    assert found(queues(*lines)) == expected


def test_a_guarantee_above_the_cluster() -> None:
    """The file alone cannot judge such amounts; the finding names the remedy."""
    text = queues("a:", "  guaranteed: {memory_mb: 20480}").replace(
        "policy: drf", "policy: drf\nguaranteed: {memory_mb: 20480}"
    )
    config = compile_config(text, "a.yml")
    [root, leaf] = misfits(text, config, CLUSTER)
    assert (root.rule, root.line, leaf.line) == ("LC201", 3, 6)
    assert "20480 memory_mb are guaranteed; the cluster has 10240" in leaf.message


def test_a_cluster_without_nodes_is_said() -> None:
    """Nothing can be compared, which is an information and not an error."""
    assert found(queues("a: {}"), ClusterFacts({})) == [("LC206", 1, "info")]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("version: 1\npolicy: [", "LC101"),
        ("version: 2\npolicy: drf\n", "LC102"),
        ("version: 1\npolicy: drf\nweight: 0\n", "LC102"),
        ("version: 1\npolicy: drf\npolcy: drf\n", "LC103"),
        (queues("a: {submit: [bob], administer: ['*']}"), "LC110"),
        (queues("a: {guaranteed: 80%}", "b: {guaranteed: 80%}"), "LC120"),
        ("version: 1\npolicy: nope\n", "LC130"),
        ("version: 1\npolicy: drf\noptions: {x: 1}\n", "LC130"),
    ],
)
def test_every_finding_has_its_rule(text: str, rule: str) -> None:
    """Scripts and reviews name a rule, because a sentence may be reworded."""
    with pytest.raises(FindingsError) as error:
        compile_config(text, "a.yml")
    assert {f.rule for f in error.value.findings} == {rule}


def test_the_documented_rules_are_the_codes() -> None:
    """The table of docs/operate/configuration.md has every rule with its severity and sentence."""
    text = (ROOT / "docs" / "operate" / "configuration.md").read_text()
    rows = re.findall(r"^\| (LC\d+) \| (\w+) \| (.*) \|$", text, re.MULTILINE)
    assert rows == [(rule, *RULES[rule]) for rule in sorted(RULES)]


def test_created_queues_with_applications_may_be_created_again() -> None:
    """The file does not have them; they fit where it may create them."""
    living = {"root.a.alice": 1, "root.b.bob": 1, "root.a.x.y": 1}
    cluster = ClusterFacts(CLUSTER.capacity, CLUSTER.smallest, living)
    assert found(queues("a: {auto_create: {}}", "b: {auto_create: {}}"), cluster) == [
        ("LC205", 3, "error")
    ]
