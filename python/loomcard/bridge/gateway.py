"""Serves an object of two methods to the ResourceManager; the only module that imports Py4J.

Loopback only, on a port the system picks, for whoever holds the secret. No connection leads back
into the JVM.
"""

from __future__ import annotations

import socket
import stat
import threading
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from py4j import protocol
from py4j.java_gateway import (
    CallbackConnection,
    CallbackServer,
    CallbackServerParameters,
    PythonProxyPool,
    server_started,
)

LOOPBACK = "127.0.0.1"
START_DEADLINE_S = 10.0


class Policy(Protocol):
    """What the ResourceManager calls: one text in, one text out. Neither method raises."""

    def decide(self, text: str) -> str:
        """Answers one request of docs/wire.md."""

    def lastFailure(self) -> str:  # noqa: N802 - the name is the wire's
        """The traceback of the last request that was answered with an error; empty if none was."""


class SecretError(Exception):
    """The secret file is missing, empty, or readable by others."""


def read_secret(path: Path) -> str:
    """The secret in the file ``path``, which only its owner may read; raises ``SecretError``."""
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


class _Server(CallbackServer):  # type: ignore[misc] # Py4J has no types
    """Py4J's server with TCP_NODELAY: without it messages of 9 to 30 kB stall for 40 ms."""

    def _create_connection(self, accepted: socket.socket, stream: BinaryIO) -> CallbackConnection:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return super()._create_connection(accepted, stream)


class Gateway:
    """A running server; ``port`` is where it listens."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self.port: int = server.get_listening_port()

    def close(self) -> None:
        """Stops listening and drops all connections."""
        self._server.shutdown()


def serve(policy: Policy, secret: str) -> Gateway:
    """Listens for the ResourceManager; returns once it may connect. All threads are daemons."""
    pool = PythonProxyPool()
    pool.put(policy, force_id=protocol.ENTRY_POINT_OBJECT_ID)
    parameters = CallbackServerParameters(
        address=LOOPBACK, port=0, daemonize=True, daemonize_connections=True, auth_token=secret
    )
    server = _Server(pool, None, callback_server_parameters=parameters)
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
