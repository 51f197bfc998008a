"""The command; no logic of its own."""

import sys


def main() -> None:
    """Runs `loomcard`: exit 0 when all went well, 2 for bad input, 1 for any other failure."""
    try:
        from loomcard.cli.app import run
    except KeyboardInterrupt:  # before there was anything to stop
        print("error: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(run())
