"""Engine 1: the same policies on a cluster of events, under a virtual clock."""

from loomcard.simulator.engine import MismatchError, Progress, Simulation, simulate
from loomcard.simulator.invariants import InvariantError
from loomcard.simulator.resourcemanager import PolicyFaultError

__all__ = [
    "InvariantError",
    "MismatchError",
    "PolicyFaultError",
    "Progress",
    "Simulation",
    "simulate",
]
