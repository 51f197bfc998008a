"""The compiled build decides what the sources decide."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
POLICIES = [
    "capacity", "dress", "drf", "fair", "fifo", "hdrf", "sjf", "slots", "srtf", "strict", "tetris",
    str(ROOT / "policies" / "queues.yml"),
]  # fmt: skip
NOT_COMPILED = "import loomcard.model.ledger as it; print(it.__file__)"


def output(command: list[str], where: Path, **env: str) -> str:
    """What a command prints; it must succeed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | env
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the compiled package, built from the sources as `make compiled` builds it."""
    if shutil.which(os.environ.get("CC", "gcc")) is None:
        pytest.skip("no C compiler here; install gcc to run these")
    folder = tmp_path_factory.mktemp("compiled")
    python = [sys.executable, "-m"]
    output([*python, "hatchling", "build", "-t", "sdist", "-d", str(folder)], ROOT)
    (source,) = folder.glob("*.tar.gz")
    wheel = ["pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    output([*python, *wheel, str(source)], folder, HATCH_BUILD_HOOK_ENABLE_MYPYC="1")
    (built,) = folder.glob("*.whl")
    target = folder / "installed"
    install = ["pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target)]
    output([*python, *install, str(built)], folder)
    assert ".so" in output([sys.executable, "-c", NOT_COMPILED], folder, PYTHONPATH=str(target))
    return target


@pytest.mark.cluster
@pytest.mark.parametrize("workload", ["dress-s", "hdrf-fig9"])
def test_it_decides_as_the_sources_do(compiled: Path, tmp_path: Path, workload: str) -> None:
    """Every shipped policy gives the same containers at the same times."""
    loomcard = str(Path(sys.executable).with_name("loomcard"))
    command = [loomcard, "simulate", workload, "--json"]
    for policy in POLICIES:
        command += ["--policy", policy]
    sources = json.loads(output(command, tmp_path))
    built = json.loads(output(command, tmp_path, PYTHONPATH=str(compiled)))
    assert len(sources) >= len(POLICIES)
    assert built == sources


@pytest.mark.cluster
def test_the_checkout_stays_as_it_is(compiled: Path) -> None:
    """No compiled module lies beside its source, where it would hide later changes."""
    assert compiled.is_dir()
    assert not list((ROOT / "python").rglob("*.so"))
