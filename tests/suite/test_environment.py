"""The environment with pyspark, and the messages if it is missing."""

import sys
from pathlib import Path

import pytest

from loomcard.config.shipped import PlaceError
from loomcard.suite import environment


def test_no_environment_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match="no environment with pyspark") as said:
        environment.find(tmp_path / "none")
    assert "loomcard suite setup" in said.value.hint


def test_half_an_environment_is_none(tmp_path: Path) -> None:
    """An interrupted installation, which left Python without the packages, counts as missing."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    with pytest.raises(PlaceError, match="lacks pyspark or numpy"):
        environment.find(tmp_path)


def test_a_whole_environment_is_found(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for file in ("numpy/__init__.py", "pyspark/bin/spark-submit"):
        (packages / file).parent.mkdir(parents=True)
        (packages / file).touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    found = environment.find(tmp_path)
    assert found.spark_home == packages / "pyspark"
    assert found.submit.is_file()
    assert found.variables["PYSPARK_PYTHON"] == str(tmp_path / "bin" / "python")


def test_the_folder_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder comes from an option of the command, or else from a variable, or else it is the
    user's cache folder.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LOOMCARD_SUITE", raising=False)
    assert environment.default_folder() == tmp_path / "loomcard" / "suite"
    monkeypatch.setenv("LOOMCARD_SUITE", "/elsewhere")
    assert environment.default_folder() == Path("/elsewhere")


@pytest.mark.slow
def test_what_pip_says_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a package cannot be installed, its name is in the error."""
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("/no/such/pyspark-3.5.9-py3-none-any.whl\n")
    monkeypatch.setattr(environment, "REQUIREMENTS", wanted)
    with pytest.raises(PlaceError, match="no/such/pyspark") as said:
        environment.set_up(tmp_path / "made")
    assert "700 MB" in said.value.hint


def test_an_environment_that_is_current_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A current environment needs no pip and no network; another version of a package is
    fetched.
    """
    test_a_whole_environment_is_found(tmp_path)
    (tmp_path / "requirements.txt").write_bytes(environment.REQUIREMENTS.read_bytes())
    asked: list[list[str]] = []
    monkeypatch.setattr(environment, "_run", asked.append)
    assert environment.set_up(tmp_path) == environment.find(tmp_path)
    assert asked == []
    (tmp_path / "requirements.txt").write_text("pyspark==3.5.8\n")
    environment.set_up(tmp_path)
    assert len(asked) == 2
