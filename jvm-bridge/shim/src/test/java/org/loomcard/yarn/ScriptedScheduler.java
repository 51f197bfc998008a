package org.loomcard.yarn;

import org.loomcard.yarn.policyconfig.BridgeConfig;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.wire.EngineClock;

/** The scheduler whose rounds the test runs itself. */
public final class ScriptedScheduler extends LoomcardScheduler {
  /** The set-up that the next scheduler of a test starts with. */
  public static String setup = ConfigText.oneQueue();
  ScriptedRounds scripted;

  /** Whether the thread that calls holds YARN's lock for writing. */
  boolean isLockedByCaller() {
    return writeLock.isHeldByCurrentThread();
  }

  @Override
  Rounds createRounds(SchedulerState books, BridgeConfig config, EngineClock clock) {
    scripted = new ScriptedRounds(books, clock, setup);
    return scripted;
  }
}
