/**
 * The rehearsal of a restart: a ResourceManager of the same jars and configuration, cut off from
 * the cluster, recovers a copy of the state.
 */
package org.loomcard.yarn.rehearsal;
