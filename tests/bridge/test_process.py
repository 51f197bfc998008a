"""The policy process: what it answers, and when it ends."""

import base64
import gc
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import weakref
import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loomcard.api import registry
from loomcard.bridge import handshake
from loomcard.bridge import process as policy_process
from loomcard.bridge.copies import PIPE_BYTES, Copy, CopyError
from loomcard.bridge.process import PolicyService, compile_request
from loomcard.config import compile_config
from loomcard.engine.session import Session, replay
from loomcard.experiments.replay_runs import compare_rounds, recorded_config
from loomcard.wire import messages
from loomcard.wire.journal import read_segment, segments
from loomcard.wire.journal_files import RETRY_MS
from waiting import wait_until

DEADLINE_S = 30


class Stubborn:
    """A session that raises the exception that it is given."""

    journal = None

    def __init__(self, hello: messages.Hello, journal_dir: Path | None) -> None:
        self.given = (hello, journal_dir)

    def decide(self, batch_text: str) -> str:
        if "exit" in batch_text:
            sys.exit("a policy called sys.exit()")
        if "long" in batch_text:
            raise ValueError("x" * 1_000_000 + " end")
        if "raise" in batch_text:
            raise ZeroDivisionError("a policy divided by zero")
        return batch_text


def hello(schema: int = messages.SCHEMA, settings: dict[str, Any] | None = None) -> messages.Hello:
    types = ["memory_mb", "vcores"]
    return messages.Hello(schema, 1, "0.1.0", "3.4.2", types, ["preempt"], settings or {})


def service() -> PolicyService:
    return PolicyService(Stubborn, compile_request)


def opened() -> PolicyService:
    opened = service()
    assert isinstance(ask(opened, hello()), messages.HelloReply)
    return opened


def ask(service: PolicyService, request: messages.Request) -> messages.Reply:
    return messages.read_reply(service.decide(messages.write(request)))


def error(reply: messages.Reply) -> str:
    assert isinstance(reply, messages.Failure)
    return reply.message


def test_hello_is_answered_with_versions_and_features() -> None:
    """The reply to the handshake says who answers."""
    reply = ask(service(), hello())
    assert isinstance(reply, messages.HelloReply)
    assert (reply.schema, reply.features) == (messages.SCHEMA, list(handshake.FEATURES))


def test_another_schema_is_refused_with_the_remedy() -> None:
    """Versions that do not match are reported, with a remedy."""
    assert "install the same version of both" in error(ask(service(), hello(schema=1)))


def test_other_resource_types_are_refused() -> None:
    """Resource types in another order are refused, because vectors without names would be
    misread.
    """
    strange = msgspec.structs.replace(hello(), resource_types=["vcores", "memory_mb"])
    assert "expected memory_mb, vcores" in error(ask(service(), strange))


def test_nothing_comes_before_hello() -> None:
    """A batch or a compile without a handshake is an error."""
    assert "expected hello" in service().decide('["batch",1]')
    assert "expected hello" in error(ask(service(), messages.Compile("", "")))


def test_hello_comes_once() -> None:
    """A second hello is refused: it would silently drop the first session's mirror."""
    assert "second hello" in error(ask(opened(), hello()))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"journal_dir": 7}, "settings.journal_dir: expected str or null, found 7"),
        ({"policy_path": "x"}, "settings.policy_path: expected list, found 'x'"),
        ({"policy_path": [1]}, "expected a list of folders"),
        ({"journal_segment_rounds": True}, "expected int, found True"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], why: str) -> None:
    """The error names key, expectation and value."""
    assert why in error(ask(service(), hello(settings=settings)))


def test_unknown_settings_are_a_newer_shims() -> None:
    """Unknown settings are ignored."""
    assert isinstance(ask(service(), hello(settings={"new": 1})), messages.HelloReply)


@pytest.mark.parametrize(
    "text", ["", "\x00", "[]", '["hello"]', '["shutdown"]', "null", "{}", "[" * 5000]
)
def test_garbage_is_answered_and_does_no_harm(text: str) -> None:
    """Garbage is answered with an error, and the next request is answered."""
    answering = opened()
    before = answering.lastFailure()
    assert error(messages.read_reply(answering.decide(text)))
    assert before == ""
    assert answering.decide('["batch","fine"]') == '["batch","fine"]'


@pytest.mark.parametrize(("what", "kind"), [("raise", "ZeroDivisionError"), ("exit", "SystemExit")])
def test_a_raising_session_is_answered_with_an_error(what: str, kind: str) -> None:
    """The process stays, and keeps the traceback for lastFailure."""
    answering = opened()
    assert kind in error(messages.read_reply(answering.decide(f'["batch","{what}"]')))
    assert re.search(r"Traceback.*line \d+, in decide", answering.lastFailure(), re.DOTALL)


def test_a_long_message_of_an_exception_is_shortened() -> None:
    """A long message that a policy raises is shortened, because it reaches the ResourceManager's
    log and pages.
    """
    answering = opened()
    reply = error(messages.read_reply(answering.decide('["batch","long"]')))
    assert reply.startswith("ValueError: xxx")
    assert reply.endswith("xxx end")
    assert len(reply) < 2_100
    assert len(answering.lastFailure()) < 20_100


def test_yaml_is_compiled_or_its_findings_listed() -> None:
    """The policy process reads the YAML, and returns the compiled text or the findings."""
    answering = opened()
    good = ask(answering, messages.Compile("version: 1\nkind: policy\npolicy: fifo\n", "f.yml"))
    assert isinstance(good, messages.Compiled)
    assert good.config["source"] == "f.yml"
    bad = ask(answering, messages.Compile("version: 1\nkind: policy\npolicy: fofi\n", "f.yml"))
    assert isinstance(bad, messages.Findings)
    assert [finding[0] for finding in bad.findings] == [3]


class Child:
    """A real process with its files."""

    def __init__(self, folder: Path, mode: int = 0o600) -> None:
        self.ready = folder / "ready.json"
        secret_file = folder / "secret"
        secret_file.write_text("0123456789abcdef")
        secret_file.chmod(mode)
        options: Sequence[str] = [
            *("--ready-file", str(self.ready)),
            *("--secret-file", str(secret_file)),
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "loomcard.bridge.process", *options],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> dict[str, Any]:
        ended = self.process.poll
        wait_until(
            lambda: self.ready.exists() or ended() is not None, "it is ready", seconds=DEADLINE_S
        )
        assert self.ready.exists(), "it ended before it was ready"
        return msgspec.json.decode(self.ready.read_bytes(), type=dict[str, Any])

    def log(self) -> list[dict[str, Any]]:
        assert self.process.stderr is not None
        return [json.loads(line) for line in self.process.stderr]


@pytest.fixture
def children() -> Iterator[list[Child]]:
    children: list[Child] = []
    yield children
    for child in children:
        child.process.kill()
        child.process.wait(DEADLINE_S)
        for stream in (child.process.stdin, child.process.stderr):
            if stream is not None:
                stream.close()


def test_the_process_ends_with_its_parents_pipe(tmp_path: Path, children: list[Child]) -> None:
    """The process never outlives the ResourceManager, however that one died."""
    children.append(Child(tmp_path))
    ready = children[0].wait_until_ready()
    assert ready["pid"] == children[0].process.pid
    assert ready["port"] > 0
    assert children[0].process.stdin is not None
    children[0].process.stdin.close()
    assert children[0].process.wait(DEADLINE_S) == 0
    events = [line["event"] for line in children[0].log()]
    assert events == ["ready", "our input has ended"]


def test_a_secret_that_others_may_read_is_refused(tmp_path: Path, children: list[Child]) -> None:
    """One line in the log says why, and the process ends with status 2."""
    children.append(Child(tmp_path, mode=0o644))
    assert children[0].process.wait(DEADLINE_S) == 2
    (line,) = children[0].log()
    assert line["level"] == "error"
    assert "chmod 600" in line["error"]
    assert not children[0].ready.exists()


FIFO = compile_config("version: 1\nkind: policy\npolicy: fifo\n", "f.yml")


def snapshot(round_number: int, now_ms: int = 10, compiled: dict[str, Any] = FIFO) -> str:
    """Return a batch that adds a cluster of one node and one ask, as the ResourceManager sends
    it.
    """
    records = [
        ["snapshot", 0, "start"],
        ["config", 0, 1, compiled],
        ["saved", 0, {}],
        ["node_added", 0, 1, "h1:1", "/r", [8192, 8], ""],
        ["application_added", 0, 1, "application_1_0001", 1, "u", "n", "T", [], 0, 0, {}],
        ["attempt_added", 0, 1, 1, 1, True],
        ["ask", 0, 1, 1, 0, False, [1024, 1], 5, {}, {}, True, ""],
    ]
    return json.dumps(["batch", round_number, 1, now_ms, [1, 1, 0, 5], records])


def test_a_journal_without_a_place_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the folder cannot be made, rounds are still answered; the log says why, and later that it
    is over. A file is in the folder's place; root is refused there, too.
    """
    place = tmp_path / "journal"
    place.write_text("in the way")
    answering = PolicyService(Session, compile_request)
    settings = {"journal_dir": str(place / "j"), "saved_every_ms": 5000}
    assert isinstance(ask(answering, hello(settings=settings)), messages.HelloReply)
    for number, reports in ((1, 1), (2, 0)):
        plan = messages.read_reply(answering.decide(snapshot(number)))
        assert isinstance(plan, messages.PlanReply)
        assert list(plan.reports) == ["journal"] * reports
    output = capsys.readouterr().err
    assert output.count("the journal cannot be written; scheduling goes on without it") == 1
    place.unlink()
    again = messages.read_reply(answering.decide(snapshot(3, now_ms=10 + RETRY_MS)))
    assert isinstance(again, messages.PlanReply)
    assert again.reports == {"journal": {"trouble": None, "lost_rounds": 2}}
    assert replay(place / "j") == []
    assert "the journal is written again" in capsys.readouterr().err
    (path,) = segments(place / "j")
    assert len(read_segment(path).rounds) == 1


def test_segments_are_in_the_order_of_rounds(tmp_path: Path) -> None:
    """Segments are in the order of rounds even if another process decided a round in between, as at
    a swap that was taken back.
    """
    live, other = (PolicyService(Session, compile_request) for _ in range(2))
    for one in (live, other):
        ask(one, hello(settings={"journal_dir": str(tmp_path), "saved_every_ms": 5000}))
    for one, number in ((live, 1), (live, 2), (other, 3), (live, 4), (live, 5)):
        one.decide(snapshot(number))
    rounds = [
        [msgspec.json.decode(batch)[1] for batch, _ in read_segment(path).rounds]
        for path in segments(tmp_path)
    ]
    assert rounds == [[1, 2], [3], [4, 5]]
    assert replay(tmp_path) == []


def asked_header(service: PolicyService, mark: int) -> messages.Reply:
    """Ask for the state until there is another answer than that it is being written."""
    replies: list[messages.Reply] = []

    def answered() -> bool:
        replies.append(ask(service, messages.Header(mark)))
        return not isinstance(replies[-1], messages.Explaining)

    wait_until(answered, DEADLINE_S)
    return replies[-1]


def unpacked(reply: messages.Reply) -> str:
    assert isinstance(reply, messages.HeaderReply)
    return zlib.decompress(base64.b64decode(reply.packed)).decode()


def test_rounds_continue_while_the_state_is_written() -> None:
    """The state is that of the first request with its mark, although rounds follow before it is
    written; another mark asks for another state, though the first was never fetched.
    """
    made: list[Session] = []

    def make(hello: messages.Hello, journal_dir: Path | None) -> Session:
        made.append(Session(hello, journal_dir))
        return made[0]

    service = PolicyService(make, compile_request)
    ask(service, hello(settings={"saved_every_ms": 5000}))
    service.decide(snapshot(1))
    before = made[0].header_text()
    first = ask(service, messages.Header(1))
    service.decide(snapshot(2))
    after = made[0].header_text()
    assert isinstance(first, messages.Explaining)
    assert unpacked(asked_header(service, 1)) == before != after
    assert isinstance(ask(service, messages.Header(2)), messages.Explaining)
    service.decide(snapshot(3))
    assert unpacked(asked_header(service, 3)) == made[0].header_text() != after


class Written(Stubborn):
    """Its state is ``text``."""

    text = "whole"

    def header_text(self) -> str:
        if not self.text:
            raise ValueError("a memory that no wire carries")
        return self.text


def test_a_state_that_cannot_be_written_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer says why, and the next request begins again."""
    service = PolicyService(Written, compile_request)
    ask(service, hello())
    monkeypatch.setattr(Written, "text", "")
    assert "a memory that no wire carries" in error(asked_header(service, 1))
    monkeypatch.undo()
    assert unpacked(asked_header(service, 2)) == "whole"


def test_an_answer_larger_than_a_pipe_is_whole() -> None:
    """The copy waits until its answer is read."""
    large = os.urandom(3 * PIPE_BYTES)
    copy = Copy(lambda: large, 60)
    found: list[bytes | None] = []

    def answered() -> bool:
        found.append(copy.poll())
        return found[-1] is not None

    wait_until(answered, DEADLINE_S)
    assert found[-1] == large


def test_half_an_answer_is_none() -> None:
    """A copy that is killed while it writes has not answered."""
    copy = Copy(lambda: bytes(3 * PIPE_BYTES), 60)
    wait_until(lambda: bool(select.select([copy._pipe], [], [], 0)[0]), DEADLINE_S)
    os.kill(copy.pid, signal.SIGKILL)
    with pytest.raises(CopyError, match="killed"):
        wait_until(lambda: copy.poll() is not None, DEADLINE_S)


def test_a_copy_keeps_no_connection_open() -> None:
    """Who waits for the end of the policy process does not wait for its copies."""
    ours, theirs = socket.socketpair()
    with ours:
        copy = Copy(lambda: signal.pause() or b"", 60)
        theirs.close()
        ours.settimeout(DEADLINE_S)
        assert ours.recv(1) == b""
        copy.end()


def test_without_room_for_a_copy_the_state_is_written_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A machine that makes no further process delays rounds, and loses no history."""

    def refuse() -> int:
        raise BlockingIOError("no more processes")

    service = PolicyService(Written, compile_request)
    ask(service, hello())
    monkeypatch.setattr(os, "fork", refuse)
    assert unpacked(ask(service, messages.Header(1))) == "whole"


COUNTING = """
from dataclasses import dataclass
from loomcard.api.plan import Plan

@dataclass(frozen=True)
class Counting:
    def decide(self, view):
        plan = Plan(view)
        plan.report(view.queue, {{"text": "{word}"}})
        return plan
"""


def test_an_edit_of_a_policys_file_takes_effect_when_it_is_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a snapshot nor another process lets an edited text run under the same hash."""
    file = tmp_path / "counting.py"
    file.write_text(COUNTING.format(word="applied"))
    yaml = "version: 1\nkind: policy\npolicy: counting.py:Counting\n"
    compiled = compile_config(yaml, "f.yml", policy_path=[tmp_path])
    settings = {"policy_path": [str(tmp_path)], "saved_every_ms": 5000}

    def process() -> PolicyService:
        started = PolicyService(partial(Session, copies=tmp_path / "copies"), compile_request)
        ask(started, hello(settings=settings))
        return started

    def reported(process: PolicyService, number: int, compiled: dict[str, Any]) -> object:
        reply = messages.read_reply(process.decide(snapshot(number, compiled=compiled)))
        assert isinstance(reply, messages.PlanReply)
        assert reply.faults == []
        return reply.reports["root.default"]

    first = process()
    assert reported(first, 1, compiled) == {"text": "applied"}
    file.write_text(COUNTING.format(word="edited"))
    assert reported(first, 2, compiled) == {"text": "applied"}
    registry._modules.clear()
    assert reported(process(), 3, compiled) == {"text": "applied"}
    assert "counting.py was changed after it was applied" in capsys.readouterr().err
    again = compile_config(yaml, "f.yml", policy_path=[tmp_path])
    assert again["hash"] != compiled["hash"]
    assert reported(process(), 4, again) == {"text": "edited"}


RAISING = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Raising:
    def decide(self, view):
        raise ValueError("not today")
"""


def test_a_swap_that_was_taken_back_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A swap that was taken back replays: its one round is a segment between those of the old
    process, which are under the old configuration. This is also true if the candidate answered with
    a fault, or its policy could not be built.
    """
    monkeypatch.chdir(tmp_path)
    Path("raising.py").write_text(RAISING)
    settings = {"journal_dir": "journal", "policy_path": [str(tmp_path)], "saved_every_ms": 5000}
    live, raising, dying = (PolicyService(Session, compile_request) for _ in range(3))
    for one in (live, raising, dying):
        ask(one, hello(settings=settings))
    bad = compile_config(
        "version: 1\npolicy: raising.py:Raising\n", "b.yml", policy_path=[tmp_path]
    )
    lost = json.loads(json.dumps(bad).replace("raising.py", "lost.py"))
    first, plans = 1, []
    rounds = ((live, FIFO), (raising, bad), (live, FIFO), (dying, lost), (live, FIFO))
    for number, (process, compiled) in enumerate(rounds, 1):
        _, _, _, at, check, records = json.loads(snapshot(number, compiled=compiled))
        text = json.dumps(["batch", number, first, at, check, records])
        plans.append(messages.read_reply(process.decide(text)))
        first += len(records)
    assert isinstance(plans[1], messages.PlanReply)
    assert plans[1].faults[0][1].endswith("ValueError: not today")
    assert isinstance(plans[3], messages.PlanReply)
    assert "PolicyNotFoundError" in plans[3].faults[0][1]
    found = [len(read_segment(path).rounds) for path in segments(Path("journal"))]
    assert found == [1, 1, 1, 0, 1]
    assert replay(Path("journal")) == []
    assert compare_rounds(Path("journal"), FIFO).rounds == 4
    assert recorded_config(Path("journal"))["hash"] == FIFO["hash"]


class Cycle:
    """Refers to itself."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def by_hand() -> Iterator[None]:
    """Let nothing but a test collect garbage."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@pytest.mark.usefixtures("by_hand")
def test_many_young_cycles_are_collected_between_rounds():
    """A few may stay, so that most rounds are followed by no collection."""
    young = weakref.ref(Cycle())
    policy_process.collect_garbage()
    assert young() is not None
    cycles = [Cycle() for _ in range(policy_process.YOUNG + 1)]
    cycles.clear()
    policy_process.collect_garbage()
    assert young() is None


@pytest.mark.usefixtures("by_hand")
def test_old_cycles_are_collected_after_many_collections(monkeypatch):
    """Those that were referred to while they were young."""
    cycle: Cycle | None = Cycle()
    old = weakref.ref(cycle)
    gc.collect(1)
    cycle = None
    gc.collect(1)
    policy_process.collect_garbage()
    assert old() is not None
    monkeypatch.setattr(policy_process, "FULL_AFTER", gc.get_count()[2] - 1)
    policy_process.collect_garbage()
    assert old() is None
