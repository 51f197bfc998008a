"""The policy process: a child of the ResourceManager that answers until its input ends."""

from __future__ import annotations

import argparse
import base64
import gc
import os
import signal
import sys
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from loomcard import config
from loomcard.api import registry
from loomcard.bridge import gateway, handshake, limits
from loomcard.bridge.copies import Copy, CopyError
from loomcard.bridge.explanations import Explanations
from loomcard.bridge.journal_writer import JournalWriter
from loomcard.bridge.log import log
from loomcard.engine.session import Session
from loomcard.validation import error_text
from loomcard.wire import messages
from loomcard.wire.journal_files import RETRY_MS, Journal


class Deciding(Protocol):
    """A session: batch text in, plan text out."""

    @property
    def journal(self) -> Journal | None:
        """Where the session writes its journal; None: nowhere."""

    def decide(self, batch_text: str) -> str:
        """Answer one batch."""

    def header_text(self) -> str:
        """The state before the next batch, as the first line of a journal's segment."""


HEADER_S = 60.0
"""How long the state may take to be written and fetched; a copy of the process writes it."""


class MemoryUsedUpError(Exception):
    """No policy can continue in this process; the ResourceManager ends it and starts another."""


YOUNG, MOST_YOUNG = 2_000, 50_000
"""How many objects more than after the last collection are enough for one between two rounds, and
in the middle of one.
"""
FULL_AFTER = 50_000
"""After so many collections of young objects all are looked at, which takes long."""
FLUSH_S = 2.0
"""For how many seconds the ending process waits for the journal's last rounds."""

MakeSession = Callable[[messages.Hello, Path | None], Deciding]
CompileConfig = Callable[[str, str, Sequence[str]], messages.Compiled | messages.Findings]


class PolicyService:
    """Answers requests one at a time, hello first. One that cannot be answered gets ``error``."""

    def __init__(self, make_session: MakeSession, compile_config: CompileConfig) -> None:
        self._make_session = make_session
        self._compile_config = compile_config
        self._session: Deciding | None = None
        self._explanations: Explanations | None = None
        self._header_copy: tuple[int, Copy] | None = None  # with its mark
        self._settings = handshake.Settings.of({})
        self._last_failure = ""
        self._journal_problem: str | None = None
        self._one_at_a_time = threading.Lock()

    def decide(self, text: str) -> str:
        """Answer one request of docs/reference/wire.md; it never raises."""
        with self._one_at_a_time:
            try:
                return self._answer(text)
            except BaseException as error:  # even of a policy that calls sys.exit()
                self._last_failure = error_text.trace()
                message = error_text.message(error)
                log("error", "request failed", error=message, traceback=self._last_failure)
                return messages.write(messages.Failure(message))

    def lastFailure(self) -> str:  # noqa: N802 - the name is the wire's
        """The traceback of the last request answered ``error``; empty if there is none."""
        return self._last_failure

    def flush(self, within_s: float) -> bool:
        """Wait until the journal is written, at most ``within_s`` seconds; also while a policy
        decides. False: not in time.
        """
        journal = None if self._session is None else self._session.journal
        return journal is None or journal.flush(within_s)

    def _answer(self, text: str) -> str:
        if text.startswith('["batch"'):
            # The session decodes batches itself, since it also writes them to the journal.
            return self._decided(text)
        request = messages.read_request(text)
        if isinstance(request, messages.Hello):
            return messages.write(self._open(request))
        if isinstance(request, messages.Explain | messages.Sentences):
            return messages.write(self._explained(request))
        if isinstance(request, messages.Header):
            return messages.write(self._header(request.mark))
        if isinstance(request, messages.Compile):
            self._opened()
            path = self._settings.policy_path
            return messages.write(self._compile_config(request.yaml_text, request.name, path))
        return self._decided(text)

    def _header(self, mark: int) -> messages.HeaderReply | messages.Explaining:
        """The state as of the first request with the mark, so that the rounds that follow can be
        replayed. A large one takes a second, and rounds do not wait for it.
        """
        if self._header_copy is not None and self._header_copy[0] != mark:
            self._header_copy[1].end()
            self._header_copy = None
        if self._header_copy is None:
            session = self._opened()

            def packed() -> bytes:
                return base64.b64encode(zlib.compress(session.header_text().encode(), 1))

            try:
                self._header_copy = mark, Copy(packed, HEADER_S)
            except OSError:  # no room for another process: the rounds wait
                return messages.HeaderReply(packed().decode())
            return messages.Explaining()
        try:
            said = self._header_copy[1].poll()
        except CopyError:
            self._header_copy = None
            raise
        if said is None:
            return messages.Explaining()
        self._header_copy = None
        return messages.HeaderReply(said.decode())

    def _explained(self, request: messages.Explain | messages.Sentences) -> messages.Reply:
        session = self._opened()
        if self._explanations is None:
            assert isinstance(session, Session)
            self._explanations = Explanations(session)
        if isinstance(request, messages.Explain):
            return self._explanations.explain(request)
        return self._explanations.sentences(request)

    def _decided(self, text: str) -> str:
        session = self._opened()
        reply = session.decide(text)
        if "MemoryError" in reply and limits.are_reached():
            raise MemoryUsedUpError(
                "a policy has used up the memory of the policy process"
                f" ({limits.MAX_MEMORY}): only a fresh one has any"
            )
        for notice in registry.take_notices():
            log("warning", notice)
        journal = session.journal
        if journal is not None and journal.problem != self._journal_problem:
            self._report_journal(journal)
        return reply

    def _report_journal(self, journal: Journal) -> None:
        """Log when a journal cannot be written, and when it continues."""
        self._journal_problem = journal.problem
        if journal.problem is None:
            log("warning", "the journal is written again", lost_rounds=journal.lost_rounds)
        else:
            log(
                "error",
                "the journal cannot be written; scheduling goes on without it",
                error=journal.problem,
                retry_ms=RETRY_MS,
                lost_rounds=journal.lost_rounds,
            )

    def _open(self, hello: messages.Hello) -> messages.HelloReply:
        if self._session is not None:
            raise handshake.HandshakeError("a second hello: a process serves one ResourceManager")
        reply = handshake.reply_to(hello)
        self._settings = handshake.Settings.of(hello.settings)
        self._session = self._make_session(hello, self._settings.journal_dir)
        log(
            "info",
            "handshake",
            epoch=hello.epoch,
            shim=hello.shim_version,
            hadoop=hello.hadoop_version,
        )
        return reply

    def _opened(self) -> Deciding:
        if self._session is None:
            raise handshake.HandshakeError("expected hello as the first message of a process")
        return self._session


def compile_request(
    yaml_text: str, name: str, policy_path: Sequence[str]
) -> messages.Compiled | messages.Findings:
    """Compile YAML with policies that are installed or are under ``policy_path``.

    Pydantic is imported here, at the first use of ``config``: it costs as much CPU time as the rest
    of the start, and a process that replaces another one gets what is compiled already.
    """
    try:
        folders = [Path(folder) for folder in policy_path]
        return messages.Compiled(config.compile_config(yaml_text, name, policy_path=folders))
    except config.FindingsError as error:
        found = error.findings
        return messages.Findings([(f.line, f.column, f.path, f.message, f.hint) for f in found])


def write_ready(path: Path, port: int) -> None:
    """Write the port on which we listen into a file; it appears complete, by renaming."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(msgspec.json.encode({"pid": os.getpid(), "port": port}))
    draft.replace(path)


def wait_for_end_of_input() -> None:
    """Return when our parent has ended, in any way: our standard input then ends."""
    while os.read(sys.stdin.fileno(), 4096):
        pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the process; return its exit status."""
    parser = argparse.ArgumentParser(prog="loomcard.bridge.process", description=__doc__)
    parser.add_argument("--ready-file", type=Path, required=True, help="written when we listen")
    parser.add_argument("--secret-file", type=Path, required=True, help="mode 0600")
    options = parser.parse_args(arguments)
    collect_garbage_less_often()
    with suppress(PermissionError):  # it leads a group already
        os.setsid()  # so that what policies start ends with us
    try:
        max_memory_mb = limits.apply()
        secret = gateway.read_secret(options.secret_file)
        # The ResourceManager starts us in its state folder.
        copies = Path.cwd() / "applied-policies"
        make_session = partial(Session, copies=copies, files=JournalWriter, clock=time.monotonic)
        service = PolicyService(make_session, compile_request)
        server = gateway.serve(service, secret, collect_garbage)
        write_ready(options.ready_file, server.port)
    except (gateway.SecretError, OSError, ValueError) as error:
        log("error", "cannot start", error=str(error))
        return 2
    log("info", "ready", port=server.port, pid=os.getpid(), max_memory_mb=max_memory_mb)
    wait_for_end_of_input()
    log("info", "our input has ended")
    if not service.flush(FLUSH_S):
        log("warning", "the journal's last rounds could not be written", within_s=FLUSH_S)
    _end_what_policies_started()
    return 0


def _end_what_policies_started() -> None:
    """End the others of our process group; a live ResourceManager kills the group itself."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)


def collect_garbage_less_often() -> None:
    """Raise the thresholds of the collector so far that it almost never runs while a policy
    decides: ``collect_garbage`` runs it between two rounds. At Python's own thresholds it walks the
    mirror, which is large, lives long and has few cycles, for a third of a round's CPU.
    """
    gc.freeze()
    gc.set_threshold(MOST_YOUNG, 5, FULL_AFTER)


def collect_garbage() -> None:
    """Look for cycles among young objects if there are many; rarely among all."""
    young, _, collections = gc.get_count()
    if collections > FULL_AFTER:
        gc.collect()
    elif young > YOUNG:
        gc.collect(1)


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    os._exit(status)  # a policy that hangs in a thread must not keep the process
