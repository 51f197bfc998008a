"""The limits of queues, as `loomcard status` shows them."""

import json
from pathlib import Path

from loomcard.cluster.limits import amounts, label_rows, limit_rows

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "limits.json").read_text("utf-8"))


def test_each_stated_limit_is_a_row_with_its_use() -> None:
    assert limit_rows(GOLDEN["queues"]) == GOLDEN["rows"]


def test_each_label_of_a_queue_is_a_row() -> None:
    """A row has the label's guarantee as an amount and as a part, its use, and how much of that is
    lent.
    """
    assert label_rows(GOLDEN["queues"]) == GOLDEN["label_rows"]


def test_a_document_without_amounts_by_label_has_what_it_says() -> None:
    """An older ResourceManager reports used and maximum; the share comes from the configuration."""
    old = {"path": "root", "by_label": {"gpu": {"used": {"vcores": 1}, "maximum": None}}}
    assert label_rows([old]) == [["gpu", "root", "-", "1 vcore", "-", "no limit"]]
    old["limits"] = {"label_guaranteed_ppm": {"gpu": 500_000}}
    assert label_rows([old])[0][2] == "50.0 % of the parent's"


def test_a_document_without_limits_has_no_rows() -> None:
    """An older ResourceManager sends such a document."""
    assert limit_rows([{"path": "root", "applications": 1, "maximum": {"memory_mb": 1}}]) == []


def test_a_limit_without_words_of_its_own_is_shown_by_its_key() -> None:
    """A new key of queues is shown without a change here."""
    queue = {"path": "root", "limits": {"maximum_patience": 5, "labels": []}, "applications": 0}
    rows = [["root", "labels", "none", ""], ["root", "maximum patience", "5", ""]]
    assert limit_rows([queue]) == rows


def test_amounts_are_readable() -> None:
    """Thousands are grouped, memory is in MB or GB, other types keep their names."""
    found = amounts({"memory_mb": 1048576, "vcores": 4, "gpu": 0})
    assert found == "1,024 GB, 4 vcores, 0 gpu"
    assert amounts({"memory_mb": 2304, "vcores": 1}) == "2.25 GB, 1 vcore"
    assert amounts({"memory_mb": 1000}) == "1000 MB"
    assert amounts({"memory_mb": 10240}) == "10 GB"
    assert amounts({}) == "none"
