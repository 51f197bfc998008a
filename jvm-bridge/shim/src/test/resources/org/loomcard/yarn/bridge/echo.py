"""A policy process that answers with the text of the request."""

import argparse
import os
from pathlib import Path

from loomcard.bridge import gateway
from loomcard.bridge.process import wait_for_end_of_input, write_ready


class Echo:
    """Raise on "raise"; otherwise return the text."""

    def decide(self, text: str) -> str:
        """Return the text."""
        if text == "raise":
            raise ValueError("as asked")
        return text

    def lastFailure(self) -> str:  # noqa: N802
        """Nothing failed."""
        return ""


parser = argparse.ArgumentParser()
parser.add_argument("--ready-file", type=Path)
parser.add_argument("--secret-file", type=Path)
options = parser.parse_args()
server = gateway.serve(Echo(), gateway.read_secret(options.secret_file))
write_ready(options.ready_file, server.port)
wait_for_end_of_input()
os._exit(0)
