"""The Python environment with pyspark that the suite's Spark programs run on."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loomcard.config.shipped import PlaceError

REQUIREMENTS: Final = Path(__file__).parent / "requirements.txt"
PROGRAMS: Final = Path(__file__).parent / "programs"
_MADE_OF = "requirements.txt"
_SET_UP = "make one with `loomcard suite setup`"


def default_folder() -> Path:
    """The environment's folder unless another is named: LOOMCARD_SUITE, or below the user's cache
    folder.
    """
    named = os.environ.get("LOOMCARD_SUITE")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(cache) / "loomcard" / "suite"


@dataclass(frozen=True)
class SparkEnvironment:
    """An environment that has pyspark. `spark_home` is the installed package itself."""

    python: Path
    spark_home: Path

    @property
    def submit(self) -> Path:
        """The command spark-submit."""
        return self.spark_home / "bin" / "spark-submit"

    @property
    def variables(self) -> dict[str, str]:
        """The arguments that spark-submit needs."""
        python = str(self.python)
        return {
            "SPARK_HOME": str(self.spark_home),
            "PYSPARK_PYTHON": python,
            "PYSPARK_DRIVER_PYTHON": python,
        }


def find(folder: Path) -> SparkEnvironment:
    """Return the environment in `folder`. Raises PlaceError if it is missing or incomplete."""
    python = folder / "bin" / "python"
    if not python.exists():
        raise PlaceError(f"no environment with pyspark in {folder}", _SET_UP)
    homes = sorted(folder.glob("lib/python*/site-packages/pyspark/bin/spark-submit"))
    if not homes or not list(folder.glob("lib/python*/site-packages/numpy/__init__.py")):
        raise PlaceError(f"the environment in {folder} lacks pyspark or numpy", _SET_UP)
    return SparkEnvironment(python.absolute(), homes[0].parents[1].absolute())


def set_up(folder: Path) -> SparkEnvironment:
    """Make the environment or bring it up to date; do nothing if it is. Raises PlaceError if pip
    fails.
    """
    mark = folder / _MADE_OF
    if mark.exists() and mark.read_bytes() == REQUIREMENTS.read_bytes():
        return find(folder)
    _run([sys.executable, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    _run([*pip, "--disable-pip-version-check", "--requirement", str(REQUIREMENTS)])
    found = find(folder)
    mark.write_bytes(REQUIREMENTS.read_bytes())
    return found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said[-1:] or ["no word"]
        raise PlaceError(
            f"{' '.join(command[1:4])} failed: {errors[0]}",
            "pip must reach a package index, and the folder needs 700 MB of room",
        )
