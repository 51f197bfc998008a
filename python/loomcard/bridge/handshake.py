"""The first exchange with a ResourceManager: schema, versions, features, settings."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loomcard.bridge.build import build
from loomcard.wire import messages

FEATURES: tuple[str, ...] = ("heartbeats", "preempt", "headroom", "saved", "reservations")
"""The features of this side; each side uses only features that both name."""


class HandshakeError(Exception):
    """The two sides cannot communicate; the message says why and what to do."""


@dataclass(frozen=True)
class Settings:
    """The settings of the handshake, typed."""

    journal_dir: Path | None
    journal_segment_rounds: int
    journal_max_mb: int | None
    policy_path: tuple[str, ...]
    saved_every_ms: int

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """Read ``given``. Raises ``HandshakeError``, which names the key.

        Unknown keys belong to a newer shim and are ignored.
        """
        journal_dir = _typed(given, "journal_dir", (str, type(None)), None)
        policy_path = _typed(given, "policy_path", (list,), [])
        if not all(isinstance(folder, str) for folder in policy_path):
            raise HandshakeError(
                f"settings.policy_path: expected a list of folders, found {policy_path!r}"
            )
        return cls(
            journal_dir=None if journal_dir is None else Path(journal_dir),
            journal_segment_rounds=_typed(given, "journal_segment_rounds", (int,), 1000),
            journal_max_mb=_typed(given, "journal_max_mb", (int, type(None)), None),
            policy_path=tuple(policy_path),
            saved_every_ms=_typed(given, "saved_every_ms", (int,), 5000),
        )


def _typed(given: Mapping[str, Any], key: str, kinds: tuple[type, ...], absent: Any) -> Any:
    value = given.get(key, absent)
    if not isinstance(value, kinds) or isinstance(value, bool):
        names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise HandshakeError(f"settings.{key}: expected {names}, found {value!r}")
    return value


def reply_to(hello: messages.Hello) -> messages.HelloReply:
    """Our answer. Raises ``HandshakeError`` for another schema or wrong resource types."""
    version = build()
    if hello.schema != messages.SCHEMA:
        raise HandshakeError(
            f"the shim (version {hello.shim_version}) speaks schema {hello.schema}, this process "
            f"(loomcard {version}) schema {messages.SCHEMA}; install the same version of both"
        )
    if hello.resource_types[:2] != ["memory_mb", "vcores"]:
        raise HandshakeError(
            f"resource_types: expected memory_mb, vcores, then others; found {hello.resource_types}"
        )
    return messages.HelloReply(
        schema=messages.SCHEMA,
        python_version=platform.python_version(),
        loomcard_version=version,
        features=list(FEATURES),
    )
