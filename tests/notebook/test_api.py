"""The Python API for notebooks: what it accepts and returns, its errors, and its lazy imports."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import loomcard
from loomcard import ClusterView, Plan, fill
from loomcard.cli.app import run as command
from loomcard.experiments.inputs import InputError
from loomcard.notebook import frames
from loomcard.simulator.resourcemanager import PolicyFaultError
from loomcard.validation.findings import FindingsError
from loomcard.workload import load

SMALL = """version: 1
kind: workload
cluster: {nodes: [{count: 2, memory_mb: 4096, vcores: 4}]}
applications:
  - id: a
    stages: [{id: s, tasks: 20, memory_mb: 1024, vcores: 1,
              duration_ms: {uniform: {low: 1000, high: 9000}}}]
  - id: b
    submit_ms: 500
    stages: [{id: s, tasks: 3, memory_mb: 1024, vcores: 1, duration_ms: 2000}]
"""
FILE = """from dataclasses import dataclass
from loomcard import Plan, fill


@dataclass(frozen=True)
class Mine:
    def decide(self, view):
        return fill(Plan(view), order=lambda application: (application.submitted_ms,))
"""


@dataclass(frozen=True)
class LastFirst:
    """A policy like one written in a notebook's cell."""

    newest: bool = True

    def decide(self, view: ClusterView) -> Plan:
        plan = Plan(view)
        sign = -1 if self.newest else 1
        return fill(plan, order=lambda a: (sign * a.submitted_ms,))


@dataclass(frozen=True)
class Raises:
    def decide(self, view: ClusterView) -> Plan:
        assert view.now_ms >= 0
        raise ZeroDivisionError("a policy's own mistake")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.yml"
    file.write_text(SMALL)
    return file


def test_the_package_loads_no_simulator_before_it_is_asked_for() -> None:
    """A policy's ``import loomcard`` stays light, but the names are available."""
    program = (
        "import sys, loomcard\n"
        "heavy = {'loomcard.simulator', 'loomcard.notebook', 'polars', 'matplotlib', 'numpy'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert {'simulate', 'replay', 'check'} <= set(dir(loomcard))\n"
        "assert not {'simulate', 'replay', 'check'} & set(loomcard.__all__)\n"
        "loomcard.simulate\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = loomcard.simulat  # type: ignore[attr-defined]


def test_the_same_runs_as_the_command_makes(small: Path, tmp_path: Path) -> None:
    """There is a row per policy and seed; the records are those of ``loomcard simulate``."""
    result = loomcard.simulate(small, ["fifo", "drf"], seeds=2)
    table = result.table()
    assert isinstance(table, pl.DataFrame)
    assert table.select("policy", "seed").rows() == [
        ("fifo", 1), ("fifo", 2), ("drf", 1), ("drf", 2),
    ]  # fmt: skip
    assert table["succeeded"].to_list() == [2] * 4
    assert (result.whole, table["open"].sum(), table["failed"].sum()) == (True, 0, 0)
    assert result.applications().height == 8
    said = ["simulate", str(small), "--policy", "fifo", "--policy", "drf", "--seed", "2"]
    assert command([*said, "--out", str(tmp_path / "command")]) == 0
    here = loomcard.simulate(small, ["fifo", "drf"], seeds=[2]).save(tmp_path / "here")
    for name in ("results.json", "containers.parquet", "cells.csv"):
        assert (here / name).read_bytes() == (tmp_path / "command" / name).read_bytes()


def test_a_policy_may_be_written_in_many_ways(small: Path, tmp_path: Path) -> None:
    """A policy may be a class, an object with options, a text or a file; a mapping names them."""
    file = tmp_path / "mine.yml"
    file.write_text("version: 1\nkind: policy\npolicy: drf\n")
    policies = {
        "class": LastFirst,
        "object": LastFirst(newest=False),
        "text": "version: 1\nkind: policy\npolicy: fifo\n",
        "file": file,
        "name": "fifo",
    }
    table = loomcard.simulate(small, policies).table()
    assert table["policy"].to_list() == list(policies)
    ends = dict(zip(table["policy"], table["mean_completion_s"], strict=True))
    assert ends["text"] == ends["name"] == ends["object"]
    assert ends["class"] != ends["name"]
    assert loomcard.simulate(small, LastFirst).table()["policy"].to_list() == ["LastFirst"]


def test_several_processes_give_the_same_runs(small: Path, tmp_path: Path) -> None:
    """A scenario may replace a file; a class stays in this process."""
    one = loomcard.simulate(load(small, seed=3), ["fifo", "drf"]).save(tmp_path / "one")
    two = loomcard.simulate(small, ["fifo", "drf"], seeds=[3], processes=2).save(tmp_path / "two")
    assert (one / "results.json").read_bytes() == (two / "results.json").read_bytes()
    assert loomcard.simulate(small, [LastFirst, "drf"], processes=2).whole


def test_a_plot_a_page_and_itself(small: Path, tmp_path: Path) -> None:
    """All are made from the same numbers, and need nothing more."""
    result = loomcard.simulate(small, ["fifo", "drf"], seeds=2, baseline="fifo")
    figure = result.plot()
    assert [len(axes.lines) for axes in figure.axes] == [2, 2]
    assert figure._repr_svg_().startswith("<svg")
    page = result.report(tmp_path / "out" / "page.html").read_text()
    assert "drf" in page
    assert "against fifo" in page.lower() or "baseline" in page.lower()
    html = result._repr_html_()
    assert html.count("<tr>") == 5
    assert "&lt;" in frames.html_table([{"a": "<script>"}], "one")


def test_pandas_stands_in_where_polars_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is converted into the other; without both the error says what to install."""

    class Frame:
        def __init__(self, rows: list[dict[str, int]]) -> None:
            self.rows = rows

    class Pandas:
        DataFrame = Frame

    installed = {"pandas"}
    monkeypatch.setattr(frames, "find_spec", lambda name: name in installed or None)
    monkeypatch.setattr(frames, "import_module", {"pandas": Pandas}.get)
    assert frames.frame([{"a": 1}], None).rows == [{"a": 1}]
    installed.clear()
    with pytest.raises(ModuleNotFoundError, match="pip install polars"):
        frames.frame([], None)
    with pytest.raises(ValueError, match="'polars' or 'pandas'"):
        frames.frame([], "csv")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policies": "dfr"}, "did you mean.*drf"),
        ({"policies": ["drf", 7]}, "policy 7: expected a policy's name, a path, YAML text"),
        ({"policies": ["drf", "drf"]}, "two policies are called 'drf'.*name them"),
        ({"policies": []}, "there are none"),
        ({"policies": "stock:fair"}, "is not simulated .take fair"),
        ({"seeds": 0}, "seeds: expected how many"),
        ({"seeds": [1, 1]}, "names one twice"),
        ({"baseline": "fair"}, "no policy 'fair' here"),
        ({"processes": 0}, "expected at least 1"),
    ],
)
def test_what_cannot_be_used_is_one_clear_error(
    small: Path, given: dict[str, object], said: str
) -> None:
    asked = {"policies": "drf"} | given
    with pytest.raises(InputError, match=said):
        loomcard.simulate(small, **asked)  # type: ignore[arg-type]


def test_wrong_workloads_and_policies_that_raise_say_so(small: Path) -> None:
    with pytest.raises(FindingsError, match="mixed-30"):
        loomcard.simulate("mixed-3")
    with pytest.raises(InputError, match="drawn with seed 1"):
        loomcard.simulate(load(small, seed=1), seeds=2)
    with pytest.raises(PolicyFaultError, match="a policy's own mistake"):
        loomcard.simulate(small, Raises)


def test_a_check_lists_every_finding() -> None:
    """The result is true if nothing is wrong; a text's findings have their lines."""
    assert loomcard.check("drf")
    assert loomcard.check(LastFirst(newest=False)).findings == ()
    wrong = loomcard.check("version: 1\nkind: policy\npolicy: drff\nqueues: 3\n")
    assert not wrong
    assert {each.line for each in wrong.findings} == {3, 4} or wrong.findings[0].line in (3, 4)
    assert "line" in wrong._repr_html_()
    assert "did you mean" in loomcard.check("dfr").findings[0].message


def test_a_journal_is_replayed(small: Path, tmp_path: Path) -> None:
    """The recorded policy decides the same; another one does not, and can be simulated to the
    end.
    """
    out = tmp_path / "out"
    assert command(["simulate", str(small), "--policy", "fifo", "--out", str(out)]) == 0
    journal = out / "cells" / "fifo_small_s1" / "journal"
    own = loomcard.replay(journal)
    assert (own.same, own.differ) == (own.rounds, [])
    other = loomcard.replay(journal, LastFirst, to_end=True)
    assert other.rounds == own.rounds
    assert other.same < other.rounds
    assert other.table().columns[:2] == ["round", "at_s"]
    assert other.simulation is not None
    assert other.simulation.table()["policy"].to_list() == ["as recorded", "LastFirst"]
    assert "LastFirst decided" in other._repr_html_()
    with pytest.raises(InputError, match="need another policy"):
        loomcard.replay(journal, to_end=True)


def test_a_script_needs_no_guard_for_processes(tmp_path: Path, small: Path) -> None:
    """The processes of runs do not load the script a second time, because it would begin processes
    in turn.
    """
    (tmp_path / "mine.py").write_text(FILE)
    script = tmp_path / "script.py"
    script.write_text(
        "import loomcard\nprint('begins')\npolicies = ['mine.py:Mine', 'fifo', 'drf']\n"
        "print(loomcard.simulate('small.yml', policies, processes=2).whole)\n"
    )
    done = subprocess.run(
        [sys.executable, script.name], cwd=small.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "begins\nTrue\n", "")


def test_a_class_and_a_policy_in_a_file_run_side_by_side(
    tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class runs in this process, which alone has it, and the policy in its own; results are in
    the given order.
    """
    (tmp_path / "mine.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    found = loomcard.simulate(small, {"class": LastFirst, "file": "mine.py:Mine", "fifo": "fifo"})
    assert [record.policy for record in found.records] == ["class", "file", "fifo"]
    assert found.whole
