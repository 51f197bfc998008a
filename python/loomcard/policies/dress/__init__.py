"""DRESS, a dynamic reservation for small jobs (Mao et al., 2018): its separate functions."""

from loomcard.policies.dress.paper import (
    LARGE,
    SMALL,
    DeltaInputs,
    Rule,
    adjust,
    classify,
    phase_cum,
    phase_expected,
    split,
)
from loomcard.policies.dress.phases import Phase, Tracker, Windows

__all__ = [
    "LARGE",
    "SMALL",
    "DeltaInputs",
    "Phase",
    "Rule",
    "Tracker",
    "Windows",
    "adjust",
    "classify",
    "phase_cum",
    "phase_expected",
    "split",
]
