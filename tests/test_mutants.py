"""The settings of `make mutants`: where the core's tests are, which survivors are explained."""

import ast
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path

import mutants
import pytest


def test_the_core_has_its_papers_and_each_module_has_tests() -> None:
    """A module that moves keeps its tests; the smallest module comes first."""
    core = mutants.modules()
    assert {"model/placement", "engine/round", "api/stages/dag_hint", "policies/hdrf/paper"} <= {
        *core
    }
    sizes = [(mutants.SOURCES / f"{module}.py").stat().st_size for module in core]
    assert sizes == sorted(sizes)
    for module in core:
        for name in mutants.folders_of(module):
            found = mutants.ROOT / name
            assert found.is_file() or any(found.glob("test_*.py")), f"{module}: {name}"


def test_one_module_or_a_pattern_is_chosen() -> None:
    """MODULE=model/placement and MODULE='policies/*' are allowed; nothing outside the core is."""
    assert mutants.modules(["model/placement"]) == ["model/placement"]
    assert {Path(m).name for m in mutants.modules(["policies/*"])} == {"paper"}
    assert mutants.modules(["cli/app"]) == []


@pytest.mark.parametrize(
    ("mutant", "module", "function"),
    [
        ("loomcard.model.placement.x_fits__mutmut_3", "model/placement", "fits"),
        ("loomcard.api.plan.xǁPlanǁplace__mutmut_12", "api/plan", "Plan.place"),
        ("loomcard.api.reserve.x__rows__mutmut_1", "api/reserve", "_rows"),
        ("loomcard.results.jain.x_x_axis__mutmut_1", "results/jain", "x_axis"),
    ],
)
def test_a_mutant_names_its_function(mutant: str, module: str, function: str) -> None:
    """The name is the same as in tests/mutants.toml."""
    assert mutants.module_of(mutant) == module
    assert mutants.function_of(mutant) == function


def test_functions_are_named_as_their_mutants_are() -> None:
    """Each has the line of its `def`; functions inside others belong to these."""
    text = "def f():\n    def inner(): ...\n\nclass A:\n    x: int = 1\n    def g(self): ...\n"
    assert list(mutants.functions(ast.parse(text))) == [("f", 1), ("A.g", 6)]


def test_a_test_that_waits_for_ever_has_noticed_the_mutant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options for pytest end it, also where it would catch any exception."""
    monkeypatch.setattr(mutants, "WORK", tmp_path / "build")
    monkeypatch.setattr(mutants, "HANG_S", 0.5)
    folder = mutants.Folder("one", ["model/queue"])
    folder.prepare()
    settings = ConfigParser()
    settings.read(folder.path / "setup.cfg")
    options = settings["mutmut"]["pytest_add_cli_args"].split()
    file = tmp_path / "test_hangs.py"
    file.write_text(
        "def test_hangs():\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", *options, file.name]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert ran.returncode not in mutants.SURVIVED
    assert b"Timeout" in ran.stderr


def test_every_explanation_names_a_module_and_gives_a_reason() -> None:
    """A renamed or deleted module keeps no explanations."""
    groups = tomllib.loads(mutants.EXPLAINED.read_text("utf-8"))
    assert set(groups) <= {"everywhere", *mutants.modules()}
    for module, entries in groups.items():
        assert all(entry["reason"].strip() for entry in entries), module
    assert set(mutants.Explained().changes) == set(groups) - {"everywhere"}


def test_a_survivor_is_explained_by_its_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is listed for its module, or it changes only what is unchecked everywhere."""
    file = tmp_path / "mutants.toml"
    file.write_text(
        """[[everywhere]]
reason = "asserts"
unchecked = ', strict=\\w+'
[["model/a"]]
reason = "alike"
changes = ["f: if a < b: -> if a <= b:"]
"""
    )
    monkeypatch.setattr(mutants, "EXPLAINED", file)
    known = mutants.Explained()
    assert known.has("model/a", "f: if a < b: -> if a <= b:")
    assert not known.has("model/b", "f: if a < b: -> if a <= b:")
    assert not known.has("model/a", "f: if a < b: -> if a > b:")
    assert known.has("model/b", "g: zip(a, b, strict=True) -> zip(a, b, strict=False)")
    assert not known.has("model/b", "g: zip(a, b, strict=True) -> zip(a, strict=True)")


def test_a_sample_calls_no_explanation_superfluous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a run of all mutants of the module shows that one of them does not survive."""
    file = tmp_path / "mutants.toml"
    file.write_text('[["model/a"]]\nreason = "alike"\nchanges = ["f: a -> b"]\n')
    monkeypatch.setattr(mutants, "EXPLAINED", file)
    caught = {"loomcard.model.a.x_f__mutmut_1": True}
    said = []
    for only in (None, list(caught)):
        folder = mutants.Folder("one", ["model/a"], caught, only)
        assert mutants.score(folder, caught) == mutants.Score(1, 1)
        said.append(capsys.readouterr().out)
    assert said == ["mutants.toml explains what does not survive: model/a f: a -> b\n", ""]


def test_a_row_replaces_the_one_of_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WRITE=1 does not change the other rows and the text around the table."""
    page = tmp_path / "page.md"
    page.write_text(f"before\n{mutants.TABLE[0]}{mutants.TABLE[1]}after\n")
    monkeypatch.setattr(mutants, "PAGE", page)
    mutants.write("b", mutants.Score(10, 8, 1, 1))
    mutants.write("a", mutants.Score(4, 4))
    mutants.write("b", mutants.Score(10, 9, 0, 1))
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert [row.split(" | ")[:5] for row in rows] == [
        ["| `a`", "4", "4", "0", "0"],
        ["| `b`", "10", "9", "1", "0"],
    ]


def test_a_module_outside_the_core_is_one_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names the request and the modules that exist."""
    monkeypatch.setattr("sys.argv", ["mutants", "cli/app"])
    assert mutants.main() == 2
    assert "no module of the core is cli/app: give a path below python/loomcard" in (
        capsys.readouterr().err
    )
