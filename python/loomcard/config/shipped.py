"""Folders that come with Loomcard, in a checkout or an installation."""

import sys
from pathlib import Path

import loomcard

PACKAGE = Path(loomcard.__file__).resolve().parent


class PlaceError(Exception):
    """Something that the command needs is not on this machine. `hint` says how to get it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def checkout() -> Path | None:
    """The root of the source tree that this package runs from, or None when it is installed."""
    root = PACKAGE.parents[1]
    return root if (root / "jvm-bridge" / "pom.xml").is_file() else None


def shipped(name: str) -> Path:
    """A folder that comes with Loomcard: the checkout's, or what the installed package brought.

    Raises PlaceError when it is neither here nor there.
    """
    root = checkout()
    folder = root / name if root is not None else Path(sys.prefix) / "share" / "loomcard" / name
    if not folder.is_dir():
        raise PlaceError(f"no folder {folder}", "install loomcard again, from its wheel")
    return folder
