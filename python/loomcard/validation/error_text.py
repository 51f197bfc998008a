"""What a policy raised, as text: it may raise anything, with any message."""

import threading
import traceback


def words(error: BaseException) -> str:
    """Return an exception's own message, in at most about 2,000 characters."""
    try:
        found = str(error)
    except BaseException as worse:
        if is_interrupt(worse):
            raise
        found = f"(its message cannot be read: {type(worse).__name__})"
    return _shortened(found, 2_000)


def message(error: BaseException) -> str:
    """Return its class and its own message."""
    return f"{type(error).__name__}: {words(error)}"


def trace() -> str:
    """Return the traceback of the present exception, in at most about 20,000 characters."""
    return _shortened(traceback.format_exc(), 20_000)


def is_interrupt(error: BaseException) -> bool:
    """Return whether it is Ctrl-C, which ends a simulation. Ctrl-C reaches only the main thread; a
    policy process decides in another thread, where only the policy itself can raise it.
    """
    interrupt = isinstance(error, KeyboardInterrupt)
    return interrupt and threading.current_thread() is threading.main_thread()


def _shortened(text: str, most: int) -> str:
    half = most // 2
    text = text if len(text) <= most else f"{text[:half]} [...] {text[-half:]}"
    return text.encode(errors="backslashreplace").decode()  # a file's name may not be UTF-8
