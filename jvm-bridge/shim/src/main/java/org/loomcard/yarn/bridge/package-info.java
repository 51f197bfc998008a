/**
 * The bridge to the policy process as the scheduler sees it, and the thread that drives the
 * rounds. Neither knows YARN; what is YARN's stands behind {@link
 * org.loomcard.yarn.rounds.SchedulerState}.
 */
package org.loomcard.yarn.bridge;
