package org.loomcard.yarn.bench;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;

/**
 * Counts grants and measures from ask to grant. A grant is the moment at which the scheduler's new
 * RMContainer registers with its attempt, which every scheduler does inside its commit.
 */
final class GrantWatch {
  private final Map<ApplicationAttemptId, SimulatedMaster> masters = new ConcurrentHashMap<>();
  private final LongAdder grants = new LongAdder();
  private long[] waits = new long[1 << 16];
  private int waited;

  void add(SimulatedMaster master) {
    masters.put(master.attempt(), master);
  }

  /** Called by the scheduler's thread, inside its commit: must stay cheap. */
  void granted(ApplicationAttemptId attempt) {
    long now = System.nanoTime();
    grants.increment();
    SimulatedMaster master = masters.get(attempt);
    long asked = master == null ? SimulatedMaster.NOT_TIMED : master.takeAskTime();
    if (asked != SimulatedMaster.NOT_TIMED) {
      record(now - asked);
    }
  }

  long grants() {
    return grants.sum();
  }

  private synchronized void record(long nanos) {
    if (waited == waits.length) {
      waits = Arrays.copyOf(waits, 2 * waits.length);
    }
    waits[waited++] = nanos;
  }

  /** Returns the waits in nanoseconds since the last call, sorted, and forgets them. */
  synchronized long[] drain() {
    long[] sorted = Arrays.copyOf(waits, waited);
    waited = 0;
    Arrays.sort(sorted);
    return sorted;
  }
}
