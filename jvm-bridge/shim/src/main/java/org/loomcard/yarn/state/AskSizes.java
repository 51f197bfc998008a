package org.loomcard.yarn.state;

import java.nio.LongBuffer;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The different container sizes that are asked for; their number is limited. A size that is no
 * longer asked for stays until the limit is reached. Only then are all asks looked at again.
 */
final class AskSizes {
  private final Set<LongBuffer> seen = new HashSet<>();
  private final Recount recount = new Recount();

  /**
   * Takes these sizes. Returns false, and takes none, when there would be more than {@code most}.
   *
   * @param present gives the sizes that are asked for now
   */
  synchronized boolean take(Set<LongBuffer> coming, int most, Supplier<Set<LongBuffer>> present) {
    if (seen.containsAll(coming)) {
      return true;
    }
    if (with(coming) > most && recount.isDue(most)) {
      seen.clear();
      seen.addAll(present.get());
    }
    if (with(coming) > most) {
      return false;
    }
    int before = seen.size();
    seen.addAll(coming);
    recount.came(seen.size() - before);
    return true;
  }

  private int with(Set<LongBuffer> coming) {
    int count = seen.size();
    for (LongBuffer size : coming) {
      count += seen.contains(size) ? 0 : 1;
    }
    return count;
  }

  /**
   * Decides when to recount something that is limited. Of its number only an upper bound is known.
   * A recount is due after a second, or when a tenth of the limit was added. Otherwise each request
   * of a user at the limit would cost a count.
   */
  static final class Recount {
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
}
