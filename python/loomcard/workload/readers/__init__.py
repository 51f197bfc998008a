"""Recorded demand: one reader per format, each with the options of its rule."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Tag

from loomcard.workload.readers.journal import JournalTrace
from loomcard.workload.readers.sls import SlsTrace
from loomcard.workload.readers.source import Source
from loomcard.workload.readers.swim import SwimTrace
from loomcard.workload.readers.synth import SynthTrace
from loomcard.workload.readers.tpch import TpchTrace


def _format(value: object) -> str:
    named = value.get("format") if isinstance(value, dict) else getattr(value, "format", None)
    return f"<{named}>"


Trace = Annotated[
    Annotated[SwimTrace, Tag("<swim>")]
    | Annotated[TpchTrace, Tag("<tpch>")]
    | Annotated[SlsTrace, Tag("<sls>")]
    | Annotated[SynthTrace, Tag("<synth>")]
    | Annotated[JournalTrace, Tag("<journal>")],
    Discriminator(_format),
]
"""The options of one trace, by its ``format``."""

OPTIONS: dict[str, type[Source]] = {
    "swim": SwimTrace,
    "tpch": TpchTrace,
    "sls": SlsTrace,
    "synth": SynthTrace,
    "journal": JournalTrace,
}
"""The options' class by format."""
