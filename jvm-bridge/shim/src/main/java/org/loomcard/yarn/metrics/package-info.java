/** What the shim counts, as Hadoop metrics. It reads the bridge's status and counters. */
package org.loomcard.yarn.metrics;
