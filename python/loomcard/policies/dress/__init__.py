"""DRESS, a dynamic reservation for small jobs (Mao et al., 2018): its functions, one by one."""

from loomcard.policies.dress.classify import LD, SD, classify, classify_vector, predicted_work
from loomcard.policies.dress.forecast import (
    available,
    forecast,
    job_release,
    phase_cum,
    phase_expected,
    phase_release,
)
from loomcard.policies.dress.phases import Phase, Tracker, Windows
from loomcard.policies.dress.quotas import (
    containers_of,
    quotas,
    split_available,
    split_vectors,
    worth,
)
from loomcard.policies.dress.reserve import Adjusted, Outlook, Rule, adjust, adjust_delta

__all__ = [
    "LD",
    "SD",
    "Adjusted",
    "Outlook",
    "Phase",
    "Rule",
    "Tracker",
    "Windows",
    "adjust",
    "adjust_delta",
    "available",
    "classify",
    "classify_vector",
    "containers_of",
    "forecast",
    "job_release",
    "phase_cum",
    "phase_expected",
    "phase_release",
    "predicted_work",
    "quotas",
    "split_available",
    "split_vectors",
    "worth",
]
