/** The queue tree of the set-up applied last: limits, rights, use and metrics. */
package org.loomcard.yarn.queues;
