"""The golden journals as tests of pytest, for `make mutants` alone: `make golden` is faster."""

from pathlib import Path

import pytest

from loomcard.experiments.replay_check import first_difference
from loomcard.wire.journal import read_segment

JOURNALS = sorted((Path(__file__).parent / "journals").glob("*/*.jsonl.xz"))


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_round_is_decided_as_recorded(path: Path) -> None:
    """A policy decides the same of the same batches."""
    assert first_difference(read_segment(path)) is None
