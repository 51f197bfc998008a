"""Errors that say what to do about them."""


class HintedError(Exception):
    """One sentence on what is wrong; ``hint`` says what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint
