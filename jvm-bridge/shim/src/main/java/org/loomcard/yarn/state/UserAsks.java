package org.loomcard.yarn.state;

import java.nio.LongBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What the live attempts of one user ask for together: each of them may be within its bounds while
 * all of them make every round slow. Forgotten with the last of these attempts.
 */
public final class UserAsks {
  private final Set<LoomcardAttempt> attempts = ConcurrentHashMap.newKeySet();
  private final AskSizes sizes = new AskSizes();
  /** Of all attempts, when they were counted last, and what came since: never too few. */
  private long rows;
  private final Recount recount = new Recount();

  void add(LoomcardAttempt attempt) {
    attempts.add(attempt);
  }

  /** Returns whether it was the last. */
  boolean remove(LoomcardAttempt attempt) {
    attempts.remove(attempt);
    return attempts.isEmpty();
  }

  /** Takes these sizes; false, with nothing taken, when the user would have too many. */
  public boolean takeSizes(Set<LongBuffer> coming, int most) {
    return sizes.take(coming, most, () -> {
      Set<LongBuffer> present = ConcurrentHashMap.newKeySet();
      attempts.forEach(attempt -> present.addAll(attempt.askRows().sizes()));
      return present;
    });
  }

  /**
   * Takes so many rows more; false, with nothing taken, when the user would have too many. Rows
   * that take the place of others count anew until the bound is met.
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

  /** So many rows are gone for certain. */
  public synchronized void giveRows(long gone) {
    rows = Math.max(0, rows - gone);
  }

  /** As how many rows the names of all blacklists count. */
  public long blacklisted() {
    long sum = 0;
    for (LoomcardAttempt attempt : attempts) {
      sum += attempt.blacklisted();
    }
    return sum;
  }
}
