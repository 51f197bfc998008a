"""Who may submit and administer at each queue."""

from collections.abc import Callable
from typing import Any

from loomcard.config import Finding

Queues = Callable[..., dict[str, dict[str, Any]]]
HEAD = "version: 1\npolicy: drf\n"


def lists(found: dict[str, dict[str, Any]], path: str) -> tuple[list[str], list[str]]:
    """The lists of submitters and administrators at one queue."""
    return found[path]["submit"], found[path]["administer"]


def test_everyone_by_default(queues: Queues) -> None:
    """A file that says nothing closes nothing."""
    assert lists(queues(HEAD), "root.default") == (["*"], ["*"])


def test_absent_inherits_and_stated_replaces(queues: Queues) -> None:
    """A list of its own is not joined with the parent's, as stock YARN would."""
    found = queues(
        HEAD
        + """
submit: [alice, "group:data"]
administer: [root]
queues:
  a: {}
  b: {submit: [bob], queues: {x: {}, y: {administer: [carol]}}}
"""
    )
    assert lists(found, "root.a") == (["alice", "group:data"], ["root"])
    assert lists(found, "root.b.x") == (["bob"], ["root"])
    assert lists(found, "root.b.y") == (["bob"], ["carol"])


def test_a_list_of_submitters_is_not_voided_by_the_default_of_administer(queues: Queues) -> None:
    """Administering implies submitting, so an unstated administer closes where submit does."""
    found = queues(HEAD + "queues: {a: {submit: [alice]}, b: {}, c: {submit: []}}")
    assert lists(found, "root.a") == (["alice"], [])
    assert lists(found, "root.b") == (["*"], ["*"])
    assert lists(found, "root.c") == ([], [])


def test_everyone_stated_as_administrator_beside_submitters_is_refused(
    findings_of: Callable[..., list[Finding]],
) -> None:
    """Users who write submit: [alice] would be surprised that everyone submits."""
    (finding,) = findings_of(HEAD + 'administer: ["*"]\nqueues: {a: {submit: [alice]}}')
    assert (finding.line, finding.path) == (4, "queues.a.submit")
    assert "no effect" in finding.message


def test_entries_stand_once(queues: Queues) -> None:
    """A name written twice is one name, in the order of the file."""
    assert lists(queues(HEAD + "submit: [b, a, b]"), "root.default")[0] == ["b", "a"]
