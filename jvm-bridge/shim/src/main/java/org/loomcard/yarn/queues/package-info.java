/**
 * The queue tree of the policy configuration applied last: limits, access, use and metrics. May use
 * {@code amounts} and {@code policyconfig}; knows no application.
 */
package org.loomcard.yarn.queues;
