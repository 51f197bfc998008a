/** What the shim counts, as Hadoop metrics. */
package org.loomcard.yarn.metrics;
