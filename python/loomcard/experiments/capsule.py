"""A capsule: the rounds that led to a fault of a policy. A ResourceManager stores them in one file,
and this module runs them again.
"""

from __future__ import annotations

import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from errno import EINVAL
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from loomcard.api.view import asks_below
from loomcard.config.isolated import FIRST_ROUND_S, ChildEndedError, run_isolated
from loomcard.engine.session import Session
from loomcard.experiments.inputs import InputError
from loomcard.model.placement import place
from loomcard.model.queue import Queue
from loomcard.wire import messages as r
from loomcard.wire.journal import Segment, read_segment, reading

MOST_BYTES = 1 << 30
"""The most bytes to which a capsule may unpack; a ResourceManager writes some 100 MB at most."""
ABOUT, POLICY, JOURNAL, COPIES = "capsule.json", "policy.yml", "journal.jsonl", "applied-policies"
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, KeyError, IndexError, EOFError, NotImplementedError,
    RuntimeError, UnicodeDecodeError, msgspec.MsgspecError, OSError,
)  # fmt: skip
LISTED = 5
"""The most asks that are named."""


@dataclass(frozen=True)
class Capsule:
    """The content of the file. ``unanswered``: the last batch, if no plan came for it."""

    about: dict[str, Any]
    yaml: str
    segment: Segment
    unanswered: str | None
    copies: Path


@dataclass
class Shown:
    """The result of running the rounds again. ``fault``: what can be seen of the fault; empty if
    nothing can.
    """

    rounds: int = 0
    differ: list[int] = field(default_factory=list)
    slowest_ms: float = 0.0
    fault: list[str] = field(default_factory=list)
    traceback: str = ""


def is_capsule(path: Path) -> bool:
    """Return whether a file is a capsule, by its first bytes: a journal is not an archive."""
    return path.is_file() and zipfile.is_zipfile(path)


@contextmanager
def opened(path: Path) -> Iterator[Capsule]:
    """Yield the capsule, unpacked while it is used. Raises InputError or JournalError."""
    with TemporaryDirectory(prefix="loomcard-capsule-") as folder:
        try:
            capsule = _unpacked(path, Path(folder))
        except _UNREADABLE as error:
            if isinstance(error, OSError) and error.errno != EINVAL:  # as in a place before byte 0
                raise
            said = " ".join(str(error).split())[:200]
            raise InputError(
                [f"{path}: not a capsule of a ResourceManager ({said}); name a file of its folder"
                 " capsules"]
            ) from error  # fmt: skip
        yield capsule


def _unpacked(path: Path, folder: Path) -> Capsule:
    with zipfile.ZipFile(path) as archive:
        size = sum(each.file_size for each in archive.infolist())
        if size > MOST_BYTES:
            raise InputError([f"{path}: unpacks to {size} bytes, more than a capsule has"])
        copies = folder / COPIES
        copies.mkdir()
        for name in archive.namelist():
            if name.startswith(f"{COPIES}/") and Path(name).name.endswith(".py"):
                (copies / Path(name).name).write_bytes(archive.read(name))
        journal = folder / JOURNAL
        journal.write_bytes(archive.read(JOURNAL))
        about = msgspec.json.decode(archive.read(ABOUT), type=dict[str, Any])
        yaml = archive.read(POLICY).decode()
    lines = journal.read_text(encoding="utf-8").split("\n")
    last = [line for line in lines if line][-1]
    unanswered = last if last.startswith('["batch",') else None
    return Capsule(about, yaml, read_segment(journal), unanswered, copies)


def show(capsule: Capsule) -> Shown:
    """Run the rounds again with the policies that were applied. Raises JournalError."""
    segment, shown = capsule.segment, Shown()
    with reading(segment.place, "the capsule's state cannot be used"):
        session = Session.restored(segment.header, capsule.copies)
    for each in segment:
        began = time.perf_counter()
        with reading(each.batch_place, "the batch cannot be used"):
            plan = r.read_reply(session.decide(each.batch_text, each.plan.cuts))
        shown.slowest_ms = max(shown.slowest_ms, 1000 * (time.perf_counter() - began))
        assert isinstance(plan, r.PlanReply)
        shown.rounds += 1
        if _comparable(plan) != _comparable(each.plan):
            shown.differ.append(plan.round)
        for _, message, trace in plan.faults:
            shown.fault, shown.traceback = [f"round {plan.round}: {message}"], trace
    if capsule.unanswered is not None:
        _answer(session, capsule.unanswered, shown)
    elif capsule.about.get("kind") == "stalled":
        shown.fault = _stalled(session, str(capsule.about.get("reason", "")))
    elif capsule.about.get("kind") == "late":
        shown.fault = [f"the slowest round took {shown.slowest_ms:.0f} ms here"]
    return shown


def _comparable(plan: r.PlanReply) -> r.PlanReply:
    """Return a plan without what depends on the machine, and on rounds before the first stored one:
    paths in tracebacks, and when policies save.
    """
    faults = [(instance, message, "") for instance, message, _ in plan.faults]
    return msgspec.structs.replace(plan, saved={}, reports={}, faults=faults)


def _answer(session: Session, batch: str, shown: Shown) -> None:
    """Run the batch for which no plan came: first in a child process, which it may end or never
    leave.
    """
    try:
        run_isolated(lambda _: session.decide(batch), FIRST_ROUND_S)
    except ChildEndedError as ended:
        how = (
            f"did not answer within {FIRST_ROUND_S:g} s"
            if ended.how is None
            else f"ended its process {ended.how}"
        )
        shown.fault = [f"the last batch: the policy {how}"]
        return
    with reading("the last batch", "it cannot be used"):
        plan = r.read_reply(session.decide(batch))
    assert isinstance(plan, r.PlanReply)
    shown.rounds += 1
    for _, message, trace in plan.faults:
        shown.fault, shown.traceback = [f"the last batch: {message}"], trace


def _stalled(session: Session, reason: str) -> list[str]:
    """Return asks of the named queue that fit now, within all limits, and wait."""
    state, found = session.mirror.state, []
    named: list[Queue] = [q for q in state.queues if q.leaf and f"queue {q.path} " in reason]
    for queue in named:
        for ask in asks_below(queue):
            node = place(state, ask) if state.limited(ask) is None else None
            if node is not None:
                found.append(
                    f"{ask.application.id} still waits for {ask.count} x {ask.size} (priority"
                    f" {ask.key.priority}), which fits on {node.id}; the policy's reason:"
                    f" {ask.reported_reason or 'none given'}"
                )
    return found[:LISTED] + [f"and {len(found) - LISTED} more asks"] * (len(found) > LISTED)
