/**
 * One round: the batch goes to the policy, the plan comes back and goes to the scheduler. {@link
 * org.loomcard.yarn.rounds.SchedulerState} states what the rounds need of the scheduler. This
 * package does not use YARN.
 */
package org.loomcard.yarn.rounds;
