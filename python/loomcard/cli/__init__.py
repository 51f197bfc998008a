"""The command; no logic of its own."""

import sys


def main() -> None:
    """Runs `loomcard`: exit 0 when all went well, 2 for bad input, 1 for any other failure."""
    from loomcard.cli.app import run

    sys.exit(run())
