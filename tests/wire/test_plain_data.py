"""Classes that were moved or renamed: older journals and saved parts name them as they were."""

import pytest

from loomcard.policies.hdrf.placement import OwedTask
from loomcard.wire.plain_data import decode, encode


@pytest.mark.parametrize(
    "written",
    ["loomcard.policies.hdrf.serve:Owed", "loomcard.policies.hdrf.placement:Owed"],
    ids=["moved and renamed", "renamed"],
)
def test_a_class_is_found_by_an_earlier_name(written: str) -> None:
    """What is written now has today's name."""
    task = OwedTask("root.a", 1, [1024, 1], "", 5000)
    today = encode(task)
    assert today["is"] == "loomcard.policies.hdrf.placement:OwedTask"
    assert decode(today | {"is": written}) == task
