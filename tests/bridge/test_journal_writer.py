"""The journal's thread: no round waits for a disk, and a written journal can be replayed."""

from __future__ import annotations

import errno
import itertools
import json
import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from compiled import config, queue
from loomcard.bridge import journal_writer
from loomcard.bridge.journal_writer import JournalWriter
from loomcard.bridge.process import PolicyService, compile_request
from loomcard.config import compile_config
from loomcard.engine.session import Session, replay
from loomcard.testing.cluster import Cluster
from loomcard.wire import messages
from loomcard.wire.journal import read_segment, segments
from loomcard.wire.journal_files import RETRY_MS, Journal, SegmentFiles
from waiting import wait_until

DEADLINE_S = 30


class Disk(SegmentFiles):
    """A disk whose writes hang, or fail, on request."""

    def __init__(self, folder: Path, most: int | None) -> None:
        super().__init__(folder, most)
        self.goes = threading.Event()
        self.goes.set()
        self.hung = 0
        self.error: OSError | None = None

    def _write(self, lines: bytes) -> None:
        self.hung += not self.goes.is_set()
        assert self.goes.wait(DEADLINE_S), "the test never let it go on"
        if self.error is not None:
            raise self.error
        super()._write(lines)


class Written:
    """A journal over a disk of the test, and rounds for it."""

    def __init__(self, folder: Path, segment_rounds: int = 1000) -> None:
        self.folder = folder
        self.disk: Disk

        def files(at: Path, most: int | None) -> JournalWriter:
            self.writer = JournalWriter(at, most, self._disk)
            return self.writer

        self.journal = Journal(folder, 1, segment_rounds, None, files)
        self.now_ms = 0
        self.numbers = itertools.count(1)

    def _disk(self, folder: Path, most: int | None) -> Disk:
        self.disk = Disk(folder, most)
        return self.disk

    def rounds(self, count: int, size: int = 100) -> None:
        for number in itertools.islice(self.numbers, count):
            if self.journal.wants_segment(self.now_ms):
                self.journal.open_segment(number, lambda: {"state": "x" * 100}, self.now_ms)
            self.journal.append(
                f'["batch",{number},"{"b" * size}"]', f'["plan",{number}]', self.now_ms
            )

    def kept(self) -> list[list[int]]:
        assert self.journal.flush(DEADLINE_S)
        return [
            [json.loads(batch)[1] for batch, _ in read_segment(path).rounds]
            for path in segments(self.folder)
        ]


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path)
    yield made
    made.disk.goes.set()


def test_segments_are_written_in_order_and_whole(tmp_path: Path) -> None:
    """Each segment has its rounds, in order, as it would without a thread."""
    written = Written(tmp_path, segment_rounds=4)
    written.rounds(10)
    assert written.kept() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    assert (written.journal.problem, written.journal.lost_rounds) == (None, 0)


def test_a_write_that_hangs_holds_up_no_round(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds continue while a write hangs; from the limit on they are dropped from the journal and
    counted. When the disk has taken the waiting rounds, the journal continues in a new segment.
    """
    monkeypatch.setattr(journal_writer, "MOST_ROUNDS", 50)
    written.rounds(3)
    written.kept()
    written.disk.goes.clear()
    written.rounds(1)
    wait_until(lambda: written.disk.hung == 1, "the writer hangs")
    written.rounds(100)
    assert "wait for the disk, which is too slow" in str(written.journal.problem)
    assert written.journal.lost_rounds == 51
    written.now_ms = 10 * RETRY_MS
    written.rounds(1)
    assert written.journal.lost_rounds == 52, "not while what waits is not written"
    written.disk.goes.set()
    assert written.kept() == [list(range(1, 54))], "what waited is written"
    written.rounds(2)
    assert written.kept() == [list(range(1, 54)), [106, 107]]
    written.rounds(1)
    assert written.journal.problem is None
    assert written.journal.lost_rounds == 52


def test_a_write_that_takes_too_long_is_said(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator is warned before the memory for waiting rounds is full."""
    written.rounds(1)
    written.kept()
    written.disk.goes.clear()
    written.rounds(1)
    wait_until(lambda: written.disk.hung == 1, "the writer hangs")
    monkeypatch.setattr(journal_writer, "HANGS_S", 0.0)
    written.rounds(1)
    assert "does the disk hang?" in str(written.journal.problem)
    assert written.journal.lost_rounds == 1


def test_what_waits_is_bounded_in_bytes(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large rounds are dropped sooner; one that is larger than the limit is accepted if none
    waits.
    """
    monkeypatch.setattr(journal_writer, "MOST_BYTES", 10_000)
    written.rounds(1)
    written.kept()
    written.rounds(1, size=20_000)
    assert written.kept() == [[1, 2]]
    written.disk.goes.clear()
    written.rounds(1)
    wait_until(lambda: written.disk.hung == 1, "the writer hangs")
    written.rounds(5, size=4000)
    assert written.journal.lost_rounds == 3
    written.disk.goes.set()
    assert written.kept() == [[1, 2, 3, 4, 5]]


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), MemoryError("no memory")]
)
def test_a_write_that_fails_later_is_counted_and_said(written: Written, error: OSError) -> None:
    """The rounds that waited behind a failed write are lost, no round is written after a gap, and
    the writer's thread continues.
    """
    written.rounds(2)
    written.kept()
    written.disk.goes.clear()
    written.rounds(1)
    wait_until(lambda: written.disk.hung == 1, "the writer hangs")
    written.rounds(3)
    assert written.journal.problem is None, "nobody knows yet"
    written.disk.error = error
    written.disk.goes.set()
    assert written.kept() == [[1, 2]]
    written.rounds(1)
    assert str(error.strerror if isinstance(error, OSError) else error) in str(
        written.journal.problem
    )
    assert written.journal.lost_rounds == 5
    written.now_ms = RETRY_MS
    written.rounds(1)
    assert written.kept() == [[1, 2]]
    assert written.journal.problem is not None, "it is not over while each try fails"
    written.disk.error = None
    written.now_ms = 3 * RETRY_MS
    written.rounds(1)
    written.now_ms = 5 * RETRY_MS
    written.rounds(2)
    kept = written.kept()
    written.rounds(1)
    assert written.journal.problem is None
    assert kept[0] == [1, 2]
    lost = set(range(1, 12)) - {number for segment in written.kept() for number in segment}
    assert written.journal.lost_rounds == len(lost)


def test_a_lack_of_threads_is_a_trouble_that_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no thread can be started, as under a limit on processes, rounds continue and the journal
    is tried again.
    """

    def no_more(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    written = Written(tmp_path)
    monkeypatch.setattr(threading.Thread, "start", no_more)
    written.rounds(2)
    assert "no thread can be started to write it" in str(written.journal.problem)
    assert written.journal.lost_rounds == 2
    monkeypatch.undo()
    written.now_ms = RETRY_MS
    written.rounds(2)
    assert written.kept() == [[3, 4]]
    written.rounds(1)
    assert written.journal.problem is None


def test_the_end_waits_for_what_is_not_written_but_not_for_ever(written: Written) -> None:
    """A disk that hangs does not stop the process from ending."""
    assert Journal(written.folder, 2, 5, None, JournalWriter).flush(0.0), "nothing was written"
    written.rounds(2)
    assert written.journal.flush(DEADLINE_S)
    written.disk.goes.clear()
    written.rounds(1)
    assert not written.journal.flush(0.01)
    written.disk.goes.set()
    assert written.journal.flush(DEADLINE_S)


def test_a_real_run_replays_to_the_same_bytes(tmp_path: Path) -> None:
    """The rounds of a session replay equally, each segment on its own, though the disk hangs from
    time to time.
    """
    disks: list[Disk] = []

    def disk(folder: Path, most: int | None) -> Disk:
        disks.append(Disk(folder, most))
        return disks[0]

    engine = Cluster(config(queue("root", "drf"), queue("root.a", "fifo")), segment_rounds=3)
    engine.session = Session(
        engine.session.hello, tmp_path, files=partial(JournalWriter, files=disk)
    )
    engine.add_node(1, 8192, 8)
    for app in (1, 2):
        engine.add_app(app, queue=1)
    for step in range(20):
        (disks[0].goes.clear if step % 5 == 2 else disks[0].goes.set)()
        engine.ask(1 + step % 2, 1 + step % 4)
        for number in sorted(engine.containers)[: step % 3]:
            engine.complete(number)
        engine.round(400)
    disks[0].goes.set()
    journal = engine.session.journal
    assert journal is not None
    journal.close()
    assert journal.flush(DEADLINE_S)
    assert replay(tmp_path) == []
    lines = [pair for path in segments(tmp_path) for pair in read_segment(path).rounds]
    assert lines == engine.history


FIFO = compile_config("version: 1\nkind: policy\npolicy: fifo\n", "f.yml")


def batch(number: int, now_ms: int) -> str:
    records: list[list[Any]] = [["snapshot", 0, "start"], ["config", 0, 1, FIFO], ["saved", 0, {}]]
    return json.dumps(["batch", number, 1, now_ms, [0, 0, 0, 0], records])


def test_the_policy_decides_while_its_journals_disk_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans continue, and report why the journal is not written. The segment's file is a named pipe
    without a reader: opening it hangs for good, like a file on a dead disk.
    """
    pipe = tmp_path / "1-0000000001.jsonl"
    os.mkfifo(pipe)
    begun = threading.Event()

    class Announced(SegmentFiles):
        def begin(self, path: Path, line: bytes) -> None:
            begun.set()
            super().begin(path, line)

    writer = partial(JournalWriter, files=Announced)
    service = PolicyService(partial(Session, files=writer), compile_request)
    types = ["memory_mb", "vcores"]
    settings = {"journal_dir": str(tmp_path), "saved_every_ms": 5000}
    hello = messages.Hello(messages.SCHEMA, 1, "0", "3.4.2", types, [], settings)
    service.decide(messages.write(hello))

    def reports(number: int, now_ms: int) -> dict[str, Any]:
        reply = messages.read_reply(service.decide(batch(number, now_ms)))
        assert isinstance(reply, messages.PlanReply)
        return reply.reports

    assert reports(1, 10) == {}
    assert begun.wait(DEADLINE_S)
    assert not service.flush(0.01)
    monkeypatch.setattr(journal_writer, "HANGS_S", 0.0)
    journal = reports(2, 20)["journal"]
    assert "does the disk hang?" in journal["trouble"]
    assert journal["lost_rounds"] == 1
    assert reports(3, 30) == {}, "once"
    monkeypatch.undo()
    with pipe.open("rb"):  # the disk is back
        assert service.flush(DEADLINE_S)
    pipe.unlink()
    fourth = reports(4, 30 + RETRY_MS)  # reports the end itself if the segment is open by then
    assert service.flush(DEADLINE_S)
    fifth = reports(5, 40 + RETRY_MS)
    over = {"journal": {"trouble": None, "lost_rounds": 2}}
    assert [report for report in (fourth, fifth) if report] == [over], "once"
    assert service.flush(DEADLINE_S)
    assert replay(tmp_path) == []
    [again] = segments(tmp_path)
    assert [json.loads(text)[1] for text, _ in read_segment(again).rounds] == [4, 5]
