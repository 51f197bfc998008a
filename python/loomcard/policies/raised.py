"""What a policy raised, as text: it may raise anything, with any message."""

import traceback


def message(error: BaseException) -> str:
    """Its class and its own message, in at most about 2,000 characters."""
    try:
        words = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as worse:
        words = f"(its message cannot be read: {type(worse).__name__})"
    return _shortened(f"{type(error).__name__}: {words}", 2_000)


def trace() -> str:
    """The traceback of what is being handled, in at most about 20,000 characters."""
    return _shortened(traceback.format_exc(), 20_000)


def _shortened(text: str, most: int) -> str:
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} [...] {text[-half:]}"
