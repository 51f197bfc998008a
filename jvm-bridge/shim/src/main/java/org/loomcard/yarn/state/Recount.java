package org.loomcard.yarn.state;

import java.util.concurrent.TimeUnit;

/**
 * Decides when to recount something that is limited. Of its number only an upper bound is known. A
 * recount is due after a second, or when a tenth of the limit was added. Otherwise each request of
 * a user at the limit would cost a count.
 */
final class Recount {
  private static final int PART = 10;
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private long came;
  private long lastNanos = System.nanoTime() - PAUSE_NANOS;

  /** Notes that this many were added to the number. */
  void came(long more) {
    came += more;
  }

  /** Returns whether to count now; if so, the caller must count. */
  boolean isDue(long most) {
    boolean due = came * PART >= most || System.nanoTime() - lastNanos >= PAUSE_NANOS;
    if (due) {
      came = 0;
      lastNanos = System.nanoTime();
    }
    return due;
  }
}
