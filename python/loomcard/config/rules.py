"""The rules that ``loomcard policy check`` applies to a configuration; their ids do not change."""

from typing import Final, NamedTuple


class Rule(NamedTuple):
    """What a rule finds, and how severe that is: an ``error`` stops an apply, a ``warning`` names
    what will not work as intended, an ``info`` names what is worth knowing.
    """

    severity: str
    finds: str


FILE: Final = "LC100"
YAML: Final = "LC101"
STRUCTURE: Final = "LC102"
UNKNOWN_KEY: Final = "LC103"
ACCESS: Final = "LC110"
LIMITS: Final = "LC120"
POLICY: Final = "LC130"
PLACEMENT: Final = "LC150"
RENAMED: Final = "LC104"
ALLOCATES_NOTHING: Final = "LC140"
GUARANTEE_ABOVE_CLUSTER: Final = "LC201"
MAXIMUM_BELOW_CONTAINER: Final = "LC202"
GUARANTEE_BELOW_CONTAINER: Final = "LC203"
UNKNOWN_RESOURCE: Final = "LC204"
QUEUE_VANISHES: Final = "LC205"
NO_NODE: Final = "LC206"

RULES: Final = {
    FILE: Rule("error", "the file cannot be read, or is not UTF-8"),
    YAML: Rule("error", "the text is not YAML, or uses YAML that a configuration does not allow"),
    STRUCTURE: Rule("error", "a key or value is missing, of the wrong type or out of its range"),
    UNKNOWN_KEY: Rule("error", "a key is unknown"),
    RENAMED: Rule("warning", "a key has the name that it had in the version before"),
    ACCESS: Rule("error", "a list of submitters or administrators contradicts another"),
    LIMITS: Rule("error", "guarantees, maxima or other limits cannot all be kept"),
    POLICY: Rule(
        "error", "a policy cannot be found or loaded, may not stand there, or refuses its options"
    ),
    ALLOCATES_NOTHING: Rule(
        "warning", "a queue gets no container on a small cluster that has room for what is asked"
    ),
    PLACEMENT: Rule(
        "error", "a placement rule names no queue, can never decide, or contradicts itself"
    ),
    GUARANTEE_ABOVE_CLUSTER: Rule("error", "a guarantee in amounts is above what the cluster has"),
    MAXIMUM_BELOW_CONTAINER: Rule(
        "error", "a leaf may hold, or ask for, less than the smallest container"
    ),
    GUARANTEE_BELOW_CONTAINER: Rule(
        "warning", "a leaf is guaranteed less than the smallest container"
    ),
    UNKNOWN_RESOURCE: Rule("error", "an amount is of a resource that the cluster does not have"),
    QUEUE_VANISHES: Rule("error", "applications live in a queue that the file does not have"),
    NO_NODE: Rule("info", "the cluster has no node yet, so sizes are not compared"),
}
"""By id; LC1xx need the file alone, LC2xx a cluster."""
