"""How much the policy process may take from its machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from loomcard.bridge import limits

GREEDY = """
import os
from pathlib import Path
from loomcard.bridge import limits
print(limits.apply({limits.MAX_MEMORY: "512"}))
print(Path("/proc/self/oom_score_adj").read_text().strip())
try:
    bytearray(1 << 40)
except MemoryError:
    print(limits.are_reached())
kept = []
try:
    while True:
        kept.append(bytearray(1 << 20))
except MemoryError:
    print("MemoryError", limits.are_reached())
"""


def output(script: str) -> str:
    """Return what the script prints in a process of its own, to which alone the limits apply."""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_a_process_that_takes_too_much_gets_a_memory_error() -> None:
    """The limit works, and the kernel would end this process before its parent. One piece that is
    too large does not mean that memory is used up.
    """
    assert output(GREEDY).split() == [
        "512",
        str(limits.OOM_SCORE_ADJ),
        "False",
        "MemoryError",
        "True",
    ]


def test_a_lower_limit_of_the_machine_stays() -> None:
    """A machine's limit that is lower than the requested one stays."""
    script = (
        "import resource\nfrom loomcard.bridge import limits\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))\n"
        "print(limits.apply({limits.MAX_MEMORY: '512'}))"
    )
    assert output(script) == "256\n"


def test_numpy_and_polars_load_under_the_default() -> None:
    """Libraries that reserve much address space for their threads are not hindered."""
    script = (
        "from loomcard.bridge import limits; limits.apply({})\n"
        "import numpy, polars\n"
        "print(polars.DataFrame({'x': numpy.ones(1000)}).sum()['x'][0])"
    )
    assert output(script).strip() == "1000.0"


def test_a_control_groups_limit_counts(tmp_path: Path) -> None:
    """In a container the default is half of the container's memory; ``max`` is no limit."""
    unlimited = tmp_path / "unlimited"
    unlimited.write_text("max\n")
    small = tmp_path / "small"
    small.write_text(f"{1 << 30}\n")
    assert limits.half_of_the_memory((tmp_path / "absent", unlimited, small)) == 1 << 29
    assert limits.half_of_the_memory((unlimited,)) > 1 << 29


def test_a_higher_score_stays(tmp_path: Path) -> None:
    """A higher score stays: lowering it needs rights that a policy process does not have."""
    file = tmp_path / "oom_score_adj"
    file.write_text("1000\n")
    limits.prefer_for_oom(file)
    assert file.read_text() == "1000\n"
    limits.prefer_for_oom(tmp_path / "absent" / "file")


def test_a_limit_that_is_no_number_is_refused() -> None:
    """The process does not start without the requested limit."""
    with pytest.raises(ValueError, match="half"):
        limits.apply({limits.MAX_MEMORY: "half"})
