/**
 * One round: the batch goes to the policy, the plan comes back and is handed to the scheduler.
 * States what the rounds need of it in {@link org.loomcard.yarn.rounds.SchedulerState}, and knows
 * nothing of YARN.
 */
package org.loomcard.yarn.rounds;
