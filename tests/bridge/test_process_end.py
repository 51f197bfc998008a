"""When a policy process is useless, and what ends with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from loomcard.bridge import limits
from loomcard.bridge.process import PolicyService, compile_request
from loomcard.wire import messages
from waiting import wait_until

DEADLINE_S = 30

FORKS = """
import subprocess, sys
from loomcard.bridge import process
wait = process.wait_for_end_of_input

def forks():
    print(subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL).pid, flush=True)
    wait()

process.wait_for_end_of_input = forks
sys.exit(process.main(sys.argv[1:]))
"""


def test_what_a_policy_started_ends_with_the_process(tmp_path: Path) -> None:
    """A child that a policy forked does not outlive its process, nor keep its pipes open."""
    secret = tmp_path / "secret"
    secret.write_text("s" * 32)
    secret.chmod(0o600)
    files = ["--ready-file", str(tmp_path / "ready"), "--secret-file", str(secret)]
    with subprocess.Popen(
        [sys.executable, "-c", FORKS, *files], cwd=tmp_path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        forked = int(process.stdout.readline())
        process.stdin.close()
        assert process.wait(DEADLINE_S) == 0
    wait_until_gone(forked)


def wait_until_gone(pid: int) -> None:
    """Wait until the process has ended, even if its exit status was not read."""
    exe = Path(f"/proc/{pid}/exe")  # a zombie has none
    wait_until(lambda: not exe.exists(), f"{pid} ended", seconds=DEADLINE_S)


class Full:
    """A session in which a policy raised a MemoryError."""

    journal = None

    def __init__(self, *_: object) -> None: ...

    def decide(self, batch_text: str) -> str:  # noqa: ARG002 - as a session's
        return '["plan",1,[],[],[],{},{},[[1,"root.a:x: MemoryError: ","..."]],[],null,[]]'


def test_a_process_whose_memory_is_used_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ResourceManager then starts another process. If only one large piece was requested, the
    fallback serves only the queue whose policy requested it.
    """
    service = PolicyService(Full, compile_request)
    types = ["memory_mb", "vcores"]
    hello = messages.Hello(messages.SCHEMA, 1, "0.1.0", "3.4.2", types, [], {})
    service.decide(messages.write(hello))
    assert service.decide('["batch"]').startswith('["plan"')
    monkeypatch.setattr(limits, "are_reached", lambda: True)
    reply = messages.read_reply(service.decide('["batch"'))
    assert isinstance(reply, messages.Failure)
    assert limits.MAX_MEMORY in reply.message
