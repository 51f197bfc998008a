package org.loomcard.yarn.process;

import org.loomcard.yarn.config.BridgeConfig;

/**
 * Counts bad rounds and says when the fallback must serve, and how long to wait before the policy
 * process is started again.
 */
public final class Breaker {
  private static final int GOOD_ROUNDS_TO_FORGET = 20;
  private final int failures;
  private final long firstBackoffMs;
  private final long maxBackoffMs;
  private int badInARow;
  private int goodInARow;
  private long backoffMs;

  public Breaker(BridgeConfig config) {
    this.failures = config.breakerFailures;
    this.firstBackoffMs = config.restartBackoffMs;
    this.maxBackoffMs = config.restartBackoffMaxMs;
    this.backoffMs = config.restartBackoffMs;
  }

  /** Counts a round that was on time and raised nothing. */
  public synchronized void good() {
    badInARow = 0;
    goodInARow++;
    if (goodInARow == GOOD_ROUNDS_TO_FORGET) {
      forget();
    }
  }

  /**
   * Counts a round that was late, or in which an instance raised; returns true when there are
   * enough of them to open the breaker.
   */
  public synchronized boolean bad() {
    goodInARow = 0;
    badInARow++;
    return badInARow >= failures;
  }

  /**
   * Returns how long to wait before the next start, in milliseconds; the wait doubles with each
   * call until the policy has proved good.
   */
  public synchronized long nextBackoffMs() {
    badInARow = 0;
    goodInARow = 0;
    long wait = backoffMs;
    backoffMs = Math.min(maxBackoffMs, backoffMs * 2);
    return wait;
  }

  private void forget() {
    backoffMs = firstBackoffMs;
  }
}
