package org.loomcard.yarn.state;

import java.nio.LongBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What the live attempts of one user ask for together: each of them may be within its limits while
 * all of them together make every round slow. It is forgotten with the last of these attempts.
 */
public final class UserAsks {
  private final Set<LoomcardAttempt> attempts = ConcurrentHashMap.newKeySet();
  private final AskSizes sizes = new AskSizes();
  /** The rows of all attempts at the last count, and those added since: never too few. */
  private long rows;
  private final AskSizes.Recount recount = new AskSizes.Recount();

  void add(LoomcardAttempt attempt) {
    attempts.add(attempt);
  }

  /** Removes an attempt; returns whether it was the last. */
  boolean remove(LoomcardAttempt attempt) {
    attempts.remove(attempt);
    return attempts.isEmpty();
  }

  /** Takes these sizes. Returns false, and takes none, when the user would have too many. */
  public boolean takeSizes(Set<LongBuffer> coming, int most) {
    return sizes.take(coming, most, () -> {
      Set<LongBuffer> present = ConcurrentHashMap.newKeySet();
      attempts.forEach(attempt -> present.addAll(attempt.askRows().sizes()));
      return present;
    });
  }

  /**
   * Takes this many more rows. Returns false, and takes none, when the user would have too many.
   * Rows that replace others are counted twice until the limit is reached and all are recounted.
   */
  public synchronized boolean takeRows(long coming, long most) {
    if (rows + coming > most && recount.isDue(most)) {
      rows = 0;
      attempts.forEach(attempt -> rows += attempt.askRows().atMost(0));
    }
    if (rows + coming > most) {
      return false;
    }
    rows += coming;
    recount.came(coming);
    return true;
  }

  /** Notes that at least this many rows are gone. */
  public synchronized void giveRows(long gone) {
    rows = Math.max(0, rows - gone);
  }

  /** Returns as how many rows the names of all blacklists count. */
  public long blacklisted() {
    long sum = 0;
    for (LoomcardAttempt attempt : attempts) {
      sum += attempt.blacklisted();
    }
    return sum;
  }
}
