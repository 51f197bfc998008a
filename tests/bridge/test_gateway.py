"""The gateway: who may talk to it, and that messages of all sizes pass without a stall."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.java_gateway import DEFAULT_ADDRESS
from py4j.protocol import CALL_PROXY_COMMAND_NAME, ENTRY_POINT_OBJECT_ID

from loomcard.bridge import gateway
from waiting import wait_until

SECRET = "0123456789abcdef" * 4


class Echo:
    """Answers with the text of the request, and raises on request."""

    def decide(self, text: str) -> str:
        return text

    def lastFailure(self) -> str:  # noqa: N802 - the name is the wire's
        return "none"


class Caller:
    """The ResourceManager's end of the wire, as far as a test needs it."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((DEFAULT_ADDRESS, port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.socket.makefile("rb")
        CALLERS.append(self)

    def close(self) -> None:
        self.answers.close()
        self.socket.close()

    def authenticate(self, secret: str) -> bytes:
        self.socket.sendall(f"A\n{secret}\ne\n".encode())
        return self.answers.readline()

    def rest(self) -> bytes:
        """Return what comes until the other end closes, even by a reset."""
        try:
            return self.answers.read()
        except ConnectionResetError:
            return b""

    def decide(self, text: str) -> str:
        call = f"{CALL_PROXY_COMMAND_NAME}\n{ENTRY_POINT_OBJECT_ID}\ndecide\ns{text}\ne\n"
        # Py4J's Java side writes in pieces of 8 KB, which is what Nagle's algorithm delays.
        for begin in range(0, len(call), 8192):
            self.socket.sendall(call[begin : begin + 8192].encode())
        answer = self.answers.readline().decode()
        assert answer.startswith("!ys"), answer
        return answer[3:-1]


CALLERS: list[Caller] = []


@pytest.fixture(autouse=True)
def callers() -> Iterator[None]:
    """Make callers, each of which is closed after its test."""
    yield
    while CALLERS:
        CALLERS.pop().close()


@pytest.fixture
def port() -> Iterator[int]:
    running = gateway.serve(Echo(), SECRET)
    yield running.port
    running.close()


@pytest.fixture
def caller(port: int) -> Caller:
    caller = Caller(port)
    assert caller.authenticate(SECRET) == b"!yv\n"
    return caller


def test_the_secret_opens_the_gateway(caller: Caller) -> None:
    """A caller that knows the secret gets an answer."""
    assert caller.decide('["x"]') == '["x"]'


def test_a_wrong_secret_is_turned_away(port: int) -> None:
    """A caller with a wrong secret gets no answer, and its connection is closed."""
    client = Caller(port)
    assert client.authenticate("f" * 64).startswith(b"!x")
    assert client.rest() == b""


def test_no_secret_is_turned_away(port: int) -> None:
    """A call without authentication closes the connection unanswered."""
    client = Caller(port)
    client.socket.sendall(b"c\nt\ndecide\ns[]\ne\n")
    assert b"ys" not in client.rest()


def closed_by_the_other_end(client: Caller) -> bool:
    """Return whether what a client without the secret sends no longer arrives anywhere."""
    try:
        for _ in range(200):
            client.socket.sendall(b"y" * 65536)
    except OSError:
        return True
    return False


@pytest.mark.parametrize("first", ["", "A\n"])
def test_a_stranger_is_heard_to_the_length_of_the_secret(port: int, first: str) -> None:
    """A line that never ends is not collected: the connection is closed."""
    client = Caller(port)
    client.socket.sendall(first.encode())
    assert closed_by_the_other_end(client)


def test_strangers_take_neither_threads_nor_the_place_of_the_one_who_knows(port: int) -> None:
    """Hundreds of silent connections cost a few sockets, and the ResourceManager gets in."""
    threads = threading.active_count()
    silent = [Caller(port) for _ in range(100)]
    caller = Caller(port)
    assert caller.authenticate(SECRET) == b"!yv\n"
    assert caller.decide("x") == "x"
    assert threading.active_count() <= threads + 1
    assert silent[0].rest().startswith(b"!x")


def test_a_silent_stranger_is_turned_away_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that says nothing is disconnected."""
    monkeypatch.setattr(gateway, "AUTHENTICATION_DEADLINE_S", 0.1)
    running = gateway.serve(Echo(), SECRET)
    assert Caller(running.port).rest().startswith(b"!x")
    running.close()


def test_connections_are_few(port: int) -> None:
    """Connections that know the secret are limited too; one that ends makes room."""
    callers = [Caller(port) for _ in range(gateway.CONNECTIONS)]
    for caller in callers:
        assert caller.authenticate(SECRET) == b"!yv\n"
    assert Caller(port).authenticate(SECRET).startswith(b"!x")
    callers[0].socket.shutdown(socket.SHUT_RDWR)
    assert wait_until(
        lambda: Caller(port).authenticate(SECRET) == b"!yv\n", "the other end saw that one ended"
    )


def test_it_listens_on_loopback_only(port: int) -> None:
    """Nothing outside the host can connect: other addresses of loopback's net refuse, too."""
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), timeout=5)


@pytest.mark.parametrize("size", [20_000, 100_000, 1_000_000])
def test_large_messages_arrive_whole(caller: Caller, size: int) -> None:
    """A text of any size comes back as it was sent."""
    text = "x" * size
    assert caller.decide(text) == text


def test_both_ends_of_a_connection_have_no_delay(
    monkeypatch: pytest.MonkeyPatch, port: int
) -> None:
    """The accepted socket itself has TCP_NODELAY set: without it, large texts stall for 40 ms."""
    accepted = []
    create = gateway._Server._create_connection

    def spy(self: object, sock: socket.socket, stream: object) -> object:
        connection = create(self, sock, stream)
        accepted.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return connection

    monkeypatch.setattr(gateway._Server, "_create_connection", spy)
    Caller(port).authenticate(SECRET)
    assert accepted == [1]


def test_other_work_begins_when_the_reply_has_been_sent() -> None:
    """The caller has its reply while the work goes on; its next request waits for the end."""
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert end.wait(10)

    running = gateway.serve(Echo(), SECRET, work)
    try:
        caller = Caller(running.port)
        assert caller.authenticate(SECRET) == b"!yv\n"
        assert caller.decide("1") == "1"
        assert begun.wait(10)
        end.set()
        assert caller.decide("2") == "2"
    finally:
        end.set()
        running.close()


def secret_file(folder: Path, text: str, mode: int) -> Path:
    path = folder / "secret"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_secret_is_read_from_a_private_file(tmp_path: Path) -> None:
    """White space around the secret does not belong to it."""
    assert gateway.read_secret(secret_file(tmp_path, SECRET + "\n", 0o600)) == SECRET


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        (SECRET, 0o640, "others may read the secret"),
        (SECRET, 0o604, "others may read the secret"),
        ("short", 0o600, "at least 16 characters"),
        ("", 0o600, "at least 16 characters"),
    ],
)
def test_an_unfit_secret_file_is_refused(tmp_path: Path, text: str, mode: int, why: str) -> None:
    """A secret that others can read or guess is refused."""
    with pytest.raises(gateway.SecretError, match=why):
        gateway.read_secret(secret_file(tmp_path, text, mode))


def test_a_missing_secret_file_is_named(tmp_path: Path) -> None:
    """The error names the file."""
    with pytest.raises(gateway.SecretError, match="nowhere"):
        gateway.read_secret(tmp_path / "nowhere")
