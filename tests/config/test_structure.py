"""Tests of keys, types and bounds: every wrong one is found, at its line, with a remedy."""

from collections.abc import Callable
from typing import Any

import pytest

from loomcard.config import Finding

FindingsOf = Callable[..., list[Finding]]
Places = Callable[..., list[tuple[int, str]]]


def test_one_run_lists_everything_in_the_order_of_the_file(places: Places) -> None:
    """Errors of every sort, in every part of the tree, are in one list."""
    text = """\
        version: 2
        kind: workload
        polcy: drf
        policy: drff
        weight: 0
        am_share: 120%
        queues:
          root: {}
          a.b: {}
          c: {weight: .nan, submit: alice, administer: [1, "user:bob"]}
          d: {weight: yes, guaranteed: 60%, maximum: 50%}
          e:
            guaranteed: 60%
            maximum:
              memory: 5
              vcores: -1
          f:
          g: {policy: 5, options: []}
          g: {}
          h: {options: {a: 1}}
        """
    assert places(text) == [
        (1, "version"),
        (2, "kind"),
        (3, "polcy"),
        (4, "policy"),
        (5, "weight"),
        (6, "am_share"),
        (8, "queues.root"),
        (9, "queues.a.b"),
        (10, "queues.c.weight"),
        (10, "queues.c.submit"),
        (10, "queues.c.administer[0]"),
        (10, "queues.c.administer[1]"),
        (11, "queues.d.weight"),
        (11, "queues.d.guaranteed"),
        (13, "queues.e.guaranteed"),
        (15, "queues.e.maximum.memory"),
        (16, "queues.e.maximum.vcores"),
        (17, "queues.f"),
        (18, "queues.g.policy"),
        (18, "queues.g.options"),
        (19, "queues.g"),
        (20, "queues.h.options"),
    ]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("polcy: drf", "did you mean 'policy'?"),
        ("Weight: 1", "did you mean 'weight'?"),
        ("weight: 0", "greater than 0"),
        ("weight: -1", "greater than 0"),
        ("weight: true", "expected a number, found true"),
        ("weight: .inf", "finite"),
        ("weight:", "no value"),
        ("maximum: 0%", "above 0%"),
        ("maximum: 100.1%", "from 0% to 100%"),
        ("maximum: 50", "for example maximum: 50%"),
        ("maximum: {}", "at least one resource"),
        ("maximum: {memory_mb: 1.5}", "a whole number"),
        ("maximum: {memory_mb: 9223372036854775808}", "less than"),
        ("maximum: {mem: 1}", "it is memory_mb here"),
        ("maximum: {'a b': 1}", "not a resource's name"),
        ("user_limit: -1%", "from 0% to 100%"),
        ("user_limit: {memory_mb: 1}", "from 0% to 100%"),
        ("reservation_share: 101%", "from 0% to 100%"),
        ("reservation_nodes: 0", "greater than or equal to 1"),
        ("reservation_nodes: 1.5", "a whole number"),
        ("reservation_share: {memory_mb: 1}", "from 0% to 100%"),
        ("submit: alice", "expected a list"),
        ("submit: [5]", 'quote it: "5"'),
        ("submit: [true]", 'quote it: "true"'),
        ('submit: ["group:"]', '"group:NAME"'),
        ('submit: ["a b"]', '"group:NAME"'),
        ('submit: ["user:alice"]', '"group:NAME"'),
        ("submit: [{a: 1}]", "expected text"),
        ("queues: [a]", "expected a mapping"),
        ("queues: {a: 5}", "expected a mapping"),
        ("queues: {'ä': {}}", "letters, digits"),
        ("queues: {a.b: {}}", "a dot"),
        ("queues: {root: {}}", "the file's own queue"),
        ("options: 5", "expected a mapping"),
        ("queues: {a: {kind: policy}}", "unknown key 'kind'"),
        ("'<<': {}", "unknown key '<<'"),
    ],
)
def test_a_wrong_line_says_what_was_expected(findings_of: FindingsOf, line: str, part: str) -> None:
    """Each error is one finding, in its own line, that names the expectation or a remedy."""
    (finding,) = findings_of(f"version: 1\npolicy: drf\n{line}\n")
    assert finding.line == 3
    assert part in f"{finding.message} {finding.hint}"


@pytest.mark.parametrize("version", ["2", "'1'", "1.0", "true", "[1]"])
def test_only_version_1_is_read(places: Places, version: str) -> None:
    """Another version is a finding, and so is a 1 that is not a number."""
    assert places(f"version: {version}\npolicy: drf\n") == [(1, "version")]


def test_version_and_policy_are_required_and_kind_is_not(places: Places) -> None:
    """A file without them has one finding for each."""
    assert places("weight: 1\n") == [(1, "policy"), (1, "version")]
    assert places("version: 1\npolicy: drf\n") == []


@pytest.mark.parametrize("text", ["5", "[version, 1]", "text"])
def test_a_file_that_is_no_mapping_is_one_finding(findings_of: FindingsOf, text: str) -> None:
    """There is no finding about its keys."""
    (finding,) = findings_of(text)
    assert "expected a mapping" in finding.message


def test_positions_are_columns_of_values_and_of_unknown_keys(findings_of: FindingsOf) -> None:
    """With line and column an editor can jump to the finding."""
    found: list[Any] = findings_of("version: 1\npolicy: drf\nqueues: {a: {weight: 0, wait: 1}}\n")
    assert [(f.line, f.column, f.path) for f in found] == [
        (3, 22, "queues.a.weight"),
        (3, 25, "queues.a.wait"),
    ]
