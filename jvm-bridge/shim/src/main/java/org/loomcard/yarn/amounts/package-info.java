/**
 * Vectors of resource amounts, and the capacity of each node label's partition. May use only the
 * queue settings in {@code policyconfig}.
 */
package org.loomcard.yarn.amounts;
