package org.loomcard.yarn;

import org.loomcard.yarn.bridge.Books;
import org.loomcard.yarn.bridge.BridgeConfig;
import org.loomcard.yarn.bridge.EngineClock;

/** The scheduler whose rounds the test runs itself. */
public final class ScriptedScheduler extends LoomcardScheduler {
  /** The set-up that the next scheduler of a test starts with. */
  static String setup = SetupText.oneQueue();
  ScriptedRounds scripted;

  /** Whether the thread that calls holds YARN's lock for writing. */
  boolean isLockedByCaller() {
    return writeLock.isHeldByCurrentThread();
  }

  @Override
  Rounds createRounds(Books books, BridgeConfig config, EngineClock clock) {
    scripted = new ScriptedRounds(books, clock, setup);
    return scripted;
  }
}
