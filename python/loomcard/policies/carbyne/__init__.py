"""Carbyne, altruistic scheduling of DAGs (Grandl et al., 2016): its separate functions."""

from loomcard.policies.carbyne.packing import pack, reverse, right_shift
from loomcard.policies.carbyne.paper import inter_job, intra_job, leftover, water_filling
from loomcard.policies.carbyne.waves import Schedule, Stage, Wants, Wave, starts_by

__all__ = [
    "Schedule", "Stage", "Wants", "Wave", "inter_job", "intra_job", "leftover", "pack", "reverse",
    "right_shift", "starts_by", "water_filling",
]  # fmt: skip
