/**
 * The queue tree of the policy configuration applied last: limits, access, use and metrics, and the
 * arithmetic of amounts. It does not know applications.
 */
package org.loomcard.yarn.queues;
