"""The command; it has no logic of its own."""

import sys


def main() -> None:
    """Run `loomcard`: exit 0 for success, 2 for bad input, 1 for any other failure."""
    try:
        from loomcard.cli.app import run
    except KeyboardInterrupt:  # before anything was started
        print("error: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(run())
