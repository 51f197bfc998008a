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
 * Which asks the policy has not been sent, and how many containers it counts as outstanding.
 *
 * <p>A batch is written under the scheduler's write lock. So that no user's asks can keep others
 * from it, a batch takes only so many rows of one user's and of all; the rest comes with the next
 * batches, first those that wait longest. What the policy was not sent it counts as before.
 */
final class AskReports {
  /**
   * Asks of one user in a batch, with the hosts and racks that they name; one more ask may go. They
   * cost a millisecond to write here and some to read there.
   */
  static final int MOST_OF_A_USER = 2_000;
  /** The same of all users. One may have half of it in a snapshot, which is long anyway. */
  static final int MOST = 100_000;
  private final Set<LoomcardAttempt> changed = ConcurrentHashMap.newKeySet();
  /** In the order in which they changed; guarded by the scheduler's write lock. */
  private final Set<LoomcardAttempt> waiting = new LinkedHashSet<>();
  private volatile boolean waits;
  /** Guarded by the scheduler's write lock. */
  private int mostOfAUser = MOST_OF_A_USER;
  /** Changed under the scheduler's write lock. */
  private volatile long pending;

  /** Asks or the blacklist of this attempt are other than the policy knows. */
  void changed(LoomcardAttempt attempt) {
    changed.add(attempt);
  }

  /** A plan's container was allocated, which the policy took off the ask itself. */
  void allocated(LoomcardAttempt attempt, SchedulerRequestKey key) {
    pending -= attempt.reportedAsks().allocated(key);
  }

  /** The attempt is over, and with it its asks; the policy is told so by another record. */
  void ended(LoomcardAttempt attempt) {
    changed.remove(attempt);
    waiting.remove(attempt);
    pending -= attempt.reportedAsks().pending();
  }

  /** The policy knows nothing any more: all asks of these applications are to be sent. */
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

  /** Forgets what is to be sent: all will be. */
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

  /** Outstanding containers of all asks, as the policy counts them. */
  long pending() {
    return pending;
  }

  /** Whether any ask may be outstanding; from any thread. */
  boolean hasDemand() {
    return pending > 0 || waits || !changed.isEmpty();
  }
}
