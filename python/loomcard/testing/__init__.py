"""For authors of policies: a cluster in a few lines, and the contract that every policy must keep.

``Cluster`` drives a policy round by round. ``check_contract`` is a randomised contract test.
``PolicyMachine`` is a stateful test; it needs Hypothesis. The rest of Loomcard does not import
this package. docs/write/tutorial.md shows how to use all of it.
"""

from typing import Any

from loomcard.model.renamed import warn_renamed
from loomcard.testing.allocated import Allocated
from loomcard.testing.cluster import BrokenPlanError, Cluster, PolicyRaisedError
from loomcard.testing.contract import Clause, ContractError, check_contract
from loomcard.testing.random_cluster import drain
from loomcard.testing.subprocess_replay import SubprocessReplayError

__all__ = [
    "Allocated",
    "BrokenPlanError",
    "Clause",
    "Cluster",
    "ContractError",
    "PolicyMachine",
    "PolicyRaisedError",
    "SubprocessReplayError",
    "check_contract",
    "drain",
]


def __getattr__(name: str) -> Any:
    if name == "PolicyMachine":  # imported only when it is used: Hypothesis may be absent
        from loomcard.testing.stateful import PolicyMachine

        return PolicyMachine
    if name == "Granted":
        warn_renamed("loomcard.testing.Granted", "loomcard.testing.Allocated")
        return Allocated
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
