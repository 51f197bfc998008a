"""Recorded demand: one reader a format, each with the options that its rule takes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Tag

from loomcard.workload.readers.source import Source
from loomcard.workload.readers.swim import SwimTrace


def _format(value: object) -> str:
    named = value.get("format") if isinstance(value, dict) else getattr(value, "format", None)
    return f"<{named}>"


Trace = Annotated[Annotated[SwimTrace, Tag("<swim>")], Discriminator(_format)]
"""The options of one trace, by its ``format``."""

OPTIONS: dict[str, type[Source]] = {"swim": SwimTrace}
"""The options' class by format."""
