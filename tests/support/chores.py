"""Work for tests of the pool, in a module that its processes can import."""

import os
import signal
from collections.abc import Callable


def who(item: int, send: Callable[[int], None]) -> tuple[int, int]:
    """Return the item and the id of this process; report ten times the item."""
    send(item * 10)
    return item, os.getpid()


def fails_on_two(item: int, send: Callable[[object], None]) -> int:
    """Kill the process for item 2, raise for 3, and wait for a request to stop for 4."""
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if item == 3:
        raise ZeroDivisionError("three")
    if item == 4:
        try:
            send("waiting")
            signal.pause()
        except KeyboardInterrupt:
            return 40
    return item
