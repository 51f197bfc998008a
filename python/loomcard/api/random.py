"""Random values that are the same in both engines: seeded by (seed, application or node, sequence
number of the event).
"""

from __future__ import annotations

from hashlib import blake2b


def draw(seed: int, subject: str, sequence: int) -> float:
    """A number in [0, 1). It is the same wherever and in whatever order it is drawn."""
    digest = blake2b(f"{seed}/{subject}/{sequence}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def pick(seed: int, subject: str, sequence: int, count: int) -> int:
    """An integer in [0, ``count``)."""
    return int(draw(seed, subject, sequence) * count)
