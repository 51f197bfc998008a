"""Tests of the benchmark of all four papers in one configuration."""

from pathlib import Path

import pytest
import yaml

from benchmarks.combined_card import CARD, HEADLINES, Runs, figure, row
from benchmarks.papers_on_yarn.dress import scaled, scaled_options
from loomcard.config import compile_config
from loomcard.simulator import simulate
from loomcard.workload import load


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


def test_a_run_in_a_tenth_of_the_time_has_the_workloads_figures():
    """As on YARN: the jobs' times and those of DRESS are a tenth, the figures are in the workload's
    own seconds.
    """
    headline = HEADLINES[0]
    scenario = load(Path(headline.workload), seed=1, vary=headline.vary)
    config = "version: 1\nkind: policy\npolicy: dress\n"
    shorter = yaml.safe_dump(scaled_options(yaml.safe_load(config), 10))
    runs = {
        by: simulate(scaled(scenario, by), compile_config(text, "policy.yml"), policy="dress")
        for by, text in ((1, config), (10, shorter))
    }
    whole, tenth = (figure(headline, record, "", by) for by, record in runs.items())
    assert tenth == pytest.approx(whole, rel=0.02)


def test_every_queue_of_the_card_under_dress_has_its_times_divided():
    """Also those below other queues; what else the card states stays."""
    card = yaml.safe_load(CARD.read_text("utf-8"))
    shorter = scaled_options(card, 10)
    times = {"tick_ms": 100, "phase_window_ms": 1000}
    assert shorter["queues"]["shop"]["queues"]["web"]["options"] == times
    assert shorter["queues"]["lab"]["queues"]["train"]["options"] == times
    assert shorter["options"] == card["options"]
    assert shorter["queues"]["shop"]["queues"]["etl"] == {"policy": "coupling"}
