package org.loomcard.yarn.state;

import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.loomcard.yarn.wire.Records;

/**
 * Which asks the policy has not been sent yet, and how many containers it counts as outstanding.
 *
 * <p>A batch is written under the scheduler's write lock. So that the asks of one user cannot keep
 * other threads from that lock, a batch takes a limited number of rows: of one user and in all. The
 * rest comes with the next batches, the longest waiting first. Until then the policy counts the
 * earlier values.
 */
final class AskReports {
  /**
   * Rows in a batch for the asks of one user, with the hosts and racks that they name; one more ask
   * may be added. They cost a millisecond to write here and some time to read there.
   */
  static final int MOST_OF_A_USER = 2_000;
  /** The same of all users. In a snapshot, which is long anyway, one user may have half of it. */
  static final int MOST = 100_000;
  private final Set<LoomcardAttempt> changed = ConcurrentHashMap.newKeySet();
  /** In the order in which they changed; guarded by the scheduler's write lock. */
  private final Set<LoomcardAttempt> waiting = new LinkedHashSet<>();
  private volatile boolean waits;
  /** Guarded by the scheduler's write lock. */
  private int mostOfAUser = MOST_OF_A_USER;
  /** Changed under the scheduler's write lock. */
  private volatile long pending;
  /** How many of them earlier rounds left waiting: for room, or by a rule of the policy. */
  private volatile long left;

  /** Notes that asks or the blacklist of this attempt differ from what the policy knows. */
  void changed(LoomcardAttempt attempt) {
    changed.add(attempt);
  }

  /** Counts a container that a plan allocated; the policy itself subtracted it from the ask. */
  void allocated(LoomcardAttempt attempt, SchedulerRequestKey key) {
    pending -= attempt.reportedAsks().allocated(key);
  }

  /** Forgets an attempt that ended, with its asks. Another record informs the policy. */
  void ended(LoomcardAttempt attempt) {
    changed.remove(attempt);
    waiting.remove(attempt);
    pending -= attempt.reportedAsks().pending();
  }

  /** Marks all asks of these applications to be sent: the policy knows nothing any more. */
  void sendAll(Collection<LoomcardApplication> applications) {
    changed.clear();
    waiting.clear();
    pending = 0;
    mostOfAUser = MOST / 2;
    for (LoomcardApplication application : applications) {
      LoomcardAttempt attempt = application.attempt();
      if (attempt != null && !attempt.isStopped()) {
        attempt.reportedAsks().sendAll();
        waiting.add(attempt);
      }
    }
  }

  /** Forgets which asks are to be sent: all will be. */
  void clear() {
    for (LoomcardAttempt attempt : changed) {
      changed.remove(attempt);
      attempt.reportedAsks().clear();
    }
  }

  /** Writes what fits into a batch; returns whether something is left for the next. */
  boolean write(Records out) {
    for (LoomcardAttempt attempt : changed) {
      changed.remove(attempt);
      waiting.add(attempt);
    }
    Map<String, Integer> ofUsers = new HashMap<>();
    int left = MOST;
    Iterator<LoomcardAttempt> attempts = waiting.iterator();
    while (left > 0 && attempts.hasNext()) {
      LoomcardAttempt attempt = attempts.next();
      int most = ofUsers.getOrDefault(attempt.getUser(), mostOfAUser);
      if (most > 0) {
        ReportedAsks asks = attempt.reportedAsks();
        long before = asks.pending();
        int written = asks.write(out, Math.min(most, left));
        pending += asks.pending() - before;
        ofUsers.put(attempt.getUser(), most - written);
        left -= written;
        if (asks.isSent()) {
          attempts.remove();
        }
      }
    }
    mostOfAUser = MOST_OF_A_USER;
    waits = !waiting.isEmpty();
    return waits;
  }

  /** Returns the outstanding containers of all asks, as the policy counts them. */
  long pending() {
    return pending;
  }

  /**
   * Notes that a plan was carried out.
   *
   * @param old whether it answered no new ask, so that all that is outstanding now was left waiting
   */
  void planned(boolean old) {
    left = old ? pending : Math.min(left, pending);
  }

  /** Returns whether an ask may be outstanding that no round left waiting. Any thread may call. */
  boolean hasNewDemand() {
    return hasMoreThan(left);
  }

  /** Returns whether any ask may be outstanding. Any thread may call it. */
  boolean hasDemand() {
    return hasMoreThan(0);
  }

  private boolean hasMoreThan(long known) {
    return pending > known || waits || !changed.isEmpty();
  }
}
