"""The log of the policy process: JSON lines on standard error, which the ResourceManager reads."""

import sys
from datetime import UTC, datetime
from typing import Literal

import msgspec

Level = Literal["info", "warning", "error"]


def log(level: Level, event: str, **facts: str | float | None) -> None:
    """Write one line. Any thread may call it."""
    line = {"event": event, **facts, "level": level, "timestamp": datetime.now(UTC).isoformat()}
    sys.stderr.write(f"{msgspec.json.encode(line).decode()}\n")
    sys.stderr.flush()
