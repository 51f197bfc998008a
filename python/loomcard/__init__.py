"""Scheduling policies written in Python, run on a real Apache Hadoop YARN cluster."""

from loomcard.model.checked import PlanError
from loomcard.model.cluster import Application, Ask, AskKey, Attempt, Container, Member, Node, Queue
from loomcard.model.plan import Plan
from loomcard.model.reasons import Reason
from loomcard.model.report import shown
from loomcard.model.resource import Resource
from loomcard.model.view import NO_FIT, NOTHING, WITHHELD, ClusterView, Taken
from loomcard.policies import Policy
from loomcard.policies.fill import fill
from loomcard.policies.registry import register

__version__ = "0.1.0"

__all__ = [
    "NOTHING",
    "NO_FIT",
    "WITHHELD",
    "Application",
    "Ask",
    "AskKey",
    "Attempt",
    "ClusterView",
    "Container",
    "Member",
    "Node",
    "Plan",
    "PlanError",
    "Policy",
    "Queue",
    "Reason",
    "Resource",
    "Taken",
    "fill",
    "register",
    "shown",
]
