"""Files that come with Loomcard, in a checkout or an installation."""

from pathlib import Path

import loomcard
from loomcard.validation.hinted import HintedError

PACKAGE = Path(loomcard.__file__).resolve().parent


class PlaceError(HintedError):
    """Something that the command needs is not on this machine. `hint` says how to get it."""


def checkout() -> Path | None:
    """The root of the source tree from which this package runs, or None if it is installed."""
    root = PACKAGE.parents[1]
    return root if (root / "jvm-bridge" / "pom.xml").is_file() else None


def shipped(name: str) -> Path:
    """A file or folder that comes with Loomcard: the checkout's, or that of the installed package.

    Raises PlaceError if it is in neither.
    """
    root = checkout()
    found = (root if root is not None else PACKAGE / "files") / name
    if not found.exists():
        raise PlaceError(f"no {found}", "install loomcard again, from a wheel of `make wheel`")
    return found
