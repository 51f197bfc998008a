"""Tests of which policy governs which queue."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loomcard.config import Finding, compile_config

Queues = Callable[..., dict[str, dict[str, Any]]]
FindingsOf = Callable[..., list[Finding]]


def governing(queue: dict[str, Any]) -> tuple[str | None, bool, bool]:
    """Return the policy, whether the file names it, and whether an ancestor's policy walks over the
    queue.
    """
    return queue["policy"], queue["policy_named"], queue["walked"]


def test_a_file_without_queues_is_one_leaf(queues: Queues) -> None:
    """The file's policy governs root.default. root has only one child, so its policy has nothing to
    choose.
    """
    found = queues("version: 1\npolicy: drf\n")
    assert list(found) == ["root", "root.default"]
    assert governing(found["root"]) == ("fifo", False, False)
    assert governing(found["root.default"]) == ("drf", True, False)
    assert (found["root"]["leaf"], found["root.default"]["leaf"]) == (False, True)
    assert (found["root"]["parent"], found["root.default"]["parent"]) == (None, 0)


def test_inner_queues_inherit_and_leaves_are_fifo(queues: Queues) -> None:
    """Under a policy that does not walk the tree, each queue is its own scope."""
    found = queues("""
        version: 1
        policy: drf
        queues:
          a: {queues: {x: {}, y: {policy: drf}}}
          b: {}
        """)
    assert governing(found["root"]) == ("drf", True, False)
    assert governing(found["root.a"]) == ("drf", False, False)
    assert governing(found["root.a.x"]) == ("fifo", False, False)
    assert governing(found["root.a.y"]) == ("drf", True, False)
    assert governing(found["root.b"]) == ("fifo", False, False)


def test_a_walker_governs_down_to_the_next_named_policy(queues: Queues, sorts: str) -> None:
    """Queues that it walks over have no policy; below a named policy the rules begin again."""
    found = queues(f"""
        version: 1
        policy: {sorts}:Walker
        options: {{setting: dynamic}}
        queues:
          a: {{queues: {{x: {{}}, y: {{policy: drf, queues: {{z: {{}}}}}}}}}}
          b: {{}}
        """)
    assert found["root"]["options"] == {"setting": "dynamic"}
    assert governing(found["root.a"]) == (None, False, True)
    assert governing(found["root.a.x"]) == (None, False, True)
    assert governing(found["root.a.y"]) == ("drf", True, False)
    assert governing(found["root.a.y.z"]) == ("fifo", False, False)
    assert governing(found["root.b"]) == (None, False, True)


def test_an_inherited_policy_inherits_its_options(queues: Queues, tmp_path: Path) -> None:
    """Naming the same policy at the child changes nothing."""
    file = tmp_path / "one.py"
    file.write_text(
        "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass One:\n"
        "    turns: int = 1\n\n    def decide(self, view):\n        return None\n"
    )
    head = f"version: 1\npolicy: {file}:One\noptions: {{turns: 4}}\n"
    found = queues(head + "queues: {a: {queues: {x: {}}}}")
    assert found["root.a"]["options"] == {"turns": 4}
    assert found["root.a.x"]["options"] == {}


def test_a_policy_for_applications_only_needs_a_leaf(findings_of: FindingsOf, sorts: str) -> None:
    """A leaf_only policy at a queue with child queues is an error at the policy."""
    text = f"version: 1\npolicy: drf\nqueues:\n  a:\n    policy: {sorts}:Leafy\n"
    assert findings_of(text) == []
    (finding,) = findings_of(text + "    queues: {x: {}}\n")
    assert (finding.line, finding.path) == (5, "queues.a.policy")


def test_needs_are_the_union_of_the_policies_in_use(sorts: str) -> None:
    """If one policy needs something, the engine must provide it."""
    text = f"version: 1\npolicy: drf\nqueues: {{a: {{policy: '{sorts}:Leafy'}}, b: {{}}}}"
    assert compile_config(text, "x.yml")["needs"] == ["heartbeats"]
    assert compile_config("version: 1\npolicy: drf", "x.yml")["needs"] == []


def test_an_unknown_policy_names_the_nearest(findings_of: FindingsOf) -> None:
    """The hint corrects a typing error."""
    (finding,) = findings_of("version: 1\npolicy: drg\n")
    assert (finding.line, finding.column, finding.path) == (2, 9, "policy")
    assert "drf" in finding.hint


def test_a_file_outside_the_policy_path_is_not_loaded(
    findings_of: FindingsOf, sorts: str, tmp_path: Path
) -> None:
    """A running ResourceManager loads files only from its folders; offline any path is allowed."""
    text = f"version: 1\npolicy: {sorts}:Leafy\n"
    assert findings_of(text) == []
    assert findings_of(text, policy_path=[tmp_path]) == []
    (finding,) = findings_of(text, policy_path=[tmp_path / "elsewhere"])
    assert finding.path == "policy"
    (finding,) = findings_of(text, policy_path=[])
    assert finding.path == "policy"


def test_a_files_text_is_part_of_the_compiled_configuration(sorts: str, tmp_path: Path) -> None:
    """If the file is edited, the configuration is another one, wherever the file is and even if the
    YAML is the same.
    """
    file = tmp_path / Path(sorts).name
    text = Path(sorts).read_bytes()
    file.write_bytes(text)
    name = f"{file.name}:Leafy"
    yaml = f"version: 1\npolicy: {name}\n"
    online = compile_config(yaml, "x.yml", policy_path=[tmp_path])
    assert online["files"] == {name: hashlib.sha256(text).hexdigest()}
    offline = compile_config(yaml, "x.yml", beside=tmp_path)
    assert offline["files"] == {f"{tmp_path}/{name}": online["files"][name]}
    assert offline["hash"] == online["hash"]
    file.write_bytes(text + b"# edited\n")
    assert compile_config(yaml, "x.yml", policy_path=[tmp_path])["hash"] != online["hash"]
    assert "files" not in compile_config("version: 1\npolicy: drf\n", "x.yml")


def test_a_file_that_cannot_be_imported_is_a_finding(
    findings_of: FindingsOf, tmp_path: Path
) -> None:
    """Whatever the author's module raises, the error points to the place that names it."""
    file = tmp_path / "broken.py"
    file.write_text("raise SystemError('no')\n")
    (finding,) = findings_of(f"version: 1\npolicy: {file}:Broken\n")
    assert finding.path == "policy"
    assert "SystemError: no" in finding.message


@pytest.mark.parametrize(
    ("needs", "part"),
    [
        ('{"heartbeat"}', "did you mean 'heartbeats'?"),
        ('{"luck"}', "known are heartbeats"),
        ('"heartbeats"', "are not a set of names"),
        ("3", "are not a set of names"),
    ],
)
def test_what_no_engine_knows_is_not_needed(
    findings_of: FindingsOf, tmp_path: Path, needs: str, part: str
) -> None:
    """A policy that waits for events that never come is found before it runs."""
    file = tmp_path / "needy.py"
    file.write_text(
        f"from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Needy:\n"
        f"    needs = {needs}\n    def decide(self, view):\n        raise NotImplementedError\n"
    )
    (finding,) = findings_of(f"version: 1\npolicy: {file}:Needy\n")
    assert (finding.line, finding.path) == (2, "policy")
    assert part in f"{finding.message} {finding.hint}"
