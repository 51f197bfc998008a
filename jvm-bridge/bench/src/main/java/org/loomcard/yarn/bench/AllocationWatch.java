package org.loomcard.yarn.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.loomcard.yarn.rounds.RoundSteps;

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
  private String phase;
  private volatile RoundSteps steps;
  private final List<String> traced = new ArrayList<>();

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
      if (steps != null) {
        trace(asked, now);
      }
    }
  }

  /** Begins to note the steps of each container; null: ends it. */
  synchronized void trace(String name, RoundSteps ours) {
    phase = name;
    steps = ours;
  }

  /** Only our round thread allocates, so the steps are those of its present round. */
  private synchronized void trace(long asked, long now) {
    if (steps != null) {
      traced.add(phase + "," + asked + "," + steps.woken + "," + steps.begun + "," + steps.sent
          + "," + steps.replied + "," + steps.read + "," + now);
    }
  }

  synchronized void writeTrace(Path file) throws IOException {
    Files.write(file, traced);
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
