"""`make golden`: replay the journals of tests/golden/journals, or record them again (``--record``).

Each journal holds what one policy decided on one workload of workloads.py. A replay that differs
prints journal, policy and round, and the first decision that differs: as recorded, and as it is
now. Exit status 1 then.
"""

from __future__ import annotations

import argparse
import lzma
import os
import sys
import tempfile
from multiprocessing import Pool
from pathlib import Path

from loomcard.experiments.replay_check import first_difference
from loomcard.wire.journal import JournalError, read_segment, segments

JOURNALS = Path(__file__).parent / "journals"
SUFFIX = ".jsonl.xz"


def replayed(path: Path) -> tuple[int, list[str]]:
    """Return how many rounds the journal has, and lines about the first that differs, if any."""
    try:
        segment = read_segment(path)
        found = first_difference(segment)
    except JournalError as error:
        return 0, [str(error)]
    except Exception as error:  # some cannot be sent to another process, and the pool would wait
        return 0, [f"cannot be replayed: {type(error).__name__}: {error}"]
    if found is None:
        return len(segment.rounds), []
    policy = path.name.removesuffix(SUFFIX).partition("-")[0]
    return len(segment.rounds), [
        f"policy {policy}, round {found.round}: {found.what} differs",
        f"  recorded: {found.recorded}",
        f"  now:      {found.now}",
    ]


def recorded(pair: tuple[str, str]) -> dict[str, bytes]:
    """Return the journal's segments, compressed, by the names of their files."""
    import workloads

    name, policy = pair
    with tempfile.TemporaryDirectory() as folder:
        try:
            workloads.record(name, policy, Path(folder))
        except Exception as error:  # some exceptions cannot be sent to another process
            raise RuntimeError(f"{name}/{policy}: {error}") from None
        parts = [path.read_bytes() for path in segments(Path(folder))]
    return {
        f"{name}/{policy}{f'-{number}' if number else ''}{SUFFIX}": part
        for number, part in enumerate(parts)
    }


def record(root: Path, processes: int, chosen: list[str]) -> int:
    """Write every journal that has changed, and remove those that are no longer made."""
    import workloads

    pairs = [pair for pair in workloads.pairs() if _chosen("/".join(pair), chosen)]
    files: dict[str, bytes] = {}
    with Pool(processes) as pool:
        for made in pool.imap_unordered(recorded, pairs):
            files |= made
    changed = 0
    for name, text in sorted(files.items()):
        path = root / name
        # Texts are compared, because another version of liblzma may compress differently.
        if path.exists() and lzma.decompress(path.read_bytes()) == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
        changed += 1
    gone = [path for name, path in _journals(root, []).items() if name not in files and not chosen]
    for path in gone:
        path.unlink()
    print(f"golden: {len(files)} journals recorded: {changed} changed, {len(gone)} removed")
    return 0


def replay(root: Path, processes: int, chosen: list[str]) -> int:
    """Replay every journal; return the exit status."""
    journals = _journals(root, chosen)
    rounds = differ = 0
    with Pool(processes) as pool:
        found = pool.imap(replayed, journals.values())
        for name, (count, lines) in zip(journals, found, strict=True):
            rounds += count
            differ += bool(lines)
            if lines:
                print(f"{name}:", "\n".join(lines))
    said = f"{differ} of {len(journals)} journals differ" if differ else "all as recorded"
    print(f"golden: {len(journals)} journals, {rounds} rounds replayed: {said}")
    return int(differ > 0 or not journals)


def _journals(root: Path, chosen: list[str]) -> dict[str, Path]:
    """Return the chosen journals by their names, in order."""
    found = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob(f"*{SUFFIX}"))}
    return {name: path for name, path in found.items() if _chosen(name, chosen)}


def _chosen(name: str, chosen: list[str]) -> bool:
    return not chosen or any(each in name for each in chosen)


def main() -> int:
    """Parse the command line and run; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of journals' names, such as swap/dress")
    parser.add_argument("--record", action="store_true", help="write the journals again")
    parser.add_argument("--journals", type=Path, default=JOURNALS, help="another folder of them")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    wanted = parser.parse_args()
    act = record if wanted.record else replay
    return act(wanted.journals, wanted.processes, wanted.only)


if __name__ == "__main__":
    sys.exit(main())
