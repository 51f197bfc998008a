/**
 * The state of the cluster: nodes, applications, attempts, containers and holds, with their numbers
 * on the wire. It notes every change as an event for the policy; it decides and allocations
 * nothing.
 */
package org.loomcard.yarn.state;
