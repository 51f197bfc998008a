/**
 * The queue tree of the policy configuration applied last: limits, access, use and metrics. This
 * package may use {@code amounts} and {@code policyconfig}; it does not know applications.
 */
package org.loomcard.yarn.queues;
