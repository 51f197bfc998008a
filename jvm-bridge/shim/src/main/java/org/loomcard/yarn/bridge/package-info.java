/**
 * The bridge to the policy process as the scheduler sees it, and the thread that runs the rounds.
 * This package does not use YARN: it reaches the scheduler through {@link
 * org.loomcard.yarn.rounds.SchedulerState}.
 */
package org.loomcard.yarn.bridge;
