"""The bridge bench as a smoke test: real JVMs, a real policy process, a small cold cluster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CLASS_PATH = ROOT / "jvm-bridge" / "bench" / "target" / "classpath.txt"


@pytest.mark.cluster
@pytest.mark.slow
def test_the_bench_ends_with_one_line_of_ratios(tmp_path: Path) -> None:
    """The last line is one JSON object of ratios, and Python decided every container."""
    if not CLASS_PATH.is_file():
        pytest.fail(f"{CLASS_PATH} is missing: run `make setup` first")
    windows = tmp_path / "windows.jsonl"
    command = [sys.executable, "-m", "benchmarks.speed.bridge", "--quick", "--out", str(windows)]
    ran = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=540, check=False
    )
    assert ran.returncode == 0, ran.stderr
    (ratios,) = json.loads(ran.stdout.splitlines()[-1]).values()
    assert set(ratios) == {
        "allocations_per_s", "node_updates_per_s", "cpu_per_allocation", "ask_to_allocated_p99",
        "cpu_per_allocation_paced", "ask_to_allocated_p99_light", "cpu_per_allocation_light",
    }  # fmt: skip
    for spread in ratios.values():
        assert 0 < spread["min"] <= spread["median"] <= spread["max"]
    ours = [w for w in map(json.loads, windows.read_text().splitlines()) if w["decided"]]
    assert ours
    assert all(w["decided"]["fallback"] == 0 < w["decided"]["policy"] for w in ours)
    assert all(w["cpu_seconds"]["python"] > 0 for w in ours)
