"""Policies are found by name, by entry point and by file; errors suggest a remedy."""

import hashlib
import re
import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import MISSING, fields
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
import yaml

from loomcard import PLAN_API
from loomcard.api import registry
from loomcard.api.registry import Applied, PolicyNotFoundError, find, names, register
from loomcard.config.catalog import catalog, page_with_table

ROOT = Path(__file__).parents[2]
FILE = '''
from dataclasses import dataclass
from loomcard import ClusterView, Plan, fill

@dataclass(frozen=True)
class Newest:
    """The newest first."""
    def decide(self, view: ClusterView) -> Plan:
        return fill(Plan(view), order=lambda member: -member.submitted_ms)
'''


def offer(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    """Make these the entry points of all installed packages."""
    monkeypatch.setattr(registry, "entry_points", EntryPoints(points).select)


def test_built_in_policies_come_through_the_entry_point_group():
    """fifo and drf are listed with their origins and their summaries."""
    known = {k.name: k for k in names()}
    assert known["drf"].origin == "loomcard.policies.drf:DominantResourceFairness"
    assert "dominant share" in known["drf"].summary
    assert "fifo" in known


def test_the_entry_points_are_the_list_of_policies():
    """The list equals that of pyproject. If this fails, run `pip install -e .`: the list has
    changed.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert registry.built_in() == project["entry-points"][registry.GROUP]
    assert all(find(name).decide for name in registry.built_in())
    mine = {known.name for known in names() if known.origin.startswith("loomcard.policies.")}
    assert mine == set(registry.built_in())


def test_no_other_package_takes_the_name_of_a_built_in_policy(monkeypatch):
    """Otherwise the installation of a package would change what a configuration means."""
    theirs = EntryPoint("drf", "no_such_module:X", registry.GROUP)
    offer(monkeypatch, theirs)
    assert find("drf").__module__ == "loomcard.policies.drf"


WITHOUT_METADATA = """
import sys
from loomcard.api.registry import PolicyNotFoundError, built_in, find, names
assert not built_in()
assert find(sys.argv[1]).__name__ == "Newest"
for look in (lambda: find("drf"), lambda: find("dfr"), names):
    try:
        look()
    except PolicyNotFoundError as error:
        print(error, error.hint, sep=" | ")
"""


def test_sources_that_are_not_installed_say_so(tmp_path):
    """Sources on PYTHONPATH have no metadata and so no names of policies; the error says what to
    install.
    """
    (tmp_path / "newest.py").write_text(FILE)
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "loomcard").symlink_to(ROOT / "python" / "loomcard")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "loomcard" not in path.name and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    command = [sys.executable, "-P", "-S", "-c", WITHOUT_METADATA, f"{tmp_path}/newest.py:Newest"]
    env = {"PYTHONPATH": str(packages)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [line] = set(done.stdout.splitlines())
    assert f"loomcard from {ROOT / 'python' / 'loomcard'}, which is not installed" in line
    assert f"-m pip install -e {ROOT}" in line


def page_of(policy: str) -> Path:
    """The page of a built-in policy: its paper's, otherwise the one that all others share."""
    own = ROOT / "docs" / "papers" / f"{policy}.md"
    shared = ROOT / "docs" / "policies" / "baselines.md"
    assert own.is_file() or f"`{policy}`" in shared.read_text()
    return own if own.is_file() else shared


@pytest.mark.parametrize("name", sorted(registry.built_in()))
def test_the_documents_have_a_page_for_every_policy(name):
    """The page says when to use the policy, and lists its options with their defaults. The site and
    the overview link to it.
    """
    page = page_of(name)
    text = page.read_text()
    assert "\n## When to use it\n" in text
    assert str(page.relative_to(ROOT)) in (ROOT / "mkdocs.yml").read_text()
    overview = (ROOT / "docs" / "policies" / "overview.md").read_text()
    assert f"{page.name})" in overview
    table = text.partition("\n## Options\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]*) \|", table, re.MULTILINE)
    shown = {o: d for row in rows for o, d in zip(*(c.split(", ") for c in row), strict=False)}
    options = fields(find(name))
    missing = [option.name for option in options if f"`{option.name}`" not in shown]
    assert missing == [], (
        f"add {missing} with the default to '## Options' of {page.relative_to(ROOT)}"
    )
    for each in options:
        default = each.default_factory() if each.default is MISSING else each.default
        assert yaml.safe_load(shown[f"`{each.name}`"].strip("`")) == default, each.name


def test_a_file_names_a_class(tmp_path):
    """path/to/file.py:Class loads that class: offline from any path, in a cluster only from the
    search folders.
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


CORRECT = "correct that line, or install what it needs"
TAKES = "write decide(self, view), or decide(self, view, memory)"


@pytest.mark.parametrize(
    ("name", "says", "hint"),
    [
        ("dfr", "there is no policy 'dfr'", "did you mean: drf; or name path/to/file.py:Class"),
        ("{tmp}/newest.py", "'{tmp}/newest.py' names a file and no class",
         "name the class, too: {tmp}/newest.py:Class"),
        ("{tmp}/newest.py:Newset", "{tmp}/newest.py has no class 'Newset'",
         "policies in it: Newest"),
        ("{tmp}/odd.py:Odd", "{tmp}/odd.py has no class 'Odd'", "policies in it: Nothing, Many"),
        ("{tmp}/empty.py:X", "{tmp}/empty.py has no class 'X'", "policies in it: none"),
        ("{tmp}/none.py:X", "'{tmp}/none.py:X': there is no file {tmp}/none.py", "check the path"),
        ("{tmp}/broken.py:X",
         "{tmp}/broken.py, line 1, cannot be loaded: ZeroDivisionError: division by zero", CORRECT),
        ("{tmp}/below.py:X",
         "{tmp}/below.py, line 2, cannot be loaded: ValueError: invalid literal for int() with base"
         " 10: 'x'", CORRECT),
        ("{tmp}/leaves.py:X", "{tmp}/leaves.py, line 1, cannot be loaded: SystemExit: 0", CORRECT),
        ("{tmp}/spelt.py:X",
         "{tmp}/spelt.py, line 2, cannot be loaded: SyntaxError: invalid syntax (spelt.py, line 2)",
         CORRECT),
        ("{tmp}/nul.py:X",
         "{tmp}/nul.py cannot be loaded: SyntaxError: source code string cannot contain null bytes",
         "run it with python"),
        ("{tmp}/newest.py:fill", "{tmp}/newest.py:fill is not a policy",
         "a policy is a class with a method decide(view)"),
        ("{tmp}/odd.py:Nothing", "{tmp}/odd.py:Nothing cannot be called: decide(self)", TAKES),
        ("{tmp}/odd.py:Many",
         "{tmp}/odd.py:Many cannot be called: decide(self, view, memory, more)", TAKES),
    ],
)  # fmt: skip
def test_what_cannot_be_found_is_said_with_a_remedy(tmp_path, name, says, hint):
    """The message names what is missing, and the hint says what to do."""
    texts = {
        "newest": FILE, "odd": ODD, "empty": "", "broken": "1 / 0\n", "nul": "\0",
        "below": "read = int\nread('x')\n", "spelt": "x = 1\nx = = 2\n",
        "leaves": "raise SystemExit(0)\n",
    }  # fmt: skip
    for file, text in texts.items():
        (tmp_path / f"{file}.py").write_text(text)
    with pytest.raises(PolicyNotFoundError) as error:
        find(name.format(tmp=tmp_path))
    said = str(error.value).replace(" (<string>)", "")
    assert (said, error.value.hint) == (says.format(tmp=tmp_path), hint.format(tmp=tmp_path))


def test_a_name_like_no_other_has_all_names_for_a_hint():
    with pytest.raises(PolicyNotFoundError) as error:
        find("zzz")
    names_there = ", ".join(sorted(registry.known_names()))
    assert error.value.hint == f"known are: {names_there}; or name path/to/file.py:Class"


@pytest.mark.parametrize("name", ["../outside.py:X", "/etc/passwd.py:X", "{tmp}/outside.py:X"])
def test_a_running_cluster_loads_files_from_its_folders_only(tmp_path, name):
    """No path, relative or absolute, leads out of loomcard.policy.path."""
    (tmp_path / "outside.py").write_text(FILE)
    inside = tmp_path / "inside"
    inside.mkdir()
    name = name.format(tmp=tmp_path)
    with pytest.raises(PolicyNotFoundError) as error:
        find(name, search=[inside])
    says = f"{name!r}: no such file in the folders that policies may be loaded from"
    assert (str(error.value), error.value.hint) == (
        says,
        f"put it into one of loomcard.policy.path ({inside}), or install it as a package",
    )
    with pytest.raises(PolicyNotFoundError) as error:
        find("newest.py:Newest", search=[])
    assert error.value.hint == (
        "put it into one of loomcard.policy.path (none is configured; `loomcard cluster up` takes"
        " --policy-path FOLDER), or install it as a package"
    )


def test_two_classes_may_not_share_a_name():
    """A second class under a registered name is refused; the same class again is accepted."""
    cls = find("drf")
    assert register("drf")(cls) is cls
    for name in ("drf", "fifo"):
        with pytest.raises(ValueError, match=f"{name}'.*registered already, by loomcard.policies"):
            register(name)(type("Other", (), {"decide": lambda *_: None}))


def test_a_policy_may_state_the_version_of_the_api_that_it_needs(tmp_path, monkeypatch):
    """A policy that needs another version of the API is refused, however it is named; the list says
    so.
    """

    def newest(version):
        return FILE.replace("class Newest:", f"class Newest:\n    plan_api = {version}\n")

    (tmp_path / "same.py").write_text(newest(PLAN_API))
    (tmp_path / "later_api.py").write_text(newest(PLAN_API + 1))
    (tmp_path / "text.py").write_text(newest("'1'"))
    assert find(f"{tmp_path}/same.py:Newest").plan_api == PLAN_API
    monkeypatch.syspath_prepend(tmp_path)
    points = [EntryPoint("other", "later_api:Newest", registry.GROUP)]
    offer(monkeypatch, *points)
    monkeypatch.setattr(registry, "_registered", {})
    register("registered")(
        type("Newest", (), {"decide": lambda _, view: view, "plan_api": PLAN_API + 1})
    )
    file = f"{tmp_path}/later_api.py:Newest"
    for name, where in ((file, file), ("other", "later_api:Newest"), ("registered", "registered")):
        with pytest.raises(PolicyNotFoundError) as error:
            find(name)
        assert (str(error.value), error.value.hint) == (
            f"{where} needs version 3 of the policy API, and this Loomcard has version 2",
            "install a Loomcard with version 3, or write the policy for version 2 and state"
            " plan_api = 2",
        )
    with pytest.raises(PolicyNotFoundError, match="needs version '1' "):
        find(f"{tmp_path}/text.py:Newest")
    known = {each.name: each for each in names()}
    assert known["other"].origin == "later_api:Newest"
    assert "needs version 3" in known["other"].summary
    assert "needs version 3" in known["registered"].summary


def test_plan_api_is_no_option(tmp_path):
    """A field of a dataclass is an option, so a configuration could change it."""
    text = FILE.replace("class Newest:", "class Newest:\n    plan_api: int = 1")
    (tmp_path / "field.py").write_text(text)
    name = f"{tmp_path}/field.py:Newest"
    with pytest.raises(PolicyNotFoundError) as error:
        find(name)
    assert (str(error.value), error.value.hint) == (
        f"{name} states plan_api as a field, so that a configuration could change it",
        "write plan_api = 2 without a type, or with ClassVar[int]",
    )


def test_two_packages_may_not_offer_one_name(monkeypatch):
    """Otherwise the order of the folders would decide which one runs. The same class twice is
    accepted.
    """
    ours = EntryPoint("shared", "first_package.policies:One", registry.GROUP)
    theirs = EntryPoint("shared", "second_package:Two", registry.GROUP)
    offer(monkeypatch, ours, theirs)
    with pytest.raises(PolicyNotFoundError) as error:
        find("shared")
    assert (str(error.value), error.value.hint) == (
        "two packages offer a policy 'shared': first_package.policies:One and second_package:Two",
        "uninstall one of them: pip list names them",
    )
    assert "two packages" in next(known.summary for known in names() if known.name == "shared")
    offer(monkeypatch, ours, ours)
    with pytest.raises(PolicyNotFoundError) as error:
        find("shared")
    assert (str(error.value), error.value.hint) == (
        "policy 'shared' (first_package.policies:One) cannot be loaded: ModuleNotFoundError:"
        " No module named 'first_package'",
        "repair, reinstall or uninstall the package that offers it",
    )


def test_an_entry_point_that_cannot_be_loaded_is_listed_with_its_reason(monkeypatch):
    """A broken third-party package does not hide the other policies."""
    bad = EntryPoint("bad", "no_such_module:X", registry.GROUP)
    offer(monkeypatch, bad)
    known = {k.name: k for k in names()}["bad"]
    assert known.origin == "no_such_module:X"
    assert (
        "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'" in known.summary
    )


def test_the_guides_table_is_that_of_the_classes():
    """The command `python -m loomcard.config.catalog docs/policies/overview.md` writes the
    table.
    """
    page = (ROOT / "docs" / "policies" / "overview.md").read_text()
    assert page_with_table(page) == page


def test_the_catalog_has_no_options_of_a_policy_that_cannot_be_loaded(monkeypatch):
    """It is listed with the reason; the others are listed as ever."""
    offer(monkeypatch, EntryPoint("lost", "no_such_module:X", registry.GROUP))
    [lost] = [entry for entry in catalog() if entry.name == "lost"]
    assert (lost.options, lost.governs) == ((), "")
    assert "No module named 'no_such_module'" in lost.summary


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
    """Write a policy's file that logs a line each time it is executed; return its hash."""
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
    monkeypatch.setattr(registry, "_notices", [])


def test_a_file_runs_once_until_another_text_is_applied(tmp_path):
    """Configurations with the same text share one class; an edit has an effect only once it is
    applied.
    """
    registry.take_notices()  # of tests before
    old = counted(tmp_path, "old")
    first = find("counted.py:Counted", search=[tmp_path])
    new = counted(tmp_path, "new")
    assert find("counted.py:Counted", **applied(tmp_path, old)) is first
    assert find("counted.py:Counted", **applied(tmp_path, new)).word == "new"
    assert find("counted.py:Counted", **applied(tmp_path, old)) is first
    assert (tmp_path / "log").read_text().split() == ["old", "new"]
    assert registry.take_notices() == []


def test_a_process_that_starts_after_an_edit_runs_what_was_applied(tmp_path, monkeypatch):
    """The text is copied when it is first used, and the operator is warned that the file
    differs.
    """
    old = counted(tmp_path, "old")
    find("counted.py:Counted", **applied(tmp_path, old))
    another_process(monkeypatch)
    counted(tmp_path, "new")
    assert find("counted.py:Counted", **applied(tmp_path, old)).word == "old"
    assert registry.take_notices() == [
        f"{tmp_path}/counted.py was changed after it was applied; the text that was applied stays"
        " in force. Apply the configuration again to use the new one"
    ]
    assert registry.take_notices() == []
    another_process(monkeypatch)
    (tmp_path / "counted.py").unlink()
    assert find("counted.py:Counted", **applied(tmp_path, old)).word == "old"


def test_an_edit_without_a_copy_is_said(tmp_path, monkeypatch):
    """A text that differs from the applied one does not run."""
    old = counted(tmp_path, "old")
    counted(tmp_path, "new")
    with pytest.raises(PolicyNotFoundError) as error:
        find("counted.py:Counted", **applied(tmp_path, old, copies=None))
    assert (str(error.value), error.value.hint) == (
        f"{tmp_path}/counted.py was changed after it was applied, and no copy of that text is kept",
        "apply the configuration again, or put the file back",
    )


@pytest.mark.parametrize("digest", ["../../etc/passwd", "0" * 64, ""])
def test_a_copy_is_that_of_its_hash(tmp_path, digest):
    """A hash that is a path to another place, or whose copy was altered, gives no copy."""
    (tmp_path / f"{'0' * 64}.py").write_text("altered")
    assert Applied({}, tmp_path).copy(digest) is None


def test_a_disk_that_takes_no_copy_stops_nobody(tmp_path):
    """The policy runs; only a later process will need the copy of its file."""
    (tmp_path / "copies").write_text("in the way")
    assert find("counted.py:Counted", **applied(tmp_path, counted(tmp_path, "x"))).word == "x"


def test_a_name_of_any_length_is_one_short_line() -> None:
    with pytest.raises(PolicyNotFoundError, match=r"^there is no policy 'a{97}\.\.\.'$"):
        find("a" * 100_000)
