from pathlib import Path

from loomcard.cluster.container_times import ContainerRun, JobTimes
from loomcard.demo import plot
from loomcard.demo.demo import Phase


def phase(policy: str, length: int) -> Phase:
    jobs = tuple(
        JobTimes(f"a{i}", "sleep" if i else "pi", policy, "SUCCEEDED", 1_000, 100, length)
        for i in range(3)
    )
    runs = tuple(
        ContainerRun(f"c{i}", f"a{i}", "n1", False, 256, 1, 1_000, 1_000 + length) for i in range(3)
    )
    return Phase(policy, jobs, runs)


def test_jobs_of_one_name_are_numbered() -> None:
    """The same job has the same label under every policy, and no two share one."""
    names = list(plot.labels(phase("fifo", 10)).values())
    assert names == ["pi", "sleep 1", "sleep 2"]


def test_all_policies_have_one_scale_in_the_terminal() -> None:
    """A run half as long is drawn half as wide, within eighty columns."""
    lines = plot.terminal([phase("fifo", 8_000), phase("drf", 4_000)], 40).plain.splitlines()
    bars = [line.count("█") for line in lines if line.strip().startswith("pi")]
    assert bars[0] in (39, 40)
    assert bars[1] in (19, 20)
    assert max(map(len, lines)) < 80


def test_the_png_is_written_where_it_was_wanted(tmp_path: Path) -> None:
    """Missing folders are made; the file is a PNG."""
    file = tmp_path / "new" / "containers.png"
    plot.png([phase("fifo", 8_000), phase("drf", 4_000)], file, points=20)
    assert file.read_bytes().startswith(b"\x89PNG")
