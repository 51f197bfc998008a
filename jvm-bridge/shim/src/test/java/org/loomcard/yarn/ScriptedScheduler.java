package org.loomcard.yarn;

import org.loomcard.yarn.bridge.RoundDriver;
import org.loomcard.yarn.config.BridgeConfig;
import org.loomcard.yarn.rounds.SchedulerState;
import org.loomcard.yarn.wire.EngineClock;

/** The scheduler whose rounds the test runs itself. */
public final class ScriptedScheduler extends LoomcardScheduler {
  /** The policy configuration that the next scheduler of a test starts with. */
  public static String policyConfig = ConfigText.oneQueue();
  public ScriptedRounds scripted;

  /** Returns whether the calling thread has YARN's lock for writing. */
  public boolean isLockedByCaller() {
    return writeLock.isHeldByCurrentThread();
  }

  @Override
  RoundDriver createRounds(SchedulerState scheduler, BridgeConfig config, EngineClock clock) {
    scripted = new ScriptedRounds(scheduler, clock, policyConfig);
    return scripted;
  }
}
