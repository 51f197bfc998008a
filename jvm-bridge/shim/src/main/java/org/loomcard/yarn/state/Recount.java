package org.loomcard.yarn.state;

import java.util.concurrent.TimeUnit;

/**
 * When something that is bounded, and is only known to be no more than a figure, is worth counting
 * anew: after a second, or a tenth of the bound that came since. Else each request of one who is at
 * the bound would cost a count.
 */
final class Recount {
  private static final int PART = 10;
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private long came;
  private long lastNanos = System.nanoTime() - PAUSE_NANOS;

  /** So much was added to the figure. */
  void came(long more) {
    came += more;
  }

  /** Whether to count now; the caller does so then. */
  boolean isDue(long most) {
    boolean due = came * PART >= most || System.nanoTime() - lastNanos >= PAUSE_NANOS;
    if (due) {
      came = 0;
      lastNanos = System.nanoTime();
    }
    return due;
  }
}
