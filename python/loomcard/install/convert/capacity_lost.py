"""Properties of CapacityScheduler with nothing like them here: why, and what to do.

Each pattern is searched in a property's name without ``yarn.scheduler.capacity.``; the first one
counts. What ``convert_capacity`` converts does not come here.
"""

from typing import Final

IDLE: Final = (
    (r"^schedule-asynchronously\.", "the policy process always decides beside YARN's threads"),
    (r"^per-node-heartbeat\.", "a round is not bound to a node's heartbeat"),
    (r"^(reservations-continue-look-all-nodes|skip-allocate-on-nodes-with-reserved-containers)$",
     "a round looks at all nodes, whatever is reserved on them"),
    (r"^application\.fail-fast$", "an application whose queue is missing after a restart fails"),
    (r"^legacy-queue-mode\.enabled$", "percentages, weights and amounts may stand side by side"),
    (r"^queue\.auto\.refresh\.monitoring-interval$", "`loomcard policy apply` swaps at once"),
    (r"\.(allow-zero-capacity-sum)$", "guarantees of 0% are allowed"),
    (r"\.auto-create-child-queue\.fail-on-exceeding-parent-capacity$",
     "`policy check` refuses a template whose guarantees do not fit"),
    (r"^lazy-preemption-enabled$", "only what is needed is preempted"),
)  # fmt: skip

LOST: Final = (
    (r"disable_preemption$", "no queue is exempt from preemption",
     "give the queue a guarantee: what is within it is never taken"),
    (r"^yarn\.resourcemanager\.monitor\.", "the policy's preemption has no such option",
     "see preempt_... of the policy capacity"),
    (r"^(node-locality-delay|rack-locality-additional-delay|rack-locality-full-reset)$",
     "capacity does not wait for a better place",
     "use the policy coupling with maps: delay where maps must be local"),
    (r"\.user-settings\.", "users have no weights of their own",
     "give the user a queue with a weight"),
    (r"\.ordering-policy\.", "the ordering has no options",
     "leave it, or write an ordering as a policy"),
    (r"\.priority$", "capacity orders queues by utilization and knows no queue's priority",
     "give the urgent queue a larger guarantee"),
    (r"\.accessible-node-labels\..*\.(maximum-am-resource-percent|weight)$",
     "masters share one limit for all labels", "state am_share of the queue"),
    (r"\.acl_(application_max_priority)$", "users have no highest priority of their own",
     "yarn.cluster.max-application-priority bounds everyone"),
    (r"\.(reservable|reservation-.*|average-capacity|instantaneous-max-capacity"
     r"|show-reservations-as-queues)$|\.acl_.*reservations?$",
     "YARN's reservation system needs a scheduler of its own",
     "keep the reservable queue on the old cluster, or give it a guarantee"),
    (r"^user-metrics\.enable$", "it is no rule of queues",
     "set loomcard.metrics.by-user in yarn-site.xml"),
    (r"^workflow-priority-mappings", "no mapping gives priorities",
     "let the submitter state the priority, or set default_priority of a queue"),
    (r"multi-node-(sorting|placement)", "nodes are tried in their order, as the policy says",
     "choose a policy that packs, such as tetris"),
    (r"\.auto-queue-creation-v2\.parent-template\.", "created parents are plain queues",
     "state the parent in the file"),
    (r"\.(leaf-queue-template|auto-queue-creation-v2\.(leaf-)?template)\.",
     "a template has no such key", "state it for all leaf queues in the policy's options"),
    (r"\.auto-create-child-queue\.management-policy|\.queue-management\.",
     "created queues have their guarantee at once", "leave it"),
)  # fmt: skip
