/**
 * What the shim counts, as Hadoop metrics. Reads the bridge's status and counters.
 */
package org.loomcard.yarn.metrics;
