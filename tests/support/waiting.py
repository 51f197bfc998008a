"""The only place where tests wait: for a condition, with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T | None], what: str = "", *, seconds: float = 60, pause_s: float = 0.05
) -> T:
    """Call ``condition`` again and again until its result is true, and return that result. ``what``
    describes the condition in the error.
    """
    end = time.monotonic() + seconds
    while not (seen := condition()):
        assert time.monotonic() < end, f"{seconds:.0f} s passed before {what or condition}"
        time.sleep(pause_s)
    return seen
