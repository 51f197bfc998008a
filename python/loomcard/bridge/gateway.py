"""Serve an object with two methods to the ResourceManager; the only module that imports Py4J.

It serves on loopback only, on a port that the system picks, to callers that know the secret. No
connection leads back into the JVM.
"""

from __future__ import annotations

import contextlib
import hmac
import select
import socket
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

from py4j import protocol
from py4j.java_gateway import (
    CallbackConnection,
    CallbackServer,
    CallbackServerParameters,
    PythonProxyPool,
    quiet_close,
    quiet_shutdown,
    server_started,
)

from loomcard.bridge.log import log
from loomcard.validation import error_text

LOOPBACK = "127.0.0.1"
START_DEADLINE_S = 10.0
ACCEPT_TIMEOUT_S = 1.0
AUTHENTICATION_DEADLINE_S = 5.0
STRANGERS = 16
"""The most connections at a time that have not sent the secret yet."""
CONNECTIONS = 4
"""The most connections at a time that have; the ResourceManager needs one, and one for failures."""


class Policy(Protocol):
    """What the ResourceManager calls: one text in, one text out. Neither method raises."""

    def decide(self, text: str) -> str:
        """Answer one request of docs/reference/wire.md."""

    def lastFailure(self) -> str:  # noqa: N802 - the name is the wire's
        """The traceback of the last request that was answered with an error; empty if there is no
        such request.
        """


class SecretError(Exception):
    """The secret file is missing, empty, or readable by others."""


def read_secret(path: Path) -> str:
    """The secret in the file ``path``, which only its owner may read. Raises ``SecretError``."""
    try:
        mode = path.stat().st_mode
        secret = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SecretError(f"{path}: cannot read the secret: {error}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise SecretError(
            f"{path}: others may read the secret (mode {stat.S_IMODE(mode):04o}); chmod 600 it"
        )
    if len(secret) < 16:
        raise SecretError(f"{path}: expected a secret of at least 16 characters")
    return secret


class _NewConnection:
    """A connection that has not sent the secret yet: its first bytes, and how long it may take."""

    def __init__(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        self.socket = accepted
        self.received = b""
        self.until = time.monotonic() + AUTHENTICATION_DEADLINE_S

    def fileno(self) -> int:
        return self.socket.fileno()

    def listen(self, wanted: bytes) -> bool | None:
        """Whether it knows the secret; None: not all of it was sent yet."""
        try:
            heard = self.socket.recv(len(wanted) + 1 - len(self.received))
        except BlockingIOError:
            return None
        except OSError:
            return False
        self.received += heard
        complete = len(self.received) >= len(wanted) or self.received.endswith(b"\ne\n")
        if heard and not complete:
            return None
        return hmac.compare_digest(self.received, wanted)

    def refuse(self) -> None:
        """Close it, with Py4J's code for an error."""
        with contextlib.suppress(OSError):  # it may be gone already
            self.socket.send(protocol.ERROR_RETURN_MESSAGE.encode())
        quiet_shutdown(self.socket)
        quiet_close(self.socket)


class _Connection(CallbackConnection):  # type: ignore[misc] # Py4J has no types
    """Py4J's connection with a loop that does other work when a reply has been sent: the caller
    does not wait for it.
    """

    after_reply: Callable[[], object]

    def run(self) -> None:
        """Answer calls until the caller closes the connection, or the server does."""
        calls, replies = self.input, self.socket  # another thread's close forgets them
        with contextlib.suppress(OSError, ValueError):
            while command := _line(calls):
                replies.sendall(self._reply(command, calls).encode())
                self.after_reply()
        self.close()

    def _reply(self, command: str, calls: IO[bytes]) -> str:
        object_id = _line(calls)
        if command == protocol.CALL_PROXY_COMMAND_NAME:
            return str(self._call_proxy(object_id, calls))
        if command == protocol.GARBAGE_COLLECT_PROXY_COMMAND_NAME:
            _line(calls)  # the only object stays
            return str(protocol.SUCCESS_RETURN_MESSAGE)
        return str(protocol.ERROR_RETURN_MESSAGE)


def _line(calls: IO[bytes]) -> str:
    return calls.readline().decode()[:-1]


class _Server(CallbackServer):  # type: ignore[misc] # Py4J has no types
    """Py4J's server with an accept loop of its own.

    Py4J gives each connection a thread before it knows the secret, and reads a line of any length.
    Here one thread reads from all new connections, at most the length of the secret and for a
    bounded time. If there are too many, the oldest is closed, so that connections without the
    secret cannot keep the ResourceManager out.

    TCP_NODELAY: without it, messages of 9 to 30 kB stall for 40 ms.
    """

    def __init__(
        self, pool: PythonProxyPool, secret: str, after_reply: Callable[[], object]
    ) -> None:
        super().__init__(
            pool,
            None,
            callback_server_parameters=CallbackServerParameters(
                address=LOOPBACK, port=0, daemonize=True, daemonize_connections=True
            ),
        )
        self._wanted = f"{protocol.AUTH_COMMAND_NAME}\n{secret}\n{protocol.END}\n".encode()
        self._new_connections: list[_NewConnection] = []
        self._after_reply = after_reply

    def run(self) -> None:
        """Accept and authenticate connections until the server is shut down."""
        listening = self.server_socket
        listening.listen(STRANGERS)
        listening.setblocking(False)
        server_started.send(self, server=self)
        while not self.is_shutdown:
            try:
                self._serve_once(listening)
            except (OSError, ValueError, RuntimeError):  # closed, or no file or thread is left
                if not self.is_shutdown:
                    log("error", "gateway", traceback=error_text.trace())
                    time.sleep(ACCEPT_TIMEOUT_S)
        for client in self._new_connections:
            client.refuse()

    def _serve_once(self, listening: socket.socket) -> None:
        unauthenticated = {client.fileno(): client for client in self._new_connections}
        poll = select.poll()
        for file in (listening.fileno(), *unauthenticated):
            poll.register(file, select.POLLIN)
        for file, _ in poll.poll(1000 * ACCEPT_TIMEOUT_S):
            if file in unauthenticated:
                self._read_secret(unauthenticated[file])
            else:
                self._admit(listening)
        now = time.monotonic()
        for client in [s for s in self._new_connections if s.until <= now]:
            self._reject(client, "it did not say the secret in time")

    def _admit(self, listening: socket.socket) -> None:
        try:
            accepted, _ = listening.accept()
        except BlockingIOError:
            return
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self._new_connections) >= STRANGERS:
            self._reject(self._new_connections[0], "there are too many at a time")
        self._new_connections.append(_NewConnection(accepted))

    def _read_secret(self, client: _NewConnection) -> None:
        if client not in self._new_connections:
            return  # turned away a moment ago
        known = client.listen(self._wanted)
        if known is None:
            return
        if not known:
            self._reject(client, "it did not say the secret")
        elif len([c for c in self.connections if c.socket is not None]) >= CONNECTIONS:
            self._reject(client, f"there are {CONNECTIONS} already")
        else:
            self._new_connections.remove(client)
            self._converse(client.socket)

    def _converse(self, accepted: socket.socket) -> None:
        accepted.setblocking(True)
        connection = self._create_connection(accepted, accepted.makefile("rb"))
        try:
            accepted.sendall(protocol.OUTPUT_VOID_COMMAND.encode())
        except OSError:
            connection.close(True)  # it went without waiting for an answer
            return
        with self.lock:
            self.connections.add(connection)
            connection.start()

    def _create_connection(self, accepted: socket.socket, calls: IO[bytes]) -> _Connection:
        parameters = self.callback_server_parameters
        connection = _Connection(self.pool, calls, accepted, None, parameters, self)
        connection.after_reply = self._after_reply
        return connection

    def _reject(self, client: _NewConnection, why: str) -> None:
        self._new_connections.remove(client)
        client.refuse()
        log("warning", "a connection was turned away", why=why)


class Gateway:
    """A running server; ``port`` is the port on which it listens."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.port: int = server.get_listening_port()

    def close(self) -> None:
        """Stop listening and drop all connections."""
        self._server.shutdown()


def serve(policy: Policy, secret: str, after_reply: Callable[[], object] = lambda: None) -> Gateway:
    """Listen for the ResourceManager; return once it can connect. All threads are daemons.
    ``after_reply`` is called when a reply has been sent, before the next request is read.
    """
    pool = PythonProxyPool()
    pool.put(policy, force_id=protocol.ENTRY_POINT_OBJECT_ID)
    server = _Server(pool, secret, after_reply)
    listening = threading.Event()

    def started(*_: object, **__: object) -> None:
        listening.set()

    server_started.connect(started, sender=server)
    try:
        server.start()
        if not listening.wait(START_DEADLINE_S):
            raise OSError(f"the gateway did not listen within {START_DEADLINE_S:.0f} s")
    finally:
        server_started.disconnect(started, sender=server)
    return Gateway(server)
