/**
 * The state of the cluster: nodes, applications, attempts and containers, their numbers on the
 * wire, and the events that wait to be sent.
 */
package org.loomcard.yarn.state;
