"""The version is the one in python/loomcard/__init__.py, wherever it is repeated."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from loomcard import __version__

ROOT = Path(__file__).parents[1]
POMS = sorted(ROOT.glob("jvm-bridge/**/pom.xml"))
PLACES = [
    *((pom, r"loomcard-(?:parent|sls|yarn-tests)</artifactId>\s*<version>([^<]+)") for pom in POMS),
    (ROOT / "docker-compose.yml", r"image: loomcard[\w-]*:(\d[^\s-]*)"),
    (ROOT / "CHANGELOG.md", r"## \[(\d[^]]*)\]"),
]


@pytest.mark.parametrize(
    ("file", "pattern"), PLACES, ids=lambda each: str(each).removeprefix(f"{ROOT}/")
)
def test_a_place_that_repeats_the_version_has_it(file: Path, pattern: str) -> None:
    """To change it, see docs/project/release.md: change `__version__`, then what fails here. The
    changelog's newest release may be an older one while a version is developed.
    """
    found = re.findall(pattern, file.read_text())
    assert found, f"{file} names no version"
    if file.name == "CHANGELOG.md":
        assert ".dev" in __version__ or found[0] == __version__
    else:
        assert set(found) == {__version__}


def test_the_installed_package_has_it() -> None:
    """If it does not, run `make setup` again."""
    assert version("loomcard") == __version__
