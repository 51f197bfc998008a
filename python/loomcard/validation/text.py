"""The text of a file that a user named: bounded, also if the path is a pipe or a device."""

import errno
import os
import stat
import time
from pathlib import Path
from typing import Final

from loomcard.validation.reading import CONFIG

_LONGEST: Final = 4
"""The most bytes of a character in UTF-8."""
_WRITER_S: Final = 2.0
"""How long a pipe may be without a writer, in seconds."""


def text_of(file: Path) -> str:
    """Return the text of ``file``; a pipe is read to its end. Raises UnicodeDecodeError, and
    OSError: also if a configuration may not have so many bytes, or nothing writes to the pipe.
    """
    most = CONFIG.characters * _LONGEST
    # Without O_NONBLOCK the open of a named pipe waits for a writer for ever.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        first = _first(descriptor) if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else b""
        os.set_blocking(descriptor, True)
        text = first + stream.read(most + 1)
    if len(text) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes, too much for {CONFIG.what}")
    return text.decode("utf-8-sig")


def _first(pipe: int) -> bytes:
    """Return the pipe's first byte, or nothing if a writer has opened it and has not written
    yet.
    """
    until = time.monotonic() + _WRITER_S
    while time.monotonic() < until:
        try:
            got = os.read(pipe, 1)
        except BlockingIOError:
            return b""
        if got:
            return got
        time.sleep(0.02)
    raise OSError(errno.ENODATA, "nobody writes to this pipe")
