"""The work of one policy process without its socket: batch text in, plan text out; and the replay
of this from a journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from loomcard.api.view import RoundTime
from loomcard.engine.instance import Instance
from loomcard.engine.mirror import Mirror, UntrustworthyError
from loomcard.engine.round import PolicyTree
from loomcard.engine.snapshot import dump, load
from loomcard.wire import messages as r
from loomcard.wire.journal import Segment, read_segments, reading
from loomcard.wire.journal_files import Journal, MakeFiles, SegmentFiles
from loomcard.wire.plain_data import NotPlainError, decode, encode

SAVED_EVERY_MS = 5_000
JOURNAL = "journal"
"""The name under which a plan reports a journal that cannot be written; no queue has this name."""
PART = 0.5
"""The part of ``round_deadline_ms`` that policies have: batch and plan cost time too."""
NOT_BUILT = "a policy cannot be built, and a replay could not build it either"


class Session:
    """Mirror, policy tree and journal of one epoch, from the handshake on."""

    def __init__(
        self, hello: r.Hello, journal_dir: Path | None = None, copies: Path | None = None,
        files: MakeFiles = SegmentFiles, clock: Callable[[], float] | None = None,
    ) -> None:  # fmt: skip
        """``copies``: the folder of the applied texts of policies' files, except those of a dry
        run. ``files``: what writes the journal; the default writes before the round continues.
        ``clock``: seconds since any zero, for rounds that end before they are late; by default
        rounds have no time limit.
        """
        settings = hello.settings
        self.hello = hello
        self.mirror = Mirror(hello.resource_types, hello.features, epoch_ms=hello.epoch)
        self.tree: PolicyTree | None = None
        paths = settings.get("policy_path")
        self._search: Sequence[Path] | None = None if paths is None else [Path(p) for p in paths]
        self._copies = None if settings.get("dry_run") else copies
        self._saved_every_ms: int = settings.get("saved_every_ms") or SAVED_EVERY_MS
        self._last_saved_ms = 0
        self._unsaved: list[int] = []  # instances whose durable parts go with the next plans
        self._round_containers: int | None = settings.get("round_containers")
        self._clock, self._round_s = clock, (settings.get("round_deadline_ms") or 0) / 1000 * PART
        rounds: int = settings.get("journal_segment_rounds") or 1000
        self.journal: Journal | None = None
        self._reported_problem: str | None = None
        self._unkept_rounds = 0  # in which a policy was not built
        self._last_round = 0
        if journal_dir is not None:
            max_mb: int | None = settings.get("journal_max_mb")
            self.journal = Journal(journal_dir, hello.epoch, rounds, max_mb, files)

    def header_text(self) -> str:
        """The first line of a segment that begins with the next round."""
        return r.write(["segment", self._header()])  # type: ignore[list-item]

    def decide(self, batch_text: str, cuts: Sequence[int] = ()) -> str:
        """Return the plan for a batch. If the mirror is wrong, the answer is ``resync``; a batch
        that cannot be read raises. ``cuts``: in a replay, where turns ended because their time had
        ended.
        """
        batch = r.read_request(batch_text)
        if not isinstance(batch, r.Batch):
            raise TypeError(f"expected a batch, got {type(batch).__name__}")
        return self._journalled(batch, batch_text, cuts)[1]

    def answer(self, batch: r.Batch) -> r.PlanReply:
        """Do as ``decide``, for an engine in the same process: text is written only for the
        journal.
        """
        if self.journal is None:
            return self._reply(batch)
        return self._journalled(batch, r.write(batch))[0]

    def _journalled(
        self, batch: r.Batch, text: str, cuts: Sequence[int] = ()
    ) -> tuple[r.PlanReply, str]:
        journal = self.journal
        if self._cannot_be_replayed():
            journal = None
        if journal is not None:
            if batch.round != self._last_round + 1:
                # Another process decided in between, and its segment belongs between ours.
                journal.close()
            self._last_round = batch.round
            if journal.wants_segment(batch.now_ms):
                journal.open_segment(batch.round, self._header, batch.now_ms)
        plan = self._reply(batch, cuts)
        reply = r.write(plan)
        if journal is not None and not self._cannot_be_replayed():
            journal.append(text, reply, batch.now_ms)
        elif self.journal is not None:
            self._unkept_rounds += 1
        if (
            self.journal is not None
            and self._journal_problem(self.journal) != self._reported_problem
        ):
            reply = r.write(self._with_journal_problem(plan, self.journal))
        return plan, reply

    def _journal_problem(self, journal: Journal) -> str | None:
        """Why rounds are missing in the journal; None: no round is missing."""
        return NOT_BUILT if self._cannot_be_replayed() else journal.problem

    def _cannot_be_replayed(self) -> bool:
        """Whether a policy is not built, or cannot be: a replay could not build it either."""
        return self.tree is not None and not self.tree.is_built()

    def _with_journal_problem(self, plan: r.PlanReply, journal: Journal) -> r.PlanReply:
        """The plan as it is sent if the journal's state changed; a replay does not have this."""
        self._reported_problem = self._journal_problem(journal)
        lost = journal.lost_rounds + self._unkept_rounds
        state = {"trouble": self._reported_problem, "lost_rounds": lost}
        return msgspec.structs.replace(plan, reports={**plan.reports, JOURNAL: state})

    def _reply(self, batch: r.Batch, cuts: Sequence[int] = ()) -> r.PlanReply:
        mirror = self.mirror
        try:
            mirror.apply(batch)
        except UntrustworthyError as error:
            mirror.config = None  # only a snapshot helps now
            return r.PlanReply(batch.round, resync=str(error))
        if mirror.config_reloaded or self.tree is None:
            self._raise_tree()
        assert self.tree is not None
        if mirror.rebuilt:
            self.tree.forget()
        elif mirror.stale_instances:
            self.tree.forget(sorted(mirror.stale_instances))
        time = RoundTime(None, cuts=cuts) if cuts else None
        if self._clock is not None and self._round_s:
            time = RoundTime(self._clock, self._round_s)
        pending = self.tree.run(self._round_containers, time)
        mirror.carried_out(batch.round, pending.steps)
        reply = pending.reply(batch.round)
        if not self._unsaved and mirror.now_ms - self._last_saved_ms >= self._saved_every_ms:
            self._last_saved_ms, self._unsaved = mirror.now_ms, list(self.tree.instances)
        if self._unsaved:
            reply.saved = self.tree.save(self._unsaved, reply.faults)
        return reply

    def _raise_tree(self) -> None:
        """Make the instances of a new configuration; they take over what instances of the same
        policy saved.
        """
        if self.tree is not None:
            self._last_saved_ms, self._unsaved = self.mirror.now_ms, list(self.tree.instances)
            while self._unsaved:
                self.tree.save(self._unsaved, [])
        # A ResourceManager compiled the configuration earlier, and must not lose all queues to one
        # policy that cannot be built any more; any other caller gets the error at once.
        later = self._search is not None
        self.tree = PolicyTree(self.mirror, self._search, self._copies, build_later=later)

    def _header(self) -> dict[str, Any]:
        if self.tree is None or self.mirror.config is None:
            return {"hello": msgspec.to_builtins(self.hello)}
        instances = self.tree.instances.values()
        return {
            "hello": msgspec.to_builtins(self.hello),
            "mirror": dump(self.mirror),
            "memory": {str(i.queue.number): _plain(i) for i in instances if i.has_memory},
            "timers": {str(number): at_ms for number, at_ms in self.tree.timers.items()},
            "last_saved_ms": self._last_saved_ms,
            "unsaved": self._unsaved,
            "stand_ins": {
                str(i.queue.number): state for i in instances if (state := i.fallback.state())
            },
            "cut": [i.queue.number for i in instances if (i.cut if i.called else i.view._was_cut)],
            "reported_ms": {
                str(i.queue.number): i.reported_ms for i in instances if i.reported_ms is not None
            },
        }

    @classmethod
    def restored(cls, header: dict[str, Any], copies: Path | None = None) -> Session:
        """Return a session in the state with which a journal segment begins, with new policy
        objects. ``copies``: a folder with the applied texts of policies' files; then no other file
        of a policy is loaded.
        """
        session = cls(msgspec.convert(header["hello"], r.Hello))
        session._search, session._copies = (None if copies is None else []), copies
        if "mirror" not in header:
            return session
        load(session.mirror, header["mirror"])
        session.tree = PolicyTree(session.mirror, session._search, copies)
        for number, instance in session.tree.instances.items():
            instance.untried = False
            instance.fallback.restore(header.get("stand_ins", {}).get(str(number)))
            if str(number) in header["memory"]:
                instance.memory = decode(header["memory"][str(number)])
                instance.has_memory = True
            session.tree.timers.put(number, header["timers"].get(str(number)))
            instance.view._was_cut = number in header.get("cut", ())
            instance.reported_ms = header.get("reported_ms", {}).get(str(number))
        session._last_saved_ms = header["last_saved_ms"]
        session._unsaved = list(header.get("unsaved", ()))
        return session


@dataclass(frozen=True, slots=True)
class Difference:
    """A round whose replayed plan is not the one in the journal."""

    segment: Path
    round: int
    journal: str
    replay: str


def _plain(instance: Instance) -> Any:
    try:
        return encode(instance.memory)
    except Exception as error:  # also of a set without an order, say
        raise NotPlainError(f"the memory of {instance.key}: {error}") from error


def replay(folder: Path) -> list[Difference]:
    """Replay every segment of a journal on its own. Return the rounds with a different plan. Raises
    JournalError if the journal cannot be read.
    """
    return [each for segment in read_segments(folder) for each in replay_segment(segment)]


def replay_segment(segment: Segment) -> Iterator[Difference]:
    """Replay one segment. Yield its rounds with a different plan, as they are found. Raises
    JournalError if the segment cannot be used.
    """
    if not segment.rounds:
        return
    with reading(segment.place, "the segment's state cannot be used"):
        session = Session.restored(segment.header)
    for each in segment:
        with reading(each.batch_place, "the batch cannot be used"):
            again = session.decide(each.batch_text, each.plan.cuts)
        if again not in (each.plan_text, r.write(each.plan)):  # an older plan lacks newer fields
            yield Difference(segment.path, each.plan.round, each.plan_text, again)
