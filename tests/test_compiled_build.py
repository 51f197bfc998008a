"""The compiled build decides the same as the sources."""

import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1800)  # the build alone takes four minutes of CPU

ROOT = Path(__file__).resolve().parents[1]
FLAT = [
    "capacity", "dress", "drf", "fair", "fifo", "sjf", "slots", "srtf", "strict", "tetris",
]  # fmt: skip
OVER_QUEUES = ["capacity", "drf", "fair", "hdrf", "strict"]
TREE = """
version: 1
policy: {policy}
queues:
  n1: {{queues: {{n1_1: {{}}, n1_2: {{}}}}}}
  n2: {{weight: 2, queues: {{n2_1: {{policy: dress}}, n2_2: {{maximum: 40%}}}}}}
"""
IMPORTED = "import loomcard.model.state as it; print(it.__file__)"


def output(command: list[str], where: Path, **env: str) -> str:
    """Return the output of a command, which must succeed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | env
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def compiled_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled package, built from the sources as `make compiled` builds it."""
    if shutil.which(os.environ.get("CC", "gcc")) is None:
        pytest.skip("no C compiler here; install gcc to run these")
    folder = tmp_path_factory.mktemp("compiled")
    python = [sys.executable, "-m"]
    output([*python, "hatchling", "build", "-t", "sdist", "-d", str(folder)], ROOT)
    (source,) = folder.glob("*.tar.gz")
    wheel = ["pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    output([*python, *wheel, str(source)], folder, LOOMCARD_COMPILED="1")
    (built,) = folder.glob("*.whl")
    target = folder / "installed"
    install = ["pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target)]
    output([*python, *install, str(built)], folder)
    assert ".so" in output([sys.executable, "-c", IMPORTED], folder, PYTHONPATH=str(target))
    return target


def assert_same(workload: str, policies: list[str], compiled: Path, where: Path) -> None:
    """Both builds end the same containers at the same times under each policy."""
    loomcard = str(Path(sys.executable).with_name("loomcard"))
    command = [loomcard, "simulate", workload, "--json", "--again"]
    for policy in policies:
        command += ["--policy", policy]
    sources = json.loads(output(command, where))
    assert len(sources) == len(policies)
    assert json.loads(output(command, where, PYTHONPATH=str(compiled))) == sources


@pytest.mark.slow
def test_it_decides_as_the_sources_do(compiled_build: Path, tmp_path: Path) -> None:
    """This is tested for every policy that schedules applications."""
    assert_same("dress-s", FLAT, compiled_build, tmp_path)


@pytest.mark.slow
def test_it_decides_as_the_sources_do_over_queues(compiled_build: Path, tmp_path: Path) -> None:
    """This is tested for every policy that shares between queues, with another one inside a
    leaf.
    """
    files = []
    for policy in OVER_QUEUES:
        files.append(tmp_path / f"{policy}-tree.yml")
        files[-1].write_text(TREE.format(policy=policy))
    assert_same("hdrf-fig9", [str(file) for file in files], compiled_build, tmp_path)


@pytest.mark.slow
def test_it_decides_again_what_the_golden_journals_hold(compiled_build: Path) -> None:
    """For example, compiled code compared sizes by identity, and a repeated ask lost its
    reservation.
    """
    golden = [sys.executable, str(ROOT / "tests" / "golden" / "run.py")]
    assert "all as recorded" in output(golden, ROOT, PYTHONPATH=str(compiled_build))


def unseen(source: str) -> list[str]:
    """Return class attributes that compiled code would read wrongly if a subclass in Python sets
    another value: it reads the slot of the compiled class, unless they are class variables.
    """
    return [
        f"{each.name}.{ast.unparse(line.targets[0] if isinstance(line, ast.Assign) else line)}"
        for each in ast.walk(ast.parse(source))
        if isinstance(each, ast.ClassDef)
        and any("allow_interpreted_subclasses" in ast.unparse(d) for d in each.decorator_list)
        for line in each.body
        if isinstance(line, ast.Assign)
        or (isinstance(line, ast.AnnAssign) and "ClassVar" not in ast.unparse(line.annotation))
    ]


def test_what_a_subclass_may_set_is_a_class_variable() -> None:
    """`one_at_a_time = True` of a level in Python works in the compiled walk, too."""
    opened = "@mypyc_attr(allow_interpreted_subclasses=True)\nclass A:\n"
    assert unseen(opened + "    a = 1") == ["A.a"]
    assert unseen(opened + "    a: ClassVar[int] = 1") == []
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    modules = hatch["targets"]["wheel"]["hooks"]["custom"]["compiled"]
    sources = [(ROOT / "python" / name).read_text() for name in modules]
    assert [found for source in sources for found in unseen(source)] == []


@pytest.mark.slow
def test_the_checkout_stays_as_it_is(compiled_build: Path) -> None:
    """No compiled module is beside its source, where it would hide later changes."""
    assert compiled_build.is_dir()
    assert not list((ROOT / "python").rglob("*.so"))
