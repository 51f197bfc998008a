package org.loomcard.yarn.bench;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;

/**
 * Counts allocations and measures the time from ask to allocation. An allocation is the moment at
 * which the scheduler's new RMContainer registers with its attempt; every scheduler does that
 * inside its commit.
 */
final class AllocationWatch {
  private final Map<ApplicationAttemptId, SimulatedMaster> masters = new ConcurrentHashMap<>();
  private final LongAdder allocations = new LongAdder();
  private long[] waits = new long[1 << 16];
  private int waited;

  void add(SimulatedMaster master) {
    masters.put(master.attempt(), master);
  }

  /** Called by the scheduler's thread, inside its commit: it must stay cheap. */
  void allocated(ApplicationAttemptId attempt) {
    long now = System.nanoTime();
    allocations.increment();
    SimulatedMaster master = masters.get(attempt);
    long asked = master == null ? SimulatedMaster.NOT_TIMED : master.takeAskTime();
    if (asked != SimulatedMaster.NOT_TIMED) {
      record(now - asked);
    }
  }

  long allocations() {
    return allocations.sum();
  }

  private synchronized void record(long nanos) {
    if (waited == waits.length) {
      waits = Arrays.copyOf(waits, 2 * waits.length);
    }
    waits[waited++] = nanos;
  }

  /** Returns the waits since the last call in nanoseconds, sorted, and forgets them. */
  synchronized long[] drain() {
    long[] sorted = Arrays.copyOf(waits, waited);
    waited = 0;
    Arrays.sort(sorted);
    return sorted;
  }
}
