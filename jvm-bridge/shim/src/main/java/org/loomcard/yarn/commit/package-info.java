/**
 * Carries plans out: checks each decision under the scheduler's write lock, allocates, preempts,
 * resizes and reserves. It also contains the FIFO that serves while no policy does. It is the only
 * package that changes an allocation.
 */
package org.loomcard.yarn.commit;
