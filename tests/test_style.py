"""tests/style.py finds each fault, says what to do, and leaves a contributor room."""

import subprocess
import sys
from pathlib import Path

STYLE = Path(__file__).with_name("style.py")
FAULTS = {
    "Makefile": "bench-hdrf: setup\n",
    "a/long.py": "x = 1\n" * 601,
    "a/longish.py": "x = 1\n" * 301,
    "a/Long.java": "int x;\n" * 601,
    "a/string_utils.py": "x = 1\n",
    "a/place.md": "see /work/main and [there](nowhere.md)\n`make bench-nothing` or\n\n"
    "```sh\nmake bench-hdrf  # to make sure\nmake hdrf X=1\npip install loomcard\n```\n",
    "tests/test_a.py": "def test_x():\n    print(1)\n",
    "python/loomcard/policies/a/paper.py": "# docs/papers/dress.md 9.9\ndef alone(): ...\n",
    "docs/papers/dress.md": "## 2 Its model\n",
    "ARCHITECTURE.md": "`gone.py`\n\n| `python/loomcard/` |\n| `cellar` |\n\n",
    **{f"full/{number}.yml": "" for number in range(41)},
    **{f"fuller/{number}.yml": "" for number in range(40)},
    **{f"a/shipped/{number}.yml": "" for number in range(41)},
}


def style(root: Path, files: dict[str, str]) -> tuple[int, list[str]]:
    """Return exit status and lines of a run on these files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    ran = subprocess.run(
        [sys.executable, str(STYLE), str(root)], capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stderr.splitlines()


def test_each_rule_finds_its_fault(tmp_path: Path) -> None:
    """Each rule reports its fault: a rule that never reports proves nothing."""
    status, said = style(tmp_path, FAULTS)
    assert status == 1
    assert sorted(said) == [
        "ARCHITECTURE.md:1: gone.py is not there: name the file that is",
        "ARCHITECTURE.md:3: room cellar: the table and python/loomcard differ",
        "ARCHITECTURE.md:3: room policies: the table and python/loomcard differ",
        "a/Long.java:1: 601 lines of code, the aim is 300: split it by what it does",
        "a/long.py:1: 601 lines of code, the aim is 300: split it by what it does",
        "a/longish.py:1: warning: 301 lines of code, the aim is 300: split it by what it does",
        "a/place.md:1: '/work/m' names a machine: a clone works anywhere",
        "a/place.md:1: nowhere.md is not there: correct the link",
        "a/place.md:2: the Makefile has no target bench-nothing: `make help` lists them",
        "a/place.md:6: the Makefile has no target hdrf: `make help` lists them",
        "a/place.md:7: 'pip install loomcard' no index has a package loomcard, and a stranger "
        "could take the name: install a file",
        "a/string_utils.py:1: the name 'utils' says nothing: name it for what it does",
        "full:1: 41 files in a folder, the aim is 20: group them",
        "fuller:1: warning: 40 files in a folder, the aim is 20: group them",
        "python/loomcard/policies/a/paper.py:1: docs/papers/dress.md has no 9.9: name the section "
        "that it has",
        "python/loomcard/policies/a/paper.py:2: alone runs nowhere: call it, or name its test "
        "(tests/F.py::test)",
        "tests/test_a.py:1: test_x asserts nothing: assert what it shows",
    ]


def test_a_warning_fails_nothing(tmp_path: Path) -> None:
    """More than the aim is a warning; twice the aim is the limit."""
    status, said = style(tmp_path, {"longish.py": "x = 1\n" * 600, "CODE_OF_CONDUCT.md": "Be.\n"})
    assert status == 0
    assert len(said) == 1
