"""Tests of what applies to a queue, stated or inherited: access, applications, lifetimes,
labels.
"""

from collections.abc import Callable
from typing import Any

import pytest

from loomcard.config import Finding

Queues = Callable[..., dict[str, dict[str, Any]]]
FindingsOf = Callable[..., list[Finding]]
HEAD = "version: 1\npolicy: drf\n"
NEW = {
    "state", "maximum_applications", "maximum_applications_per_user",
    "maximum_running_applications", "maximum_running_applications_per_user", "maximum_allocation",
    "maximum_lifetime_s", "default_lifetime_s", "labels", "default_label", "label_maximum_ppm",
    "label_guaranteed_ppm",
}  # fmt: skip


def test_defaults_are_left_out(queues: Queues) -> None:
    """A configuration that states none of these keys compiles as it did before they existed."""
    found = queues(HEAD + "queues: {a: {state: running, maximum_lifetime: unlimited}}")
    assert not NEW & {key for queue in found.values() for key in queue}


def test_what_is_stated_stands_at_its_queue(queues: Queues) -> None:
    """Limits that apply to all queues below are compiled once, at the queue that states them."""
    text = """\
        version: 1
        policy: drf
        maximum_applications: 100
        maximum_allocation: {vcores: 4, memory_mb: 8192}
        state: draining
        queues: {a: {maximum_applications_per_user: 3, state: stopped}}
        """
    found = queues(text)
    assert {key: found["root"][key] for key in NEW & found["root"].keys()} == {
        "maximum_applications": 100,
        "maximum_allocation": {"memory_mb": 8192, "vcores": 4},
        "state": "draining",
    }
    assert {key: found["root.a"][key] for key in NEW & found["root.a"].keys()} == {
        "maximum_applications_per_user": 3,
        "state": "stopped",
    }


def test_running_applications_are_limited_by_queue_and_by_user(queues: Queues) -> None:
    """One number for every user, or numbers by name; no number for anyone is no limit."""
    text = """\
        version: 1
        policy: drf
        maximum_running_applications_per_user: 5
        queues:
          a:
            maximum_running_applications: 0
            maximum_running_applications_per_user: {bob: 2, alice: unlimited, "*": 1}
          b: {maximum_running_applications_per_user: {alice: unlimited}}
        """
    found = queues(text)
    by_user = "maximum_running_applications_per_user"
    assert found["root"][by_user] == {"*": 5}
    assert found["root.a"]["maximum_running_applications"] == 0
    assert found["root.a"][by_user] == {"*": 1, "alice": None, "bob": 2}
    assert by_user not in found["root.b"]


def test_labels_and_lifetimes_are_inherited(queues: Queues) -> None:
    """The inherited values are resolved, so that no reader has to walk the tree."""
    text = """\
        version: 1
        policy: drf
        labels: [ssd, gpu]
        default_label: ssd
        maximum_lifetime: 600
        queues:
          a: {default_lifetime: 60, label_maximum: {gpu: 50%, ssd: 100%}}
          b: {labels: [gpu], default_label: "", maximum_lifetime: 900}
        """
    found = queues(text)
    assert (found["root.a"]["labels"], found["root.a"]["default_label"]) == (["gpu", "ssd"], "ssd")
    assert found["root.a"]["label_maximum_ppm"] == {"gpu": 500_000}
    assert found["root.a"]["default_lifetime_s"] == 60
    assert found["root.b"]["labels"] == ["gpu"]
    assert "default_label" not in found["root.b"]
    assert found["root.b"]["maximum_lifetime_s"] == 600


def test_the_only_queue_of_a_file_has_the_files_rights(queues: Queues) -> None:
    """A limit on the number of applications is at root alone, above the implied queue."""
    found = queues(HEAD + "labels: []\nmaximum_applications: 5")
    assert found["root.default"]["labels"] == []
    assert "maximum_applications" not in found["root.default"]


def test_guarantees_on_labels_are_parts_of_the_parents(queues: Queues) -> None:
    """They are multiplied down the tree, from what root may use; 0% is left out."""
    text = """\
        version: 1
        policy: drf
        label_maximum: {gpu: 50%}
        queues:
          a:
            label_guaranteed: {gpu: 100%, ssd: 60%}
            queues: {b: {label_guaranteed: {gpu: 70%, ssd: 0%}}, c: {label_guaranteed: {gpu: 30%}}}
          d: {label_guaranteed: {ssd: 40%}, label_maximum: {ssd: 40%}}
        """
    found = queues(text)
    assert found["root.a"]["label_guaranteed_ppm"] == {"gpu": 1_000_000, "ssd": 600_000}
    assert found["root.a.b"]["label_guaranteed_ppm"] == {"gpu": 700_000}
    assert "label_guaranteed_ppm" not in found["root"]


@pytest.mark.parametrize(
    ("text", "line", "path", "part"),
    [
        ("state: closed", 3, "state", "running"),
        ("maximum_applications: 0", 3, "maximum_applications", "from 1 to"),
        ("maximum_applications: true", 3, "maximum_applications", "unlimited"),
        ("maximum_running_applications: -1", 3, "maximum_running_applications", "from 0 to"),
        (
            "maximum_running_applications_per_user: {a: x}",
            3,
            "maximum_running_applications_per_user.a",
            "from 0 to",
        ),
        ("maximum_allocation: 50%", 3, "maximum_allocation", "unlimited"),
        ("maximum_allocation: {memory_mb: 0}", 3, "maximum_allocation.memory_mb", "1"),
        ("maximum_lifetime: 1h", 3, "maximum_lifetime", "whole number"),
        ("maximum_lifetime: 60\ndefault_lifetime: 90", 4, "default_lifetime", "90 s is more"),
        ('labels: ["a b"]', 3, "labels[0]", "node label"),
        ("labels: [gpu]\ndefault_label: ssd", 4, "default_label", "may use gpu only"),
        ("labels: []\nlabel_maximum: {gpu: 50%}", 4, "label_maximum.gpu", "may not use"),
        ("labels: [a]\nqueues: {q: {labels: [b]}}", 4, "queues.q.labels[0]", "parent may not"),
        (
            "queues: {q: {label_guaranteed: {gpu: 7}}}",
            3,
            "queues.q.label_guaranteed.gpu",
            "percentage",
        ),
        (
            "queues: {q: {labels: [], label_guaranteed: {gpu: 7%}}}",
            3,
            "queues.q.label_guaranteed.gpu",
            "may not use",
        ),
        (
            "queues:\n  p: {label_guaranteed: {gpu: 60%}}\n  q: {label_guaranteed: {gpu: 50%}}",
            5,
            "queues.q.label_guaranteed.gpu",
            "add up to 110%",
        ),
        (
            "queues: {q: {queues: {r: {label_guaranteed: {gpu: 50%}}}}}",
            3,
            "queues.q.queues.r.label_guaranteed.gpu",
            "guaranteed nothing",
        ),
        (
            "queues: {q: {label_maximum: {gpu: 40%}, label_guaranteed: {gpu: 50%}}}",
            3,
            "queues.q.label_guaranteed.gpu",
            "guaranteed 50% of the nodes with the label gpu, its maximum there 40%",
        ),
        ('labels: [a]\nqueues: {q: {labels: ["*"]}}', 4, "queues.q.labels", "parent may use a"),
        (
            "default_label: a\nqueues: {q: {labels: [b]}}",
            4,
            "queues.q.labels",
            "asks go to the label a",
        ),
    ],
)
def test_what_cannot_be_is_found(
    findings_of: FindingsOf, text: str, line: int, path: str, part: str
) -> None:
    """Each error is one finding, at its place."""
    (finding,) = findings_of(HEAD + text)
    assert (finding.line, finding.path) == (line, path)
    assert part in finding.message


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("maximum_allocation: {memory_mb: 0}", "write a whole number of at least 1, such as 8192"),
        ("maximum: {memory_mb: -1}", "write a whole number that is not negative, such as 8192"),
        ("label_maximum: {gpu: 200%}", "for example label_maximum: {gpu: 50%}"),
        ("label_guaranteed: {gpu: .nan}", "write a number, such as 1.5"),
        ("options: {theta: .inf}", "write a number, such as 1.5"),
        ("options: {theta: 2}", "the default is 0.1"),
    ],
)
def test_a_wrong_value_has_its_remedy(findings_of: FindingsOf, text: str, remedy: str) -> None:
    """The remedy fits the bound: 0 is not negative, but it is no size of a container either."""
    policy = "dress" if "theta" in text else "drf"
    (finding,) = findings_of(f"version: 1\npolicy: {policy}\n{text}\n")
    assert finding.hint == remedy


def test_each_contradiction_is_found_once(findings_of: FindingsOf) -> None:
    """The finding is at the queue that states it; the queues below only inherit it."""
    text = "labels: [gpu]\ndefault_label: ssd\nqueues: {a: {queues: {b: {}}}}\n"
    (finding,) = findings_of(HEAD + text)
    assert (finding.line, finding.path) == (4, "default_label")


def test_no_guarantee_at_root_is_its_default(findings_of: FindingsOf) -> None:
    """0 % is left out of the compiled form, in which root then has all that it may use."""
    below = "a: {label_maximum: {gpu: 50%}, label_guaranteed: {gpu: 60%}}"
    (finding,) = findings_of(HEAD + "label_guaranteed: {gpu: 0%}\nqueues: {" + below + "}")
    assert (finding.path, finding.rule) == ("queues.a.label_guaranteed.gpu", "LC120")
    assert "60% of the nodes with the label gpu, its maximum there 50%" in finding.message


def lists(found: dict[str, dict[str, Any]], path: str) -> tuple[list[str], list[str]]:
    """Return the lists of submitters and administrators of one queue."""
    return found[path]["submit"], found[path]["administer"]


def test_everyone_by_default(queues: Queues) -> None:
    """A file without such lists closes no queue."""
    assert lists(queues(HEAD), "root.default") == (["*"], ["*"])


def test_absent_inherits_and_stated_replaces(queues: Queues) -> None:
    """Unlike in stock YARN, a queue's own list is not joined with its parent's."""
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
    """An administrator may submit, so if submit closes a queue, an unstated administer does too."""
    found = queues(HEAD + "queues: {a: {submit: [alice]}, b: {}, c: {submit: []}}")
    assert lists(found, "root.a") == (["alice"], [])
    assert lists(found, "root.b") == (["*"], ["*"])
    assert lists(found, "root.c") == ([], [])


def test_everyone_stated_as_administrator_beside_submitters_is_refused(
    findings_of: FindingsOf,
) -> None:
    """A user who writes submit: [alice] would be surprised if everyone could submit."""
    (finding,) = findings_of(HEAD + 'administer: ["*"]\nqueues: {a: {submit: [alice]}}')
    assert (finding.line, finding.path) == (4, "queues.a.submit")
    assert "no effect" in finding.message


def test_entries_stand_once(queues: Queues) -> None:
    """A name that is written twice counts once, in the order of the file."""
    assert lists(queues(HEAD + "submit: [b, a, b]"), "root.default")[0] == ["b", "a"]
