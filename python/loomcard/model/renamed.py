"""Names of the policy API as they were in the version before: they work, warn, and go with the
next one.
"""

from __future__ import annotations

import warnings
from typing import Final

EXPORTS: Final = {
    "HOLD_AFTER_MS": "RESERVE_AFTER_MS",
    "Hold": "Reservation",
}
"""What ``loomcard`` exported, and its name of today."""


def warn_renamed(old: str, new: str, *, calls: int = 2) -> None:
    """Warn the caller of the function that calls this, or who is ``calls`` above."""
    message = f"{old} is now {new}; the old name goes with the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=calls + 1)


def argument(function: str, new: str, given: dict[str, int], old: str) -> int:
    """The value of the argument ``new``, which ``given`` has under the name ``old``. Raises
    TypeError where it has another name.
    """
    for name in given:
        if name != old:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        warn_renamed(f"{function}({old}=...)", f"{function}({new}=...)", calls=3)
    return given[old]
