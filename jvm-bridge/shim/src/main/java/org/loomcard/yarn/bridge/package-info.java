/**
 * The bridge to the policy process as the scheduler sees it: the thread that runs the rounds, and
 * the swap of the policy configuration, which is compiled and tried in a separate process, then
 * written or rolled back. This package does not use YARN: it reaches the scheduler through {@link
 * org.loomcard.yarn.rounds.SchedulerState}.
 */
package org.loomcard.yarn.bridge;
