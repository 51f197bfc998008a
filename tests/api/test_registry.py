"""Policies are found by name, by entry point and by file; what is wrong is said with a remedy."""

import hashlib
import re
import tomllib
from dataclasses import fields
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from loomcard.api import registry
from loomcard.api.registry import Applied, PolicyNotFoundError, find, names, register

FILE = '''
from dataclasses import dataclass
from loomcard import ClusterView, Plan, fill

@dataclass(frozen=True)
class Newest:
    """The newest first."""
    def decide(self, view: ClusterView) -> Plan:
        return fill(Plan(view), order=lambda member: -member.submitted_ms)
'''


def test_built_in_policies_come_through_the_entry_point_group():
    """fifo and drf are listed with where they come from and what they do."""
    known = {k.name: k for k in names()}
    assert known["drf"].origin == "loomcard.policies.drf:DominantResourceFairness"
    assert "dominant share" in known["drf"].summary
    assert "fifo" in known


def test_the_package_offers_what_is_built_in():
    """pyproject's entry points and the registry's table name the same; each can be loaded."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    offered = project["entry-points"][registry.GROUP]
    assert offered == {n: f"loomcard.policies.{at}" for n, at in registry.BUILT_IN.items()}
    assert all(find(name).decide for name in registry.BUILT_IN)


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN))
def test_the_guide_and_a_set_up_show_every_policy(name):
    """docs/policies.md has a section with its options, policies/ a set-up that names it."""
    root = Path(__file__).parents[2]
    sections = (root / "docs" / "policies.md").read_text().split("\n## ")[1:]
    [section] = [s for s in sections if name in s.partition("\n")[0].split(", ")]
    options = [field.name for field in fields(find(name))]
    assert [option for option in options if f"`{option}`" not in section] == []
    assert f"policy: {name}\n" in (root / "policies" / f"{name}.yml").read_text()


def test_a_file_names_a_class(tmp_path):
    """path/to/file.py:Class loads that class, offline from any path, else only from the search
    folders.
    """
    (tmp_path / "newest.py").write_text(FILE)
    assert find(f"{tmp_path}/newest.py:Newest").__name__ == "Newest"
    assert find("newest.py:Newest", search=[tmp_path]).__name__ == "Newest"


ODD = """
class Nothing:
    def decide(self): ...

class Many:
    def decide(self, view, memory, more): ...
"""


@pytest.mark.parametrize(
    ("name", "says", "hint"),
    [
        ("dfr", "no policy 'dfr'", "did you mean: drf"),
        ("{tmp}/newest.py:Newset", "no class 'Newset'", "Newest"),
        ("{tmp}/none.py:X", "no file", "check the path"),
        ("{tmp}/broken.py:X", "ZeroDivisionError", "python"),
        ("{tmp}/leaves.py:X", "SystemExit", "python"),
        ("{tmp}/newest.py:fill", "is no policy", "decide"),
        ("{tmp}/odd.py:Nothing", "decide(self)", "decide(self, view)"),
        ("{tmp}/odd.py:Many", "decide(self, view, memory, more)", "decide(self, view, memory)"),
    ],
)
def test_what_cannot_be_found_is_said_with_a_remedy(tmp_path, name, says, hint):
    """The message names what is missing, the hint what to do."""
    (tmp_path / "newest.py").write_text(FILE)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "odd.py").write_text(ODD)
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)\n")
    with pytest.raises(PolicyNotFoundError, match=re.escape(says)) as error:
        find(name.format(tmp=tmp_path))
    assert hint in error.value.hint


@pytest.mark.parametrize("name", ["../outside.py:X", "/etc/passwd.py:X", "{tmp}/outside.py:X"])
def test_a_running_cluster_loads_files_from_its_folders_only(tmp_path, name):
    """No path leads out of loomcard.policy.path, neither upward nor absolute."""
    (tmp_path / "outside.py").write_text(FILE)
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(PolicyNotFoundError) as error:
        find(name.format(tmp=tmp_path), search=[inside])
    assert "loomcard.policy.path" in error.value.hint


def test_two_classes_may_not_share_a_name():
    """A second class under a registered name is refused, the same one again is not."""
    cls = find("drf")
    assert register("drf")(cls) is cls
    with pytest.raises(ValueError, match="registered already"):
        register("drf")(type("Other", (), {"decide": lambda *_: None}))


def test_an_entry_point_that_cannot_be_loaded_is_listed_with_its_reason(monkeypatch):
    """A broken third-party package does not hide the rest."""
    bad = EntryPoint("bad", "no_such_module:X", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda **_: [bad])
    assert "no_such_module" in {k.name: k for k in names()}["bad"].summary


COUNTED = """
from dataclasses import dataclass
from pathlib import Path
with Path(r"{log}").open("a") as log:
    log.write("{word}\\n")
@dataclass(frozen=True)
class Counted:
    word = "{word}"
    def decide(self, view):
        return None
"""


def counted(folder, word):
    """A policy's file that writes a line each time it is executed; its hash."""
    text = COUNTED.format(log=folder / "log", word=word).encode()
    (folder / "counted.py").write_bytes(text)
    return hashlib.sha256(text).hexdigest()


def applied(folder, digest, copies="copies"):
    return {
        "search": [folder],
        "applied": Applied({"counted.py:Counted": digest}, copies and folder / copies),
    }


def another_process(monkeypatch):
    monkeypatch.setattr(registry, "_modules", {})


def test_a_file_runs_once_until_another_text_is_applied(tmp_path):
    """Every set-up of the same text has the same class; an edit counts when it is applied."""
    old = counted(tmp_path, "old")
    first = find("counted.py:Counted", search=[tmp_path])
    new = counted(tmp_path, "new")
    assert find("counted.py:Counted", **applied(tmp_path, old)) is first
    assert find("counted.py:Counted", **applied(tmp_path, new)).word == "new"
    assert find("counted.py:Counted", **applied(tmp_path, old)) is first
    assert (tmp_path / "log").read_text().split() == ["old", "new"]
    assert registry.take_notices() == []


def test_a_process_that_starts_after_an_edit_runs_what_was_applied(tmp_path, monkeypatch):
    """The text is kept when it is first used; the operator is told that the file differs."""
    old = counted(tmp_path, "old")
    find("counted.py:Counted", **applied(tmp_path, old))
    another_process(monkeypatch)
    counted(tmp_path, "new")
    assert find("counted.py:Counted", **applied(tmp_path, old)).word == "old"
    [notice] = registry.take_notices()
    assert "changed after it was applied" in notice
    assert "Apply the set-up again" in notice
    another_process(monkeypatch)
    (tmp_path / "counted.py").unlink()
    assert find("counted.py:Counted", **applied(tmp_path, old)).word == "old"


def test_an_edit_without_a_copy_is_said(tmp_path, monkeypatch):
    """Another text than the applied one does not run."""
    old = counted(tmp_path, "old")
    counted(tmp_path, "new")
    with pytest.raises(PolicyNotFoundError, match="changed after it was applied") as error:
        find("counted.py:Counted", **applied(tmp_path, old, copies=None))
    assert "apply the set-up again" in error.value.hint


@pytest.mark.parametrize("digest", ["../../etc/passwd", "0" * 64, ""])
def test_a_copy_is_that_of_its_hash(tmp_path, digest):
    """A hash that leads elsewhere, or a copy that somebody altered, is none."""
    (tmp_path / f"{'0' * 64}.py").write_text("altered")
    assert Applied({}, tmp_path).copy(digest) is None


def test_a_disk_that_takes_no_copy_stops_nobody(tmp_path):
    """The policy runs; only a later process will need the file as it was."""
    (tmp_path / "copies").write_text("in the way")
    assert find("counted.py:Counted", **applied(tmp_path, counted(tmp_path, "x"))).word == "x"
