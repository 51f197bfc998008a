"""Tests of the combined card's benchmark."""

from benchmarks.combined_card import HEADLINES, Runs, row


def test_a_headline_is_measured_under_both():
    """DRESS's small jobs end as soon under the card as under DRESS alone; the runs are kept for the
    workload's other headlines.
    """
    runs = Runs()
    small, wait, *_ = (
        row(headline, [1], runs) for headline in HEADLINES if "dress" in headline.name
    )
    assert (small["seeds"], len(runs)) == (1, 1)
    assert small["paper"] > 0 < wait["paper"]
    assert abs(small["change"]) < 1
