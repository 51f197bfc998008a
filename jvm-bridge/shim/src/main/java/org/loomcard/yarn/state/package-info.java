/**
 * The state of the cluster: nodes, applications, attempts, containers and reservations, with their
 * numbers on the wire. It notes every change as an event for the policy. It decides and allocates
 * nothing.
 */
package org.loomcard.yarn.state;
