/**
 * Carries plans out: checks each decision under the scheduler's write lock, allocates, preempts,
 * resizes and holds. Also holds the FIFO that serves while no policy does. The only package that
 * changes an allocation.
 */
package org.loomcard.yarn.commit;
