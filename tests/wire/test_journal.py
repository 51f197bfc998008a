"""Tests of the journal: every segment replays by itself, byte for byte, damage is named, and a
difference is found.
"""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import loomcard
import scripted  # noqa: F401 - registers test policies
from compiled import config, queue
from loomcard.engine.session import replay
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages as r
from loomcard.wire.journal import JournalError, read_segment, rounds, segments
from loomcard.wire.journal_files import LARGE_HEADER, WORTH, Journal


def eventful(folder: Path, segment_rounds: int = 3) -> Cluster:
    """Run a cluster with turns, a timer, refusals, a late plan, a swap, completions and a snapshot
    in the middle.
    """
    engine = Cluster(
        config(
            queue("root", "drf"), queue("root.a", "test-counter"), queue("root.b", "test-delay"),
        ),
        journal=folder, segment_rounds=segment_rounds,
    )  # fmt: skip
    for number in (1, 2, 3):
        engine.add_node(number, 3072, 3, rack=f"/r{number}")
    for app in (1, 2, 3):
        engine.add_app(app, queue=1 + app % 2)
        engine.ask(app, 6, hosts={"n2": 2, "n9": 1}, racks={"/r2": 2})
    refused = {2, 5}
    for step in range(20):
        engine.refuse = lambda _, step=step: "NODE_FULL" if step in refused else None
        for number in sorted(engine.containers)[: step % 3]:
            engine.complete(number)
        if step % 4 == 0:
            engine.ask(1 + step % 3, 4 + step % 5)
        if step == 9:
            engine.send(r.ConfigRecord(0, 2, engine.compiled))
        if step in (6, 14):
            engine.send(r.TimerFiredRecord(engine.now, 2))
        engine.round(400, late=step == 11)
    engine.session.journal.close()
    return engine


@pytest.mark.parametrize(
    "text", ["\u2028", "\u2029", "\x85", "\x1c\x0b\x0c", "\r\n", "\ufeff", '"]\n["plan",']
)
def test_any_text_of_an_application_may_stand_in_a_journal(tmp_path, text):
    """JSON does not escape the line ends that only Unicode knows. A user who gives a job such a
    name, or hint, must not make a journal unreadable.
    """
    engine = Cluster(config(queue("root", "drf"), queue("root.a", "fifo")), journal=tmp_path)
    engine.add_node(1, 4096, 4)
    hints = {"LOOMCARD_DAG": f"a{text}b", f"loomcard.{text}": text}
    engine.add_app(1, user=text, name=text, tags=[text], hints=hints)
    engine.ask(1, 2)
    engine.round()
    engine.session.journal.close()
    assert len(read_segment(next(iter(segments(tmp_path)))).rounds) == 1
    assert replay(tmp_path) == []


def test_every_segment_replays_to_the_same_bytes(tmp_path):
    """For any length of the segments, each segment alone gives the plans of the run."""
    for length in (1, 3, 7, 1000):
        folder = tmp_path / str(length)
        engine = eventful(folder, length)
        assert replay(folder) == []
        lines = [
            line for path in segments(folder) for pair in read_segment(path).rounds for line in pair
        ]
        assert lines == [line for pair in engine.history for line in pair]
        assert len(segments(folder)) == -(-20 // length)


def test_a_plan_that_would_come_out_otherwise_is_found(tmp_path):
    """If the journal contains another plan, the replay reports a difference in that round."""
    eventful(tmp_path, 1000)
    [path] = segments(tmp_path)
    lines = path.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith('["plan",4,'))
    lines[at] = lines[at].replace('["allocate",', '["allocate",1', 1)
    path.write_text("\n".join(lines) + "\n")
    assert [d.round for d in replay(tmp_path)] == [4]


def test_the_run_does_not_depend_on_the_hash_seed(tmp_path):
    """The same batches give the same plans whatever PYTHONHASHSEED is."""
    eventful(tmp_path)
    code = (
        "import scripted, sys; from pathlib import Path; "
        "from loomcard.engine.session import replay; "
        "sys.exit(len(replay(Path(sys.argv[1]))))"
    )
    folders = (Path(__file__).parents[1] / "support", Path(loomcard.__file__).parents[1])
    paths = os.pathsep.join(map(str, folders))
    for seed in ("0", "1", "77"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": paths},
            check=False,
        )
        assert done.returncode == 0


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda _: "nonsense\n", ':1: expected ["segment", {...}]'),
        (lambda _: '["other",{}]\n', "expected a segment"),
        (lambda t: t.replace('["batch"', '["bitch"', 1), "expected a batch and then its plan"),
    ],
)
def test_a_damaged_journal_is_one_clear_error(tmp_path, spoil, says):
    """The error names file, line and expectation."""
    eventful(tmp_path, 1000)
    [path] = segments(tmp_path)
    path.write_text(spoil(path.read_text()))
    with pytest.raises(JournalError) as error:
        replay(tmp_path)
    assert says in str(error.value)
    assert str(path) in str(error.value)


def test_a_killed_process_leaves_a_readable_journal(tmp_path):
    """A last batch without its plan, or half a line, is ignored; the rest replays."""
    eventful(tmp_path, 1000)
    [path] = segments(tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])
    assert replay(tmp_path) == []
    assert len(read_segment(path).rounds) == 19


def test_no_journal_is_said(tmp_path):
    """A folder without segments is an error that names the setting."""
    with pytest.raises(JournalError, match=r"loomcard\.journal\.dir"):
        replay(tmp_path)


def lines(journal, first, last, now_ms=0):
    """Write rounds of about 10 kB each, as a session does."""
    for number in range(first, last + 1):
        if journal.wants_segment(now_ms):
            journal.open_segment(number, lambda: {"state": "x" * 1000}, now_ms)
        journal.append(f'["batch",{number},"{"b" * 5000}"]', f'["plan",{number},"{"p" * 5000}"]',
                       now_ms)  # fmt: skip


def rounds_in(folder):
    return [
        int(batch.split(",")[1])
        for path in segments(folder)
        for batch, _ in read_segment(path).rounds
    ]


def test_others_may_not_read_a_journal(tmp_path):
    """A journal contains names of users and applications."""
    journal = Journal(tmp_path / "a" / "journal", 1, 2)
    lines(journal, 1, 3)
    journal.close()
    assert stat.S_IMODE((tmp_path / "a" / "journal").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in segments(tmp_path / "a" / "journal")} == {
        0o600
    }


def test_segments_stay_within_their_limit(tmp_path):
    """The oldest segments are deleted one by one, and the rest is the end of the run."""
    journal = Journal(tmp_path, 1, 10, max_mb=1)
    for number in range(1, 501):
        lines(journal, number, number)
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1 << 20
    kept = rounds_in(tmp_path)
    assert kept == list(range(kept[0], 501))
    assert len(kept) > 80


def test_a_long_segment_is_ended_early(tmp_path):
    """A single segment with all rounds would either be deleted whole or be all that is kept."""
    journal = Journal(tmp_path, 1, 1_000_000, max_mb=1)
    lines(journal, 1, 500)
    assert len(segments(tmp_path)) > 4
    assert rounds_in(tmp_path)[-1] == 500


def test_a_segment_with_a_large_header_is_continued_until_its_rounds_outweigh_it(tmp_path):
    """On a large cluster the state is megabytes, and writing it holds up the round."""
    journal = Journal(tmp_path, 1, 10)
    state = "x" * (2 * LARGE_HEADER)
    for number in range(1, 501):
        if journal.wants_segment(0):
            journal.open_segment(number, lambda: {"state": state}, 0)
        journal.append(f'["batch",{number},"{"b" * 10_000}"]', "[]", 0)
    journal.close()
    *whole, _ = [path.stat().st_size for path in segments(tmp_path)]
    assert len(whole) == 3
    assert all(WORTH * len(state) <= size < (WORTH + 1) * len(state) for size in whole)


def test_a_limit_too_small_for_one_segment_is_said(tmp_path):
    """In this case nothing is written, and nothing raises."""
    journal = Journal(tmp_path, 1, 10, max_mb=1)
    journal.open_segment(1, lambda: {"state": "x" * (1 << 20)}, 0)
    assert "a segment begins with 1 MB, the limit for all of them is 1 MB" in journal.problem
    journal.append("[]", "[]", 0)
    assert journal.lost_rounds == 1


FULL_DISK = """
import resource, sys
from pathlib import Path
from loomcard.wire.journal_files import RETRY_MS, Journal
from test_journal import lines, rounds_in
folder = Path(sys.argv[1])
journal = Journal(folder, 1, 1000)
limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (45_000, limit))  # as a full disk: write() fails
lines(journal, 1, 10)
assert journal.problem, "the disk is full"
assert journal.lost_rounds == 6, journal.lost_rounds
lines(journal, 11, 12, RETRY_MS - 1)
assert journal.problem, "left alone for a while"
lines(journal, 13, 13, RETRY_MS)
assert rounds_in(folder) == [1, 2, 3, 4, 13], rounds_in(folder)
assert journal.problem is None
"""


def test_a_full_disk_costs_rounds_of_the_journal_alone(tmp_path):
    """Rounds that fit are kept whole, and half a round is taken back. Later the journal continues
    in a new segment. Nothing raises.
    """
    folders = (
        Path(__file__).parent,
        Path(__file__).parents[1] / "support",
        Path(loomcard.__file__).parents[1],
    )
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "journal")],
        env={"PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_disk_that_is_full_from_the_start(tmp_path, monkeypatch):
    """The disk is a real file system without a free block. If none can be mounted, a file that
    reports a full disk replaces it.
    """
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)],
        capture_output=True, check=False,
    )  # fmt: skip
    if mounted.returncode != 0:
        monkeypatch.setattr(Path, "open", no_space)
    try:
        journal = Journal(disk / "journal", 1, 1000)
        lines(journal, 1, 20)
        journal.close()
        assert "No space left on device" in journal.problem
        monkeypatch.undo()
        kept = 20 - journal.lost_rounds
        assert (rounds_in(disk / "journal") if kept else []) == list(range(1, kept + 1))
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", str(disk)], check=True)


def no_space(*_, **__):
    """Return a file on a full disk."""
    return open("/dev/full", "wb", buffering=0)


def test_rounds_are_read_in_order_and_what_cannot_be_read_is_named_with_its_line(tmp_path):
    """They are read from a folder or from one segment; batch and plan are decoded only on
    demand.
    """
    engine = eventful(tmp_path, 7)
    found = list(rounds(tmp_path))
    assert [each.batch.round for each in found] == list(range(1, 21))
    assert [each.plan.round for each in found] == list(range(1, 21))
    assert found[0].segment.hello == engine.session.hello
    first, *_ = segments(tmp_path)
    assert len(list(rounds(first))) == 7
    text = first.read_text().splitlines()
    text[3], text[6] = '["batch","x"]', '["plan",[]]'
    first.write_text("\n".join(text) + "\n")
    third, second = list(rounds(first))[2], list(rounds(first))[1]
    with pytest.raises(JournalError, match=rf"{first}:4: the batch cannot be read"):
        _ = second.batch
    with pytest.raises(JournalError, match=rf"{first}:7: the plan cannot be read"):
        _ = third.plan
    with pytest.raises(JournalError, match="no journal segment"):
        list(rounds(tmp_path / "nowhere"))


def test_a_journal_of_the_schema_before_is_read_and_replays(tmp_path: Path) -> None:
    """In that schema rows of waits had no bound, and queues gave no reason."""
    eventful(tmp_path)
    for path in segments(tmp_path):
        lines = path.read_text().splitlines()
        header = lines[0].replace(f'"hello":["hello",{r.SCHEMA},', '"hello":["hello",2,')
        assert header != lines[0]
        for number in range(2, len(lines), 2):
            plan = json.loads(lines[number])
            assert plan[9] == []
            plan[4] = [row[:4] for row in plan[4]]
            del plan[9:12:2]  # queue_waits, and cuts, which follow resync
            lines[number] = json.dumps(plan, separators=(",", ":"))
        path.write_text("\n".join([header, *lines[1:], ""]))
    assert any(each.plan.waits for each in rounds(tmp_path))
    assert replay(tmp_path) == []
