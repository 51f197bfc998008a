package org.loomcard.yarn.bridge;

import java.util.concurrent.TimeUnit;

/**
 * Makes a caller wait until the round thread has handled all that happened before the call. For
 * tests of YARN.
 */
final class RoundBarrier {
  private long asked;
  private long reached;

  /** Returns a ticket for what the round thread is about to handle. */
  synchronized long ticket() {
    return asked;
  }

  /** Whether a caller waits. */
  synchronized boolean isAsked() {
    return asked > reached;
  }

  synchronized void reached(long ticket) {
    if (ticket > reached) {
      reached = ticket;
      notifyAll();
    }
  }

  /** Waits; returns false when that took too long. */
  synchronized boolean await(long ms, Runnable wake) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
    long ticket = ++asked;
    wake.run();
    while (reached < ticket) {
      long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (left <= 0) {
        return false;
      }
      wait(left);
    }
    return true;
  }
}
