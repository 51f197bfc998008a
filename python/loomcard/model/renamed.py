"""Names of the policy API in the previous version: they work, warn, and will be removed in the next
version.
"""

from __future__ import annotations

import warnings
from typing import Final

EXPORTS: Final = {
    "HOLD_AFTER_MS": "RESERVE_AFTER_MS",
    "Hold": "Reservation",
}
"""Former names that ``loomcard`` exported, and their names of today."""


def warn_renamed(old: str, new: str, *, calls: int = 2) -> None:
    """Warn the caller of the function that calls this, or the one ``calls`` calls above."""
    message = f"{old} is now {new}; the old name goes with the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=calls + 1)


def argument(function: str, new: str, given: dict[str, int], old: str) -> int:
    """The value of the argument ``new``, which ``given`` has under the name ``old``. Raises
    TypeError if it has another name.
    """
    for name in given:
        if name != old:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        warn_renamed(f"{function}({old}=...)", f"{function}({new}=...)", calls=3)
    return given[old]
